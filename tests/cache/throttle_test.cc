// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: writers are held back exactly while too much is dirty, and nobody is forgotten.
// Method: a counter of dirty bytes that the test sets; callbacks that note their order.
#include "cache/throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/units.h"

namespace terrace::cache {
namespace {

class ThrottleTest : public ::testing::Test {
 protected:
  Throttle& Make(uint64_t high_water_bytes) {
    throttle_ = std::make_unique<Throttle>(high_water_bytes, [this] { return dirty_.load(); });
    return *throttle_;
  }
  void Admit(int number) {
    throttle_->Admit([this, number] { order_.push_back(number); });
  }

  std::atomic<uint64_t> dirty_{0};
  std::unique_ptr<Throttle> throttle_;
  std::vector<int> order_;
};

TEST_F(ThrottleTest, BelowTheMarkNobodyWaits) {
  Make(10 * kMiB);
  dirty_ = 10 * kMiB;
  Admit(1);
  EXPECT_EQ(order_, std::vector<int>{1});
  EXPECT_FALSE(throttle_->engaged());
}

TEST_F(ThrottleTest, AboveTheMarkAllWaitInOrder) {  // THROTTLE-1, THROTTLE-2
  Make(10 * kMiB);
  dirty_ = 10 * kMiB + 1;
  for (int i = 1; i <= 4; i++) Admit(i);
  throttle_->Update();
  EXPECT_TRUE(order_.empty());
  EXPECT_TRUE(throttle_->engaged());
  dirty_ = 8 * kMiB;  // room for two extents
  throttle_->Update();
  EXPECT_EQ(order_, (std::vector<int>{1, 2}));
  dirty_ = 5 * kMiB;
  throttle_->Update();
  EXPECT_EQ(order_, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_FALSE(throttle_->engaged());
}

TEST_F(ThrottleTest, NewcomersQueueBehindThoseWhoWait) {  // THROTTLE-1
  Make(10 * kMiB);
  dirty_ = 11 * kMiB;
  Admit(1);
  dirty_ = 9 * kMiB + 1;
  Admit(2);
  EXPECT_TRUE(order_.empty());
  dirty_ = 0;
  throttle_->Update();
  EXPECT_EQ(order_, (std::vector<int>{1, 2}));
}

// A mark below one extent must not hold anybody for ever.
TEST_F(ThrottleTest, MarkBelowOneExtentLetsGoToo) {
  for (uint64_t mark : {uint64_t{0}, uint64_t{1}, 300 * kKiB, kMiB - 1}) {
    order_.clear();
    Make(mark);
    dirty_ = mark + 1;
    Admit(1);
    Admit(2);
    EXPECT_TRUE(order_.empty()) << mark;
    dirty_ = 0;
    throttle_->Update();
    EXPECT_EQ(order_, (std::vector<int>{1, 2})) << mark;
  }
}

TEST_F(ThrottleTest, OpenGatesLetEverybodyGo) {  // THROTTLE-2
  Make(10 * kMiB);
  dirty_ = 100 * kMiB;
  Admit(1);
  Admit(2);
  throttle_->OpenGates();
  EXPECT_EQ(order_, (std::vector<int>{1, 2}));
  Admit(3);
  EXPECT_EQ(order_, (std::vector<int>{1, 2, 3}));
}

TEST_F(ThrottleTest, CallbackMayAdmitAgain) {
  Make(kMiB);
  dirty_ = 2 * kMiB;
  throttle_->Admit([this] { Admit(2); });
  dirty_ = 0;
  throttle_->Update();
  EXPECT_EQ(order_, std::vector<int>{2});
}

TEST_F(ThrottleTest, EachCallbackRunsOnceWhateverTheThreadsDo) {  // THROTTLE-1
  constexpr int kWriters = 4;
  constexpr int kWrites = 500;
  Make(4 * kMiB);
  std::atomic<int> ran{0};
  std::atomic<bool> stop{false};
  std::thread drain([&] {
    while (!stop) {
      dirty_ = dirty_ > 2 * kMiB ? 0 : 6 * kMiB;
      throttle_->Update();
    }
  });
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; i++) {
    writers.emplace_back([&] {
      for (int j = 0; j < kWrites; j++) throttle_->Admit([&] { ran++; });
    });
  }
  for (std::thread& writer : writers) writer.join();
  stop = true;
  drain.join();
  throttle_->OpenGates();
  EXPECT_EQ(ran, kWriters * kWrites);
}

}  // namespace
}  // namespace terrace::cache
