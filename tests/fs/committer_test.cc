// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what a commit says of an inode is exactly what is durable of it, also when a commit fails
// in the middle. Method: a volume in memory; devices that are paused, metadata that fails.
#include "fs/committer.h"

#include <gtest/gtest.h>

#include <thread>

#include "fs/inode_record.h"
#include "fs/meta/key_format.h"
#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

InodeRecord StoredRecord(TestVolume& volume, InodeId inode) {
  auto stored = volume.meta().Get(Table::kInode, InodeKey(inode));
  EXPECT_TRUE(stored.has_value() && stored->has_value());
  return *DecodeInodeRecord(inode, **stored);
}

// The store's view of a file while one of two devices has its part and the other has not.
TEST(CommitterTest, HalfWrittenFileIsCommittedAsFarAsItIsDurable) {  // COMMIT-2, COMMIT-3
  TestVolume volume({.device_count = 2});
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 4 * kMiB)).has_value());
  uint64_t before = StoredRecord(volume, inode).durable_sequence.value();
  volume.memory(1).Pause();
  StatusLatch synced;
  volume.files().Sync(inode, [&](Status status) { synced.Set(std::move(status)); });
  while (volume.memory(1).kept_count() == 0) std::this_thread::yield();
  volume.memory(1).Resume();
  ASSERT_TRUE(synced.Wait().has_value());
  InodeRecord after = StoredRecord(volume, inode);
  EXPECT_EQ(after.size_bytes, 4 * kMiB);
  EXPECT_GT(after.durable_sequence.value(), before);
  // An older write that is still on its way holds the sequence back, not the bytes behind it.
  ASSERT_TRUE(volume.Write(inode, 4 * kMiB, PatternOf(2, 100)).has_value());  // a tail: lazy
  for (int i = 0; i < 8; i++) {
    ASSERT_TRUE(volume.Write(inode, (5 + i) * kMiB, PatternOf(3, kMiB)).has_value());
  }
  while (StoredRecord(volume, inode).size_bytes < 13 * kMiB) std::this_thread::yield();
  InodeRecord partly = StoredRecord(volume, inode);
  EXPECT_EQ(partly.durable_sequence, after.durable_sequence);
  ASSERT_TRUE(volume.Sync(inode).has_value());
  EXPECT_GT(StoredRecord(volume, inode).durable_sequence, after.durable_sequence);
}

// A commit of many inodes takes several batches. When a later one fails, the whole is repeated, and
// what the earlier ones had counted must not be counted anew.
TEST(CommitterTest, ReferenceCountsSurviveACommitThatFailedHalfway) {
  TestVolume volume;
  std::vector<InodeId> inodes;
  for (int i = 0; i < 70; i++) {
    inodes.push_back(volume.Create("f" + std::to_string(i)));
    ASSERT_TRUE(volume.Write(inodes.back(), 0, PatternOf(i, 5000)).has_value());
  }
  volume.meta_fault().FailNth(MetaCall::kWrite, 2, Errc::kIo);
  EXPECT_EQ(volume.FlushAll().error().code, Errc::kIo);
  std::string expected = PatternOf(0, 5000);
  for (size_t at : {1500, 3000}) {  // now the extent is named three times
    ASSERT_TRUE(volume.Write(inodes[0], at, PatternOf(99, 100)).has_value());
    expected.replace(at, 100, PatternOf(99, 100));
  }
  ASSERT_TRUE(volume.files().Truncate(inodes[1], 2500, false).has_value());
  ASSERT_TRUE(volume.files()
                  .Allocate({.inode = inodes[2],
                             .offset = 100,
                             .size = 2500,
                             .keep_size = true,
                             .punch_hole = true})
                  .has_value());
  ASSERT_TRUE(volume.files().Truncate(inodes[3], 0, false).has_value());
  ASSERT_TRUE(volume.FlushAll().has_value());
  volume.CheckConsistency();
  EXPECT_EQ(*volume.ReadAll(inodes[0]), expected);
  EXPECT_EQ(*volume.ReadAll(inodes[1]), PatternOf(1, 5000).substr(0, 2500));
  EXPECT_EQ(*volume.ReadAll(inodes[69]), PatternOf(69, 5000));
  for (int i = 0; i < 70; i++) {
    ASSERT_TRUE(volume.Remove("f" + std::to_string(i), inodes[i]).has_value());
  }
  volume.CheckConsistency();
  EXPECT_EQ(volume.RowsOf(Table::kExtent), 0u);
}

TEST(CommitterTest, ConditionStaysOpenWhenTheCommitFails) {  // COMMIT-2
  TestVolume volume;
  InodeId inode = volume.Create("tmp");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 1000)).has_value());
  ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
  volume.meta_fault().FailNth(MetaCall::kWrite, 1, Errc::kIo);
  EXPECT_FALSE(volume.Sync(inode).has_value());
  EXPECT_EQ(volume->GetStatus().open_conditions, 1u);
  EXPECT_EQ(volume.RowsOf(Table::kCondition), 1u);
  ASSERT_TRUE(volume.Sync(inode).has_value());
  EXPECT_EQ(volume->GetStatus().open_conditions, 0u);
  EXPECT_EQ(volume.RowsOf(Table::kCondition), 0u);
}

TEST(CommitterTest, BytesOverwrittenOnTheirWayAreNotNamed) {
  TestVolume volume;
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 100'000)).has_value());
  volume.memory().Pause();
  StatusLatch flushed;
  volume->FlushAll([&](Status status) { flushed.Set(std::move(status)); });
  while (volume.memory().kept_count() == 0) std::this_thread::yield();
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(2, 100'000)).has_value());
  volume.memory().Resume();
  ASSERT_TRUE(flushed.Wait().has_value());
  EXPECT_EQ(volume.CommittedEntries(inode), 0u);  // nobody asked for the first version
  ASSERT_TRUE(volume.FlushAll().has_value());
  EXPECT_EQ(volume.CommittedEntries(inode), 1u);
  volume.CheckConsistency();
  EXPECT_EQ(volume.Content("a"), PatternOf(2, 100'000));
}

TEST(CommitterTest, ManyInodesInOneCommit) {
  TestVolume volume;
  std::vector<InodeId> inodes;
  for (int i = 0; i < 500; i++) {
    inodes.push_back(volume.Create(std::to_string(i)));
    ASSERT_TRUE(volume.Write(inodes.back(), 0, PatternOf(i, 50 + i)).has_value());
  }
  ASSERT_TRUE(volume.FlushAll().has_value());
  volume.LosePower();
  for (int i = 0; i < 500; i++) {
    EXPECT_EQ(volume.Content(std::to_string(i)), PatternOf(i, 50 + i));
  }
  volume.CheckConsistency();
}

}  // namespace
}  // namespace terrace::fs
