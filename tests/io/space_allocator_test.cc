// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: no block is ever lost, handed out twice, or handed out while it awaits a commit.
// Method: cases by hand, then random operations against an array with one state per block.
#include "io/space_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

namespace terrace::io {
namespace {

uint64_t Sum(const std::vector<BlockRun>& runs) {
  uint64_t sum = 0;
  for (BlockRun run : runs) sum += run.count;
  return sum;
}

TEST(SpaceAllocator, StartsWithAllButTheReservedBlocksFree) {
  SpaceAllocator space(100, 10);
  EXPECT_EQ(space.counts().capacity_blocks, 100u);
  EXPECT_EQ(space.counts().free_blocks, 90u);
  Result<std::vector<BlockRun>> all = space.Allocate(90);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(*all, (std::vector<BlockRun>{{10, 90}}));
  EXPECT_EQ(space.Allocate(1).error().code, Errc::kNoSpace);
  space.CheckInvariants();
}

TEST(SpaceAllocator, MayHaveNothingFree) {
  SpaceAllocator space(10, 10);
  EXPECT_FALSE(space.Allocate(1).has_value());
  EXPECT_FALSE(space.AllocateRun(1).has_value());
  space.CheckInvariants();
}

TEST(SpaceAllocator, AStreamLiesInOrder) {
  SpaceAllocator space(1000, 0);
  for (uint64_t i = 0; i < 10; i++) {
    EXPECT_EQ(space.Allocate(100).value(), (std::vector<BlockRun>{{i * 100, 100}}));
  }
}

TEST(SpaceAllocator, GoesOnWhereItWasAndWrapsAround) {
  SpaceAllocator space(100, 0);
  EXPECT_EQ(space.AllocateRun(60), (BlockRun{0, 60}));
  space.FreeUncommitted({0, 50});
  EXPECT_EQ(space.AllocateRun(30), (BlockRun{60, 30}));
  EXPECT_EQ(space.AllocateRun(20), (BlockRun{0, 20}));  // 10 blocks are left behind the cursor
  EXPECT_EQ(space.AllocateRun(10), (BlockRun{20, 10}));
  space.CheckInvariants();
}

TEST(SpaceAllocator, AFreeRunThatGrewBackwardsDoesNotMoveTheStream) {
  SpaceAllocator space(100, 0);
  EXPECT_EQ(space.AllocateRun(20), (BlockRun{0, 20}));
  space.FreeUncommitted({10, 10});  // joins the free run that begins at the cursor
  EXPECT_EQ(space.AllocateRun(20), (BlockRun{20, 20}));
}

TEST(SpaceAllocator, OneRunWhenAnyIsLongEnoughElsePieces) {
  SpaceAllocator space(100, 0);
  ASSERT_TRUE(space.Allocate(100).has_value());
  space.FreeUncommitted({0, 10});
  space.FreeUncommitted({20, 30});
  space.FreeUncommitted({60, 5});
  EXPECT_EQ(space.Allocate(30).value(), (std::vector<BlockRun>{{20, 30}}));
  EXPECT_FALSE(space.AllocateRun(12).has_value());
  Result<std::vector<BlockRun>> pieces = space.Allocate(12);
  ASSERT_TRUE(pieces.has_value());
  EXPECT_EQ(pieces->size(), 2u);
  EXPECT_EQ(Sum(*pieces), 12u);
  EXPECT_EQ(space.counts().free_blocks, 3u);
  EXPECT_FALSE(space.Allocate(4).has_value());
  EXPECT_EQ(space.counts().free_blocks, 3u);
  space.CheckInvariants();
}

TEST(SpaceAllocator, MarkAllocatedRefusesWhatIsTakenOrOutside) {
  SpaceAllocator space(100, 10);
  ASSERT_TRUE(space.MarkAllocated({20, 10}).has_value());
  for (BlockRun bad : {BlockRun{20, 10}, BlockRun{15, 10}, BlockRun{25, 10}, BlockRun{29, 1},
                       BlockRun{9, 2}, BlockRun{0, 1}, BlockRun{95, 6}, BlockRun{100, 1},
                       BlockRun{50, 0}, BlockRun{50, UINT64_MAX}, BlockRun{UINT64_MAX, 2}}) {
    Status marked = space.MarkAllocated(bad);
    ASSERT_FALSE(marked.has_value()) << bad.first << "+" << bad.count;
    EXPECT_EQ(marked.error().code, Errc::kCorrupt);
  }
  EXPECT_EQ(space.counts().free_blocks, 80u);
  ASSERT_TRUE(space.MarkAllocated({30, 70}).has_value());
  ASSERT_TRUE(space.MarkAllocated({10, 10}).has_value());
  EXPECT_EQ(space.counts().free_blocks, 0u);
  space.CheckInvariants();
}

// ALLOC-2.
TEST(SpaceAllocator, WhatIsHeldCountsAsFreeAndIsNotHandedOut) {
  SpaceAllocator space(100, 10);
  ASSERT_TRUE(space.Hold({20, 10}).has_value());
  EXPECT_EQ(space.counts().free_blocks, 90u);
  EXPECT_EQ(space.Hold({25, 10}).error().code, Errc::kCorrupt);
  EXPECT_FALSE(space.Allocate(81).has_value());
  ASSERT_TRUE(space.Allocate(80).has_value());
  space.CheckInvariants();
  space.EndHold({20, 10});
  EXPECT_EQ(space.Allocate(10).value(), (std::vector<BlockRun>{{20, 10}}));
  space.CheckInvariants();
}

TEST(SpaceAllocator, WhatAwaitsACommitIsNotHandedOutBeforeItsRelease) {
  SpaceAllocator space(100, 0);
  ASSERT_TRUE(space.Allocate(100).has_value());
  space.FreeAwaiting({0, 40});
  EXPECT_EQ(space.counts().awaiting_blocks, 40u);
  EXPECT_FALSE(space.Allocate(1).has_value());
  uint64_t first = space.SealAwaiting();
  space.FreeAwaiting({40, 10});
  uint64_t second = space.SealAwaiting();
  EXPECT_FALSE(space.Allocate(1).has_value());
  space.CheckInvariants();
  space.Release(second);  // tickets may come back in any order
  EXPECT_EQ(space.counts().free_blocks, 10u);
  EXPECT_EQ(space.Allocate(10).value(), (std::vector<BlockRun>{{40, 10}}));
  space.Release(first);
  EXPECT_EQ(space.counts().free_blocks, 40u);
  EXPECT_EQ(space.counts().awaiting_blocks, 0u);
  space.CheckInvariants();
}

TEST(SpaceAllocator, AnEmptySealIsReleasedToo) {
  SpaceAllocator space(10, 0);
  space.Release(space.SealAwaiting());
  EXPECT_EQ(space.counts().free_blocks, 10u);
}

TEST(SpaceAllocator, ExtendAddsFreeBlocks) {
  SpaceAllocator space(100, 0);
  ASSERT_TRUE(space.Allocate(95).has_value());
  space.Extend(200);
  space.Extend(150);  // smaller than it is: nothing
  EXPECT_EQ(space.counts().capacity_blocks, 200u);
  EXPECT_EQ(space.Allocate(105).value(), (std::vector<BlockRun>{{95, 105}}));
  space.CheckInvariants();
}

// ALLOC-1: what is free already can't be freed again.
TEST(SpaceAllocatorDeathTest, FreeingTwiceIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SpaceAllocator space(100, 0);
  ASSERT_TRUE(space.Allocate(50).has_value());
  space.FreeUncommitted({10, 10});
  EXPECT_DEATH(space.FreeUncommitted({15, 1}), "assertion failed");
  EXPECT_DEATH(space.FreeUncommitted({5, 6}), "assertion failed");
  EXPECT_DEATH(space.FreeAwaiting({19, 2}), "assertion failed");
  EXPECT_DEATH(space.FreeUncommitted({99, 2}), "assertion failed");
}

// One state per block, the plainest truth there is.
class BlockModel {
 public:
  enum State : uint8_t { kFree, kAllocated, kAwaiting };

