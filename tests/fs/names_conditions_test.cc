// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a name published before its file's bytes are durable is conditional, the predecessor lives
// as long as it may be needed, and nothing waits that need not (fs/names_rename.cc has the cases).
// Method: files that are "written" in memory only; commits by hand; what was waited for is noted.
#include <gtest/gtest.h>

#include "fs/names.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class NamesConditionsTest : public testing::Test {
 protected:
  void TearDown() override { ns_.names->CheckInvariants(); }
  Status Rename(std::string_view old_name, std::string_view new_name, RenameFlags flags = {}) {
    return ns_.names->Rename(kRootInode, old_name, kRootInode, new_name, flags);
  }
  InodeId WrittenFile(std::string_view name) {
    const InodeId file = ns_.File(kRootInode, name);
    ns_.Write(file);
    return file;
  }
  InodeId DurableFile(std::string_view name) {
    const InodeId file = WrittenFile(name);
    EXPECT_TRUE(ns_.MakeDurable(file));
    ns_.made_durable.clear();
    return file;
  }
  std::optional<Condition> ConditionOf(std::string_view name) {
    return ns_.conditions.AtName(kRootInode, NameCookie(name, kTestSeed));
  }
  void Promise(InodeId file) {
    InodeRef inode = ns_.inodes.Get(file).value();
    WriterLock lock(inode->mu);
    inode->durable_bytes_promised = true;
  }

  MemoryMetaStore store_;
  TestNamespace ns_{store_};
};

TEST_F(NamesConditionsTest, PlainCreateAndWriteNeedsNone) {
  WrittenFile("file");
  EXPECT_EQ(ns_.conditions.size(), 0u);
}

TEST_F(NamesConditionsTest, DurableFileNeedsNone) {
  DurableFile("tmp");
  const InodeId replaced = ns_.File(kRootInode, "final");
  ASSERT_TRUE(Rename("tmp", "final"));
  EXPECT_EQ(ns_.conditions.size(), 0u);
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{replaced});
}

TEST_F(NamesConditionsTest, PublishingUndurableBytesKeepsThePredecessor) {
  const InodeId predecessor = DurableFile("final");
  const InodeId file = WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "final"));
  EXPECT_TRUE(ns_.made_durable.empty()) << "rename does not wait";
  const auto condition = ConditionOf("final");
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->inode, file);
  EXPECT_EQ(condition->predecessor, predecessor);
  EXPECT_TRUE(ns_.reaped.empty());
  EXPECT_TRUE(store_.Get(Table::kOrphan, InodeKey(predecessor)).value());
  ASSERT_TRUE(ns_.MakeDurable(file));
  EXPECT_EQ(ns_.conditions.size(), 0u);
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{predecessor});
}

TEST_F(NamesConditionsTest, PredecessorThatTheKernelKnowsWaitsForBoth) {
  for (const bool commit_first : {true, false}) {
    const InodeId predecessor = DurableFile("final");
    ASSERT_TRUE(ns_.names->Lookup(kRootInode, "final"));
    const InodeId file = WrittenFile("tmp");
    ASSERT_TRUE(Rename("tmp", "final"));
    ns_.reaped.clear();
    if (commit_first) {
      ASSERT_TRUE(ns_.MakeDurable(file));
    } else {
      ns_.names->Forget(predecessor, 1);
    }
    EXPECT_TRUE(ns_.reaped.empty());
    if (commit_first) {
      ns_.names->Forget(predecessor, 1);
    } else {
      ASSERT_TRUE(ns_.MakeDurable(file));
    }
    EXPECT_EQ(ns_.reaped, std::vector<InodeId>{predecessor});
    ASSERT_TRUE(ns_.names->Unlink(kRootInode, "final"));
  }
}

TEST_F(NamesConditionsTest, OneWithPredecessorIsMadeDurableBeforeItGoes) {
  using Action = std::function<Status()>;
  const Action actions[] = {
      [&] { return ns_.names->Unlink(kRootInode, "final"); },
      [&] { return Rename("final", "elsewhere"); },
      [&] { return Rename("next", "final"); },
      [&] { return Rename("final", "next", {.exchange = true}); },
  };
  for (const Action& action : actions) {
    DurableFile("final");
    const InodeId file = WrittenFile("tmp");
    DurableFile("next");
    ASSERT_TRUE(Rename("tmp", "final"));
    ns_.made_durable.clear();
    ASSERT_TRUE(action());
    EXPECT_EQ(ns_.made_durable, std::vector<InodeId>{file});
    EXPECT_EQ(ns_.conditions.size(), 0u);
    for (const std::string& name : ns_.List(kRootInode)) {
      ASSERT_TRUE(ns_.names->Unlink(kRootInode, name));
    }
  }
}

TEST_F(NamesConditionsTest, FailureToMakeDurableIsReportedAndChangesNothing) {
  DurableFile("final");
  const InodeId file = WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "final"));
  ns_.make_durable_result = Fail(Errc::kIo, "device");
  EXPECT_EQ(CodeOf(ns_.names->Unlink(kRootInode, "final")), Errc::kIo);
  EXPECT_EQ(ns_.Find(kRootInode, "final"), file);
  EXPECT_TRUE(ConditionOf("final"));
  ns_.make_durable_result = {};
}

TEST_F(NamesConditionsTest, OneThatNeverClosesIsBusyNotALoop) {
  DurableFile("final");
  WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "final"));
  ns_.make_durable_result = Fail(Errc::kNotFound, "freed meanwhile");
  EXPECT_EQ(CodeOf(ns_.names->Unlink(kRootInode, "final")), Errc::kBusy);
  ns_.make_durable_result = {};
}

