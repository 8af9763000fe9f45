// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a transfer that the device would have split is split evenly, and none of it is lost.
// Method: ask for the limit of a real file's device; move more than the limit in odd pieces.

#include "io/transfer_limit.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/status_latch.h"
#include "base/units.h"
#include "io/uring_file.h"

namespace terrace::io {
namespace {

// A file that has no name any more, on a real disk where the caller names one.
int MakeFile(std::string& path) {
  const char* directory = std::getenv("TERRACE_TEST_DIR");
  path = std::string(directory != nullptr ? directory : "/var/tmp") + "/terrace-limit-XXXXXX";
  int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(path.c_str());
  return fd;
}

TEST(TransferLimit, IsAPowerOfTwoThatHoldsAChecksumBlock) {
  std::string path;
  int fd = MakeFile(path);
  ASSERT_GE(fd, 0);
  uint64_t limit = TransferLimit(fd);
  ::close(fd);
  if (limit == UINT64_MAX) return;  // the system does not say: no limit is right
  EXPECT_TRUE(std::has_single_bit(limit));
  EXPECT_GE(limit, kChecksumBlockSize);
}

TEST(TransferLimit, OfABadDescriptorIsNone) { EXPECT_EQ(TransferLimit(-1), UINT64_MAX); }

TEST(TransferLimit, MoreThanTheLimitArrivesWhole) {
  std::string path;
  int fd = MakeFile(path);
  ASSERT_GE(fd, 0);
  auto file = OpenUringFile(fd, path, {});
  if (!file && file.error().code == Errc::kUnsupported) GTEST_SKIP() << file.error().context;
  ASSERT_TRUE(file) << file.error().context;
  constexpr uint64_t kSize = 5 * kMiB + 3 * kBlockSize;
  ASSERT_TRUE((*file)->Grow(16 * kMiB));
  auto* memory = static_cast<std::byte*>(::aligned_alloc(kBlockSize, 2 * kSize));
  for (uint64_t i = 0; i < kSize; i++) memory[i] = static_cast<std::byte>(i * 31 + i / kBlockSize);
  std::byte* const back = memory + kSize;
  std::vector<iovec> out = {{memory, 3 * kBlockSize},
                            {memory + 3 * kBlockSize, kMiB},
                            {memory + kMiB + 3 * kBlockSize, kSize - kMiB - 3 * kBlockSize}};
  StatusLatch written;
  (*file)->Write(kMiB, out, [&](Status status) { written.Set(std::move(status)); });
  EXPECT_TRUE(written.Wait());
  StatusLatch read;
  (*file)->Read(kMiB, {{back, kSize}}, [&](Status status) { read.Set(std::move(status)); });
  EXPECT_TRUE(read.Wait());
  EXPECT_EQ(std::memcmp(memory, back, kSize), 0);
  std::free(memory);
}

}  // namespace
}  // namespace terrace::io
