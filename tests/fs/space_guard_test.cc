// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: writes are refused before the file system is full, deletions later, and both go on when
// there is room again.
// Method: a made-up file system whose figures the test sets.
#include "fs/meta/space_guard.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class SpaceGuardTest : public testing::Test {
 protected:
  SpaceOnDisk space_{.capacity_bytes = kTiB, .available_bytes = kTiB};
  int queries_ = 0;
  bool query_fails_ = false;
  SpaceGuard guard_{[this]() -> Result<SpaceOnDisk> {
    queries_++;
    if (query_fails_) return Fail(Errc::kIo, "statvfs");
    return space_;
  }};
};

TEST_F(SpaceGuardTest, AsksOncePerMebibyte) {
  for (int i = 0; i < 1024; i++) EXPECT_TRUE(guard_.Admit(4 * kKiB, false));
  EXPECT_EQ(queries_, 4);
}

TEST_F(SpaceGuardTest, RefusesWritesThenDeletionsAndGoesOn) {
  space_.available_bytes = 64 * kMiB;
  EXPECT_TRUE(guard_.Admit(kMiB, false));
  space_.available_bytes = 63 * kMiB;
  EXPECT_EQ(CodeOf(guard_.Admit(kMiB, false)), Errc::kNoSpace);
  EXPECT_EQ(CodeOf(guard_.Admit(1, false)), Errc::kNoSpace) << "asks each time now";
  EXPECT_TRUE(guard_.Admit(1, true));
  space_.available_bytes = 15 * kMiB;
  EXPECT_EQ(CodeOf(guard_.Admit(1, true)), Errc::kNoSpace);
  space_.available_bytes = kGiB;
  EXPECT_TRUE(guard_.Admit(1, false));
}

TEST_F(SpaceGuardTest, SmallFileSystemsKeepASmallReserve) {
  space_ = {.capacity_bytes = 32 * kMiB, .available_bytes = 8 * kMiB};
  EXPECT_TRUE(guard_.Admit(kMiB, false));
  space_.available_bytes = 8 * kMiB - 1;
  EXPECT_EQ(CodeOf(guard_.Admit(kMiB, false)), Errc::kNoSpace);
}

TEST_F(SpaceGuardTest, NotKnowingIsNoReasonToRefuse) {
  query_fails_ = true;
  EXPECT_TRUE(guard_.Admit(kMiB, false));
}

}  // namespace
}  // namespace terrace::fs