TEST_F(NamesConditionsTest, OneWithoutPredecessorMovesAlong) {
  const InodeId file = WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "first"));
  ASSERT_TRUE(ConditionOf("first"));
  EXPECT_EQ(ConditionOf("first")->predecessor, kNoInode);
  ASSERT_TRUE(Rename("first", "second"));
  EXPECT_FALSE(ConditionOf("first"));
  EXPECT_EQ(ConditionOf("second")->inode, file);
  // Over a durable file: that one is the predecessor now.
  const InodeId durable = DurableFile("third");
  ASSERT_TRUE(Rename("second", "third"));
  EXPECT_EQ(ConditionOf("third")->predecessor, durable);
  EXPECT_EQ(ns_.conditions.size(), 1u);
  EXPECT_TRUE(ns_.made_durable.empty());
}

TEST_F(NamesConditionsTest, OneWithoutPredecessorGoesWithItsName) {
  const InodeId file = WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "final"));
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "final"));
  EXPECT_EQ(ns_.conditions.size(), 0u);
  EXPECT_TRUE(ns_.made_durable.empty());
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{file});
}

// A KV cache that overwrites keys faster than the device writes must not wait for it.
TEST_F(NamesConditionsTest, ReplacingAnUndurableOneNeitherWaitsNorKeepsIt) {
  const InodeId first = WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "key"));
  WrittenFile("tmp");
  ASSERT_TRUE(Rename("tmp", "key"));
  EXPECT_TRUE(ns_.made_durable.empty());
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{first});
  EXPECT_EQ(ConditionOf("key")->predecessor, kNoInode) << "nothing durable was ever there";
  EXPECT_EQ(ns_.conditions.size(), 1u);
}

TEST_F(NamesConditionsTest, LinkOpensOneForTheNewName) {
  const InodeId file = WrittenFile("file");
  ASSERT_TRUE(ns_.names->Link(file, kRootInode, "link"));
  EXPECT_FALSE(ConditionOf("file"));
  EXPECT_EQ(ConditionOf("link")->predecessor, kNoInode);
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "link"));
  EXPECT_EQ(ns_.conditions.size(), 0u);
}

TEST_F(NamesConditionsTest, OnlyRegularFilesHaveThem) {
  ns_.Directory(kRootInode, "directory");
  ASSERT_TRUE(Rename("directory", "moved"));
  ASSERT_TRUE(ns_.MakeForgotten(kRootInode, "pipe", S_IFIFO | 0600));
  ASSERT_TRUE(Rename("pipe", "moved pipe"));
  EXPECT_EQ(ns_.conditions.size(), 0u);
}

TEST_F(NamesConditionsTest, ExchangeWaitsForBothFiles) {
  const InodeId one = WrittenFile("one");
  const InodeId two = WrittenFile("two");
  ASSERT_TRUE(Rename("one", "two", {.exchange = true}));
  EXPECT_EQ(ns_.made_durable, (std::vector<InodeId>{one, two}));
  EXPECT_EQ(ns_.conditions.size(), 0u);
  EXPECT_EQ(ns_.Find(kRootInode, "two"), one);
}

// Write, fsync, write a little more, rename: recovery must not drop the file with the bytes that
// fsync promised.
TEST_F(NamesConditionsTest, PromisedBytesAreNotPutAtRisk) {
  const InodeId file = DurableFile("log");
  Promise(file);
  ns_.Write(file);
  ASSERT_TRUE(Rename("log", "log.1"));
  EXPECT_EQ(ns_.made_durable, std::vector<InodeId>{file});
  EXPECT_EQ(ns_.conditions.size(), 0u);
  // The same by link and unlink.
  ns_.made_durable.clear();
  ns_.Write(file);
  ASSERT_TRUE(ns_.names->Link(file, kRootInode, "log.2"));
  EXPECT_TRUE(ns_.made_durable.empty());
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "log.1"));
  EXPECT_EQ(ns_.made_durable, std::vector<InodeId>{file});
  // And by replacing one of its names.
  ns_.made_durable.clear();
  ns_.Write(file);
  ASSERT_TRUE(ns_.names->Link(file, kRootInode, "log.3"));
  DurableFile("other");
  ASSERT_TRUE(Rename("other", "log.2"));
  EXPECT_EQ(ns_.made_durable, std::vector<InodeId>{file});
  // Removing the last name does not wait.
  ns_.made_durable.clear();
  ns_.Write(file);
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "log.3"));
  EXPECT_TRUE(ns_.made_durable.empty());
}

TEST_F(NamesConditionsTest, FsyncOfADirectoryClosesItsConditions) {
  const InodeId directory = ns_.Directory(kRootInode, "d");
  std::vector<InodeId> files;
  for (int i = 0; i < 3; i++) {
    files.push_back(WrittenFile("tmp"));
    ASSERT_TRUE(ns_.names->Rename(kRootInode, "tmp", directory, std::to_string(i), {}));
  }
  ns_.File(kRootInode, "elsewhere");
  ASSERT_TRUE(ns_.names->MakeEntriesDurable(directory));
  EXPECT_EQ(ns_.conditions.size(), 0u);
  EXPECT_EQ(std::set<InodeId>(ns_.made_durable.begin(), ns_.made_durable.end()),
            std::set<InodeId>(files.begin(), files.end()));
  WrittenFile("tmp");
  ASSERT_TRUE(ns_.names->Rename(kRootInode, "tmp", directory, "x", {}));
  ns_.make_durable_result = Fail(Errc::kIo, "device");
  EXPECT_EQ(CodeOf(ns_.names->MakeEntriesDurable(directory)), Errc::kIo);
}

}  // namespace
}  // namespace terrace::fs
