// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: making, finding and removing names, with ext4's errors, link counts and times, and
// NAMES-1 and NAMES-2 after each test. Renaming: names_rename_test.cc.
// Method: a namespace on the real store and on one in memory; a clock that is moved by hand.
#include "fs/names.h"

#include <gtest/gtest.h>

#include <thread>

#include "fs/meta/faulty_meta_store.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class NamesTest : public testing::TestWithParam<StoreKind> {
 protected:
  void TearDown() override {
    ns_.names->CheckInvariants();  // NAMES-1, NAMES-2, NAMES-3
    ns_.inodes.CheckInvariants();
  }
  Result<Attributes> Make(InodeId parent, std::string_view name, uint32_t mode) {
    return ns_.names->Make(parent, name, {.mode = mode}, ns_.caller);
  }

  AnyMetaStore store_{GetParam()};
  TestNamespace ns_{*store_};
};

INSTANTIATE_TEST_SUITE_P(Stores, NamesTest, testing::Values(StoreKind::kMemory, StoreKind::kRocks),
                         StoreKindName);

TEST_P(NamesTest, RootIsMadeOnce) {
  const Attributes root = ns_.Stat(kRootInode);
  EXPECT_EQ(root.mode, static_cast<uint32_t>(S_IFDIR | 0755));
  EXPECT_EQ(root.nlink, 2u);
  ns_.Directory(kRootInode, "kept");
  ASSERT_TRUE(ns_.names->EnsureRoot({.uid = 7, .gid = 7}));
  EXPECT_EQ(ns_.Stat(kRootInode).uid, 0u);
  EXPECT_EQ(ns_.List(kRootInode), std::set<std::string>{"kept"});
}

TEST_P(NamesTest, MadeFileHasWhatWasAsked) {
  ns_.clock.AdvanceNs(5);
  auto made = Make(kRootInode, "file", S_IFREG | 04755);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->mode, static_cast<uint32_t>(S_IFREG | 04755));
  EXPECT_EQ(made->nlink, 1u);
  EXPECT_EQ(made->uid, 1000u);
  EXPECT_EQ(made->gid, 1000u);
  EXPECT_EQ(made->size_bytes, 0u);
  for (int64_t time : {made->atime_ns, made->mtime_ns, made->ctime_ns, made->btime_ns}) {
    EXPECT_EQ(time, ns_.clock.WallNs());
  }
  const Attributes root = ns_.Stat(kRootInode);
  EXPECT_EQ(root.mtime_ns, ns_.clock.WallNs());
  EXPECT_EQ(root.ctime_ns, ns_.clock.WallNs());
  auto found = ns_.names->Lookup(kRootInode, "file");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->inode, made->inode);
  EXPECT_EQ(found->mode, made->mode);
}

TEST_P(NamesTest, EveryTypeCanBeMade) {
  for (uint32_t type : {S_IFREG, S_IFDIR, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK, S_IFLNK}) {
    const std::string name = std::to_string(type);
    const NodeSpec spec{.mode = type | 0600, .rdev = 0x0803, .symlink_target = "to"};
    auto made = ns_.names->Make(kRootInode, name, spec, ns_.caller);
    ASSERT_TRUE(made) << name;
    EXPECT_EQ(made->mode & S_IFMT, type);
    EXPECT_EQ(made->rdev, S_ISCHR(type) || S_ISBLK(type) ? 0x0803u : 0u);
  }
  EXPECT_EQ(CodeOf(Make(kRootInode, "none", 0600)), Errc::kInvalid);
  EXPECT_EQ(ns_.Stat(kRootInode).nlink, 3u);
}

