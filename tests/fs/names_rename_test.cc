// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: rename follows renameat2(2): errors, link counts, times, exchange, directories.
// Method: each rule once, on both stores; NAMES-1 to NAMES-3 after each test.
#include <gtest/gtest.h>

#include "fs/names.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class NamesRenameTest : public testing::TestWithParam<StoreKind> {
 protected:
  void TearDown() override { ns_.names->CheckInvariants(); }
  Status Rename(InodeId old_parent, std::string_view old_name, InodeId new_parent,
                std::string_view new_name, RenameFlags flags = {}) {
    return ns_.names->Rename(old_parent, old_name, new_parent, new_name, flags);
  }

  AnyMetaStore store_{GetParam()};
  TestNamespace ns_{*store_};
  const InodeId a_ = ns_.Directory(kRootInode, "a");
  const InodeId b_ = ns_.Directory(kRootInode, "b");
};

INSTANTIATE_TEST_SUITE_P(Stores, NamesRenameTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kRocks), StoreKindName);

TEST_P(NamesRenameTest, MovesAFile) {
  const InodeId file = ns_.File(a_, "old");
  const int64_t made_ns = ns_.clock.WallNs();
  ns_.clock.AdvanceNs(1);
  ASSERT_TRUE(Rename(a_, "old", b_, "new"));
  EXPECT_EQ(ns_.Find(a_, "old"), kNoInode);
  EXPECT_EQ(ns_.Find(b_, "new"), file);
  EXPECT_EQ(ns_.Stat(file).ctime_ns, ns_.clock.WallNs());
  EXPECT_EQ(ns_.Stat(file).mtime_ns, made_ns);
  for (InodeId directory : {a_, b_}) {
    EXPECT_EQ(ns_.Stat(directory).mtime_ns, ns_.clock.WallNs());
    EXPECT_EQ(ns_.Stat(directory).ctime_ns, ns_.clock.WallNs());
  }
  ASSERT_TRUE(Rename(b_, "new", b_, "newer"));
  EXPECT_EQ(ns_.List(b_), std::set<std::string>{"newer"});
}

TEST_P(NamesRenameTest, ReplacesAFile) {
  const InodeId file = ns_.File(a_, "file");
  const InodeId replaced = ns_.File(a_, "target");
  ASSERT_TRUE(Rename(a_, "file", a_, "target"));
  EXPECT_EQ(ns_.Find(a_, "target"), file);
  EXPECT_EQ(ns_.List(a_), std::set<std::string>{"target"});
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{replaced});
}

TEST_P(NamesRenameTest, ReplacedFileWithAnotherNameKeepsIt) {
  const InodeId replaced = ns_.File(a_, "target");
  ASSERT_TRUE(ns_.names->Link(replaced, b_, "other"));
  ns_.File(a_, "file");
  ns_.clock.AdvanceNs(1);
  ASSERT_TRUE(Rename(a_, "file", a_, "target"));
  EXPECT_EQ(ns_.Stat(replaced).nlink, 1u);
  EXPECT_EQ(ns_.Stat(replaced).ctime_ns, ns_.clock.WallNs());
  EXPECT_TRUE(ns_.reaped.empty());
}

TEST_P(NamesRenameTest, SameInodeDoesNothing) {
  const InodeId file = ns_.File(a_, "one");
  ASSERT_TRUE(ns_.names->Link(file, a_, "two"));
  const int64_t before_ns = ns_.Stat(file).ctime_ns;
  ns_.clock.AdvanceNs(1);
  ASSERT_TRUE(Rename(a_, "one", a_, "two"));
  ASSERT_TRUE(Rename(a_, "one", a_, "one"));
  ASSERT_TRUE(Rename(a_, "one", a_, "two", {.exchange = true}));
  EXPECT_EQ(ns_.List(a_), (std::set<std::string>{"one", "two"}));
  EXPECT_EQ(ns_.Stat(file).ctime_ns, before_ns);
  EXPECT_EQ(CodeOf(Rename(a_, "one", a_, "two", {.no_replace = true})), Errc::kExists);
}

