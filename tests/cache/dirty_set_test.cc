// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: dirty extents leave the set oldest first and when due, none is lost or counted twice.
// Method: extents of a cache on devices in memory; a clock that the test moves.
#include "cache/dirty_set.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/support/cache_fixture.h"

namespace terrace::cache {
namespace {

class DirtySetTest : public CacheFixture {
 protected:
  DirtySet& dirty() { return cache_->dirty(); }
  ExtentRef Small(bool open = false, uint64_t capacity = 0) {
    clock_.AdvanceNs(1);
    return AddDirty(PatternOf(1, 1000), open, capacity);
  }
  ExtentRef Large(size_t size = kAdoptSizeMin) {
    clock_.AdvanceNs(1);
    return AddDirty(PatternOf(2, size));
  }
  static DirtySet::Limits Everything() {
    return {.bytes_max = UINT64_MAX,
            .lazy_before_ns = INT64_MAX,
            .streaming_bytes_min = 0,
            .streaming_before_ns = INT64_MAX};
  }

  // Nanoseconds since the start of the test: each extent is born one later than the one before.
  static int64_t At(int64_t ns) { return 1'000'000'000'000 + ns; }
};

using Extents = std::vector<ExtentRef>;

TEST_F(DirtySetTest, LargeSealedExtentsStreamAndOthersAreLazy) {
  ExtentRef small = Small();
  ExtentRef large = Large();
  ExtentRef open = Small(true);
  EXPECT_EQ(dirty().streaming_bytes(), kAdoptSizeMin);
  EXPECT_EQ(dirty().OldestStreamingNs(), At(2));
  EXPECT_EQ(dirty().OldestLazyNs(), At(1));
  EXPECT_EQ(dirty().OldestNs(), At(1));
  // A batch of streaming extents that is full is taken whatever its age; lazy ones are not.
  Extents taken = dirty().Take({.bytes_max = kMiB,
                                .lazy_before_ns = 0,
                                .streaming_bytes_min = kAdoptSizeMin,
                                .streaming_before_ns = 0});
  EXPECT_EQ(taken, Extents{large});
  EXPECT_EQ(large->state(), ExtentState::kWriting);
  EXPECT_EQ(dirty().streaming_bytes(), 0u);
  dirty().PutBack(taken);
}

TEST_F(DirtySetTest, StreamingExtentsWaitForABatchOrTheirAge) {
  ExtentRef first = Large();   // born at 1
  ExtentRef second = Large();  // 2
  DirtySet::Limits limits{.bytes_max = kMiB,
                          .lazy_before_ns = 0,
                          .streaming_bytes_min = 3 * kAdoptSizeMin,
                          .streaming_before_ns = At(0)};
  EXPECT_TRUE(dirty().Take(limits).empty());
  limits.streaming_before_ns = At(1);
  Extents taken = dirty().Take(limits);
  EXPECT_EQ(taken, Extents{first});
  ExtentRef third = Large();
  ExtentRef fourth = Large();
  Extents more = dirty().Take(limits);
  EXPECT_EQ(more, (Extents{second, third, fourth}));
  dirty().PutBack(more);
  dirty().PutBack(taken);
  EXPECT_EQ(dirty().Take(Everything()), (Extents{first, second, third, fourth}));
  dirty().PutBack({first, second, third, fourth});
}

TEST_F(DirtySetTest, OldestLazyExtentsFirstWithinTheLimits) {
  Extents all;
  for (int i = 0; i < 5; i++) all.push_back(Small());
  DirtySet::Limits limits{.bytes_max = 2 * kBlockSize, .lazy_before_ns = At(3)};
  Extents taken = dirty().Take(limits);
  EXPECT_EQ(taken, (Extents{all[0], all[1]}));
  Extents rest = dirty().Take(limits);
  EXPECT_EQ(rest, Extents{all[2]});
  dirty().PutBack(rest);
  dirty().PutBack(taken);
}

TEST_F(DirtySetTest, SealedTailThatGrewLargeStreams) {
  ExtentRef tail = Small(true, kMiB);
  ASSERT_TRUE(tail->BeginCopy());
  tail->EndCopy(100 * kKiB);
  EXPECT_EQ(dirty().streaming_bytes(), 0u);
  dirty().Seal(*tail);
  dirty().Seal(*tail);  // nothing more to do
  EXPECT_EQ(tail->state(), ExtentState::kSealed);
  EXPECT_EQ(dirty().streaming_bytes(), kMiB);  // what it takes of the pool
  EXPECT_EQ(dirty().OldestLazyNs(), INT64_MAX);
  ExtentRef small = Small(true);
  dirty().Seal(*small);
  EXPECT_EQ(dirty().OldestLazyNs(), At(2));
}

TEST_F(DirtySetTest, ExtentThatIsBeingCopiedIntoIsPassedOver) {  // EXT-2
  ExtentRef tail = Small(true);
  ExtentRef other = Small();
  ASSERT_TRUE(tail->BeginCopy());
  Extents taken = dirty().Take(Everything());
  EXPECT_EQ(taken, Extents{other});
  EXPECT_TRUE(dirty().TakeThese({tail}).empty());
  tail->EndCopy(2000);
  Extents later = dirty().Take(Everything());
  EXPECT_EQ(later, Extents{tail});
  EXPECT_FALSE(tail->BeginCopy());
  dirty().PutBack({tail, other});
  EXPECT_FALSE(tail->BeginCopy());  // sealed for good
}

TEST_F(DirtySetTest, TakeTheseLeavesOutWhatIsOnNoQueue) {  // DIRTY-1
  ExtentRef a = Small();
  ExtentRef b = Large();
  ExtentRef c = Small();
  Extents first = dirty().TakeThese({b});
  EXPECT_EQ(first, Extents{b});
  EXPECT_EQ(dirty().TakeThese({a, b, a}), Extents{a});
  EXPECT_EQ(dirty().Waiting(), Extents{c});
  dirty().PutBack({a, b});
  EXPECT_EQ(dirty().Waiting().size(), 3u);
}

TEST_F(DirtySetTest, DirtyBytesAreWhatTheExtentsTakeOfThePool) {  // DIRTY-2
  ExtentRef open = Small(true, 64 * kKiB);
  ExtentRef large = Large(100 * kKiB);
  EXPECT_EQ(dirty().dirty_bytes(), 64 * kKiB + 100 * kKiB);
  Extents taken = dirty().TakeThese({open, large});
  EXPECT_EQ(dirty().dirty_bytes(), 164 * kKiB);  // still not durable
  dirty().PutBack(taken);
  taken.clear();
  open.reset();
  EXPECT_EQ(dirty().dirty_bytes(), 100 * kKiB);
  large.reset();
  EXPECT_EQ(dirty().dirty_bytes(), 0u);
  EXPECT_EQ(dirty().streaming_bytes(), 0u);
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
}

TEST_F(DirtySetTest, ReservationGoesBackWithTheExtent) {
  ExtentRef open = Small(true, 64 * kKiB);
  ASSERT_TRUE(store().Reserve(3).has_value());
  dirty().AddReservation(*open, 3);
  EXPECT_EQ(store().reserved_bytes(), 4 * kBlockSize);
  EXPECT_EQ(dirty().TakeReservation(*open), 4u);
  EXPECT_EQ(dirty().TakeReservation(*open), 0u);
  dirty().AddReservation(*open, 4);
  open.reset();
  EXPECT_EQ(store().reserved_bytes(), 0u);
}

// Extents die, are sealed, taken and put back on several threads at once.
TEST_F(DirtySetTest, NothingIsLostBetweenThreads) {  // DIRTY-1, DIRTY-2
  constexpr int kRounds = 300;
  auto write = [&](bool open) {
    for (int i = 0; i < kRounds; i++) {
      ExtentRef extent = AddDirty(PatternOf(3, 5000), open);
      if (open && extent->BeginCopy()) extent->EndCopy(6000);
      if (i % 3 == 0) dirty().Seal(*extent);
    }
  };
  std::atomic<bool> stop{false};
  std::thread taker([&] {
    while (!stop) {
      Extents taken = dirty().Take(Everything());
      dirty().PutBack(taken);
      dirty().CheckInvariants();
    }
  });
  std::thread one([&] { write(true); });
  std::thread two([&] { write(false); });
  one.join();
  two.join();
  stop = true;
  taker.join();
  EXPECT_EQ(dirty().dirty_bytes(), 0u);
  EXPECT_EQ(store().reserved_bytes(), 0u);
  EXPECT_TRUE(dirty().Waiting().empty());
}

}  // namespace
}  // namespace terrace::cache
