// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: large extents go round the devices, small ones are packed, neighbours become one write.
// Method: batches of known sizes on fresh, nearly full and fragmented memory devices.
#include "io/batch_placement.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

struct Devices {
  explicit Devices(size_t count, uint64_t size_bytes = 16 * kMiB) {
    for (size_t i = 0; i < count; i++) {
      list.push_back(std::make_unique<Device>(
          DeviceId(static_cast<uint16_t>(i)), std::make_unique<MemoryFile>(size_bytes),
          MakeSuperblock(static_cast<uint32_t>(i), static_cast<uint32_t>(count)), 0));
    }
  }
  uint64_t free_blocks() const {
    uint64_t sum = 0;
    for (const auto& device : list) sum += device->space().counts().free_blocks;
    return sum;
  }
  std::vector<std::unique_ptr<Device>> list;
  std::atomic<uint64_t> cursor{0};
};

// Extents one after another in one memory.
std::vector<ExtentWrite> MakeBatch(const IoMemory& memory, const std::vector<uint32_t>& sizes) {
  std::vector<ExtentWrite> batch;
  std::byte* data = memory.data();
  for (uint32_t size_bytes : sizes) {
    ExtentWrite write;
    write.data = data;
    write.size_bytes = size_bytes;
    batch.push_back(std::move(write));
    data += BlockCount(size_bytes) * kBlockSize;
  }
  EXPECT_LE(data, memory.data() + memory.size());
  return batch;
}

uint64_t BlockSum(const std::vector<BlockRun>& runs) {
  uint64_t sum = 0;
  for (BlockRun run : runs) sum += run.count;
  return sum;
}

// Every piece of every write carries the memory of the extent that owns the block.
void ExpectSegmentsMatch(const std::vector<Segment>& segments,
                         const std::vector<ExtentWrite>& batch) {
  std::set<std::tuple<uint16_t, uint64_t, const std::byte*>> expected;
  for (const ExtentWrite& write : batch) {
    const std::byte* data = write.data;
    ASSERT_EQ(BlockSum(write.record.runs), BlockCount(write.size_bytes));
    for (BlockRun run : write.record.runs) {
      for (uint64_t i = 0; i < run.count; i++, data += kBlockSize) {
        expected.emplace(write.record.device.value(), run.first + i, data);
      }
    }
  }
  size_t block_sum = 0;
  for (const Segment& segment : segments) {
    uint64_t block = segment.run.first;
    for (const iovec& piece : segment.pieces) {
      const auto* data = static_cast<const std::byte*>(piece.iov_base);
      for (size_t done = 0; done < piece.iov_len; done += kBlockSize, block++, block_sum++) {
        ASSERT_EQ(expected.count({segment.device->id().value(), block, data + done}), 1u);
      }
    }
    ASSERT_EQ(block, segment.run.end());
  }
  EXPECT_EQ(block_sum, expected.size());
}

TEST(BatchPlacement, ConsecutiveLargeExtentsGoToDifferentDevices) {
  Devices devices(4);
  IoMemory memory(8 * kMiB);
  auto batch = MakeBatch(memory, std::vector<uint32_t>(8, kMiB));
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(segments->size(), 8u);
  for (size_t i = 0; i < 8; i++) {
    EXPECT_EQ(batch[i].record.device.value(), i % 4);
    EXPECT_EQ(batch[i].record.runs.size(), 1u);
    EXPECT_EQ((*segments)[i].pieces.size(), 1u);  // so that registered memory is used
  }
  ExpectSegmentsMatch(*segments, batch);
  // The next batch goes on with the next device.
  auto next = MakeBatch(memory, {kMiB});
  devices.cursor = 5;
  ASSERT_TRUE(PlaceBatch(devices.list, devices.cursor, next).has_value());
  EXPECT_EQ(next[0].record.device.value(), 1u);
}

