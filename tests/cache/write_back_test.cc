// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what was accepted becomes durable by itself, in the order that the invariants ask for, and
// nothing is lost when devices or commits fail.
// Method: devices in memory that pause, fail and lose what was not synced; a recording commit sink.
#include "cache/write_back.h"

#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>

#include "tests/support/cache_fixture.h"

namespace terrace::cache {
namespace {

constexpr int64_t kNever = 3'600'000'000'000;  // an hour

using Extents = std::vector<ExtentRef>;

// Lets the time of a manual clock go by, fast, as long as it lives.
class PassingTime {
 public:
  explicit PassingTime(ManualClock& clock)
      : thread_([this, &clock] {
          while (!stop_) {
            clock.AdvanceNs(10'000'000);
            std::this_thread::yield();
          }
        }) {}
  ~PassingTime() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class WriteBackTest : public CacheFixture {
 protected:
  explicit WriteBackTest(size_t device_count = 1) : CacheFixture(device_count) {}
  ~WriteBackTest() override {
    if (write_back_ != nullptr) Stop();
  }

  void Start(int64_t delay_ns, uint64_t high_water_bytes = 12 * kMiB,
             uint64_t dirty_extents_max = 100'000) {
    WriteBack::Options options;
    options.delay_ns = delay_ns;
    options.high_water_bytes = high_water_bytes;
    options.dirty_extents_max = dirty_extents_max;
    write_back_ = std::make_unique<WriteBack>(*cache_, store(), sink_, clock_, options);
    cache_->SetMakeRoom([this] { write_back_->Hurry(); });
    write_back_->Start();
  }
  Status Stop() {
    Status stopped = write_back_->Stop();
    write_back_.reset();
    cache_->SetMakeRoom(nullptr);
    return stopped;
  }
  Status Flush(Extents extents) {
    StatusLatch done;
    write_back_->Flush(std::move(extents), [&](Status status) { done.Set(std::move(status)); });
    return done.Wait();
  }
  Status FlushAll() {
    StatusLatch done;
    write_back_->FlushAll([&](Status status) { done.Set(std::move(status)); });
    return done.Wait();
  }
  // What the device has of the extent, by the record that was committed for it.
  std::string OnDevice(ExtentId id) {
    io::ExtentRecord record = sink_.RecordOf(id);
    io::IoMemory into(record.size_bytes);
    auto blocks = static_cast<uint32_t>(record.checksums.size());
    Status read = io::ReadExtentNow(store(), record, 0, blocks, into.data());
    if (!read) return Describe(read.error());
    return std::string(AsText({into.data(), record.size_bytes}));
  }

  RecordingSink sink_;
  std::unique_ptr<WriteBack> write_back_;
};

TEST_F(WriteBackTest, FlushMakesDurable) {
  Start(kNever);
  std::string bytes = PatternOf(1, 300'000);
  ExtentRef extent = AddDirty(bytes);
  ExtentRef open = AddDirty(PatternOf(2, 10), true);
  ASSERT_TRUE(Flush({extent, open}).has_value());
  EXPECT_TRUE(extent->durable());
  EXPECT_TRUE(open->durable());
  memory().LoseUnsynced();
  EXPECT_EQ(OnDevice(extent->id()), bytes);
  EXPECT_EQ(OnDevice(open->id()), PatternOf(2, 10));
  EXPECT_EQ(cache_->dirty().dirty_bytes(), 0u);
  EXPECT_EQ(store().reserved_bytes(), 0u);
  EXPECT_EQ(write_back_->OldestDirtyNs(), INT64_MAX);
  EXPECT_EQ(write_back_->barrier_count(), 1u);
}

TEST_F(WriteBackTest, NothingIsNamedBeforeItIsDurable) {  // COMMIT-1
  sink_.before_commit = [&](const Extents& extents) {
    memory().LoseUnsynced();  // a power loss at the worst moment
    for (const ExtentRef& extent : extents) {
      io::IoMemory into(extent->size_bytes());
      auto blocks = static_cast<uint32_t>(extent->record().checksums.size());
      EXPECT_TRUE(io::ReadExtentNow(store(), extent->record(), 0, blocks, into.data()).has_value());
    }
  };
  Start(kNever);
  for (int i = 0; i < 20; i++) {
    ASSERT_TRUE(Flush({AddDirty(PatternOf(i, 5000)), AddDirty(PatternOf(i, 200'000))}).has_value());
  }
}

TEST_F(WriteBackTest, FlushWaitsForNobodyElse) {
  Start(kNever);
  ExtentRef other = AddDirty(PatternOf(1, 1000));
  ExtentRef tail = AddDirty(PatternOf(2, 1000), true);
  ExtentRef mine = AddDirty(PatternOf(3, 1000));
  ASSERT_TRUE(Flush({mine}).has_value());
  EXPECT_TRUE(mine->durable());
  EXPECT_EQ(other->state(), ExtentState::kSealed);
  EXPECT_EQ(tail->state(), ExtentState::kOpen);
}

TEST_F(WriteBackTest, ConcurrentFlushesShareABarrier) {
  constexpr int kFlushes = 16;
  std::latch in_first_commit(1);
  std::latch all_wait(1);
  std::atomic<bool> first{true};
  sink_.before_commit = [&](const Extents&) {
    if (!first.exchange(false)) return;
    in_first_commit.count_down();
    all_wait.wait();
  };
  Start(kNever);
  std::latch done(kFlushes);
  write_back_->Flush({AddDirty(PatternOf(1, 1000))}, [&](Status) { done.count_down(); });
  in_first_commit.wait();
  Extents extents;
  for (int i = 1; i < kFlushes; i++) {
    extents.push_back(AddDirty(PatternOf(1, 1000)));
    write_back_->Flush({extents.back()}, [&](Status status) {
      EXPECT_TRUE(status.has_value());
      done.count_down();
    });
  }
  // All of them reach the device while the first commit goes on.
  for (const ExtentRef& extent : extents) {
    while (extent->state() != ExtentState::kWritten) std::this_thread::yield();
  }
  all_wait.count_down();
  done.wait();
  EXPECT_EQ(write_back_->barrier_count(), 2u);
}

// A flush is done when its extents are named, never between device and commit.
TEST_F(WriteBackTest, FlushIsNotDoneBeforeItsExtentsAreCommitted) {
  Start(kNever);
  std::atomic<bool> stop{false};
  std::thread others([&] {
    while (!stop) EXPECT_TRUE(Flush({}).has_value());  // keeps the commit thread looking
  });
  std::vector<std::thread> flushers;
  for (int thread = 0; thread < 3; thread++) {
    flushers.emplace_back([&] {
      for (int i = 0; i < 300; i++) {
        ExtentRef extent = AddDirty(PatternOf(i, 3000));
        ASSERT_TRUE(Flush({extent}).has_value());
        EXPECT_TRUE(sink_.Committed(extent->id()));
        EXPECT_TRUE(extent->durable());
      }
    });
  }
  for (std::thread& flusher : flushers) flusher.join();
  stop = true;
  others.join();
}

TEST_F(WriteBackTest, StreamsAreWrittenEarlyWithoutAnyCall) {
  Start(kNever);
  Extents extents;
  for (int i = 0; i < 5; i++) {
    extents.push_back(AddDirty(PatternOf(i, kMiB)));
    write_back_->Kick();
  }
  while (extents.front()->state() < ExtentState::kWritten) std::this_thread::yield();
  clock_.AdvanceNs(1'000'000'000);  // and committed by themselves
  write_back_->Kick();
  sink_.WaitCommitted(4);
}

TEST_F(WriteBackTest, DirtyDataAgesOut) {
  Start(20'000'000);
  ExtentRef lazy = AddDirty(PatternOf(1, 1000));
  ExtentRef tail = AddDirty(PatternOf(1, 1000), true);
  EXPECT_LT(write_back_->OldestDirtyNs(), INT64_MAX);
  clock_.AdvanceNs(21'000'000);
  while (lazy->state() < ExtentState::kWritten || tail->state() < ExtentState::kWritten) {
    std::this_thread::yield();
  }
  clock_.AdvanceNs(600'000'000);
  sink_.WaitCommitted(2);
  while (write_back_->OldestDirtyNs() != INT64_MAX) std::this_thread::yield();
}

TEST_F(WriteBackTest, FailedWriteIsReportedAndTriedAgain) {
  Start(kNever);
  fault().Arm({.kind = io::FaultKind::kFailWrite});
  ExtentRef hit = AddDirty(PatternOf(1, 70'000));
  EXPECT_EQ(Flush({hit}).error().code, Errc::kIo);
  EXPECT_EQ(sink_.ErrorsOf(hit->id()), 1);
  EXPECT_EQ(hit->state(), ExtentState::kSealed);
  EXPECT_EQ(cache_->dirty().dirty_bytes(), RoundUp(70'000, kBlockSize));
  EXPECT_EQ(store().reserved_bytes(), RoundUp(70'000, kBlockSize));
  clock_.AdvanceNs(2'000'000'000);
  ASSERT_TRUE(Flush({hit}).has_value());
  EXPECT_EQ(OnDevice(hit->id()), PatternOf(1, 70'000));
  EXPECT_EQ(store().reserved_bytes(), 0u);
}

// After a failed barrier the device may have dropped what it covered, and the next barrier does
// not tell: the bytes must go out again.
TEST_F(WriteBackTest, FailedBarrierHasTheDataWrittenAgain) {  // COMMIT-1
  Start(kNever);
  uint64_t free_before = FreeBlocks();
  ExtentRef extent = AddDirty(PatternOf(1, 70'000));
  fault().Arm({.kind = io::FaultKind::kFailSync});
  EXPECT_EQ(Flush({extent}).error().code, Errc::kIo);
  EXPECT_EQ(sink_.ErrorsOf(extent->id()), 1);
  EXPECT_FALSE(sink_.Committed(extent->id()));
  memory().LoseUnsynced();  // it did drop it
  EXPECT_EQ(store().reserved_bytes(), RoundUp(70'000, kBlockSize));
  EXPECT_EQ(FreeBlocks(), free_before);
  clock_.AdvanceNs(2'000'000'000);
  ASSERT_TRUE(Flush({extent}).has_value());
  memory().LoseUnsynced();
  EXPECT_EQ(OnDevice(extent->id()), PatternOf(1, 70'000));
  EXPECT_EQ(store().reserved_bytes(), 0u);
  EXPECT_EQ(FreeBlocks(), free_before - BlockCount(70'000));
}

class TwoDeviceWriteBackTest : public WriteBackTest {
 protected:
  TwoDeviceWriteBackTest() : WriteBackTest(2) {}
};

// Data that was on its way while a barrier failed is as doubtful as what the barrier covered.
TEST_F(TwoDeviceWriteBackTest, WritesInFlightDuringAFailedBarrierGoOutAgain) {  // COMMIT-1
  Start(kNever);
  memory(1).Pause();
  ExtentRef a = AddDirty(PatternOf(1, 70'000));
  ExtentRef b = AddDirty(PatternOf(2, 70'000));
  StatusLatch both;
  write_back_->Flush({a, b}, [&](Status status) { both.Set(std::move(status)); });
  while (memory(1).kept_count() == 0) std::this_thread::yield();
  // One of the two is on device 0, the other one is kept. Now a barrier of device 0 fails.
  fault(0).Arm({.kind = io::FaultKind::kFailSync});
  ExtentRef c = AddDirty(PatternOf(3, 70'000));
  EXPECT_EQ(Flush({c}).error().code, Errc::kIo);
  memory(1).Resume();
  PassingTime time(clock_);  // for the pause after an error
  EXPECT_TRUE(both.Wait().has_value());
  ASSERT_TRUE(Flush({c}).has_value());
  EXPECT_EQ(store().Statuses()[0].written_bytes + store().Statuses()[1].written_bytes,
            2 * 3 * RoundUp(70'000, kBlockSize));
  memory(0).LoseUnsynced();
  memory(1).LoseUnsynced();
  EXPECT_EQ(OnDevice(a->id()), PatternOf(1, 70'000));
  EXPECT_EQ(OnDevice(b->id()), PatternOf(2, 70'000));
  EXPECT_EQ(OnDevice(c->id()), PatternOf(3, 70'000));
  EXPECT_EQ(store().reserved_bytes(), 0u);
}

TEST_F(WriteBackTest, FailedCommitIsTriedAgain) {
  Start(kNever);
  sink_.FailCommits(1);
  ExtentRef extent = AddDirty(PatternOf(1, 1000));
  EXPECT_EQ(Flush({extent}).error().code, Errc::kIo);
  EXPECT_EQ(sink_.ErrorsOf(extent->id()), 1);
  ASSERT_TRUE(Flush({extent}).has_value());
  EXPECT_TRUE(extent->durable());
}

TEST_F(WriteBackTest, FreedSpaceWaitsForASuccessfulSync) {  // COMMIT-4
  Start(kNever);
  ExtentRef extent = AddDirty(PatternOf(1, 400'000));
  ASSERT_TRUE(Flush({extent}).has_value());
  uint64_t free_before = FreeBlocks();
  ExtentId id = extent->id();
  io::ExtentRecord record = extent->record();
  extent.reset();
  cache_->Retire(id, record);
  EXPECT_EQ(FreeBlocks(), free_before);
  sink_.FailSyncs(2);
  EXPECT_FALSE(Flush({}).has_value());
  EXPECT_FALSE(Flush({}).has_value());
  EXPECT_EQ(FreeBlocks(), free_before);
  ASSERT_TRUE(Flush({}).has_value());
  EXPECT_EQ(FreeBlocks(), free_before + BlockCount(400'000));
  EXPECT_EQ(AwaitingBlocks(), 0u);
}

// Overwritten or removed on its way to the device: a flush of everything frees its blocks, too.
TEST_F(WriteBackTest, ExtentThatNobodyNamesGivesItsBlocksBack) {
  sink_.is_named = [](const Extent&) { return false; };
  Start(kNever);
  uint64_t free_before = FreeBlocks();
  ExtentRef dropped = AddDirty(PatternOf(1, 100'000));
  ExtentId id = dropped->id();
  dropped.reset();  // never written at all
  dropped = AddDirty(PatternOf(1, 100'000));
  id = dropped->id();
  write_back_->Flush({std::exchange(dropped, nullptr)}, [](Status) {});
  ASSERT_TRUE(FlushAll().has_value());
  EXPECT_TRUE(sink_.Committed(id));
  EXPECT_EQ(FreeBlocks(), free_before);
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
}

TEST_F(WriteBackTest, FlushAllTakesWhatIsAnywhereOnItsWay) {
  std::latch in_commit(1);
  std::latch go_on(1);
  std::atomic<bool> first{true};
  sink_.before_commit = [&](const Extents&) {
    if (!first.exchange(false)) return;
    in_commit.count_down();
    go_on.wait();
  };
  Start(kNever);
  ExtentRef committing = AddDirty(PatternOf(1, 1000));
  std::latch unused(1);
  write_back_->Flush({committing}, [&](Status) { unused.count_down(); });
  in_commit.wait();
  sink_.FailCommits(1);  // the commit under way will fail
  ExtentRef written = AddDirty(PatternOf(2, 1000));
  write_back_->Flush({written}, [](Status) {});
  while (written->state() != ExtentState::kWritten) std::this_thread::yield();
  memory().Pause();
  ExtentRef in_flight = AddDirty(PatternOf(3, 1000));
  write_back_->Flush({in_flight}, [](Status) {});
  while (memory().kept_count() == 0) std::this_thread::yield();
  ExtentRef waiting = AddDirty(PatternOf(4, 1000), true);
  StatusLatch all;
  write_back_->FlushAll([&](Status status) { all.Set(std::move(status)); });
  go_on.count_down();
  memory().Resume();
  ASSERT_TRUE(all.Wait().has_value());
  for (const ExtentRef& extent : {committing, written, in_flight, waiting}) {
    EXPECT_TRUE(extent->durable());
  }
}

// The device of an extent that is being committed fails its barrier while a flush of everything
// comes: the flush must not report success without it.
TEST_F(WriteBackTest, FlushAllCountsWhatABarrierThrowsBack) {
  Start(kNever);
  PassingTime time(clock_);
  for (int round = 0; round < 3; round++) {
    fault().Arm({.kind = io::FaultKind::kFailSync});
    ExtentRef extent = AddDirty(PatternOf(1, 1000));
    write_back_->Flush({extent}, [](Status) {});
    bool flushed = FlushAll().has_value();
    EXPECT_TRUE(!flushed || extent->durable());
    ASSERT_TRUE(FlushAll().has_value());
    EXPECT_TRUE(extent->durable());
    fault().Disarm();
  }
}

TEST_F(WriteBackTest, StopWritesEverythingThoughADeviceFailsForAMoment) {
  Start(kNever);
  Extents extents;
  for (int i = 0; i < 3000; i++) extents.push_back(AddDirty(PatternOf(i, 100)));
  fault().Arm({.kind = io::FaultKind::kFailWrite, .times = 2});
  PassingTime time(clock_);  // for the pause after an error
  EXPECT_TRUE(Stop().has_value());
  for (const ExtentRef& extent : extents) EXPECT_TRUE(extent->durable());
}

TEST_F(WriteBackTest, StopGivesUpOnADeadDeviceAndSaysSo) {
  Start(kNever);
  ExtentRef extent = AddDirty(PatternOf(1, 1000));
  fault().Arm({.kind = io::FaultKind::kFailSync, .times = io::Fault::kForever});
  PassingTime time(clock_);
  EXPECT_EQ(Stop().error().code, Errc::kIo);
  EXPECT_FALSE(extent->durable());
  extent.reset();
  EXPECT_EQ(store().reserved_bytes(), 0u);
}

// Writers far faster than the devices: all are served, and memory stays within the pool.
TEST_F(WriteBackTest, ThrottledWritersAreAllServed) {  // THROTTLE-2
  constexpr int kWriters = 4;
  constexpr int kWrites = 60;
  Start(kNever, 3 * kMiB);
  std::atomic<uint64_t> dirty_max{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; i++) {
    writers.emplace_back([&] {
      for (int j = 0; j < kWrites; j++) {
        ExtentRef extent = AddDirty(PatternOf(1, j % 5 == 0 ? 3000 : kMiB));
        uint64_t dirty = cache_->dirty().dirty_bytes();
        uint64_t before = dirty_max.load();
        while (before < dirty && !dirty_max.compare_exchange_weak(before, dirty)) {
        }
        StatusLatch admitted;
        write_back_->Kick();
        write_back_->throttle().Admit([&] { admitted.Set({}); });
        ASSERT_TRUE(admitted.Wait().has_value());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_LE(dirty_max, 3 * kMiB + 2 * kWriters * kMiB);
  EXPECT_LE(pool_->counts().used_bytes, pool_->counts().size_bytes);
}

// Each dirty extent takes memory beside the pool, however small it is.
TEST_F(WriteBackTest, ManySmallExtentsAreWrittenBeforeTheirTime) {
  constexpr uint64_t kExtentsMax = 200;
  Start(kNever, 1024 * kMiB, kExtentsMax);
  Extents extents;
  for (uint64_t i = 0; i < kExtentsMax / 2; i++) extents.push_back(AddDirty(PatternOf(i, 100)));
  EXPECT_EQ(cache_->dirty().dirty_count(), kExtentsMax / 2);
  EXPECT_FALSE(write_back_->throttle().engaged());
  for (uint64_t i = 0; i < kExtentsMax; i++) extents.push_back(AddDirty(PatternOf(i, 100)));
  PassingTime time(clock_);
  while (cache_->dirty().dirty_count() > kExtentsMax / 2) std::this_thread::yield();
}

TEST_F(WriteBackTest, ExhaustedPoolDrainsThroughAllocation) {
  Start(kNever, 1024 * kMiB);  // nothing is ever throttled
  for (int i = 0; i < 100; i++) ASSERT_NE(AddDirty(PatternOf(1, kMiB)), nullptr);
  Extents kept;
  for (int i = 0; i < 100; i++) kept.push_back(AddDirty(PatternOf(i, kMiB)));
  ASSERT_TRUE(FlushAll().has_value());
  cache_->EvictAll();
  for (int i = 0; i < 100; i++) EXPECT_EQ(ReadWhole(kept[i]).value(), PatternOf(i, kMiB));
}

}  // namespace
}  // namespace terrace::cache
