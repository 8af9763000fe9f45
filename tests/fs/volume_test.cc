// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the volume's figures are true, and stopping it keeps everything.
// Method: a whole volume in memory, and one on RocksDB and real files.
#include "fs/volume.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

TEST(VolumeTest, SpaceFollowsWhatIsAccepted) {
  TestVolume volume({.device_count = 2, .device_size_bytes = 64 * kMiB});
  FilesystemSpace empty = volume->Space();
  EXPECT_EQ(empty.block_size, 4096u);
  EXPECT_EQ(empty.total_blocks, 2 * 64 * kMiB / kBlockSize);
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 10 * kMiB)).has_value());
  // What is on its way to the devices counts twice until it has arrived.
  EXPECT_LE(volume->Space().free_blocks, empty.free_blocks - 10 * kMiB / kBlockSize);
  ASSERT_TRUE(volume.FlushAll().has_value());
  EXPECT_EQ(volume->Space().free_blocks, empty.free_blocks - 10 * kMiB / kBlockSize);
  ASSERT_TRUE(volume.files().Truncate(inode, 0, false).has_value());
  ASSERT_TRUE(volume.FlushAll().has_value());
  EXPECT_EQ(volume->Space().free_blocks, empty.free_blocks);
}

TEST(VolumeTest, StatusCountsWhatHappened) {
  TestVolume volume;
  VolumeStatus status = volume->GetStatus();
  EXPECT_EQ(status.store_id, "a-store-for-tests");
  EXPECT_EQ(status.oldest_dirty_ms, 0u);
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 100'000)).has_value());
  ASSERT_TRUE(volume.Write(inode, 100'000, PatternOf(1, 1000)).has_value());
  status = volume->GetStatus();
  EXPECT_EQ(status.accepted_bytes, 101'000u);
  EXPECT_EQ(status.copied_bytes, 1000u);
  EXPECT_EQ(status.dram.dirty_bytes, RoundUp(100'000, kBlockSize) + kBlockSize);
  EXPECT_GE(status.dram.used_bytes, status.dram.dirty_bytes);
  while (volume->GetStatus().oldest_dirty_ms == 0) std::this_thread::yield();
  ASSERT_TRUE(volume.FlushAll().has_value());
  status = volume->GetStatus();
  EXPECT_EQ(status.dram.dirty_bytes, 0u);
  EXPECT_EQ(status.oldest_dirty_ms, 0u);
  EXPECT_EQ(status.devices[0].written_bytes, RoundUp(100'000, kBlockSize) + kBlockSize);
  volume->EvictDram();
  EXPECT_EQ(volume->GetStatus().dram.used_bytes, 0u);
  EXPECT_TRUE(volume.ReadAll(inode).has_value());
  EXPECT_GT(volume->GetStatus().dram.misses, 0u);
}

TEST(VolumeTest, FlushBelowAFileAndADirectory) {
  TestVolume volume;
  InodeId a = volume.Create("a");
  InodeId b = volume.Create("b");
  ASSERT_TRUE(volume.Write(a, 0, PatternOf(1, 5000)).has_value());
  ASSERT_TRUE(volume.Write(b, 0, PatternOf(2, 5000)).has_value());
  ASSERT_TRUE(volume->FlushBelow(a).has_value());
  EXPECT_EQ(volume.DirtyBytes(), 2 * kBlockSize);
  ASSERT_TRUE(volume->FlushBelow(kRootInode).has_value());
  EXPECT_EQ(volume.DirtyBytes(), 0u);
  EXPECT_EQ(volume->FlushBelow(InodeId(99)).error().code, Errc::kNotFound);
  volume.LosePower();
  EXPECT_EQ(volume.Content("b"), PatternOf(2, 5000));
}

TEST(VolumeTest, StopKeepsEverythingThoughADeviceStumbles) {
  TestVolume volume({.device_count = 2});
  for (int i = 0; i < 20; i++) {
    InodeId inode = volume.Create(std::to_string(i));
    ASSERT_TRUE(volume.Write(inode, 0, PatternOf(i, 300'000)).has_value());
  }
  volume.fault(1).Arm({.kind = io::FaultKind::kFailWrite});
  volume.CheckConsistency();
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(volume.Content(std::to_string(i)), PatternOf(i, 300'000));
  }
}

TEST(VolumeTest, StopOfADeadDeviceSaysSo) {
  TestVolume volume;
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 1000)).has_value());
  volume.fault().Arm({.kind = io::FaultKind::kFailSync, .times = io::Fault::kForever});
  EXPECT_EQ(volume.Unmount().error().code, Errc::kIo);
  volume.fault().Disarm();
  volume.Mount();
  EXPECT_EQ(volume.Content("a"), "");
  volume.CheckConsistency();
}

TEST(VolumeTest, StopDuringPrefetch) {
  TestVolume volume({.device_count = 2});
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 3 * kMiB)).has_value());
  for (int round = 0; round < 20; round++) {
    ASSERT_TRUE(volume.FlushAll().has_value());
    volume->EvictDram();
    volume.memory(0).Pause();
    volume.memory(1).Pause();
    ASSERT_TRUE(volume.files().Open(inode, {.read = true}).has_value());
    std::thread devices([&] {
      volume.memory(0).Resume();
      volume.memory(1).Resume();
    });
    volume.Remount();
    devices.join();
  }
  EXPECT_TRUE(volume.Content("a") == PatternOf(1, 3 * kMiB));
}

TEST(VolumeTest, RealFilesAndRocksDb) {
  TestVolume volume({.device_count = 2, .device_size_bytes = 64 * kMiB, .real = true});
  for (int i = 0; i < 10; i++) {
    InodeId inode = volume.Create(std::to_string(i));
    ASSERT_TRUE(volume.Write(inode, i, PatternOf(i, 700'000)).has_value());
  }
  volume.CheckConsistency();
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(volume.Content(std::to_string(i)), std::string(i, '\0') + PatternOf(i, 700'000));
  }
}

}  // namespace
}  // namespace terrace::fs
