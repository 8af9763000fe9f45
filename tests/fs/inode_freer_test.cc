// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a removed file leaves nothing behind, however large its map, and nothing goes that somebody
// needs. Method: a volume in memory; metadata that fails in the middle.
#include "fs/inode_freer.h"

#include <gtest/gtest.h>

#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

// A file of many small extents with holes in between.
InodeId MakeFragmented(TestVolume& volume, const char* name, int entries) {
  InodeId inode = volume.Create(name);
  for (int i = 0; i < entries; i++) {
    EXPECT_TRUE(volume.Write(inode, i * 100, PatternOf(i, 50)).has_value());
  }
  return inode;
}

class InodeFreerTest : public ::testing::Test {
 protected:
  void ExpectEmpty() {
    volume_.CheckConsistency();
    for (Table table : {Table::kMap, Table::kExtent, Table::kXattr, Table::kOrphan}) {
      EXPECT_EQ(volume_.RowsOf(table), 0u) << static_cast<int>(table);
    }
    EXPECT_EQ(volume_.RowsOf(Table::kInode), 1u);  // the root
  }
  TestVolume volume_;
};

TEST_F(InodeFreerTest, LargeMapGoesInSeveralBatches) {
  InodeId inode = MakeFragmented(volume_, "a", 2500);
  ASSERT_TRUE(volume_.FlushAll().has_value());
  EXPECT_EQ(volume_.CommittedEntries(inode), 2500u);
  for (int i = 0; i < 1500; i++) {
    ASSERT_TRUE(
        volume_->attributes().SetXattr(inode, "user.x" + std::to_string(i), "y", {}).has_value());
  }
  uint64_t writes = volume_.meta_fault().CallCount(MetaCall::kWrite);
  ASSERT_TRUE(volume_.Remove("a", inode).has_value());
  volume_.Remount();
  EXPECT_GE(volume_.meta_fault().CallCount(MetaCall::kWrite) - writes, 4u);
  ExpectEmpty();
}

TEST_F(InodeFreerTest, DirtyBytesOfARemovedFileAreForgotten) {
  InodeId inode = MakeFragmented(volume_, "a", 100);
  ASSERT_TRUE(volume_.Write(inode, kMiB, PatternOf(1, 2 * kMiB)).has_value());
  ASSERT_TRUE(volume_.Remove("a", inode).has_value());
  ExpectEmpty();
  EXPECT_EQ(volume_.DirtyBytes(), 0u);
  EXPECT_EQ(volume_->GetStatus().devices[0].written_bytes, 0u);
}

TEST_F(InodeFreerTest, FileThatTheKernelKnowsOrThatHasANameIsLeftAlone) {
  InodeId inode = MakeFragmented(volume_, "a", 10);
  ASSERT_TRUE(volume_.names().Link(inode, kRootInode, "b").has_value());
  volume_.names().Forget(inode, 1);
  ASSERT_TRUE(volume_.names().Unlink(kRootInode, "a").has_value());
  EXPECT_EQ(volume_.ReadAll(inode)->size(), 950u);
  ASSERT_TRUE(volume_.names().Unlink(kRootInode, "b").has_value());
  EXPECT_EQ(volume_.ReadAll(inode)->size(), 950u);  // still open
  EXPECT_EQ(volume_.RowsOf(Table::kOrphan), 1u);
  volume_.names().Forget(inode, 1);
  ExpectEmpty();
}

TEST_F(InodeFreerTest, FailureLeavesAnOrphanThatTheNextMountFrees) {
  for (uint64_t nth : {1, 2, 3}) {
    InodeId inode = MakeFragmented(volume_, "a", 2500);
    ASSERT_TRUE(volume_.FlushAll().has_value());
    ASSERT_TRUE(volume_.names().Unlink(kRootInode, "a").has_value());
    volume_.meta_fault().FailNth(MetaCall::kWrite, nth, Errc::kIo);
    volume_.names().Forget(inode, 1);
    volume_.Remount();
    volume_.meta_fault().Heal();
    ExpectEmpty();
  }
}

TEST_F(InodeFreerTest, BlocksOfAReadInProgressStayUntilItIsOver) {  // EXT-3
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, PatternOf(1, kMiB)).has_value());
  ASSERT_TRUE(volume_.FlushAll().has_value());
  volume_->EvictDram();
  volume_.memory().Pause();
  cache::ReadOutcome outcome;
  volume_.files().Read({.inode = inode, .offset = 0, .size_bytes = kMiB}, outcome.Callback());
  ASSERT_TRUE(volume_.Remove("a", inode).has_value());
  InodeId other = volume_.Create("b");
  ASSERT_TRUE(volume_.Sync(other).has_value());
  volume_.memory().Resume();
  ASSERT_TRUE(outcome.Wait().has_value());
  EXPECT_TRUE(cache::Join(outcome.bytes) == PatternOf(1, kMiB));
  outcome.bytes = {};
  ASSERT_TRUE(volume_.Remove("b", other).has_value());
  ExpectEmpty();
}

}  // namespace
}  // namespace terrace::fs