TEST_P(NamesTest, SymbolicLinks) {
  const std::string longest(4095, 't');
  ASSERT_TRUE(ns_.names->Make(kRootInode, "l", {.mode = S_IFLNK | 0777, .symlink_target = longest},
                              ns_.caller));
  const InodeId link = ns_.Find(kRootInode, "l");
  EXPECT_EQ(ns_.names->ReadLink(link).value(), longest);
  EXPECT_EQ(ns_.Stat(link).size_bytes, 4095u);
  EXPECT_EQ(
      CodeOf(ns_.names->Make(
          kRootInode, "m", {.mode = S_IFLNK | 0777, .symlink_target = longest + "t"}, ns_.caller)),
      Errc::kNameTooLong);
  EXPECT_EQ(CodeOf(ns_.names->Make(kRootInode, "m", {.mode = S_IFLNK | 0777}, ns_.caller)),
            Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->ReadLink(kRootInode)), Errc::kInvalid);
  EXPECT_EQ(CodeOf(ns_.names->ReadLink(InodeId(999))), Errc::kNotFound);
}

TEST_P(NamesTest, GroupIsInheritedBelowSetgidDirectories) {
  auto shared =
      ns_.names->Make(kRootInode, "shared", {.mode = S_IFDIR | 02775}, {.uid = 1, .gid = 50});
  ASSERT_TRUE(shared);
  auto file = Make(shared->inode, "file", S_IFREG | 0644);
  EXPECT_EQ(file->gid, 50u);
  EXPECT_EQ(file->mode & S_ISGID, 0u);
  auto directory = Make(shared->inode, "directory", S_IFDIR | 0755);
  EXPECT_EQ(directory->gid, 50u);
  EXPECT_NE(directory->mode & S_ISGID, 0u);
}

TEST_P(NamesTest, NamesOfAllBytesAndLengths) {
  std::string all;
  for (int byte = 1; byte < 256; byte++) {
    if (byte != '/') all.push_back(static_cast<char>(byte));
  }
  const std::string longest(255, 'n');
  for (const std::string& name : {all, longest, std::string("\xff"), std::string("...")}) {
    EXPECT_TRUE(Make(kRootInode, name, S_IFREG | 0644));
    EXPECT_NE(ns_.Find(kRootInode, name), kNoInode);
  }
  EXPECT_EQ(ns_.List(kRootInode), (std::set<std::string>{all, longest, "\xff", "..."}));
  const std::string too_long(256, 'n');
  EXPECT_EQ(CodeOf(Make(kRootInode, too_long, S_IFREG)), Errc::kNameTooLong);
  EXPECT_EQ(CodeOf(ns_.names->Lookup(kRootInode, too_long)), Errc::kNameTooLong);
  EXPECT_EQ(CodeOf(ns_.names->Unlink(kRootInode, too_long)), Errc::kNameTooLong);
  EXPECT_EQ(CodeOf(Make(kRootInode, "a/b", S_IFREG)), Errc::kInvalid);
  EXPECT_EQ(CodeOf(Make(kRootInode, std::string("a\0b", 3), S_IFREG)), Errc::kInvalid);
  EXPECT_EQ(CodeOf(Make(kRootInode, "", S_IFREG)), Errc::kNotFound);
  EXPECT_EQ(CodeOf(Make(kRootInode, ".", S_IFDIR)), Errc::kExists);
  EXPECT_EQ(CodeOf(Make(kRootInode, "..", S_IFDIR)), Errc::kExists);
}

TEST_P(NamesTest, ErrorsOfMakeAndLookup) {
  const InodeId file = ns_.File(kRootInode, "file");
  EXPECT_EQ(CodeOf(Make(kRootInode, "file", S_IFREG | 0644)), Errc::kExists);
  EXPECT_EQ(CodeOf(Make(file, "below", S_IFREG | 0644)), Errc::kNotDirectory);
  EXPECT_EQ(CodeOf(Make(InodeId(999), "below", S_IFREG | 0644)), Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->Lookup(kRootInode, "missing")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->Lookup(file, "below")), Errc::kNotDirectory);
  EXPECT_EQ(CodeOf(ns_.names->Lookup(InodeId(999), "x")), Errc::kNotFound);
}