TEST(BatchPlacement, SmallExtentsOfManyFilesBecomeOneWrite) {
  Devices devices(2);
  IoMemory memory(kMiB);
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < 100; i++) sizes.push_back(1 + i * 83);  // 1 byte to three blocks
  auto batch = MakeBatch(memory, sizes);
  std::swap(batch[3].data, batch[50].data);  // pieces that are no neighbours in memory
  batch[50].size_bytes = batch[3].size_bytes;
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(segments->size(), 1u);
  for (const ExtentWrite& write : batch) EXPECT_EQ(write.record.device, batch[0].record.device);
  ExpectSegmentsMatch(*segments, batch);
}

TEST(BatchPlacement, GroupsOfSmallExtentsTakeTurnsToo) {
  Devices devices(2);
  IoMemory memory(4 * kMiB);
  auto batch = MakeBatch(memory, std::vector<uint32_t>(1000, 4000));  // 256 to a group
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(segments->size(), 4u);
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ((*segments)[i].device->id().value(), i % 2);
    EXPECT_LE((*segments)[i].run.count, 256u);
  }
  ExpectSegmentsMatch(*segments, batch);
}

TEST(BatchPlacement, NeighboursAreJoinedUpToOneMegabyte) {
  Devices devices(1);
  IoMemory memory(4 * kMiB);
  auto batch = MakeBatch(memory, std::vector<uint32_t>(40, 65536));
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(segments->size(), 3u);  // 16 + 16 + 8
  EXPECT_EQ((*segments)[0].run.count, 256u);
  EXPECT_EQ((*segments)[0].pieces.size(), 1u);  // neighbours in memory too
  ExpectSegmentsMatch(*segments, batch);
}

TEST(BatchPlacement, ADeviceWithoutSpaceIsPassedOver) {
  Devices devices(3);
  ASSERT_TRUE(devices.list[1]->Allocate(3840 - 10).has_value());
  IoMemory memory(4 * kMiB);
  auto batch = MakeBatch(memory, std::vector<uint32_t>(4, kMiB));
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  for (const ExtentWrite& write : batch) EXPECT_NE(write.record.device.value(), 1u);
  ExpectSegmentsMatch(*segments, batch);
}

TEST(BatchPlacement, AGroupThatFitsNowhereIsPlacedOneByOne) {
  Devices devices(2);
  ASSERT_TRUE(devices.list[0]->Allocate(3840 - 20).has_value());
  ASSERT_TRUE(devices.list[1]->Allocate(3840 - 20).has_value());
  IoMemory memory(kMiB);
  auto batch = MakeBatch(memory, std::vector<uint32_t>(30, 4096));
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(devices.free_blocks(), 10u);
  ExpectSegmentsMatch(*segments, batch);
}

TEST(BatchPlacement, FragmentsAreUsedWhenNothingElseIsLeft) {
  Devices devices(1);
  ASSERT_TRUE(devices.list[0]->Allocate(3840).has_value());
  for (uint64_t block = 300; block < 3000; block += 3) {
    devices.list[0]->space().FreeUncommitted({block, 1});
  }
  IoMemory memory(2 * kMiB);
  auto batch = MakeBatch(memory, {kMiB, 4096, 5000, 65537, 4096});
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(batch[0].record.runs.size(), 256u);
  ExpectSegmentsMatch(*segments, batch);
  devices.list[0]->space().CheckInvariants();
}

TEST(BatchPlacement, NoSpaceLeavesEverythingFree) {
  Devices devices(2);
  uint64_t free_before = devices.free_blocks();
  IoMemory memory(40 * kMiB);
  auto batch = MakeBatch(memory, std::vector<uint32_t>(35, kMiB));
  batch.insert(batch.begin(), MakeBatch(memory, {10})[0]);
  auto segments = PlaceBatch(devices.list, devices.cursor, batch);
  ASSERT_FALSE(segments.has_value());
  EXPECT_EQ(segments.error().code, Errc::kNoSpace);
  EXPECT_EQ(devices.free_blocks(), free_before);
  for (const ExtentWrite& write : batch) EXPECT_TRUE(write.record.runs.empty());
}

}  // namespace
}  // namespace terrace::io
