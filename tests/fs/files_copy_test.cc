// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a copy shares extents, whatever its ends, and stays right whatever becomes of either side.
// Method: a whole volume in memory; contents against strings, references against the free space.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "fs/files.h"
#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

class FilesCopyTest : public ::testing::Test {
 protected:
  Result<uint64_t> Copy(const CopyRequest& request) {
    Result<uint64_t> copied;
    StatusLatch latch;
    volume_.files().Copy(request, [&](Result<uint64_t> size) {
      copied = std::move(size);
      latch.Set({});
    });
    (void)latch.Wait();
    return copied;
  }
  InodeId MakeDurable(std::string_view name, const std::string& bytes) {
    InodeId inode = volume_.Create(name);
    EXPECT_TRUE(volume_.Write(inode, 0, bytes).has_value());
    EXPECT_TRUE(volume_.Sync(inode).has_value());
    return inode;
  }
  uint64_t WrittenToDevices() {
    uint64_t bytes = 0;
    for (const io::DeviceStatus& one : volume_->GetStatus().devices) bytes += one.written_bytes;
    return bytes;
  }
  void ExpectEverywhere(std::string_view name, const std::string& expected) {
    EXPECT_TRUE(volume_.Content(name) == expected) << name << ", as it is";
    ASSERT_TRUE(volume_.FlushAll().has_value());
    volume_->EvictDram();
    EXPECT_TRUE(volume_.Content(name) == expected) << name << ", from the devices";
  }

  TestVolume volume_;
};

TEST_F(FilesCopyTest, SharesWithoutReadingOrWriting) {
  const std::string bytes = PatternOf(1, 5 * kMiB + 3);
  InodeId source = MakeDurable("source", bytes);
  InodeId target = volume_.Create("target");
  const uint64_t written = WrittenToDevices();
  const uint64_t free = volume_->Space().free_blocks;
  EXPECT_EQ(Copy({.source = source, .target = target, .size = UINT32_MAX}).value(), bytes.size());
  EXPECT_EQ(volume_->Space().free_blocks, free);
  ExpectEverywhere("target", bytes);
  EXPECT_EQ(WrittenToDevices(), written);
  EXPECT_EQ(
      Copy({.source = source, .source_offset = bytes.size(), .target = target, .size = 1}).value(),
      0u);
  volume_.CheckConsistency();
  ExpectEverywhere("source", bytes);
}

TEST_F(FilesCopyTest, SurvivesChangesOfEitherSide) {
  std::string first = PatternOf(1, 3 * kMiB);
  std::string second = first;
  InodeId source = MakeDurable("source", first);
  InodeId target = volume_.Create("target");
  ASSERT_TRUE(Copy({.source = source, .target = target, .size = first.size()}).has_value());
  ASSERT_TRUE(volume_.Write(source, 1000, PatternOf(2, 5000)).has_value());
  first.replace(1000, 5000, PatternOf(2, 5000));
  ASSERT_TRUE(volume_.files().Truncate(target, 2 * kMiB + 17, false).has_value());
  second.resize(2 * kMiB + 17);
  ExpectEverywhere("source", first);
  ExpectEverywhere("target", second);
  volume_.CheckConsistency();
  ASSERT_TRUE(volume_.Remove("source", volume_.Lookup("source").value()).has_value());
  ExpectEverywhere("target", second);
  volume_.CheckConsistency();
  ExpectEverywhere("target", second);
}

TEST_F(FilesCopyTest, WhatIsNotDurableIsWrittenFirst) {
  const std::string bytes = PatternOf(1, 8 * kMiB);
  InodeId source = volume_.Create("source");
  ASSERT_TRUE(volume_.Write(source, 0, bytes).has_value());
  InodeId target = volume_.Create("target");
  EXPECT_EQ(Copy({.source = source, .target = target, .size = bytes.size()}).value(), bytes.size());
  ExpectEverywhere("target", bytes);

  InodeId small = volume_.Create("small");
  ASSERT_TRUE(volume_.Write(small, 0, PatternOf(2, 1000)).has_value());
  EXPECT_EQ(Copy({.source = small, .target = target, .size = 1000}).error().code,
            Errc::kUnsupported);
  volume_.CheckConsistency();
}

