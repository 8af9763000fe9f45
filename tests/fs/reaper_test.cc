// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: everything enqueued is freed in bounded steps, Drain waits for it, the end does not hang.
// Method: a callback that counts, and one that blocks on a latch.
#include "fs/reaper.h"

#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <thread>

namespace terrace::fs {
namespace {

TEST(Reaper, FreesEachToItsEnd) {
  std::map<uint64_t, int> steps;  // only the reaper's thread and, after Drain, this one
  Reaper reaper(
      [&](InodeId inode) { return ++steps[inode.value()] < static_cast<int>(inode.value()); });
  reaper.Drain();
  for (uint64_t inode = 1; inode <= 20; inode++) reaper.Enqueue(InodeId(inode));
  reaper.Drain();
  ASSERT_EQ(steps.size(), 20u);
  for (const auto& [inode, count] : steps) EXPECT_EQ(count, static_cast<int>(inode));
}

TEST(Reaper, EnqueueDoesNotWaitForTheWork) {
  std::latch release(1);
  std::atomic<int> freed = 0;
  Reaper reaper([&](InodeId) {
    release.wait();
    freed++;
    return false;
  });
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
    Reaper reaper([&](InodeId) {
      if (steps++ == 0) started.count_down();
      release.wait();
      return true;  // never done
    });
    reaper.Enqueue(InodeId(1));
    reaper.Enqueue(InodeId(2));
    started.wait();
    release.count_down();
  }
  EXPECT_GT(steps, 0);
}

}  // namespace
}  // namespace terrace::fs
