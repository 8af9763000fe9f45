// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: COMMIT-2 with real bytes: what a name shows after rename, link and power loss, and that no
// rename costs bytes which fsync or close promised to keep.
// Method: a volume in memory that loses power, keeping all of the metadata's log or none of it.
#include <gtest/gtest.h>

#include "fs/volume.h"
#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

class PublishTest : public testing::Test {
 protected:
  InodeId Written(std::string_view name, std::string_view bytes) {
    const InodeId file = volume_.Create(name);
    EXPECT_TRUE(volume_.Write(file, 0, bytes));
    return file;
  }
  // The worst case for data: every entry made it, no byte did that was not synced.
  void LosePowerKeepingTheLog() {
    volume_.LosePower([](size_t unsynced) { return unsynced; });
  }

  TestVolume volume_;
  const std::string old_ = PatternOf(1, 300'000);
  const std::string new_ = PatternOf(2, 500'000);
};

TEST_F(PublishTest, PredecessorOrTheWholeNewFile) {
  for (const bool synced : {false, true}) {
    const InodeId final = Written("final", old_);
    ASSERT_TRUE(volume_.Sync(final));
    const InodeId tmp = Written("tmp", new_);
    ASSERT_TRUE(volume_.Rename("tmp", "final"));
    EXPECT_EQ(volume_.Content("final"), new_);
    if (synced) {
      ASSERT_TRUE(volume_.Sync(tmp));
    }
    LosePowerKeepingTheLog();
    EXPECT_EQ(volume_.Content("final"), synced ? new_ : old_);
    EXPECT_EQ(volume_.Content("tmp"), "not found");
    volume_.CheckConsistency();
    ASSERT_TRUE(volume_.names().Unlink(kRootInode, "final"));
  }
}

TEST_F(PublishTest, NewNameShowsTheWholeFileOrIsNotThere) {
  Written("tmp", new_);
  ASSERT_TRUE(volume_.Rename("tmp", "fresh"));
  LosePowerKeepingTheLog();
  EXPECT_EQ(volume_.Content("fresh"), "not found");
  volume_.CheckConsistency();
}

// fsync, write some more, rename: the renamed file has at least what fsync covered.
TEST_F(PublishTest, RenamedLogKeepsWhatFsyncPromised) {
  const InodeId log = Written("log", old_);
  ASSERT_TRUE(volume_.Sync(log));
  ASSERT_TRUE(volume_.Write(log, old_.size(), new_));
  ASSERT_TRUE(volume_.Rename("log", "log.1"));
  Written("log", "a new log takes the old name");
  LosePowerKeepingTheLog();
  EXPECT_EQ(volume_.Content("log.1").substr(0, old_.size()), old_);
  volume_.CheckConsistency();
}

TEST_F(PublishTest, SoDoesOneOfAnEarlierMountAndOneThatWasClosed) {
  const InodeId one = Written("one", old_);
  volume_.Remount();
  ASSERT_TRUE(volume_.Write(one, old_.size(), new_));
  ASSERT_TRUE(volume_.Rename("one", "one.1"));
  const InodeId two = Written("two", old_);
  ASSERT_TRUE(volume_.FlushAll());  // as write-back does by itself some seconds after close
  ASSERT_TRUE(volume_.Write(two, old_.size(), new_));
  ASSERT_TRUE(volume_.Rename("two", "two.1"));
  LosePowerKeepingTheLog();
  EXPECT_EQ(volume_.Content("one.1").substr(0, old_.size()), old_);
  EXPECT_EQ(volume_.Content("two.1").substr(0, old_.size()), old_);
  volume_.CheckConsistency();
}

// COMMIT-3: fsync of the directory covers files that were renamed into it and never synced.
TEST_F(PublishTest, FsyncOfTheDirectoryMakesPublishedFilesDurable) {
  Written("tmp", new_);
  ASSERT_TRUE(volume_.Rename("tmp", "fresh"));
  ASSERT_TRUE(volume_.SyncDirectory(kRootInode));
  volume_.LosePower();
  EXPECT_EQ(volume_.Content("fresh"), new_);
  volume_.CheckConsistency();
}

// COMMIT-3: fsync of a file covers its name, whatever directory it is in.
TEST_F(PublishTest, FsyncOfTheFileCoversItsName) {
  auto directory = volume_.names().Make(kRootInode, "directory", {.mode = S_IFDIR | 0755}, {});
  ASSERT_TRUE(directory);
  const InodeId file = volume_.Create("file", directory->inode);
  ASSERT_TRUE(volume_.Write(file, 0, new_));
  ASSERT_TRUE(volume_.Sync(file));
  volume_.LosePower();
  auto found = volume_.Lookup("directory");
  ASSERT_TRUE(found);
  auto found_file = volume_.Lookup("file", *found);
  ASSERT_TRUE(found_file);
  EXPECT_EQ(volume_.ReadAll(*found_file).value(), new_);
}

// A KV cache that overwrites its keys faster than the device writes is not slowed down.
TEST_F(PublishTest, OverwritingPublishedKeysWaitsForNothing) {
  const uint64_t written_before = volume_->GetStatus().devices[0].written_bytes;
  for (int i = 0; i < 5; i++) {
    Written("tmp", PatternOf(static_cast<uint64_t>(i), 100'000));
    ASSERT_TRUE(volume_.Rename("tmp", "key"));
  }
  EXPECT_EQ(volume_->GetStatus().devices[0].written_bytes, written_before);
  EXPECT_EQ(volume_->GetStatus().open_conditions, 1u);
  EXPECT_EQ(volume_.Content("key"), PatternOf(4, 100'000));
  ASSERT_TRUE(volume_.FlushAll());
  EXPECT_EQ(volume_->GetStatus().open_conditions, 0u);
  volume_.CheckConsistency();
}

}  // namespace
}  // namespace terrace::fs
