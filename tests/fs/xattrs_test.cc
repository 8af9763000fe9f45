// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: extended attributes with ext4's prefixes, limits and errors; reading one that is not there
// costs one look-up at most.
// Method: the AttributeEditor on both stores, edge sizes, a counting store.
#include "fs/xattrs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fs/attribute_editor.h"
#include "fs/meta/faulty_meta_store.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class XattrsTest : public testing::TestWithParam<StoreKind> {
 protected:
  std::set<std::string> List(InodeId inode) {
    const auto names = editor_.ListXattrs(inode).value();
    return {names.begin(), names.end()};
  }

  AnyMetaStore store_{GetParam()};
  FaultyMetaStore faulty_{*store_};
  TestNamespace ns_{faulty_};
  AttributeEditor editor_{faulty_, ns_.inodes, ns_.clock};
  const InodeId file_ = ns_.File(kRootInode, "file");
  const InodeId other_ = ns_.File(kRootInode, "other");
};

INSTANTIATE_TEST_SUITE_P(Stores, XattrsTest, testing::Values(StoreKind::kMemory, StoreKind::kRocks),
                         StoreKindName);

TEST_P(XattrsTest, SetGetListRemove) {
  ASSERT_TRUE(editor_.SetXattr(file_, "user.a", std::string("\0v", 2), {}));
  ASSERT_TRUE(editor_.SetXattr(file_, "trusted.b", "", {}));
  ASSERT_TRUE(editor_.SetXattr(file_, "security.c", "3", {}));
  ASSERT_TRUE(editor_.SetXattr(other_, "user.z", "4", {}));
  EXPECT_EQ(editor_.GetXattr(file_, "user.a").value(), std::string("\0v", 2));
  EXPECT_EQ(editor_.GetXattr(file_, "trusted.b").value(), "");
  EXPECT_EQ(List(file_), (std::set<std::string>{"user.a", "trusted.b", "security.c"}));
  ASSERT_TRUE(editor_.SetXattr(file_, "user.a", "new", {}));
  EXPECT_EQ(editor_.GetXattr(file_, "user.a").value(), "new");
  ASSERT_TRUE(editor_.RemoveXattr(file_, "user.a"));
  EXPECT_EQ(CodeOf(editor_.GetXattr(file_, "user.a")), Errc::kNoAttribute);
  EXPECT_EQ(CodeOf(editor_.RemoveXattr(file_, "user.a")), Errc::kNoAttribute);
  EXPECT_EQ(List(other_), std::set<std::string>{"user.z"});
}

TEST_P(XattrsTest, CreateAndReplace) {
  EXPECT_EQ(CodeOf(editor_.SetXattr(file_, "user.a", "1", {.replace = true})), Errc::kNoAttribute);
  EXPECT_TRUE(editor_.SetXattr(file_, "user.a", "1", {.create = true}));
  EXPECT_EQ(CodeOf(editor_.SetXattr(file_, "user.a", "2", {.create = true})), Errc::kExists);
  EXPECT_TRUE(editor_.SetXattr(file_, "user.a", "2", {.replace = true}));
  EXPECT_EQ(CodeOf(editor_.SetXattr(file_, "user.a", "2", {.create = true, .replace = true})),
            Errc::kInvalid);
}

TEST_P(XattrsTest, NamesAndSizes) {
  EXPECT_TRUE(editor_.SetXattr(file_, "user." + std::string(250, 'n'), "v", {}));
  EXPECT_EQ(CodeOf(editor_.SetXattr(file_, "user." + std::string(251, 'n'), "v", {})),
            Errc::kNameTooLong);
  EXPECT_TRUE(editor_.SetXattr(file_, "user.big", std::string(64 * 1024, 'v'), {}));
  EXPECT_EQ(CodeOf(editor_.SetXattr(file_, "user.big", std::string(64 * 1024 + 1, 'v'), {})),
            Errc::kTooLarge);
  EXPECT_EQ(editor_.GetXattr(file_, "user.big")->size(), 64u * 1024);
  EXPECT_EQ(CodeOf(editor_.SetXattr(file_, "user.", "v", {})), Errc::kInvalid);
  EXPECT_EQ(CodeOf(editor_.GetXattr(file_, "user.")), Errc::kInvalid);
}

