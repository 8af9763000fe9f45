// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: locks exclude, waits end, threads are named and joined, clocks go forward; a broken
// assertion says where. Method: a few threads that would race if it were not so.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_latch.h"
#include "base/thread.h"

namespace terrace {
namespace {

TEST(MutexTest, ExcludesAndWakes) {
  struct Shared {
    Mutex mu;
    CondVar changed;
    int count TERRACE_GUARDED_BY(mu) = 0;
  } shared;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; i++) {
      threads.emplace_back("counter", [&] {
        for (int j = 0; j < 1000; j++) {
          MutexLock lock(shared.mu);
          shared.count++;
          if (shared.count == 4000) shared.changed.NotifyAll();
        }
      });
    }
    MutexLock lock(shared.mu);
    while (shared.count < 4000) shared.changed.Wait(shared.mu);
    EXPECT_FALSE(shared.changed.WaitFor(shared.mu, std::chrono::milliseconds(1)));
  }
  std::optional<bool> taken;
  MutexLock lock(shared.mu);
  Thread other("try", [&] {
    taken = shared.mu.TryLock();
    if (*taken) shared.mu.Unlock();
  });
  other.Join();
  EXPECT_EQ(taken, false);
}

TEST(MutexTest, SharedLocksLetReadersIn) {
  SharedMutex mu;
  int value = 0;
  {
    ReaderLock lock(mu);
    Thread reader("reader", [&] {
      ReaderLock inner(mu);
      EXPECT_EQ(value, 0);
      EXPECT_FALSE(mu.TryLock());
    });
    reader.Join();
  }
  std::vector<Thread> writers;
  for (int i = 0; i < 4; i++) {
    writers.emplace_back("writer", [&] {
      for (int j = 0; j < 500; j++) {
        WriterLock lock(mu);
        value++;
      }
    });
  }
  writers.clear();
  EXPECT_EQ(value, 2000);
}

TEST(StatusLatchTest, WaitsForTheCallback) {
  for (int i = 0; i < 200; i++) {
    StatusLatch latch;
    Thread other("setter", [&] { latch.Set(i % 2 == 0 ? Status{} : Fail(Errc::kIo, "x")); });
    EXPECT_EQ(latch.Wait().has_value(), i % 2 == 0);
    other.Join();
  }
}

TEST(ThreadTest, IsNamedAndJoined) {
  std::string name;
  {
    Thread thread("a-name-of-more-than-15-bytes", [&] {
      char text[16] = {};
      pthread_getname_np(pthread_self(), text, sizeof text);
      name = text;
    });
    Thread moved = std::move(thread);
  }
  EXPECT_EQ(name, "a-name-of-more-");
  Thread none;
  none.Join();
}

TEST(ClockTest, SystemClockGoesForwardAndManualOnlyWhenTold) {
  SystemClock system;
  int64_t before = system.MonotonicNs();
  EXPECT_GE(system.MonotonicNs(), before);
  EXPECT_GT(system.WallNs(), 1'700'000'000'000'000'000);
  ManualClock manual(5);
  manual.AdvanceNs(10);
  EXPECT_EQ(manual.WallNs(), 15);
  EXPECT_EQ(manual.MonotonicNs(), 15);
}

TEST(AssertDeathTest, SaysWhatBrokeAndWhere) {
  EXPECT_DEATH(TERRACE_ASSERT(1 + 1 == 3), "assertion failed: 1 \\+ 1 == 3 at .*threads_test.cc");
  TERRACE_ASSERT(1 + 1 == 2);
}

}  // namespace
}  // namespace terrace
