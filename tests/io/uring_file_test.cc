// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what UringFile does beyond the contract of File: the ring, registered memory, its end.
// Method: real files on disk, with tiny queues and memory registered in part; a full tmpfs.
#include "io/uring_file.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>

#include "io/memory_region.h"
#include "io/uring_buffers.h"
#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

TEST(UringFile, TheDestructorWaitsForWhatIsUnderway) {
  IoTempDirectory directory;
  constexpr size_t kRequests = 64;
  IoMemory memory(kRequests * kBlockSize);
  std::atomic<size_t> finished{0};
  {
    auto file = MakeUringFile(directory / "file", kMiB, {.queue_depth = 2});
    for (size_t i = 0; i < kRequests; i++) {
      file->Write(i * kBlockSize, {{memory.data() + i * kBlockSize, kBlockSize}}, [&](Status s) {
        EXPECT_TRUE(s.has_value());
        finished++;
      });
    }
  }
  EXPECT_EQ(finished.load(), kRequests);
}

TEST(UringFile, RequestsWaitInOrderForASlot) {
  IoTempDirectory directory;
  auto file = MakeUringFile(directory / "file", kMiB, {.queue_depth = 1});
  IoMemory memory(kBlockSize);
  std::vector<int> order;  // filled by the completion thread alone
  std::latch arrived(20);
  for (int i = 0; i < 20; i++) {
    file->Write(0, {memory.piece()}, [&, i](Status) {
      order.push_back(i);
      arrived.count_down();
    });
  }
  arrived.wait();
  for (int i = 0; i < 20; i++) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(UringFile, RegisteredMemoryCarriesTheSameBytes) {
  IoTempDirectory directory;
  auto file = MakeUringFile(directory / "file", 16 * kMiB);
  auto region = MemoryRegion::Create("test", 8 * kMiB);
  ASSERT_TRUE(region.has_value());
  std::byte* data = (*region)->data();
  file->RegisterMemory(data, 4 * kMiB);
  IoMemory pattern(kMiB);
  pattern.Fill(3);
  // Inside the registered part, across its end, and beyond it.
  for (uint64_t at : {uint64_t{0}, kMiB + 4096, 4 * kMiB - 4096, 6 * kMiB}) {
    std::memcpy(data + at, pattern.data(), kMiB);
    ASSERT_TRUE(WriteNow(*file, 8 * kMiB, {{data + at, kMiB}}).has_value()) << at;
    std::memset(data + at, 0, kMiB);
    ASSERT_TRUE(ReadNow(*file, 8 * kMiB, {{data + at, kMiB}}).has_value()) << at;
    EXPECT_EQ(std::memcmp(data + at, pattern.data(), kMiB), 0) << at;
  }
}

TEST(UringBuffers, FindsOnlyWhatLiesInOneRegisteredChunk) {
  io_uring ring{};
  ASSERT_EQ(::io_uring_queue_init(4, &ring, 0), 0);
  auto region = MemoryRegion::Create("test", 4 * kMiB);
  ASSERT_TRUE(region.has_value());
  std::byte* data = (*region)->data();
  {
    UringBuffers buffers(ring, "test");
    EXPECT_FALSE(buffers.Find({data, 4096}).has_value());
    buffers.Add(data + 2 * kMiB, kMiB);
    buffers.Add(data, kMiB);
    std::optional<uint16_t> first = buffers.Find({data, kMiB});
    if (!first) GTEST_SKIP() << "the memlock limit forbids registered buffers here";
    EXPECT_EQ(buffers.Find({data + kMiB - 4096, 4096}), first);
    EXPECT_NE(buffers.Find({data + 2 * kMiB, 4096}), first);
    EXPECT_FALSE(buffers.Find({data + kMiB, 4096}).has_value());
    EXPECT_FALSE(buffers.Find({data + kMiB - 4096, 8192}).has_value());
    EXPECT_FALSE(buffers.Find({data + 3 * kMiB, 4096}).has_value());
  }
  ::io_uring_queue_exit(&ring);
}

TEST(UringFile, OpenTakesTheDescriptorOverEvenOnError) {
  Result<std::unique_ptr<File>> file = OpenUringFile(-1, "nowhere", {});
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().context.find("nowhere"), std::string::npos);
}

// A file system of 32 MiB in memory, for what happens when it is full.
class SmallHost : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
    if (::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=32m") != 0) {
      GTEST_SKIP() << "no tmpfs can be mounted here";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  IoTempDirectory directory_;
  bool mounted_ = false;
};

TEST_F(SmallHost, AFullFileSystemAnswersNoSpaceAndTheFileStaysAsItWas) {
  auto file = MakeUringFile(directory_ / "file", 8 * kMiB);
  ASSERT_NE(file, nullptr);
  EXPECT_LE(file->room_bytes(), 24 * kMiB);
  Status grown = file->Grow(64 * kMiB);
  ASSERT_FALSE(grown.has_value());
  EXPECT_EQ(grown.error().code, Errc::kNoSpace);
  EXPECT_EQ(file->size_bytes(), 8 * kMiB);
  EXPECT_TRUE(file->Grow(16 * kMiB).has_value());
  IoMemory memory(4096);
  EXPECT_TRUE(WriteNow(*file, 16 * kMiB - 4096, {memory.piece()}).has_value());
}

}  // namespace
}  // namespace terrace::io
