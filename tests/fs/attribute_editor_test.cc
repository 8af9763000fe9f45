// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: chmod, chown and utimens change what they must and no more, at once and atomically.
// Method: each change on a file whose size is ahead of the store; a failing store.
#include "fs/attribute_editor.h"

#include <gtest/gtest.h>

#include "fs/meta/faulty_meta_store.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class AttributeEditorTest : public testing::Test {
 protected:
  Attributes Set(const AttributeChange& change) {
    ns_.clock.AdvanceNs(10);
    auto changed = editor_.Set(file_, change);
    EXPECT_TRUE(changed);
    return *changed;
  }
  InodeRecord Stored() {
    return DecodeInodeRecord(file_, **store_.Get(Table::kInode, InodeKey(file_))).value();
  }

  MemoryMetaStore store_;
  FaultyMetaStore faulty_{store_};
  TestNamespace ns_{faulty_};
  AttributeEditor editor_{faulty_, ns_.inodes, ns_.clock};
  const InodeId file_ = ns_.File(kRootInode, "file");
};

TEST_F(AttributeEditorTest, ModeKeepsTheType) {
  const Attributes changed = Set({.mode = S_IFDIR | 04751});
  EXPECT_EQ(changed.mode, static_cast<uint32_t>(S_IFREG | 04751));
  EXPECT_EQ(changed.ctime_ns, ns_.clock.WallNs());
  EXPECT_NE(changed.mtime_ns, ns_.clock.WallNs());
  EXPECT_EQ(Stored().mode, changed.mode);
  EXPECT_EQ(editor_.Get(file_)->mode, changed.mode);
}

TEST_F(AttributeEditorTest, OwnersOneByOne) {
  EXPECT_EQ(Set({.uid = 5}).uid, 5u);
  const Attributes changed = Set({.gid = 6});
  EXPECT_EQ(changed.uid, 5u);
  EXPECT_EQ(changed.gid, 6u);
  EXPECT_EQ(changed.ctime_ns, ns_.clock.WallNs());
}

TEST_F(AttributeEditorTest, GivingAwayClearsSuidAndGroupExecutableSgid) {
  (void)Set({.mode = 06755});
  EXPECT_EQ(Set({.uid = 5}).mode & 07777, 0755u);
  (void)Set({.mode = 02644});  // mandatory locking's sign, not a set-group-id program
  EXPECT_EQ(Set({.gid = 5}).mode & 07777, 02644u);
  (void)Set({.mode = 06755});
  EXPECT_EQ(Set({.atime_ns = 1}).mode & 07777, 06755u);
  EXPECT_EQ(Set({.clear_suid_sgid = true}).mode & 07777, 0755u);
  const InodeId directory = ns_.Directory(kRootInode, "d");
  ASSERT_TRUE(editor_.Set(directory, {.mode = 02775}));
  EXPECT_EQ(editor_.Set(directory, {.gid = 5})->mode & 07777, 02775u);
}

TEST_F(AttributeEditorTest, TimesBeforeAndAfterNow) {
  const Attributes changed = Set({.atime_ns = -5, .mtime_ns = INT64_MAX});
  EXPECT_EQ(changed.atime_ns, -5);
  EXPECT_EQ(changed.mtime_ns, INT64_MAX);
  EXPECT_EQ(changed.ctime_ns, ns_.clock.WallNs());
  EXPECT_EQ(Set({.ctime_ns = 77}).ctime_ns, 77) << "write-back mode: the kernel owns the times";
}

TEST_F(AttributeEditorTest, StoredSizeStaysTheDurableOne) {
  ns_.Write(file_, 5000);
  EXPECT_EQ(Set({.mode = 0600}).size_bytes, 5000u);
  EXPECT_EQ(Stored().size_bytes, 0u);
  {
    InodeRef inode = ns_.inodes.Get(file_).value();
    ReaderLock lock(inode->mu);
    EXPECT_TRUE(inode->record_dirty) << "the size is still to be stored";
  }
  ASSERT_TRUE(ns_.MakeDurable(file_));
  {
    InodeRef inode = ns_.inodes.Get(file_).value();
    WriterLock lock(inode->mu);
    inode->record_dirty = true;
  }
  (void)Set({.mode = 0644});
  InodeRef inode = ns_.inodes.Get(file_).value();
  ReaderLock lock(inode->mu);
  EXPECT_FALSE(inode->record_dirty);
}

TEST_F(AttributeEditorTest, FailedWriteChangesNothing) {
  const Attributes before = editor_.Get(file_).value();
  faulty_.FailNth(MetaCall::kWrite, 1, Errc::kNoSpace);
  EXPECT_EQ(CodeOf(editor_.Set(file_, {.mode = 0, .uid = 9, .mtime_ns = 1})), Errc::kNoSpace);
  const Attributes after = editor_.Get(file_).value();
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_EQ(after.uid, before.uid);
  EXPECT_EQ(after.mtime_ns, before.mtime_ns);
  EXPECT_EQ(after.ctime_ns, before.ctime_ns);
}

TEST_F(AttributeEditorTest, MissingInode) {
  EXPECT_EQ(CodeOf(editor_.Get(InodeId(999))), Errc::kNotFound);
  EXPECT_EQ(CodeOf(editor_.Set(InodeId(999), {.mode = 0})), Errc::kNotFound);
}

}  // namespace
}  // namespace terrace::fs
