// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what a batch wrote is read back verified, in any part; failures cost no space, no bytes.
// Method: edge sizes over memory and real files, then faults, full devices and power loss.
#include "io/extent_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

// Memory for one extent, filled, with rubbish in the padding.
struct TestExtent {
  explicit TestExtent(uint32_t size_bytes, uint64_t seed = 1)
      : size_bytes(size_bytes), memory(size_bytes) {
    memory.Fill(seed);
  }
  ExtentWrite Write() const {
    ExtentWrite write;
    write.data = memory.data();
    write.size_bytes = size_bytes;
    return write;
  }
  uint32_t size_bytes;
  IoMemory memory;
};

using Extents = std::vector<std::unique_ptr<TestExtent>>;

Extents MakeExtents(const std::vector<uint32_t>& sizes) {
  Extents extents;
  for (size_t i = 0; i < sizes.size(); i++) {
    extents.push_back(std::make_unique<TestExtent>(sizes[i], i + 1));
  }
  return extents;
}

std::vector<ExtentWrite> MakeBatch(const Extents& extents) {
  std::vector<ExtentWrite> batch;
  for (const auto& extent : extents) batch.push_back(extent->Write());
  return batch;
}

constexpr uint32_t kMiB32 = 1 << 20;
const std::vector<uint32_t> kEdgeSizes = {1,     4095,  4096,  4097,   65535,      65536,
                                          65537, 69632, 70000, 131072, kMiB32 - 1, kMiB32};

class ExtentStoreOn : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::vector<std::unique_ptr<Device>> devices;
    for (uint16_t i = 0; i < 3; i++) {
      std::string name = "device" + std::to_string(i);
      std::unique_ptr<File> file = std::make_unique<MemoryFile>(32 * kMiB);
      if (GetParam()) file = MakeUringFile(directory_ / name, 32 * kMiB);
      devices.push_back(
          std::make_unique<Device>(DeviceId(i), std::move(file), MakeSuperblock(i, 3), 0));
    }
    store_ = std::make_unique<ExtentStore>(std::move(devices));
  }
  IoTempDirectory directory_;
  std::unique_ptr<ExtentStore> store_;
};

TEST_P(ExtentStoreOn, ReadsBackWhatItWroteWholeAndInParts) {
  Extents extents = MakeExtents(kEdgeSizes);
  WrittenBatch written = WriteBatchNow(*store_, MakeBatch(extents));
  ASSERT_TRUE(written.status.has_value());
  ASSERT_TRUE(store_->Sync().has_value());
  for (size_t i = 0; i < extents.size(); i++) {
    const ExtentRecord& record = written.batch[i].record;
    ASSERT_EQ(record.size_bytes, kEdgeSizes[i]);
    ASSERT_EQ(record.checksums.size(), ChecksumCount(kEdgeSizes[i]));
    EXPECT_EQ(record.reference_count, 0u);
    auto count = static_cast<uint32_t>(record.checksums.size());
    for (uint32_t first = 0; first < count; first++) {
      uint64_t begin = first * kChecksumBlockSize;
      for (uint32_t some : {1u, 2u, count - first}) {
        if (first + some > count) continue;
        uint64_t end = std::min<uint64_t>(begin + some * kChecksumBlockSize, kEdgeSizes[i]);
        IoMemory read(end - begin);
        ASSERT_TRUE(ReadExtentNow(*store_, record, first, some, read.data()).has_value());
        // The padding was zeroed in the writer's memory, and so on the device.
        ASSERT_EQ(std::memcmp(read.data(), extents[i]->memory.data() + begin, read.size()), 0);
      }
    }
    const IoMemory& memory = extents[i]->memory;
    for (size_t at = kEdgeSizes[i]; at < memory.size(); at++) {
      ASSERT_EQ(memory.data()[at], std::byte{0});
    }
  }
}

