// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: FreeRunTree answers as a plain ordered map would, and RUNS-1, RUNS-2 and RUNS-3 hold.
// Method: small cases by hand, then random changes against std::map.
#include "io/free_run_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

namespace terrace::io {
namespace {

using Model = std::map<uint64_t, uint64_t>;  // first -> count

std::optional<BlockRun> ToRun(const Model& model, Model::const_iterator it) {
  if (it == model.end()) return std::nullopt;
  return BlockRun{it->first, it->second};
}

std::optional<BlockRun> ModelFirstFit(const Model& model, uint64_t block, uint64_t count) {
  auto it = model.lower_bound(block);
  while (it != model.end() && it->second < count) ++it;
  return ToRun(model, it);
}

std::optional<BlockRun> ModelAtOrBefore(const Model& model, uint64_t block) {
  auto it = model.upper_bound(block);
  if (it == model.begin()) return std::nullopt;
  return ToRun(model, std::prev(it));
}

TEST(FreeRunTree, EmptyFindsNothing) {
  FreeRunTree tree;
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(tree.longest(), 0u);
  EXPECT_FALSE(tree.AtOrBefore(UINT64_MAX).has_value());
  EXPECT_FALSE(tree.AtOrAfter(0).has_value());
  EXPECT_FALSE(tree.FirstFit(0, 1).has_value());
  EXPECT_TRUE(tree.Runs().empty());
  tree.CheckInvariants();
}

TEST(FreeRunTree, FindsByPositionAndLength) {
  FreeRunTree tree;
  tree.Insert({10, 5});
  tree.Insert({100, 1});
  tree.Insert({50, 20});
  EXPECT_EQ(tree.longest(), 20u);
  EXPECT_EQ(tree.AtOrBefore(49), (BlockRun{10, 5}));
  EXPECT_EQ(tree.AtOrBefore(50), (BlockRun{50, 20}));
  EXPECT_EQ(tree.AtOrAfter(51), (BlockRun{100, 1}));
  EXPECT_EQ(tree.FirstFit(0, 6), (BlockRun{50, 20}));
  EXPECT_EQ(tree.FirstFit(51, 1), (BlockRun{100, 1}));
  EXPECT_FALSE(tree.FirstFit(51, 2).has_value());
  tree.Erase(50);
  EXPECT_EQ(tree.longest(), 5u);
  tree.Replace(10, {12, 2});
  EXPECT_EQ(tree.Runs(), (std::vector<BlockRun>{{12, 2}, {100, 1}}));
  tree.CheckInvariants();
}

// RUNS-1, RUNS-2, RUNS-3.
TEST(FreeRunTree, AnswersAsAMapWould) {
  std::mt19937_64 random(7);
  FreeRunTree tree;
  Model model;
  for (int step = 0; step < 60000; step++) {
    uint64_t block = random() % 20000 * 10;  // slots of ten blocks, so that runs never touch
    auto found = model.find(block);
    BlockRun run{block, 1 + random() % 9};
    if (found == model.end()) {
      tree.Insert(run);
      model[block] = run.count;
    } else if (random() % 2 == 0) {
      tree.Erase(block);
      model.erase(found);
    } else {
      tree.Replace(block, run);
      found->second = run.count;
    }
    uint64_t place = random() % 210000;
    uint64_t count = 1 + random() % 9;
    ASSERT_EQ(tree.FirstFit(place, count), ModelFirstFit(model, place, count));
    ASSERT_EQ(tree.AtOrBefore(place), ModelAtOrBefore(model, place));
    ASSERT_EQ(tree.AtOrAfter(place), ToRun(model, model.lower_bound(place)));
    ASSERT_EQ(tree.run_count(), model.size());
    if (step % 5000 == 0) tree.CheckInvariants();
  }
  tree.CheckInvariants();
}

TEST(FreeRunTree, StaysShallowInTheWorstOrder) {
  // A tree that degenerates would overflow the stack here.
  FreeRunTree tree;
  constexpr uint64_t kRuns = 500000;
  for (uint64_t i = 0; i < kRuns; i++) tree.Insert({i * 3, 1 + i % 2});
  EXPECT_EQ(tree.run_count(), kRuns);
  EXPECT_FALSE(tree.FirstFit(0, 3).has_value());
  for (uint64_t i = 0; i < kRuns; i++) tree.Erase(i * 3);
  EXPECT_TRUE(tree.empty());
}

}  // namespace
}  // namespace terrace::io