TEST_P(NamesTest, DotAndDotDotAreFound) {
  const InodeId a = ns_.Directory(kRootInode, "a");
  const InodeId b = ns_.Directory(a, "b");
  EXPECT_EQ(ns_.Find(b, "."), b);
  EXPECT_EQ(ns_.Find(b, ".."), a);
  EXPECT_EQ(ns_.Find(kRootInode, ".."), kRootInode);
}

TEST_P(NamesTest, DirectoriesCountTheirSubdirectories) {
  const InodeId a = ns_.Directory(kRootInode, "a");
  ns_.File(a, "file");
  ns_.Directory(a, "x");
  ns_.Directory(a, "y");
  EXPECT_EQ(ns_.Stat(a).nlink, 4u);
  EXPECT_EQ(ns_.Stat(kRootInode).nlink, 3u);
  ns_.clock.AdvanceNs(1);
  ASSERT_TRUE(ns_.names->RemoveDirectory(a, "x"));
  EXPECT_EQ(ns_.Stat(a).nlink, 3u);
  EXPECT_EQ(ns_.Stat(a).mtime_ns, ns_.clock.WallNs());
}

TEST_P(NamesTest, ErrorsOfRemoving) {
  const InodeId a = ns_.Directory(kRootInode, "a");
  ns_.File(a, "file");
  EXPECT_EQ(CodeOf(ns_.names->Unlink(kRootInode, "a")), Errc::kIsDirectory);
  EXPECT_EQ(CodeOf(ns_.names->Unlink(kRootInode, "missing")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->RemoveDirectory(kRootInode, "a")), Errc::kNotEmpty);
  EXPECT_EQ(CodeOf(ns_.names->RemoveDirectory(a, "file")), Errc::kNotDirectory);
  EXPECT_EQ(CodeOf(ns_.names->RemoveDirectory(a, "missing")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->RemoveDirectory(a, ".")), Errc::kInvalid);
  EXPECT_EQ(CodeOf(ns_.names->RemoveDirectory(a, "..")), Errc::kNotEmpty);
}

TEST_P(NamesTest, HardLinks) {
  auto made = Make(kRootInode, "a", S_IFREG | 0644);
  ns_.clock.AdvanceNs(1);
  auto linked = ns_.names->Link(made->inode, kRootInode, "b");
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->nlink, 2u);
  EXPECT_EQ(linked->ctime_ns, ns_.clock.WallNs());
  EXPECT_EQ(linked->mtime_ns, made->mtime_ns);
  EXPECT_EQ(CodeOf(ns_.names->Link(made->inode, kRootInode, "a")), Errc::kExists);
  EXPECT_EQ(CodeOf(ns_.names->Link(kRootInode, kRootInode, "root")), Errc::kPermission);
  EXPECT_EQ(CodeOf(ns_.names->Link(InodeId(999), kRootInode, "c")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->Link(made->inode, made->inode, "c")), Errc::kNotDirectory);
  ns_.clock.AdvanceNs(1);
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "a"));
  EXPECT_EQ(ns_.Stat(made->inode).nlink, 1u);
  EXPECT_EQ(ns_.Stat(made->inode).ctime_ns, ns_.clock.WallNs());
  EXPECT_TRUE(ns_.reaped.empty());
  // A symbolic link may be linked as well, as on ext4.
  auto symlink =
      ns_.names->Make(kRootInode, "s", {.mode = S_IFLNK | 0777, .symlink_target = "t"}, ns_.caller);
  EXPECT_TRUE(ns_.names->Link(symlink->inode, kRootInode, "s2"));
}

TEST_P(NamesTest, LinkCountHasALimit) {
  const InodeId file = ns_.File(kRootInode, "file");
  {
    InodeRef inode = ns_.inodes.Get(file).value();
    WriterLock lock(inode->mu);
    inode->record.nlink = kLinkCountMax;
  }
  EXPECT_EQ(CodeOf(ns_.names->Link(file, kRootInode, "more")), Errc::kTooManyLinks);
  EXPECT_EQ(ns_.Find(kRootInode, "more"), kNoInode);
}