TEST_P(ExtentStoreOn, CountsBytesAndSpacePerDevice) {
  uint64_t free_before = store_->free_bytes();
  EXPECT_EQ(free_before, 3 * 31 * kMiB);
  EXPECT_EQ(store_->capacity_bytes(), 96 * kMiB);
  Extents extents = MakeExtents({kMiB32, kMiB32, kMiB32});
  WrittenBatch written = WriteBatchNow(*store_, MakeBatch(extents));
  ASSERT_TRUE(written.status.has_value());
  IoMemory read(kMiB);
  ASSERT_TRUE(ReadExtentNow(*store_, written.batch[0].record, 0, 16, read.data()).has_value());
  std::vector<DeviceStatus> statuses = store_->Statuses();
  ASSERT_EQ(statuses.size(), 3u);
  for (const DeviceStatus& status : statuses) {
    EXPECT_EQ(status.size_bytes, 32 * kMiB);
    EXPECT_EQ(status.used_bytes, 2 * kMiB);  // one extent, and the head of the device
    EXPECT_EQ(status.written_bytes, kMiB);
    EXPECT_EQ(status.errors, 0u);
  }
  EXPECT_EQ(statuses[0].read_bytes + statuses[1].read_bytes + statuses[2].read_bytes, kMiB);
  EXPECT_EQ(store_->free_bytes(), free_before - 3 * kMiB);
  for (const ExtentWrite& write : written.batch) store_->FreeUncommitted(write.record);
  EXPECT_EQ(store_->free_bytes(), free_before);
}

INSTANTIATE_TEST_SUITE_P(Files, ExtentStoreOn, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Uring" : "Memory"; });

TEST(ExtentStore, AnEmptyBatchIsDoneAtOnce) {
  FaultyStore test({});
  EXPECT_TRUE(WriteBatchNow(*test.store, {}).status.has_value());
}

TEST(ExtentStore, AnExtentInPiecesIsReadWhole) {
  FaultyStore test({.device_size_bytes = 4 * kMiB});
  SpaceAllocator& space = test.store->device(DeviceId(0)).space();
  ASSERT_TRUE(space.Allocate(768).has_value());
  for (uint64_t block = 300; block < 1000; block += 2) space.FreeUncommitted({block, 1});
  Extents extents = MakeExtents({kMiB32});
  WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
  ASSERT_TRUE(written.status.has_value());
  EXPECT_EQ(written.batch[0].record.runs.size(), 256u);
  for (uint32_t first : {0u, 3u, 15u}) {
    IoMemory read(kChecksumBlockSize);
    ASSERT_TRUE(
        ReadExtentNow(*test.store, written.batch[0].record, first, 1, read.data()).has_value());
    EXPECT_EQ(std::memcmp(read.data(), extents[0]->memory.data() + first * kChecksumBlockSize,
                          kChecksumBlockSize),
              0);
  }
}

// STORE-1.
TEST(ExtentStore, AFailedWriteGivesEveryBlockBackAndNoRecord) {
  for (uint64_t after = 0; after < 2; after++) {
    for (FaultKind kind : {FaultKind::kFailWrite, FaultKind::kTearWrite}) {
      FaultyStore test({.device_count = 2});
      uint64_t free_before = test.store->free_bytes();
      test.faults[1]->Arm({.kind = kind, .after = after});
      Extents extents = MakeExtents({kMiB32, kMiB32, kMiB32, kMiB32, 100, 200});
      WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
      ASSERT_FALSE(written.status.has_value());
      EXPECT_EQ(written.status.error().code, Errc::kIo);
      ASSERT_EQ(written.batch.size(), 6u);
      for (const ExtentWrite& write : written.batch) EXPECT_EQ(write.record, ExtentRecord{});
      EXPECT_EQ(test.store->free_bytes(), free_before);
      EXPECT_EQ(test.store->Statuses()[1].errors, 1u);
      EXPECT_EQ(test.store->Statuses()[0].errors, 0u);
      test.store->device(DeviceId(1)).space().CheckInvariants();
      // Nothing is lost: the same memory can be written again.
      EXPECT_TRUE(WriteBatchNow(*test.store, MakeBatch(extents)).status.has_value());
    }
  }
}

// STORE-1.
TEST(ExtentStore, ABatchThatDoesNotFitChangesNothing) {
  FaultyStore test({.device_count = 2, .device_size_bytes = 3 * kMiB});
  uint64_t free_before = test.store->free_bytes();
  Extents extents = MakeExtents({kMiB32, 10, kMiB32, kMiB32, kMiB32});
  WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
  ASSERT_FALSE(written.status.has_value());
  EXPECT_EQ(written.status.error().code, Errc::kNoSpace);
  ASSERT_EQ(written.batch.size(), 5u);
  for (const ExtentWrite& write : written.batch) EXPECT_EQ(write.record, ExtentRecord{});
  EXPECT_EQ(test.store->free_bytes(), free_before);
}

// STORE-2.
TEST(ExtentStore, DamagedBytesAreNeverHandedOutAsGood) {
  FaultyStore test({.device_count = 2});
  Extents extents = MakeExtents({kMiB32, 5000});
  WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
  ASSERT_TRUE(written.status.has_value());
  for (FaultKind kind : {FaultKind::kFlipBit, FaultKind::kZeroBlock}) {
    for (const ExtentWrite& write : written.batch) {
      FaultyFile& faults = *test.faults[write.record.device.value()];
      uint64_t errors = test.store->Statuses()[write.record.device.value()].errors;
      faults.Arm({.kind = kind});
      IoMemory read(write.size_bytes);
      auto count = static_cast<uint32_t>(write.record.checksums.size());
      Status status = ReadExtentNow(*test.store, write.record, 0, count, read.data());
      ASSERT_FALSE(status.has_value());
      EXPECT_EQ(status.error().code, Errc::kCorrupt);
      std::string block = "block " + std::to_string(write.record.runs[0].first);
      EXPECT_NE(status.error().context.find(block), std::string::npos) << status.error().context;
      EXPECT_NE(status.error().context.find("expected "), std::string::npos);
      EXPECT_NE(status.error().context.find("memory"), std::string::npos);
      EXPECT_EQ(test.store->Statuses()[write.record.device.value()].errors, errors + 1);
      EXPECT_TRUE(ReadExtentNow(*test.store, write.record, 0, count, read.data()).has_value());
    }
  }
}

// STORE-2: writes that the device swallowed, tore or put elsewhere are found out when reading.
TEST(ExtentStore, ALostWriteIsFoundWhenItIsRead) {
  FaultyStore test({});
  test.faults[0]->Arm({.kind = FaultKind::kLoseWrite});
  Extents extents = MakeExtents({70000});
  WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
  ASSERT_TRUE(written.status.has_value());
  IoMemory read(70000);
  Status status = ReadExtentNow(*test.store, written.batch[0].record, 0, 2, read.data());
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Errc::kCorrupt);
}

