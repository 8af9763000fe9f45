// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the checker finds each kind of violation of NAMES-1 to NAMES-3, and nothing else.
// Method: a good store, then one damage at a time.
#include "fs/namespace_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "fs/name_slots.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class NamespaceCheckTest : public testing::Test {
 protected:
  NamespaceCheckTest() {
    TestNamespace ns(store_);
    directory_ = ns.Directory(kRootInode, "directory");
    file_ = ns.File(directory_, "file");
    orphan_ = ns.names->Make(kRootInode, "open", {.mode = S_IFREG | 0644}, {})->inode;
    EXPECT_TRUE(ns.names->Unlink(kRootInode, "open"));
    ns.Write(file_);
    EXPECT_TRUE(ns.names->Rename(directory_, "file", directory_, "renamed", {}));
  }
  InodeRecord Record(InodeId inode) {
    return DecodeInodeRecord(inode, **store_.Get(Table::kInode, InodeKey(inode))).value();
  }
  void Put(Table table, std::string key, std::string value) {
    MetaBatch batch;
    batch.Put(table, std::move(key), std::move(value));
    ASSERT_TRUE(store_.Write(batch));
  }
  void Delete(Table table, std::string key) {
    MetaBatch batch;
    batch.Delete(table, std::move(key));
    ASSERT_TRUE(store_.Write(batch));
  }
  std::string EntryKey(InodeId parent, std::string_view name) {
    return DentryKey(parent, NameCookie(name, kTestSeed));
  }
  size_t Findings() { return CheckNamespace(store_, kTestSeed)->size(); }

  MemoryMetaStore store_;
  InodeId directory_;
  InodeId file_;
  InodeId orphan_;
};

TEST_F(NamespaceCheckTest, GoodStoreHasNoFindings) { EXPECT_EQ(Findings(), 0u); }

TEST_F(NamespaceCheckTest, WrongLinkCounts) {
  for (InodeId inode : {kRootInode, directory_, file_}) {
    InodeRecord record = Record(inode);
    record.nlink++;
    Put(Table::kInode, InodeKey(inode), EncodeInodeRecord(record));
    EXPECT_EQ(Findings(), 1u);
    record.nlink--;
    Put(Table::kInode, InodeKey(inode), EncodeInodeRecord(record));
  }
}

TEST_F(NamespaceCheckTest, LostOrphan) {
  Delete(Table::kOrphan, InodeKey(orphan_));
  EXPECT_EQ(Findings(), 1u);
}

TEST_F(NamespaceCheckTest, OrphanWithAName) {
  Put(Table::kOrphan, InodeKey(file_), {});
  EXPECT_EQ(Findings(), 1u);
}

TEST_F(NamespaceCheckTest, EntryOfAMissingInode) {
  Put(Table::kDentry, EntryKey(directory_, "ghost"),
      EncodeStoredName({InodeId(999), S_IFREG, false, "ghost"}));
  EXPECT_EQ(Findings(), 1u);
}

TEST_F(NamespaceCheckTest, EntryAtTheWrongPosition) {
  Put(Table::kDentry, DentryKey(directory_, 256),
      EncodeStoredName({file_, S_IFREG, false, "link"}));
  EXPECT_EQ(Findings(), 2u) << "and the link count";
}

TEST_F(NamespaceCheckTest, DirectoryLoop) {
  TestNamespace ns(store_);
  const InodeId child = ns.Directory(directory_, "child");
  // As if `directory` had been moved into its own child.
  Delete(Table::kDentry, EntryKey(kRootInode, "directory"));
  Put(Table::kDentry, EntryKey(child, "directory"),
      EncodeStoredName({directory_, S_IFDIR, false, "directory"}));
  InodeRecord record = Record(directory_);
  record.parent = child;
  Put(Table::kInode, InodeKey(directory_), EncodeInodeRecord(record));
  EXPECT_GE(Findings(), 2u);  // NAMES-3, and the link counts of both parents
}

TEST_F(NamespaceCheckTest, ConditionOfAnotherName) {
  Put(Table::kCondition, DentryKey(kRootInode, 512),
      EncodeCondition({kRootInode, 512, file_, Sequence(1), kNoInode}));
  EXPECT_EQ(Findings(), 1u);
}

TEST_F(NamespaceCheckTest, DamagedBytesAreFindings) {
  Put(Table::kInode, InodeKey(InodeId(77)), "x");
  Put(Table::kInode, "short", "x");
  Put(Table::kDentry, "short", "x");
  Put(Table::kDentry, DentryKey(kRootInode, 256), "x");
  Put(Table::kOrphan, "short", "");
  Put(Table::kCondition, "short", "");
  EXPECT_EQ(Findings(), 6u);
}

}  // namespace
}  // namespace terrace::fs
