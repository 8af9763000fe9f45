// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a device hands out only what exists, grows when it must, and stays right when it can't.
// Method: memory files with a bounded host, faults on growth, several threads that make it grow.
#include "io/device.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

struct TestDevice {
  TestDevice(uint64_t size_bytes, uint64_t capacity_bytes) {
    auto base = std::make_unique<MemoryFile>(size_bytes);
    memory = base.get();
    auto faulty = std::make_unique<FaultyFile>(std::move(base));
    faults = faulty.get();
    device = std::make_unique<Device>(DeviceId(0), std::move(faulty), MakeSuperblock(0, 1),
                                      capacity_bytes);
  }
  uint64_t free_blocks() const { return device->space().counts().free_blocks; }
  uint64_t file_blocks() const { return memory->size_bytes() / kBlockSize; }

  std::unique_ptr<Device> device;
  MemoryFile* memory;
  FaultyFile* faults;
};

uint64_t End(const std::vector<BlockRun>& runs) {
  uint64_t end = 0;
  for (BlockRun run : runs) end = std::max(end, run.end());
  return end;
}

TEST(Device, KeepsTheHeadForTheSuperblock) {
  TestDevice test(4 * kMiB, 0);
  EXPECT_EQ(test.device->capacity_bytes(), 4 * kMiB);
  EXPECT_EQ(test.free_blocks(), 1024 - kReservedBlocks);
  EXPECT_EQ(test.device->Allocate(1)->front().first, kReservedBlocks);
}

// DEVICE-1 and DEVICE-2.
TEST(Device, GrowsUpToItsCapacityAndNoFurther) {
  constexpr uint64_t kCapacity = 200 * kMiB;
  TestDevice test(kMiB, kCapacity);
  EXPECT_EQ(test.device->growable_bytes(), 199 * kMiB);
  uint64_t blocks = 0;
  for (;;) {
    Result<std::vector<BlockRun>> runs = test.device->Allocate(256);
    if (!runs) {
      EXPECT_EQ(runs.error().code, Errc::kNoSpace);
      break;
    }
    ASSERT_LE(End(*runs), test.file_blocks());
    ASSERT_LE(test.memory->size_bytes(), kCapacity);
    blocks += 256;
  }
  EXPECT_EQ(blocks, 199 * kMiB / kBlockSize);
  EXPECT_EQ(test.memory->size_bytes(), kCapacity);
  EXPECT_EQ(test.device->growable_bytes(), 0u);
  test.device->space().CheckInvariants();
}

TEST(Device, RatherGrowsThanScattersAndScattersRatherThanGivesUp) {
  TestDevice test(4 * kMiB, 68 * kMiB);
  ASSERT_TRUE(test.device->Allocate(768).has_value());
  for (uint64_t block = kReservedBlocks; block < 1024; block += 2) {
    test.device->space().FreeUncommitted({block, 1});
  }
  Result<std::vector<BlockRun>> runs = test.device->Allocate(8);
  ASSERT_TRUE(runs.has_value());
  EXPECT_EQ(runs->size(), 1u);
  EXPECT_EQ(test.memory->size_bytes(), 68 * kMiB);
  ASSERT_TRUE(test.device->Allocate(64 * kMiB / kBlockSize - 8).has_value());
  runs = test.device->Allocate(8);
  ASSERT_TRUE(runs.has_value());
  EXPECT_EQ(runs->size(), 8u);
  test.device->space().CheckInvariants();
}

TEST(Device, AFullHostIsNoSpaceAndTheSpaceStaysRight) {
  TestDevice test(2 * kMiB, kGiB);
  test.memory->SetRoom(3 * kMiB);
  EXPECT_EQ(test.device->growable_bytes(), 3 * kMiB);
  ASSERT_TRUE(test.device->Allocate(1024).has_value());  // 4 MiB: all there is
  EXPECT_EQ(test.memory->size_bytes(), 5 * kMiB);
  Result<std::vector<BlockRun>> more = test.device->Allocate(1);
  ASSERT_FALSE(more.has_value());
  EXPECT_EQ(more.error().code, Errc::kNoSpace);
  EXPECT_NE(more.error().context.find("memory"), std::string::npos);
  test.device->space().CheckInvariants();
  test.memory->SetRoom(kGiB);
  EXPECT_TRUE(test.device->Allocate(1).has_value());
}

TEST(Device, AFailedGrowthLeavesEverythingAsItWas) {
  TestDevice test(2 * kMiB, kGiB);
  test.faults->Arm({.kind = FaultKind::kFailGrow, .code = Errc::kIo});
  EXPECT_EQ(test.device->Allocate(1000).error().code, Errc::kNoSpace);
  EXPECT_EQ(test.free_blocks(), 256u);
  EXPECT_TRUE(test.device->Allocate(1000).has_value());
  test.device->space().CheckInvariants();
}

TEST(Device, ThreadsThatNeedSpaceTogetherGrowItOnce) {
  TestDevice test(kMiB, 64 * kMiB + kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; i++) EXPECT_TRUE(test.device->Allocate(256).has_value());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(test.free_blocks(), 0u);
  EXPECT_EQ(test.memory->size_bytes(), 65 * kMiB);
  test.device->space().CheckInvariants();
}

TEST(Device, KnowsWhetherABarrierIsNeeded) {
  TestDevice test(4 * kMiB, 0);
  EXPECT_FALSE(test.device->needs_barrier());
  test.device->NoteWritten(4096);
  uint64_t covered = test.device->write_count();
  test.device->NoteWritten(8192);
  EXPECT_TRUE(test.device->needs_barrier());
  test.device->NoteSynced(covered);
  EXPECT_TRUE(test.device->needs_barrier());
  test.device->NoteSynced(test.device->write_count());
  EXPECT_FALSE(test.device->needs_barrier());
  EXPECT_EQ(test.device->counters().written_bytes.load(), 12288u);
}

}  // namespace
}  // namespace terrace::io
