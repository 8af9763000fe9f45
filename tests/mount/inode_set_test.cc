// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: InodeSet is a set, whatever is inserted and erased.
// Method: random operations beside std::set (seed printed).
#include "mount/inode_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace terrace::mount {
namespace {

TEST(InodeSetTest, EmptyHoldsNothing) {
  InodeSet set;
  EXPECT_EQ(set.size(), 0u);
  EXPECT_FALSE(set.Contains(InodeId(1)));
  set.Erase(InodeId(1));
  std::vector<InodeId> all;
  set.TakeAll(all);
  EXPECT_TRUE(all.empty());
}

TEST(InodeSetTest, LikeStdSet) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  InodeSet set;
  std::set<InodeId> model;
  for (int step = 0; step < 200'000; step++) {
    // Few numbers, so that runs form and break; sometimes more than half are in.
    const InodeId inode(1 + random() % 500);
    if (random() % 100 < (step / 20'000 % 2 == 0 ? 60u : 40u)) {
      set.Insert(inode);
      model.insert(inode);
    } else {
      set.Erase(inode);
      model.erase(inode);
    }
    ASSERT_EQ(set.size(), model.size());
    const InodeId probe(1 + random() % 500);
    ASSERT_EQ(set.Contains(probe), model.contains(probe));
  }
  std::vector<InodeId> all;
  set.TakeAll(all);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, std::vector<InodeId>(model.begin(), model.end()));
  EXPECT_EQ(set.size(), 0u);
}

}  // namespace
}  // namespace terrace::mount
