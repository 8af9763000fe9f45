// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: everything enqueued is freed in bounded steps, Drain waits for it, the end does not hang.
// Method: a callback that counts, and one that blocks on a latch.
#include "fs/reaper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <span>
#include <vector>

namespace terrace::fs {
namespace {

constexpr size_t kBatchMax = 7;

TEST(Reaper, FreesEachToItsEnd) {
  std::map<uint64_t, int> steps;  // only the reaper's thread and, after Drain, this one
  size_t longest = 0;
  Reaper reaper(
      [&](std::span<const InodeId> inodes) {
        std::vector<InodeId> left;
        for (InodeId inode : inodes) {
          if (++steps[inode.value()] < static_cast<int>(inode.value())) left.push_back(inode);
        }
        longest = std::max(longest, inodes.size());
        return left;
      },
      kBatchMax);
  reaper.Drain();
  for (uint64_t inode = 1; inode <= 20; inode++) reaper.Enqueue(InodeId(inode));
  reaper.Drain();
  ASSERT_EQ(steps.size(), 20u);
  for (const auto& [inode, count] : steps) EXPECT_EQ(count, static_cast<int>(inode));
  EXPECT_EQ(longest, kBatchMax);
}

// Later ones of the same batch are done; an earlier one is not.
TEST(Reaper, DrainWaitsForTheEarlierOnes) {
  std::latch enqueued(1);
  std::atomic<int> steps = 0;
  Reaper reaper(
      [&](std::span<const InodeId> inodes) {
        enqueued.wait();
        return ++steps < 5 ? std::vector<InodeId>{inodes.front()} : std::vector<InodeId>{};
      },
      kBatchMax);
  for (uint64_t inode = 1; inode <= 3; inode++) reaper.Enqueue(InodeId(inode));
  enqueued.count_down();
  reaper.Drain();
  EXPECT_GE(steps, 5);
}

TEST(Reaper, EnqueueDoesNotWaitForTheWork) {
  std::latch release(1);
  std::atomic<int> freed = 0;
  Reaper reaper(
      [&](std::span<const InodeId> inodes) {
        release.wait();
        freed += static_cast<int>(inodes.size());
        return std::vector<InodeId>{};
      },
      kBatchMax);
  for (uint64_t inode = 1; inode <= 100; inode++) reaper.Enqueue(InodeId(inode));
  EXPECT_EQ(freed, 0);
  release.count_down();
  reaper.Drain();
  EXPECT_EQ(freed, 100);
}

TEST(Reaper, EndLeavesTheRest) {
  std::latch started(1);
  std::latch release(1);
  std::atomic<int> steps = 0;
  {
    Reaper reaper(
        [&](std::span<const InodeId> inodes) {
          if (steps++ == 0) started.count_down();
          release.wait();
          return std::vector<InodeId>(inodes.begin(), inodes.end());  // never done
        },
        kBatchMax);
    reaper.Enqueue(InodeId(1));
    reaper.Enqueue(InodeId(2));
    started.wait();
    release.count_down();
  }
  EXPECT_GT(steps, 0);
}

}  // namespace
}  // namespace terrace::fs