TEST_P(NamesRenameTest, ErrorsOfNamesAndFlags) {
  ns_.File(a_, "file");
  ns_.File(a_, "target");
  EXPECT_EQ(CodeOf(Rename(a_, "missing", a_, "x")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(Rename(a_, "file", InodeId(999), "x")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(Rename(InodeId(999), "file", a_, "x")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(Rename(a_, "file", a_, std::string(256, 'n'))), Errc::kNameTooLong);
  EXPECT_EQ(CodeOf(Rename(a_, "file", a_, "target", {.no_replace = true})), Errc::kExists);
  EXPECT_EQ(CodeOf(Rename(a_, "file", a_, "missing", {.exchange = true})), Errc::kNotFound);
  EXPECT_EQ(CodeOf(Rename(a_, "file", a_, "x", {.no_replace = true, .exchange = true})),
            Errc::kInvalid);
  EXPECT_EQ(CodeOf(Rename(a_, ".", a_, "x")), Errc::kBusy);
  EXPECT_EQ(CodeOf(Rename(a_, "file", a_, "..")), Errc::kBusy);
  EXPECT_TRUE(Rename(a_, "file", b_, "free", {.no_replace = true}));
  const InodeId file = ns_.Find(b_, "free");
  EXPECT_EQ(CodeOf(Rename(a_, "target", file, "x")), Errc::kNotDirectory);
}

TEST_P(NamesRenameTest, TypesMustAgree) {
  ns_.File(a_, "file");
  const InodeId full = ns_.Directory(b_, "full");
  ns_.File(full, "inside");
  ns_.Directory(b_, "empty");
  EXPECT_EQ(CodeOf(Rename(a_, "file", b_, "empty")), Errc::kIsDirectory);
  EXPECT_EQ(CodeOf(Rename(b_, "empty", a_, "file")), Errc::kNotDirectory);
  EXPECT_EQ(CodeOf(Rename(b_, "empty", b_, "full")), Errc::kNotEmpty);
  EXPECT_TRUE(Rename(b_, "full", b_, "empty"));
  EXPECT_EQ(ns_.List(b_), std::set<std::string>{"empty"});
  EXPECT_EQ(ns_.Find(b_, "empty"), full);
  EXPECT_EQ(ns_.reaped.size(), 1u);
}

TEST_P(NamesRenameTest, DirectoriesMoveTheirDotDot) {
  const InodeId moved = ns_.Directory(a_, "moved");
  EXPECT_EQ(ns_.Stat(a_).nlink, 3u);
  ASSERT_TRUE(Rename(a_, "moved", b_, "moved"));
  EXPECT_EQ(ns_.Stat(a_).nlink, 2u);
  EXPECT_EQ(ns_.Stat(b_).nlink, 3u);
  EXPECT_EQ(ns_.Find(moved, ".."), b_);
  // Over an empty directory: the target's link goes, the moved one's comes.
  ns_.Directory(a_, "empty");
  ASSERT_TRUE(Rename(b_, "moved", a_, "empty"));
  EXPECT_EQ(ns_.Stat(a_).nlink, 3u);
  EXPECT_EQ(ns_.Stat(b_).nlink, 2u);
}

// NAMES-3
TEST_P(NamesRenameTest, DirectoryNeverMovesIntoItself) {
  const InodeId child = ns_.Directory(a_, "child");
  const InodeId grandchild = ns_.Directory(child, "grandchild");
  EXPECT_EQ(CodeOf(Rename(kRootInode, "a", a_, "x")), Errc::kInvalid);
  EXPECT_EQ(CodeOf(Rename(kRootInode, "a", child, "x")), Errc::kInvalid);
  EXPECT_EQ(CodeOf(Rename(kRootInode, "a", grandchild, "x")), Errc::kInvalid);
  EXPECT_EQ(CodeOf(Rename(child, "grandchild", kRootInode, "a", {.exchange = true})),
            Errc::kInvalid);
  EXPECT_EQ(CodeOf(Rename(kRootInode, "a", child, "grandchild", {.exchange = true})),
            Errc::kInvalid);
  EXPECT_EQ(CodeOf(Rename(child, "grandchild", kRootInode, "a")), Errc::kNotEmpty);
  EXPECT_TRUE(Rename(child, "grandchild", kRootInode, "free"));
}

TEST_P(NamesRenameTest, ExchangeSwapsWhateverIsThere) {
  const InodeId file = ns_.File(a_, "file");
  const InodeId directory = ns_.Directory(b_, "directory");
  ns_.File(directory, "inside");
  ns_.clock.AdvanceNs(1);
  ASSERT_TRUE(Rename(a_, "file", b_, "directory", {.exchange = true}));
  EXPECT_EQ(ns_.Find(a_, "file"), directory);
  EXPECT_EQ(ns_.Find(b_, "directory"), file);
  EXPECT_EQ(ns_.Find(directory, ".."), a_);
  EXPECT_EQ(ns_.Stat(a_).nlink, 3u);
  EXPECT_EQ(ns_.Stat(b_).nlink, 2u);
  EXPECT_EQ(ns_.Stat(file).ctime_ns, ns_.clock.WallNs());
  EXPECT_EQ(ns_.Stat(directory).ctime_ns, ns_.clock.WallNs());
  ASSERT_TRUE(Rename(a_, "file", b_, "directory", {.exchange = true}));
  EXPECT_EQ(ns_.Find(a_, "file"), file);
  EXPECT_EQ(ns_.Stat(a_).nlink, 2u);
  const InodeId other = ns_.File(a_, "other");
  ASSERT_TRUE(Rename(a_, "file", a_, "other", {.exchange = true}));
  EXPECT_EQ(ns_.Find(a_, "file"), other);
  EXPECT_TRUE(ns_.reaped.empty());
}

TEST_P(NamesRenameTest, CollidingNamesInEveryCombination) {
  const auto names = CollidingNames(4);
  for (int state = 0; state < 16; state++) {
    for (size_t from = 0; from < 4; from++) {
      for (size_t to = 0; to < 4; to++) {
        const InodeId directory = ns_.Directory(kRootInode, "d");
        std::map<std::string, InodeId> model;
        for (size_t i = 0; i < 4; i++) {
          if ((state & 1 << i) != 0) model[names[i]] = ns_.File(directory, names[i]);
        }
        const Status renamed = Rename(directory, names[from], directory, names[to]);
        EXPECT_EQ(renamed.has_value(), model.contains(names[from]));
        if (renamed && from != to) {
          model[names[to]] = model[names[from]];
          model.erase(names[from]);
        }
        ns_.names->CheckInvariants();
        std::set<std::string> expected;
        for (const auto& [name, inode] : model) {
          EXPECT_EQ(ns_.Find(directory, name), inode);
          expected.insert(name);
        }
        EXPECT_EQ(ns_.List(directory), expected);
        for (const std::string& name : expected) {
          ASSERT_TRUE(ns_.names->Unlink(directory, name));
        }
        ASSERT_TRUE(ns_.names->RemoveDirectory(kRootInode, "d"));
      }
    }
  }
}

}  // namespace
}  // namespace terrace::fs
