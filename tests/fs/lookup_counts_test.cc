// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: counts are right under any mix of additions and removals, and memory follows their number.
// Method: random operations against std::map (seed printed), then a million entries.
#include "fs/lookup_counts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace terrace::fs {
namespace {

TEST(LookupCounts, AgreesWithAMap) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  LookupCounts counts;
  std::map<InodeId, uint64_t> model;
  for (int step = 0; step < 200000; step++) {
    // Grows, shrinks to nothing, grows again.
    const bool add = random() % 100 < (step / 50000 % 2 == 0 ? 60 : 30);
    const InodeId id(1 + random() % 3000 * 16);  // as in one shard
    if (add) {
      counts.Add(id);
      model[id]++;
    } else {
      const uint64_t count = 1 + random() % 3;
      const uint64_t left = model[id] > count ? model[id] - count : 0;
      EXPECT_EQ(counts.Subtract(id, count), left);
      if (left == 0) {
        model.erase(id);
      } else {
        model[id] = left;
      }
    }
  }
  EXPECT_EQ(counts.size(), model.size());
  for (uint64_t i = 1; i <= 3000 * 16; i++) {
    auto found = model.find(InodeId(i));
    ASSERT_EQ(counts.CountOf(InodeId(i)), found == model.end() ? 0 : found->second);
  }
}

TEST(LookupCounts, UnknownAndEmpty) {
  LookupCounts counts;
  EXPECT_EQ(counts.CountOf(InodeId(5)), 0u);
  EXPECT_EQ(counts.Subtract(InodeId(5), 1), 0u);
  counts.Add(InodeId(5));
  EXPECT_EQ(counts.Subtract(InodeId(6), 1), 0u);
  EXPECT_EQ(counts.Subtract(InodeId(5), 100), 0u);
  EXPECT_EQ(counts.size(), 0u);
}

TEST(LookupCounts, AMillionInodesTakeLittleMemory) {
  LookupCounts counts;
  for (uint64_t i = 1; i <= 1'000'000; i++) counts.Add(InodeId(i));
  EXPECT_EQ(counts.size(), 1'000'000u);
  EXPECT_LE(counts.MemoryBytes(), 24u << 20);
  for (uint64_t i = 1; i <= 1'000'000; i++) ASSERT_EQ(counts.Subtract(InodeId(i), 1), 0u);
  EXPECT_LE(counts.MemoryBytes(), 4096u);
}

}  // namespace
}  // namespace terrace::fs
