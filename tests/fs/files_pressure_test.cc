// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: with too little memory or too little space everything still goes on: slower, or refused
// before bytes are accepted, never lost and never stuck.
// Method: many threads on a pool of 16 MiB; devices that fill up.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

TEST(FilesPressureTest, WritersFasterThanTheDevicesAreAllServed) {  // THROTTLE-2
  constexpr int kWriters = 6;
  constexpr size_t kFileSize = 12 * kMiB;
  TestVolume volume({.device_count = 2, .pool_bytes = 16 * kMiB, .dirty_high_water = 0.3});
  std::vector<std::thread> writers;
  std::vector<InodeId> inodes;
  for (int i = 0; i < kWriters; i++) inodes.push_back(volume.Create(std::to_string(i)));
  for (int i = 0; i < kWriters; i++) {
    writers.emplace_back([&, i] {
      std::string bytes = PatternOf(i, kFileSize);
      size_t step = i % 2 == 0 ? kMiB : 50'000;
      for (size_t at = 0; at < kFileSize; at += step) {
        ASSERT_TRUE(
            volume.Write(inodes[i], at, std::string_view(bytes).substr(at, step)).has_value());
        DramStatus dram = volume->GetStatus().dram;
        EXPECT_LE(dram.used_bytes, dram.size_bytes);
        EXPECT_LE(dram.dirty_bytes, dram.size_bytes);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (int i = 0; i < kWriters; i++) {
    EXPECT_TRUE(*volume.ReadAll(inodes[i]) == PatternOf(i, kFileSize));
  }
  volume.CheckConsistency();
  for (int i = 0; i < kWriters; i++) {
    EXPECT_TRUE(*volume.ReadAll(inodes[i]) == PatternOf(i, kFileSize));
  }
}

TEST(FilesPressureTest, ReadsGoOnWhileWritersExhaustThePool) {
  TestVolume volume({.pool_bytes = 16 * kMiB, .dirty_high_water = 0.95});
  const std::string cold = PatternOf(1, 8 * kMiB);
  InodeId read_inode = volume.Create("cold");
  ASSERT_TRUE(volume.Write(read_inode, 3, cold).has_value());
  ASSERT_TRUE(volume.FlushAll().has_value());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    InodeId inode = volume.Create("w" + std::to_string(i));
    threads.emplace_back([&, i, inode] {
      std::string bytes = PatternOf(i, kMiB);
      for (size_t at = 0; !stop; at = (at + kMiB) % (10 * kMiB)) {
        ASSERT_TRUE(volume.Write(inode, at, bytes).has_value());
      }
    });
  }
  std::vector<std::thread> readers;
  for (uint32_t i = 0; i < 3; i++) {
    readers.emplace_back([&, i] {
      std::mt19937 random(i);
      for (int round = 0; round < 60; round++) {
        size_t at = random() % (cold.size() - kMiB);
        size_t size = round % 2 == 0 ? kMiB : 1 + random() % 50'000;
        ASSERT_TRUE(*volume.Read(read_inode, 3 + at, size) == cold.substr(at, size));
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  volume.CheckConsistency();
}

// A 1 MiB read of bytes that thousands of small extents hold, in a pool that cannot hold them all.
TEST(FilesPressureTest, BadlyFragmentedRangeIsReadInASmallPool) {
  TestVolume volume({.pool_bytes = 16 * kMiB});
  InodeId inode = volume.Create("a");
  std::string expected(kMiB, '\0');
  for (size_t at = 0; at < kMiB; at += 128) {
    ASSERT_TRUE(volume.Write(inode, at, PatternOf(at, 64)).has_value());
    expected.replace(at, 64, PatternOf(at, 64));
  }
  expected.resize(kMiB - 64);
  ASSERT_TRUE(volume.FlushAll().has_value());
  volume->EvictDram();
  EXPECT_TRUE(*volume.ReadAll(inode) == expected);
  EXPECT_TRUE(*volume.ReadAll(inode) == expected);
}

// Reader threads keep what a small payload left of their block; they must not wait for each other
// with it in hand.
TEST(FilesPressureTest, ReceivingThreadsShareASmallPool) {
  constexpr int kThreads = 24;  // more than the pool has blocks
  TestVolume volume({.device_count = 1, .pool_bytes = 16 * kMiB});
  std::vector<InodeId> inodes;
  for (int i = 0; i < kThreads; i++) inodes.push_back(volume.Create(std::to_string(i)));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] {
      ReceiveArea area;
      for (uint64_t round = 0; round < 10; round++) {
        volume.files().PrepareReceive(area);
        StatusLatch done;
        volume.files().Write(
            {.inode = inodes[i], .offset = round * 300'000, .size_bytes = 300'000}, area,
            [&](Status status) { done.Set(std::move(status)); });
        ASSERT_TRUE(done.Wait().has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FilesPressureTest, FullStoreRefusesBeforeItAcceptsAndLosesNothing) {
  for (size_t devices : {1, 3}) {
    TestVolume volume({.device_count = devices, .device_size_bytes = 24 * kMiB});
    std::vector<std::pair<InodeId, std::string>> accepted;
    Status status;
    for (int i = 0; status; i++) {
      InodeId inode = volume.Create("f" + std::to_string(i));
      accepted.emplace_back(inode, "");
      std::string bytes = PatternOf(i, 900'000);
      for (size_t at = 0; at < bytes.size() && status; at += 300'000) {
        status = volume.Write(inode, at, std::string_view(bytes).substr(at, 300'000));
        if (status) accepted.back().second += bytes.substr(at, 300'000);
      }
    }
    EXPECT_EQ(status.error().code, Errc::kNoSpace);
    // Little is left unused: the superblock, and less than an extent for each further device.
    EXPECT_LE(volume->Space().free_blocks, BlockCount(300'000) + devices * 256);
    for (const auto& [inode, bytes] : accepted) EXPECT_TRUE(*volume.ReadAll(inode) == bytes);
    EXPECT_EQ(volume.Write(accepted[0].first, 0, PatternOf(1, 900'000)).error().code,
              Errc::kNoSpace);
    volume.CheckConsistency();
    for (const auto& [inode, bytes] : accepted) EXPECT_TRUE(*volume.ReadAll(inode) == bytes);
    // Deleting frees.
    EXPECT_TRUE(volume.Lookup("f0").has_value());
    ASSERT_TRUE(volume.names().Unlink(kRootInode, "f0").has_value());
    ASSERT_TRUE(volume.names().Unlink(kRootInode, "f1").has_value());
    InodeId again = volume.Create("again");
    ASSERT_TRUE(volume.Write(again, 0, PatternOf(7, 900'000)).has_value());
    volume.CheckConsistency();
    EXPECT_TRUE(volume.Content("again") == PatternOf(7, 900'000));
  }
}

// What overwritten bytes held comes free as the new ones are committed.
TEST(FilesPressureTest, FileOfMostOfTheStoreIsOverwrittenInPlace) {
  TestVolume volume({.device_size_bytes = 24 * kMiB, .pool_bytes = 16 * kMiB});
  InodeId inode = volume.Create("a");
  for (int round = 0; round < 3; round++) {
    std::string bytes = PatternOf(round, 17 * kMiB);
    ASSERT_TRUE(volume.Write(inode, 0, bytes).has_value()) << "round " << round;
    EXPECT_TRUE(*volume.ReadAll(inode) == bytes);
  }
  volume.CheckConsistency();
  EXPECT_TRUE(volume.Content("a") == PatternOf(2, 17 * kMiB));
}

TEST(FilesPressureTest, AllocateOfMoreThanThereIsLeavesOthersAlone) {
  TestVolume volume({.device_size_bytes = 24 * kMiB});
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 5 * kMiB)).has_value());
  std::atomic<bool> stop{false};
  std::thread other([&] {
    InodeId b = volume.Create("b");
    while (!stop) ASSERT_TRUE(volume.Write(b, 0, PatternOf(2, 100'000)).has_value());
  });
  for (int i = 0; i < 100; i++) {
    EXPECT_EQ(volume.files().Allocate({.inode = inode, .size = kTiB}).error().code,
              Errc::kNoSpace);
  }
  stop = true;
  other.join();
}

TEST(FilesPressureTest, ManyThreadsOnManyFiles) {
  constexpr int kThreads = 4;
  TestVolume volume({.device_count = 2, .pool_bytes = 16 * kMiB, .write_back_delay_ms = 5});
  auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    std::string name = "file" + std::to_string(seed);
    InodeId inode = volume.Create(name);
    std::string model;
    for (int i = 0; i < 150; i++) {
      size_t at = random() % 2'000'000;
      size_t size = random() % 3 == 0 ? 1 + random() % 500'000 : 1 + random() % 9000;
      switch (random() % 8) {
        case 0:
          ASSERT_TRUE(volume.files().Truncate(inode, at, false).has_value());
          model.resize(at, '\0');
          break;
        case 1: ASSERT_TRUE(volume.Sync(inode).has_value()); break;
        case 2: volume->EvictDram(); break;
        case 3:
        case 4: {
          std::string wanted = at < model.size() ? model.substr(at, size) : std::string();
          ASSERT_TRUE(*volume.Read(inode, at, size) == wanted) << "step " << i;
          break;
        }
        default:
          if (model.size() < at + size) model.resize(at + size, '\0');
          model.replace(at, size, PatternOf(i, size));
          ASSERT_TRUE(volume.Write(inode, at, PatternOf(i, size)).has_value());
      }
    }
    ASSERT_TRUE(*volume.ReadAll(inode) == model);
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= kThreads; seed++) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  volume.CheckConsistency();
}

}  // namespace
}  // namespace terrace::fs