TEST(ExtentStore, AFailedReadIsAnErrorOfItsDevice) {
  FaultyStore test({});
  Extents extents = MakeExtents({4096});
  WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
  test.faults[0]->Arm({.kind = FaultKind::kFailRead});
  IoMemory read(4096);
  Status status = ReadExtentNow(*test.store, written.batch[0].record, 0, 1, read.data());
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Errc::kIo);
  EXPECT_EQ(test.store->Statuses()[0].errors, 1u);
}

TEST(ExtentStore, ARecordOfAnUnknownDeviceIsDamage) {
  FaultyStore test({});
  ExtentRecord record{.size_bytes = 10,
                      .reference_count = 1,
                      .device = DeviceId(7),
                      .runs = {{300, 1}},
                      .checksums = {1}};
  IoMemory read(4096);
  EXPECT_EQ(ReadExtentNow(*test.store, record, 0, 1, read.data()).error().code, Errc::kCorrupt);
  EXPECT_EQ(test.store->MarkAllocated(record).error().code, Errc::kCorrupt);
  record.device = DeviceId(0);
  EXPECT_TRUE(test.store->MarkAllocated(record).has_value());
  Status twice = test.store->MarkAllocated(record);
  ASSERT_FALSE(twice.has_value());
  EXPECT_EQ(twice.error().code, Errc::kCorrupt);
  EXPECT_NE(twice.error().context.find("memory0"), std::string::npos);
}

TEST(ExtentStore, WhatASyncCoveredSurvivesAPowerLoss) {
  FaultyStore test({.device_count = 2});
  Extents extents = MakeExtents({kMiB32, kMiB32, 100});
  WrittenBatch durable = WriteBatchNow(*test.store, MakeBatch(extents));
  ASSERT_TRUE(test.store->Sync().has_value());
  WrittenBatch lost = WriteBatchNow(*test.store, MakeBatch(extents));
  for (MemoryFile* memory : test.memories) memory->LoseUnsynced();
  for (size_t i = 0; i < 3; i++) {
    IoMemory read(extents[i]->size_bytes);
    auto count = ChecksumCount(extents[i]->size_bytes);
    EXPECT_TRUE(
        ReadExtentNow(*test.store, durable.batch[i].record, 0, count, read.data()).has_value());
    EXPECT_FALSE(
        ReadExtentNow(*test.store, lost.batch[i].record, 0, count, read.data()).has_value());
  }
}