  BlockModel(uint64_t capacity, uint64_t reserved) : states_(capacity, kFree) {
    std::fill_n(states_.begin(), reserved, kAllocated);
  }
  void Move(BlockRun run, State from, State to) {
    ASSERT_LE(run.end(), states_.size());
    for (uint64_t i = run.first; i < run.end(); i++) {
      ASSERT_EQ(states_[i], from) << "block " << i;
      states_[i] = to;
    }
  }
  uint64_t Count(State state) const {
    return static_cast<uint64_t>(std::count(states_.begin(), states_.end(), state));
  }
  uint64_t LongestFree() const {
    uint64_t longest = 0;
    uint64_t here = 0;
    for (State state : states_) {
      here = state == kFree ? here + 1 : 0;
      longest = std::max(longest, here);
    }
    return longest;
  }

 private:
  std::vector<State> states_;
};

// ALLOC-1, ALLOC-2 and ALLOC-3 against the model.
TEST(SpaceAllocator, RandomOperationsAgreeWithOneStatePerBlock) {
  constexpr uint64_t kCapacity = 2000;
  constexpr uint64_t kReserved = 16;
  std::mt19937_64 random(42);
  SpaceAllocator space(kCapacity, kReserved);
  BlockModel model(kCapacity, kReserved);
  std::vector<BlockRun> held;
  std::vector<BlockRun> awaiting;
  std::vector<std::pair<uint64_t, std::vector<BlockRun>>> sealed;
  auto take_one = [&](auto& from) {
    std::swap(from[random() % from.size()], from.back());
    auto one = from.back();
    from.pop_back();
    return one;
  };
  for (int step = 0; step < 30000; step++) {
    uint64_t choice = random() % 10;
    if (choice < 5) {
      uint64_t count = 1 + random() % 40;
      uint64_t longest = model.LongestFree();
      Result<std::vector<BlockRun>> runs = space.Allocate(count);
      ASSERT_EQ(runs.has_value(), count <= model.Count(BlockModel::kFree));
      if (!runs) continue;
      ASSERT_EQ(Sum(*runs), count);
      ASSERT_TRUE(count > longest || runs->size() == 1);
      for (BlockRun run : *runs) model.Move(run, BlockModel::kFree, BlockModel::kAllocated);
      held.insert(held.end(), runs->begin(), runs->end());
    } else if (choice < 7 && !held.empty()) {
      BlockRun run = take_one(held);
      space.FreeUncommitted(run);
      model.Move(run, BlockModel::kAllocated, BlockModel::kFree);
    } else if (choice < 9 && !held.empty()) {
      BlockRun run = take_one(held);
      space.FreeAwaiting(run);
      model.Move(run, BlockModel::kAllocated, BlockModel::kAwaiting);
      awaiting.push_back(run);
    } else if (random() % 2 == 0) {
      sealed.emplace_back(space.SealAwaiting(), std::move(awaiting));
      awaiting.clear();
    } else if (!sealed.empty()) {
      auto [ticket, runs] = take_one(sealed);
      space.Release(ticket);
      for (BlockRun run : runs) model.Move(run, BlockModel::kAwaiting, BlockModel::kFree);
    }
    ASSERT_FALSE(HasFatalFailure());
    SpaceAllocator::Counts counts = space.counts();
    ASSERT_EQ(counts.free_blocks, model.Count(BlockModel::kFree));
    ASSERT_EQ(counts.awaiting_blocks, model.Count(BlockModel::kAwaiting));
    if (step % 100 == 0) space.CheckInvariants();
  }
}

TEST(SpaceAllocator, ThreadsNeverGetTheSameBlock) {
  SpaceAllocator space(100000, 100);
  std::array<std::vector<BlockRun>, 4> held;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < held.size(); t++) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 3000; i++) {
        Result<std::vector<BlockRun>> runs = space.Allocate(1 + random() % 8);
        if (runs) held[t].insert(held[t].end(), runs->begin(), runs->end());
        if (random() % 3 == 0 && !held[t].empty()) {
          space.FreeUncommitted(held[t].back());
          held[t].pop_back();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BlockModel model(100000, 100);
  for (const auto& runs : held) {
    for (BlockRun run : runs) model.Move(run, BlockModel::kFree, BlockModel::kAllocated);
  }
  EXPECT_EQ(space.counts().free_blocks, model.Count(BlockModel::kFree));
  space.CheckInvariants();
}

}  // namespace
}  // namespace terrace::io