// NAMES-2: an unlinked inode that the kernel knows stays, as an orphan, until it is forgotten.
TEST_P(NamesTest, UnlinkedInodeLivesUntilForgotten) {
  auto made = Make(kRootInode, "file", S_IFREG | 0644);
  ASSERT_TRUE(ns_.names->Lookup(kRootInode, "file"));
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "file"));
  EXPECT_EQ(ns_.Find(kRootInode, "file"), kNoInode);
  EXPECT_TRUE(ns_.reaped.empty());
  EXPECT_TRUE((*store_).Get(Table::kOrphan, InodeKey(made->inode)).value());
  ns_.names->CheckInvariants();
  EXPECT_EQ(CodeOf(ns_.names->Link(made->inode, kRootInode, "again")), Errc::kNotFound);
  ns_.names->Forget(made->inode, 1);
  EXPECT_TRUE(ns_.reaped.empty());
  ns_.names->Forget(made->inode, 1);
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{made->inode});
  EXPECT_EQ(CodeOf(ns_.names->AttributesForEntry(made->inode)), Errc::kNotFound);
  EXPECT_FALSE(ns_.inodes.KnownToKernel(made->inode));
}

TEST_P(NamesTest, FileMadeWithoutANameTakesOneOrGoes) {
  const auto kept = ns_.names->MakeNameless(kRootInode, 0640, ns_.caller);
  const auto lost = ns_.names->MakeNameless(kRootInode, 0640, ns_.caller);
  ASSERT_TRUE(kept && lost);
  EXPECT_EQ(kept->nlink, 0u);
  EXPECT_EQ(kept->mode, static_cast<uint32_t>(S_IFREG | 0640));
  EXPECT_TRUE(ns_.List(kRootInode).empty());
  EXPECT_TRUE((*store_).Get(Table::kOrphan, InodeKey(kept->inode)).value());
  ns_.names->CheckInvariants();

  ASSERT_TRUE(ns_.names->Link(kept->inode, kRootInode, "named"));
  EXPECT_EQ(ns_.Stat(kept->inode).nlink, 1u);
  EXPECT_FALSE((*store_).Get(Table::kOrphan, InodeKey(kept->inode)).value());
  ns_.names->Forget(kept->inode, 2);
  EXPECT_TRUE(ns_.reaped.empty());
  ns_.names->Forget(lost->inode, 1);
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{lost->inode});

  const InodeId removed = ns_.Directory(kRootInode, "removed");
  ASSERT_TRUE(ns_.names->Lookup(kRootInode, "removed"));
  ASSERT_TRUE(ns_.names->RemoveDirectory(kRootInode, "removed"));
  EXPECT_EQ(CodeOf(ns_.names->MakeNameless(removed, 0600, ns_.caller)), Errc::kNotFound);
}

TEST_P(NamesTest, UnknownInodeIsReapedAtOnceAndOnlyOnce) {
  const InodeId file = ns_.File(kRootInode, "file");
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "file"));
  EXPECT_EQ(ns_.reaped, std::vector<InodeId>{file});
  ns_.names->PredecessorReleased(file);
  ns_.names->Forget(file, 1);
  EXPECT_EQ(ns_.reaped.size(), 1u);
}

TEST_P(NamesTest, RemovedOpenDirectoryTakesAndListsNothing) {
  auto directory = Make(kRootInode, "d", S_IFDIR | 0755);
  ASSERT_TRUE(ns_.names->RemoveDirectory(kRootInode, "d"));
  EXPECT_EQ(CodeOf(Make(directory->inode, "x", S_IFREG | 0644)), Errc::kNotFound);
  const InodeId file = ns_.File(kRootInode, "file");
  EXPECT_EQ(CodeOf(ns_.names->Link(file, directory->inode, "x")), Errc::kNotFound);
  EXPECT_EQ(CodeOf(ns_.names->Rename(kRootInode, "file", directory->inode, "x", {})),
            Errc::kNotFound);
  int listed = 0;
  ASSERT_TRUE(ns_.names->List(directory->inode, 0, [&](const DirectoryEntry&) {
    listed++;
    return true;
  }));
  EXPECT_EQ(listed, 0);
  EXPECT_EQ(CodeOf(ns_.names->Lookup(directory->inode, "x")), Errc::kNotFound);
  ns_.names->Forget(directory->inode, 1);
  EXPECT_EQ(ns_.reaped.size(), 1u);
}

