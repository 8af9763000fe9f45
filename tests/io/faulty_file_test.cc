// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: each fault strikes the requests it was armed for, does what it says, and no others.
// Method: one fault at a time over a MemoryFile whose bytes are known.
#include "io/faulty_file.h"

#include <gtest/gtest.h>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

class FaultyFileTest : public ::testing::Test {
 protected:
  FaultyFileTest() : file_(std::make_unique<MemoryFile>(kMiB)), old_(8192), read_(8192) {
    old_.Fill(1);
    EXPECT_TRUE(WriteNow(file_, 0, {old_.piece()}).has_value());
  }
  IoMemory ReadBack() {
    IoMemory back(8192);
    EXPECT_TRUE(ReadNow(file_, 0, {back.piece()}).has_value());
    return back;
  }
  FaultyFile file_;
  IoMemory old_;
  IoMemory read_;
};

TEST_F(FaultyFileTest, FailsTheChosenReadWithTheChosenCode) {
  file_.Arm({.kind = FaultKind::kFailRead, .code = Errc::kNoSpace, .after = 1, .times = 2});
  EXPECT_TRUE(ReadNow(file_, 0, {read_.piece()}).has_value());
  EXPECT_EQ(ReadNow(file_, 0, {read_.piece()}).error().code, Errc::kNoSpace);
  EXPECT_EQ(ReadNow(file_, 0, {read_.piece()}).error().code, Errc::kNoSpace);
  EXPECT_TRUE(ReadNow(file_, 0, {read_.piece()}).has_value());
  EXPECT_EQ(file_.struck_count(), 2u);
}

TEST_F(FaultyFileTest, ForeverLastsUntilDisarmed) {
  file_.Arm({.kind = FaultKind::kFailWrite, .times = Fault::kForever});
  for (int i = 0; i < 5; i++) EXPECT_FALSE(WriteNow(file_, 0, {read_.piece()}).has_value());
  EXPECT_TRUE(ReadBack() == old_);
  file_.Disarm();
  EXPECT_TRUE(WriteNow(file_, 0, {read_.piece()}).has_value());
}

TEST_F(FaultyFileTest, FlipsOneBitOrZeroesOneBlockOfARead) {
  file_.Arm({.kind = FaultKind::kFlipBit});
  ASSERT_TRUE(ReadNow(file_, 0, {read_.piece()}).has_value());
  EXPECT_FALSE(read_ == old_);
  EXPECT_EQ(std::memcmp(read_.data() + 1, old_.data() + 1, 8191), 0);
  file_.Arm({.kind = FaultKind::kZeroBlock});
  ASSERT_TRUE(ReadNow(file_, 0, {read_.piece()}).has_value());
  EXPECT_EQ(read_.data()[8], std::byte{0});
  EXPECT_EQ(std::memcmp(read_.data() + 4096, old_.data() + 4096, 4096), 0);
  EXPECT_TRUE(ReadBack() == old_);
}

TEST_F(FaultyFileTest, TearsAndLosesWrites) {
  IoMemory fresh(8192);
  fresh.Fill(2);
  file_.Arm({.kind = FaultKind::kLoseWrite});
  EXPECT_TRUE(WriteNow(file_, 0, {fresh.piece()}).has_value());
  EXPECT_TRUE(ReadBack() == old_);
  file_.Arm({.kind = FaultKind::kTearWrite});
  EXPECT_FALSE(WriteNow(file_, 0, {fresh.piece()}).has_value());
  IoMemory torn = ReadBack();
  EXPECT_EQ(std::memcmp(torn.data(), fresh.data(), 4096), 0);
  EXPECT_EQ(std::memcmp(torn.data() + 4096, old_.data() + 4096, 4096), 0);
}

TEST_F(FaultyFileTest, FailsSyncInBothFormsAndGrow) {
  file_.Arm({.kind = FaultKind::kFailSync, .times = 2});
  EXPECT_FALSE(file_.Sync().has_value());
  bool failed = false;
  file_.StartSync([&](Status status) { failed = !status; });
  EXPECT_TRUE(failed);
  EXPECT_TRUE(file_.Sync().has_value());
  file_.Arm({.kind = FaultKind::kFailGrow, .code = Errc::kNoSpace});
  EXPECT_EQ(file_.Grow(2 * kMiB).error().code, Errc::kNoSpace);
  EXPECT_EQ(file_.size_bytes(), kMiB);
}

}  // namespace
}  // namespace terrace::io
