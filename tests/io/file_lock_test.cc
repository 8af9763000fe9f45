// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a second user of a file is refused and told the process that holds it.
// Method: two descriptors of this process, which flock sets against each other like two processes.
#include "io/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "io/unique_fd.h"
#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

TEST(FileLock, RefusesTheSecondNamingTheFirst) {
  IoTempDirectory directory;
  std::string path = directory / "file";
  UniqueFd first(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  UniqueFd second(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(LockHolder(path), "");
  ASSERT_TRUE(LockFile(first.get(), path).has_value());
  EXPECT_TRUE(LockFile(first.get(), path).has_value());  // one's own lock is no obstacle
  Status refused = LockFile(second.get(), path);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kBusy);
  std::string pid = "(pid " + std::to_string(::getpid()) + ")";
  EXPECT_NE(refused.error().context.find(pid), std::string::npos) << refused.error().context;
  EXPECT_NE(refused.error().context.find(path), std::string::npos);
  first.Reset();
  EXPECT_TRUE(LockFile(second.get(), path).has_value());
}

TEST(FileLock, NobodyHoldsWhatDoesNotExist) { EXPECT_EQ(LockHolder("/no/such/file"), ""); }

}  // namespace
}  // namespace terrace::io