TEST(ExtentStore, FreedSpaceComesBackWithTheTicketOfItsCommit) {
  FaultyStore test({.device_count = 3});
  uint64_t free_before = test.store->free_bytes();
  Extents extents = MakeExtents({kMiB32, kMiB32, kMiB32, kMiB32});
  WrittenBatch written = WriteBatchNow(*test.store, MakeBatch(extents));
  for (const ExtentWrite& write : written.batch) test.store->FreeAwaiting(write.record);
  uint64_t ticket = test.store->SealAwaiting();
  EXPECT_EQ(test.store->free_bytes(), free_before - 4 * kMiB);
  uint64_t later = test.store->SealAwaiting();
  EXPECT_NE(later, ticket);
  test.store->Release(later);
  EXPECT_EQ(test.store->free_bytes(), free_before - 4 * kMiB);
  test.store->Release(ticket);
  EXPECT_EQ(test.store->free_bytes(), free_before);
}

TEST(ExtentStore, ReserveNeverPromisesMoreThanThereIs) {
  FaultyStore test({.device_count = 1, .device_size_bytes = 2 * kMiB});
  EXPECT_TRUE(test.store->Reserve(200).has_value());
  EXPECT_EQ(test.store->reserved_bytes(), 200 * kBlockSize);
  Status refused = test.store->Reserve(57);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kNoSpace);
  EXPECT_EQ(test.store->reserved_bytes(), 200 * kBlockSize);
  EXPECT_TRUE(test.store->Reserve(56).has_value());
  test.store->Unreserve(256);
  EXPECT_EQ(test.store->reserved_bytes(), 0u);
}

TEST(ExtentStore, ReserveGrowsTheDataFilesNow) {
  FaultyStore test({.device_count = 2, .device_size_bytes = kMiB, .capacity_bytes = 128 * kMiB});
  EXPECT_EQ(test.store->free_bytes(), 254 * kMiB);
  ASSERT_TRUE(test.store->Reserve(100 * kMiB / kBlockSize).has_value());
  EXPECT_GE(test.memories[0]->size_bytes() + test.memories[1]->size_bytes(), 101 * kMiB);
  ASSERT_TRUE(test.store->Reserve(152 * kMiB / kBlockSize).has_value());
  EXPECT_EQ(test.memories[0]->size_bytes(), 128 * kMiB);
  EXPECT_FALSE(test.store->Reserve(2 * kMiB / kBlockSize).has_value());
}

TEST(ExtentStore, AFullHostRefusesTheReservationNotTheWrite) {
  FaultyStore test({.device_count = 1, .device_size_bytes = 2 * kMiB, .capacity_bytes = kGiB});
  test.memories[0]->SetRoom(2 * kMiB);
  EXPECT_EQ(test.store->free_bytes(), 3 * kMiB);
  EXPECT_TRUE(test.store->Reserve(3 * kMiB / kBlockSize).has_value());
  Status refused = test.store->Reserve(1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kNoSpace);
  Extents extents = MakeExtents({kMiB32, kMiB32, kMiB32});
  EXPECT_TRUE(WriteBatchNow(*test.store, MakeBatch(extents)).status.has_value());
}

// STORE-3.
TEST(ExtentStore, WhatWasReservedCanBePlacedToTheLastBlock) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; round++) {
    FaultyStore test({.device_count = 3, .device_size_bytes = 6 * kMiB});
    std::vector<uint32_t> sizes;
    for (;;) {
      auto size_bytes = static_cast<uint32_t>(1 + random() % kExtentSizeMax);
      if (!test.store->Reserve(BlockCount(size_bytes))) break;
      sizes.push_back(size_bytes);
    }
    while (test.store->Reserve(1)) sizes.push_back(4096);
    std::shuffle(sizes.begin(), sizes.end(), random);
    for (uint32_t size_bytes : sizes) {
      Extents extents = MakeExtents({size_bytes});
      ASSERT_TRUE(WriteBatchNow(*test.store, MakeBatch(extents)).status.has_value());
      test.store->Unreserve(BlockCount(size_bytes));
    }
    EXPECT_EQ(test.store->reserved_bytes(), 0u);
  }
}

}  // namespace
}  // namespace terrace::io