// A file that was only ever copied to has no write of its own whose commit could count.
TEST_F(FilesCopyTest, RemovedCopiesGiveTheirBytesBack) {
  const std::string bytes = PatternOf(1, 2 * kMiB);
  InodeId source = MakeDurable("source", bytes);
  InodeId copy = volume_.Create("copy");
  InodeId written = volume_.Create("written");
  ASSERT_TRUE(volume_.Write(written, 3 * kMiB, "not durable").has_value());
  for (InodeId target : {copy, written}) {
    ASSERT_TRUE(Copy({.source = source, .target = target, .size = bytes.size()}).has_value());
  }
  ASSERT_TRUE(volume_.Remove("written", written).has_value());
  volume_.CheckConsistency();
  ASSERT_TRUE(volume_.Remove("source", volume_.Lookup("source").value()).has_value());
  ExpectEverywhere("copy", bytes);
  ASSERT_TRUE(volume_.Remove("copy", volume_.Lookup("copy").value()).has_value());
  volume_.CheckConsistency();
  EXPECT_EQ(volume_.RowsOf(Table::kExtent), 0u);
}

TEST_F(FilesCopyTest, ACopyThatWasSyncedSurvivesAPowerLoss) {
  const std::string bytes = PatternOf(1, 2 * kMiB);
  InodeId source = MakeDurable("source", bytes);
  InodeId target = volume_.Create("target");
  ASSERT_TRUE(Copy({.source = source, .target = target, .size = bytes.size()}).has_value());
  ASSERT_TRUE(volume_.Sync(target).has_value());
  ASSERT_TRUE(volume_.Remove("source", source).has_value());
  volume_.LosePower();
  EXPECT_TRUE(volume_.Content("target") == bytes);
  volume_.CheckConsistency();
}

TEST_F(FilesCopyTest, RandomCopiesMatchStrings) {
  std::mt19937_64 random(7);
  std::array<std::string, 3> expected;
  std::array<std::string, 3> names = {"a", "b", "c"};
  std::array<InodeId, 3> inodes;
  for (size_t i = 0; i < 3; i++) {
    expected[i] = PatternOf(i, kMiB + i);
    inodes[i] = MakeDurable(names[i], expected[i]);
  }
  for (int step = 0; step < 300; step++) {
    const size_t from = random() % 3, to = random() % 3;
    const uint64_t source_offset = random() % expected[from].size();
    const uint64_t size =
        1 + random() % std::min<uint64_t>(300'000, expected[from].size() - source_offset);
    const uint64_t target_offset = random() % (2 * kMiB);
    const bool overlaps =
        from == to && source_offset < target_offset + size && target_offset < source_offset + size;
    if (overlaps) continue;  // the kernel refuses it
    if (step % 3 == 0) {
      std::string bytes = PatternOf(random(), size);
      ASSERT_TRUE(volume_.Write(inodes[to], target_offset, bytes).has_value());
      expected[to].resize(std::max(expected[to].size(), target_offset + size));
      expected[to].replace(target_offset, size, bytes);
    } else {
      Result<uint64_t> copied =
          Copy({inodes[from], source_offset, inodes[to], target_offset, size});
      if (!copied) {
        ASSERT_EQ(copied.error().code, Errc::kUnsupported);
        ASSERT_TRUE(volume_.FlushAll().has_value());
        continue;
      }
      ASSERT_EQ(*copied, size);
      const std::string bytes = expected[from].substr(source_offset, size);
      expected[to].resize(std::max(expected[to].size(), target_offset + size));
      expected[to].replace(target_offset, size, bytes);
    }
    if (step % 50 == 0) {
      ASSERT_TRUE(volume_.FlushAll().has_value());
    }
  }
  for (size_t i = 0; i < 3; i++) ExpectEverywhere(names[i], expected[i]);
  volume_.CheckConsistency();
  for (size_t i = 0; i < 3; i++) ExpectEverywhere(names[i], expected[i]);
}

// Two inodes change the count of one extent at the same time: each holds its own lock only.
TEST_F(FilesCopyTest, CountsStayRightUnderConcurrentChanges) {
  const std::string bytes = PatternOf(1, kMiB);
  InodeId source = MakeDurable("source", bytes);
  // Gives the others their chance between reading a count and writing it.
  volume_.SetBeforeMetaWrite([](const MetaBatch&) { std::this_thread::yield(); });
  std::vector<std::thread> threads;
  std::vector<InodeId> targets;
  for (int i = 0; i < 4; i++) targets.push_back(volume_.Create("target" + std::to_string(i)));
  for (InodeId target : targets) {
    threads.emplace_back([&, target] {
      for (int round = 0; round < 200; round++) {
        ASSERT_TRUE(Copy({.source = source, .target = target, .size = bytes.size()}).has_value());
        ASSERT_TRUE(volume_.files().Truncate(target, 0, false).has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  volume_.CheckConsistency();
  ExpectEverywhere("source", bytes);
}

}  // namespace
}  // namespace terrace::fs
