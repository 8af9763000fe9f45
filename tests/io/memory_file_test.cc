// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the test double itself: pausing, power loss, a host without room. (Contract: file_test.)
// Method: each switch thrown once, with the effect on requests before and after it.
#include "io/memory_file.h"

#include <gtest/gtest.h>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

TEST(MemoryFile, PausedRequestsCompleteInOrderAtResume) {
  MemoryFile file(kMiB);
  IoMemory a(4096);
  IoMemory b(4096);
  a.Fill(1);
  b.Fill(2);
  std::vector<int> order;
  file.Pause();
  file.Write(0, {a.piece()}, [&](Status) { order.push_back(1); });
  file.Write(0, {b.piece()}, [&](Status) {
    order.push_back(2);
    file.Write(4096, {a.piece()}, [&](Status) { order.push_back(4); });
  });
  IoMemory read(4096);
  file.Read(0, {read.piece()}, [&](Status) { order.push_back(3); });
  EXPECT_EQ(file.kept_count(), 3u);
  EXPECT_TRUE(order.empty());
  file.Resume();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_TRUE(read == b);
}

TEST(MemoryFile, PowerLossForgetsWhatWasNotSynced) {
  MemoryFile file(kMiB);
  IoMemory a(4096);
  IoMemory b(4096);
  a.Fill(1);
  b.Fill(2);
  ASSERT_TRUE(WriteNow(file, 0, {a.piece()}).has_value());
  ASSERT_TRUE(file.Sync().has_value());
  ASSERT_TRUE(WriteNow(file, 0, {b.piece()}).has_value());
  IoMemory read(4096);
  ASSERT_TRUE(ReadNow(file, 0, {read.piece()}).has_value());
  EXPECT_TRUE(read == b);
  file.LoseUnsynced();
  ASSERT_TRUE(ReadNow(file, 0, {read.piece()}).has_value());
  EXPECT_TRUE(read == a);
  EXPECT_EQ(file.sync_count(), 1u);
}

TEST(MemoryFile, GrowsOnlyAsFarAsItsHostHasRoom) {
  MemoryFile file(kMiB);
  file.SetRoom(kMiB);
  EXPECT_EQ(file.Grow(3 * kMiB).error().code, Errc::kNoSpace);
  EXPECT_TRUE(file.Grow(2 * kMiB).has_value());
  EXPECT_EQ(file.room_bytes(), 0u);
  EXPECT_FALSE(file.Grow(2 * kMiB + 1).has_value());
}

}  // namespace
}  // namespace terrace::io