TEST_P(NamesTest, CollidingNamesAreDifferentNames) {
  const auto names = CollidingNames(40);
  std::set<std::string> expected;
  for (const std::string& name : names) {
    ns_.File(kRootInode, name);
    expected.insert(name);
  }
  EXPECT_EQ(ns_.List(kRootInode), expected);
  ns_.names->CheckInvariants();
  for (size_t i = 0; i < names.size(); i += 2) {
    ASSERT_TRUE(ns_.names->Unlink(kRootInode, names[i]));
    expected.erase(names[i]);
  }
  EXPECT_EQ(ns_.List(kRootInode), expected);
  for (size_t i = 1; i < names.size(); i += 2) EXPECT_NE(ns_.Find(kRootInode, names[i]), kNoInode);
}

TEST_P(NamesTest, LookupDoesNotFillTheTable) {
  std::vector<InodeId> files;
  for (int i = 0; i < 50; i++) files.push_back(ns_.File(kRootInode, std::to_string(i)));
  for (InodeId file : files) ns_.inodes.Drop(file);
  const size_t before = ns_.inodes.size();
  for (int i = 0; i < 50; i++) EXPECT_EQ(ns_.Find(kRootInode, std::to_string(i)), files[i]);
  for (InodeId file : files) ns_.Stat(file);
  EXPECT_EQ(ns_.inodes.size(), before);
}

TEST_P(NamesTest, AttributesInMemoryWin) {
  const InodeId file = ns_.File(kRootInode, "file");
  ns_.Write(file, 12345);
  auto found = ns_.names->Lookup(kRootInode, "file");
  EXPECT_EQ(found->size_bytes, 12345u);
  EXPECT_EQ(ns_.Stat(file).size_bytes, 12345u);
  // The store has the durable size, whatever operation wrote the record.
  ASSERT_TRUE(ns_.names->Link(file, kRootInode, "link"));
  auto stored = DecodeInodeRecord(file, **(*store_).Get(Table::kInode, InodeKey(file)));
  EXPECT_EQ(stored->size_bytes, 0u);
  EXPECT_EQ(stored->nlink, 2u);
}

TEST_P(NamesTest, CreateIsOneGetAndOneWrite) {
  FaultyMetaStore counted(*store_);
  TestNamespace ns(counted);
  ns.File(kRootInode, "first");
  const uint64_t gets = counted.CallCount(MetaCall::kGet);
  const uint64_t writes = counted.CallCount(MetaCall::kWrite);
  ns.File(kRootInode, "second");
  EXPECT_EQ(counted.CallCount(MetaCall::kGet), gets + 1);
  EXPECT_EQ(counted.CallCount(MetaCall::kWrite), writes + 1);
  EXPECT_EQ(counted.CallCount(MetaCall::kScan), 0u);
}

TEST(NamesOnDisk, SurviveReopening) {
  AnyMetaStore store(StoreKind::kRocks);
  InodeId directory;
  InodeId file;
  {
    TestNamespace ns(*store);
    directory = ns.Directory(kRootInode, "directory");
    file = ns.File(directory, "file");
  }
  store.Reopen();
  TestNamespace ns(*store);
  EXPECT_EQ(ns.Find(kRootInode, "directory"), directory);
  EXPECT_EQ(ns.Find(directory, "file"), file);
  EXPECT_GT(ns.File(directory, "new").value(), file.value()) << "no inode number twice";
  ns.names->CheckInvariants();
}

}  // namespace
}  // namespace terrace::fs
