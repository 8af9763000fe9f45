// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: nobody is told "durable" whose data no good sync covers, and devices sync only if needed.
// Method: counting syncs of memory files; then threads against a file that keeps account.
#include "io/barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

TEST(Barrier, SyncsOnlyDevicesThatReceivedData) {
  FaultyStore test({.device_count = 3});
  ExtentStore& store = *test.store;
  EXPECT_TRUE(store.Sync().has_value());
  for (MemoryFile* memory : test.memories) EXPECT_EQ(memory->sync_count(), 0u);
  store.device(DeviceId(1)).NoteWritten(1);
  EXPECT_TRUE(store.Sync().has_value());
  EXPECT_TRUE(store.Sync().has_value());
  EXPECT_EQ(test.memories[0]->sync_count(), 0u);
  EXPECT_EQ(test.memories[1]->sync_count(), 1u);
  for (uint16_t i = 0; i < 3; i++) store.device(DeviceId(i)).NoteWritten(1);
  EXPECT_TRUE(store.Sync().has_value());
  EXPECT_EQ(test.memories[0]->sync_count(), 1u);
  EXPECT_EQ(test.memories[1]->sync_count(), 2u);
  EXPECT_EQ(test.memories[2]->sync_count(), 1u);
}

TEST(Barrier, OneFailingDeviceFailsTheRoundAndStaysDirty) {
  for (size_t failing = 0; failing < 3; failing++) {
    FaultyStore test({.device_count = 3});
    ExtentStore& store = *test.store;
    for (uint16_t i = 0; i < 3; i++) store.device(DeviceId(i)).NoteWritten(1);
    test.faults[failing]->Arm({.kind = FaultKind::kFailSync});
    Status status = store.Sync();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, Errc::kIo);
    EXPECT_EQ(store.failed_barriers(), 1u);
    for (size_t i = 0; i < 3; i++) {
      Device& device = store.device(DeviceId(static_cast<uint16_t>(i)));
      EXPECT_EQ(device.needs_barrier(), i == failing);
      EXPECT_EQ(device.counters().errors.load(), i == failing ? 1u : 0u);
    }
    EXPECT_TRUE(store.Sync().has_value());
    EXPECT_EQ(store.failed_barriers(), 1u);
  }
}

// Syncs like a host: a good one covers what arrived before it began; a bad one loses that for
// ever and is reported once.
class AccountingFile final : public File {
 public:
  explicit AccountingFile(uint64_t fail_every) : fail_every_(fail_every) {}

  void Read(uint64_t, std::vector<iovec>, IoDone done) override { done({}); }
  void Write(uint64_t, std::vector<iovec>, IoDone done) override { done({}); }
  Status Sync() override {
    uint64_t arrived = arrived_.load();
    std::this_thread::yield();
    MutexLock lock(mu_);
    sync_count_++;
    uint64_t from = covered_;
    covered_ = std::max(covered_, arrived);
    if (fail_every_ == 0 || sync_count_ % fail_every_ != 0) return {};
    for (uint64_t write = from; write < covered_; write++) lost_.push_back(write);
    return Fail(Errc::kIo, "the host lost something");
  }
  uint64_t size_bytes() const override { return 4 * kMiB; }
  Status Grow(uint64_t) override { return Fail(Errc::kUnsupported, "test"); }
  const std::string& path() const override { return path_; }

  // The number of the write that just arrived.
  uint64_t Arrive() { return arrived_++; }
  bool IsDurable(uint64_t write) {
    MutexLock lock(mu_);
    return write < covered_ && std::find(lost_.begin(), lost_.end(), write) == lost_.end();
  }

 private:
  const uint64_t fail_every_;
  const std::string path_ = "accounting";
  std::atomic<uint64_t> arrived_{0};
  Mutex mu_;
  uint64_t covered_ = 0;
  uint64_t sync_count_ = 0;
  std::vector<uint64_t> lost_;
};

class BarrierUnderLoad : public ::testing::TestWithParam<uint64_t> {};

// BARRIER-1, and BARRIER-2 with the rule of failure_count.
TEST_P(BarrierUnderLoad, SuccessMeansThatTheDataIsThere) {
  auto owned = std::make_unique<AccountingFile>(GetParam());
  AccountingFile& file = *owned;
  Device device(DeviceId(0), std::move(owned), MakeSuperblock(0, 1), 0);
  Barrier barrier({&device});
  std::atomic<uint64_t> success_count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; i++) {
        uint64_t failures_before = barrier.failure_count();
        uint64_t write = file.Arrive();
        device.NoteWritten(1);
        bool good = barrier.Wait().has_value() && barrier.failure_count() == failures_before;
        if (!good) continue;  // writes it again: a new number
        success_count++;
        ASSERT_TRUE(file.IsDurable(write));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(barrier.round_count(), 3000u);
  if (GetParam() == 0) {
    EXPECT_EQ(success_count.load(), 3000u);
  } else {
    EXPECT_GT(barrier.failure_count(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(FailEvery, BarrierUnderLoad, ::testing::Values(0, 2, 7));

}  // namespace
}  // namespace terrace::io