TEST_P(XattrsTest, OtherPrefixesAreUnsupportedWithoutALookup) {
  const uint64_t gets = faulty_.CallCount(MetaCall::kGet);
  for (const char* name : {"system.posix_acl", "system.posix_acl_accesses", "system.x", "other", "",
                           "user", "btrfs.compression"}) {
    EXPECT_EQ(CodeOf(editor_.GetXattr(file_, name)), Errc::kUnsupported) << name;
    EXPECT_EQ(CodeOf(editor_.SetXattr(file_, name, "v", {})), Errc::kUnsupported) << name;
    EXPECT_EQ(CodeOf(editor_.RemoveXattr(file_, name)), Errc::kUnsupported) << name;
  }
  EXPECT_EQ(faulty_.CallCount(MetaCall::kGet), gets);
  EXPECT_EQ(faulty_.CallCount(MetaCall::kScan), 0u);
}

// The kernel asks for security.capability before the first write of each handle.
TEST_P(XattrsTest, FileThatNeverHadAnyNeedsNoLookup) {
  const uint64_t gets = faulty_.CallCount(MetaCall::kGet);
  EXPECT_EQ(CodeOf(editor_.GetXattr(file_, "security.capability")), Errc::kNoAttribute);
  EXPECT_TRUE(editor_.ListXattrs(file_)->empty());
  EXPECT_EQ(faulty_.CallCount(MetaCall::kGet), gets);
  EXPECT_EQ(faulty_.CallCount(MetaCall::kScan), 0u);
  ASSERT_TRUE(editor_.SetXattr(file_, "user.a", "v", {}));
  EXPECT_EQ(CodeOf(editor_.GetXattr(file_, "security.capability")), Errc::kNoAttribute);
  EXPECT_GT(faulty_.CallCount(MetaCall::kGet), gets);
}

TEST_P(XattrsTest, UserAttributesAreForFilesAndDirectories) {
  const InodeId directory = ns_.Directory(kRootInode, "d");
  EXPECT_TRUE(editor_.SetXattr(directory, "user.a", "v", {}));
  for (uint32_t type : {S_IFLNK, S_IFIFO, S_IFSOCK}) {
    const InodeId inode = ns_.MakeForgotten(kRootInode, std::to_string(type), type | 0600).value();
    EXPECT_EQ(CodeOf(editor_.SetXattr(inode, "user.a", "v", {})), Errc::kPermission);
    EXPECT_EQ(CodeOf(editor_.RemoveXattr(inode, "user.a")), Errc::kPermission);
    EXPECT_TRUE(editor_.SetXattr(inode, "trusted.a", "v", {}));
  }
}

TEST_P(XattrsTest, ListIsBounded) {
  Status status;
  int count = 0;
  for (; status && count < 1000; count++) {
    std::string name = "user." + std::to_string(count);
    name.resize(250, 'n');
    status = editor_.SetXattr(file_, name, "v", {});
  }
  EXPECT_EQ(CodeOf(status), Errc::kNoSpace);
  EXPECT_EQ(count, 64 * 1024 / 251 + 1);
}

TEST_P(XattrsTest, ChangesTouchCtimeOnly) {
  const Attributes before = editor_.Get(file_).value();
  ns_.clock.AdvanceNs(3);
  ASSERT_TRUE(editor_.SetXattr(file_, "user.a", "v", {}));
  EXPECT_EQ(editor_.Get(file_)->ctime_ns, ns_.clock.WallNs());
  EXPECT_EQ(editor_.Get(file_)->mtime_ns, before.mtime_ns);
  ns_.clock.AdvanceNs(3);
  faulty_.FailNth(MetaCall::kWrite, 1, Errc::kIo);
  EXPECT_EQ(CodeOf(editor_.RemoveXattr(file_, "user.a")), Errc::kIo);
  EXPECT_EQ(editor_.Get(file_)->ctime_ns, ns_.clock.WallNs() - 3);
  EXPECT_EQ(editor_.GetXattr(file_, "user.a").value(), "v");
  ASSERT_TRUE(editor_.RemoveXattr(file_, "user.a"));
  EXPECT_EQ(editor_.Get(file_)->ctime_ns, ns_.clock.WallNs());
}

TEST_P(XattrsTest, FreeingAnInodeDeletesThemInBoundedBatches) {
  for (int i = 0; i < 5; i++) {
    ASSERT_TRUE(editor_.SetXattr(file_, "user." + std::to_string(i), "v", {}));
  }
  ASSERT_TRUE(editor_.SetXattr(other_, "user.kept", "v", {}));
  int batches = 0;
  bool more = true;
  while (more) {
    MetaBatch batch;
    more = DeleteXattrs(faulty_, batch, file_, 2).value();
    EXPECT_LE(batch.size(), 2u);
    ASSERT_TRUE(faulty_.Write(batch));
    batches++;
  }
  EXPECT_EQ(batches, 3);
  EXPECT_TRUE(List(file_).empty());
  EXPECT_EQ(List(other_), std::set<std::string>{"user.kept"});
}

}  // namespace
}  // namespace terrace::fs
