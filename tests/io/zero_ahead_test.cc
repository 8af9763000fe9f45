// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: space ahead becomes written zeros, nothing in use is touched, and it keeps its bounds.
// Method: steps by hand over memory and real files; then the thread beside writers.
#include "io/zero_ahead.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

ZeroAhead::Options ByHand(uint64_t ahead_bytes) {
  return {.ahead_bytes = ahead_bytes, .idle = std::chrono::milliseconds(1), .run_thread = false};
}

size_t StepAll(ZeroAhead& zero_ahead, Device& device) {
  size_t steps = 0;
  while (steps < 10000 && zero_ahead.Step(device)) steps++;
  return steps;
}

TEST(ZeroAhead, WritesAheadOfTheCursorAndOnlyThere) {
  FaultyStore test({.device_size_bytes = 400 * kMiB});
  Device& device = test.store->device(DeviceId(0));
  ASSERT_TRUE(device.Allocate(1000).has_value());
  uint64_t begin = (kReservedBlocks + 1000) * kBlockSize;
  ZeroAhead zero_ahead(*test.store, ByHand(8 * kMiB));
  EXPECT_EQ(StepAll(zero_ahead, device), 8u);
  EXPECT_EQ(zero_ahead.zeroed_bytes(), 8 * kMiB);
  MemoryFile& memory = *test.memories[0];
  EXPECT_EQ(memory.FirstUnwritten(0, 400 * kMiB), 0u);
  EXPECT_EQ(memory.FirstUnwritten(begin - 4096, 400 * kMiB), begin - 4096);
  EXPECT_EQ(memory.FirstUnwritten(begin, 400 * kMiB), begin + 8 * kMiB);
  EXPECT_EQ(device.space().counts().free_blocks, 400 * kMiB / kBlockSize - 256 - 1000);
  device.space().CheckInvariants();
  EXPECT_FALSE(device.needs_barrier());
  EXPECT_EQ(device.counters().written_bytes.load(), 0u);
}

TEST(ZeroAhead, GoesOnWhenSpaceWasUsed) {
  FaultyStore test({.device_size_bytes = 400 * kMiB});
  Device& device = test.store->device(DeviceId(0));
  ZeroAhead zero_ahead(*test.store, ByHand(4 * kMiB));
  EXPECT_EQ(StepAll(zero_ahead, device), 4u);
  EXPECT_EQ(StepAll(zero_ahead, device), 0u);
  ASSERT_TRUE(device.Allocate(512).has_value());
  EXPECT_EQ(StepAll(zero_ahead, device), 2u);
}

TEST(ZeroAhead, GrowsTheFileBeforeAnybodyWaitsForIt) {
  FaultyStore test({.device_size_bytes = kMiB, .capacity_bytes = 2 * kGiB});
  Device& device = test.store->device(DeviceId(0));
  ZeroAhead zero_ahead(*test.store, ByHand(300 * kMiB));
  EXPECT_GT(StepAll(zero_ahead, device), 300u);
  EXPECT_GT(test.memories[0]->size_bytes(), 300 * kMiB);
  EXPECT_LT(test.memories[0]->size_bytes(), kGiB);
  EXPECT_EQ(zero_ahead.zeroed_bytes(), 300 * kMiB);
}

TEST(ZeroAhead, TakesNoSpaceWhereItIsShort) {
  FaultyStore test({.device_size_bytes = 400 * kMiB});
  Device& device = test.store->device(DeviceId(0));
  ZeroAhead zero_ahead(*test.store, ByHand(8 * kMiB));
  ASSERT_TRUE(test.store->Reserve(200 * kMiB / kBlockSize).has_value());
  EXPECT_EQ(StepAll(zero_ahead, device), 0u);
  test.store->Unreserve(200 * kMiB / kBlockSize);
  EXPECT_EQ(StepAll(zero_ahead, device), 8u);
}

TEST(ZeroAhead, AFailedWriteGivesTheSpaceBack) {
  FaultyStore test({.device_size_bytes = 400 * kMiB});
  Device& device = test.store->device(DeviceId(0));
  ZeroAhead zero_ahead(*test.store, ByHand(8 * kMiB));
  uint64_t free_before = device.space().counts().free_blocks;
  test.faults[0]->Arm({.kind = FaultKind::kFailWrite});
  EXPECT_FALSE(zero_ahead.Step(device));
  EXPECT_EQ(device.space().counts().free_blocks, free_before);
  EXPECT_EQ(device.counters().errors.load(), 1u);
}

TEST(ZeroAhead, RealFilesTellWhatIsUnwritten) {
  IoTempDirectory directory;
  auto file = MakeUringFile(directory / "file", 400 * kMiB);
  if (file->FirstUnwritten(kMiB, 400 * kMiB) != kMiB) {
    GTEST_SKIP() << "the file system here does not tell preallocated space from written";
  }
  File* raw = file.get();
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(
      std::make_unique<Device>(DeviceId(0), std::move(file), MakeSuperblock(0, 1), 0));
  ExtentStore store(std::move(devices));
  ZeroAhead zero_ahead(store, ByHand(4 * kMiB));
  EXPECT_EQ(StepAll(zero_ahead, store.device(DeviceId(0))), 4u);
  EXPECT_EQ(raw->FirstUnwritten(kMiB, 400 * kMiB), 5 * kMiB);
}

TEST(ZeroAhead, TheThreadWorksBesideWritersAndEndsWhenTold) {
  FaultyStore test({.device_count = 2, .device_size_bytes = 400 * kMiB});
  IoMemory memory(kMiB);
  memory.Fill(6);
  std::vector<ExtentRecord> records;
  {
    ZeroAhead zero_ahead(
        *test.store,
        {.ahead_bytes = 32 * kMiB, .idle = std::chrono::milliseconds(0), .run_thread = true});
    for (int i = 0; i < 64; i++) {
      ExtentWrite write;
      write.data = memory.data();
      write.size_bytes = kExtentSizeMax;
      WrittenBatch written = WriteBatchNow(*test.store, {write});
      ASSERT_TRUE(written.status.has_value());
      records.push_back(written.batch[0].record);
    }
  }
  for (const ExtentRecord& record : records) {
    IoMemory read(kMiB);
    ASSERT_TRUE(ReadExtentNow(*test.store, record, 0, 16, read.data()).has_value());
    ASSERT_TRUE(read == memory);
  }
  for (uint16_t i = 0; i < 2; i++) test.store->device(DeviceId(i)).space().CheckInvariants();
}

}  // namespace
}  // namespace terrace::io
