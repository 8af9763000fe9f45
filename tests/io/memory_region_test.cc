// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a region is aligned, whole, named by its memfd, and populating it keeps its bytes.
// Method: real memfds of edge sizes, written through the mapping and read through the fd.
#include "io/memory_region.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/units.h"

namespace terrace::io {
namespace {

class MemoryRegionOfSize : public ::testing::TestWithParam<uint64_t> {};

TEST_P(MemoryRegionOfSize, IsAlignedAndAsLargeAsAsked) {
  Result<std::unique_ptr<MemoryRegion>> region = MemoryRegion::Create("test", GetParam());
  ASSERT_TRUE(region.has_value()) << region.error().context;
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*region)->data()) % (2 * kMiB), 0u);
  EXPECT_EQ((*region)->size_bytes(), GetParam());
  struct stat info;
  ASSERT_EQ(::fstat((*region)->fd(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), GetParam());
  (*region)->data()[0] = std::byte{1};
  (*region)->data()[GetParam() - 1] = std::byte{2};
  char last = 0;
  ASSERT_EQ(::pread((*region)->fd(), &last, 1, static_cast<off_t>(GetParam() - 1)), 1);
  EXPECT_EQ(last, 2);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MemoryRegionOfSize,
                         ::testing::Values(kMiB, 2 * kMiB, 3 * kMiB, 64 * kMiB));

TEST(MemoryRegion, PopulateGivesPagesAndKeepsContents) {
  auto region = MemoryRegion::Create("test", 8 * kMiB);
  ASSERT_TRUE(region.has_value());
  (*region)->data()[5 * kMiB] = std::byte{42};
  ASSERT_TRUE((*region)->Populate(4 * kMiB, 4 * kMiB).has_value());
  EXPECT_EQ((*region)->data()[5 * kMiB], std::byte{42});
  std::vector<unsigned char> resident(4 * kMiB / kBlockSize);
  ASSERT_EQ(::mincore((*region)->data() + 4 * kMiB, 4 * kMiB, resident.data()), 0);
  for (unsigned char page : resident) ASSERT_TRUE(page & 1);
}

TEST(MemoryRegion, PopulateMayRunBesideWriters) {
  auto region = MemoryRegion::Create("test", 16 * kMiB);
  ASSERT_TRUE(region.has_value());
  std::byte* data = (*region)->data();
  std::thread writer([&] {
    for (uint64_t i = 0; i < 16 * kMiB; i += kBlockSize) data[i + 1] = std::byte{7};
  });
  EXPECT_TRUE((*region)->Populate(0, 16 * kMiB).has_value());
  writer.join();
  for (uint64_t i = 0; i < 16 * kMiB; i += kBlockSize) ASSERT_EQ(data[i + 1], std::byte{7});
}

TEST(MemoryRegion, RefusesWhatTheAddressSpaceCannotHold) {
  auto region = MemoryRegion::Create("test", uint64_t{1} << 60);
  ASSERT_FALSE(region.has_value());
  EXPECT_NE(region.error().context.find("memory region test"), std::string::npos);
}

}  // namespace
}  // namespace terrace::io
