// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: an access control list and the mode always say the same; new inodes inherit by acl(5); what
// is no list is refused.
// Method: lists as bytes; an editor and names on a store in memory.
#include "fs/posix_acl.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "base/bytes.h"
#include "fs/attribute_editor.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

struct Entry {
  uint16_t tag, permissions;
  uint32_t id = UINT32_MAX;
};
constexpr uint16_t kOwner = 1, kUser = 2, kGroup = 4, kNamedGroup = 8, kMask = 16, kOther = 32;

std::string Bytes(const std::vector<Entry>& entries, uint32_t version = 2) {
  std::string bytes;
  AppendLittleEndian(bytes, version);
  for (const Entry& entry : entries) {
    AppendLittleEndian(bytes, entry.tag);
    AppendLittleEndian(bytes, entry.permissions);
    AppendLittleEndian(bytes, entry.id);
  }
  return bytes;
}

const std::string kPlain = Bytes({{kOwner, 6}, {kGroup, 4}, {kOther, 0}});
const std::string kNamed =
    Bytes({{kOwner, 7}, {kUser, 6, 1234}, {kGroup, 5}, {kMask, 7}, {kOther, 1}});

TEST(PosixAcl, RoundTripAndMode) {
  auto plain = PosixAcl::Parse(kPlain);
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->EqualsMode());
  EXPECT_EQ(plain->ModeBits(), 0640u);
  auto named = PosixAcl::Parse(kNamed);
  ASSERT_TRUE(named);
  EXPECT_FALSE(named->EqualsMode());
  EXPECT_EQ(named->ModeBits(), 0771u) << "the mask is shown as the group's";
  EXPECT_EQ(named->Encode(), kNamed);
  named->SetModeBits(S_IFREG | 0640);
  EXPECT_EQ(named->Encode(),
            Bytes({{kOwner, 6}, {kUser, 6, 1234}, {kGroup, 5}, {kMask, 4}, {kOther, 0}}));
}

TEST(PosixAcl, MalformedListsAreRefused) {
  const std::string wrong[] = {
      "",
      "x",
      Bytes({}),
      Bytes({{kOwner, 6}, {kGroup, 4}, {kOther, 0}}, 1),
      kPlain.substr(0, kPlain.size() - 1),
      kPlain + "x",
      Bytes({{kOwner, 6}, {kGroup, 4}}),
      Bytes({{kOwner, 8}, {kGroup, 4}, {kOther, 0}}),
      Bytes({{kGroup, 4}, {kOwner, 6}, {kOther, 0}}),
      Bytes({{kOwner, 6}, {kOwner, 6}, {kGroup, 4}, {kOther, 0}}),
      Bytes({{kOwner, 6}, {kUser, 6, 1}, {kGroup, 4}, {kOther, 0}}),
      Bytes({{kOwner, 6}, {kGroup, 4}, {kNamedGroup, 6, 1}, {kOther, 0}}),
      Bytes({{kOwner, 6}, {kGroup, 4}, {kOther, 0}, {64, 0}}),
  };
  for (const std::string& bytes : wrong) {
    EXPECT_EQ(CodeOf(PosixAcl::Parse(bytes)), Errc::kInvalid) << bytes.size();
  }
}

class AclTest : public testing::Test {
 protected:
  std::optional<std::string> Get(InodeId inode, std::string_view name) {
    auto value = editor_.GetXattr(inode, name);
    if (value) return *value;
    EXPECT_EQ(value.error().code, Errc::kNoAttribute);
    return std::nullopt;
  }

  AnyMetaStore store_{StoreKind::kMemory};
  TestNamespace ns_{*store_};
  AttributeEditor editor_{*store_, ns_.inodes, ns_.clock};
};

TEST_F(AclTest, ListAndModeFollowEachOther) {
  const InodeId file = ns_.File(kRootInode, "file");
  ASSERT_TRUE(editor_.SetXattr(file, kAccessAclName, kNamed, {}));
  EXPECT_EQ(ns_.Stat(file).mode, static_cast<uint32_t>(S_IFREG | 0771));
  EXPECT_EQ(Get(file, kAccessAclName), kNamed);
  ASSERT_TRUE(editor_.Set(file, {.mode = 0640}));
  EXPECT_EQ(PosixAcl::Parse(*Get(file, kAccessAclName))->ModeBits(), 0640u);
  // A list that the mode can say is not kept.
  ASSERT_TRUE(editor_.SetXattr(file, kAccessAclName, kPlain, {}));
  EXPECT_EQ(Get(file, kAccessAclName), std::nullopt);
  EXPECT_EQ(ns_.Stat(file).mode, static_cast<uint32_t>(S_IFREG | 0640));
  ASSERT_TRUE(editor_.SetXattr(file, kAccessAclName, kNamed, {}));
  ASSERT_TRUE(editor_.RemoveXattr(file, kAccessAclName));
  ASSERT_TRUE(editor_.RemoveXattr(file, kAccessAclName)) << "also when there is none";
  EXPECT_EQ(Get(file, kAccessAclName), std::nullopt);
  EXPECT_EQ(CodeOf(editor_.SetXattr(file, kAccessAclName, "nonsense", {})), Errc::kInvalid);
  EXPECT_FALSE(editor_.SetXattr(file, kDefaultAclName, kNamed, {}));
}

TEST_F(AclTest, SetgidGoesWhenTheCallerIsNotInTheGroup) {
  const InodeId file = ns_.File(kRootInode, "file");
  ASSERT_TRUE(editor_.Set(file, {.mode = 02755}));
  ASSERT_TRUE(editor_.SetXattr(file, kAccessAclName, kNamed, {}));
  EXPECT_EQ(ns_.Stat(file).mode & 07777, 02771u);
  ASSERT_TRUE(editor_.SetXattr(file, kAccessAclName, kNamed, {.clear_setgid = true}));
  EXPECT_EQ(ns_.Stat(file).mode & 07777, 0771u);
}

TEST_F(AclTest, NewInodesInheritTheDefaultListOrTheUmask) {
  Caller caller = ns_.caller;
  caller.umask = 077;
  auto make = [&](InodeId parent, const char* name, uint32_t mode) {
    return ns_.names->Make(parent, name, {.mode = mode, .symlink_target = "t"}, caller).value();
  };
  EXPECT_EQ(make(kRootInode, "by umask", S_IFREG | 0666).mode & 0777, 0600u);
  const InodeId directory = ns_.Directory(kRootInode, "directory");
  ASSERT_TRUE(editor_.SetXattr(directory, kDefaultAclName, kNamed, {}));

  const Attributes file = make(directory, "file", S_IFREG | 0666);
  EXPECT_EQ(file.mode & 0777, 0660u) << "the umask does not count here";
  EXPECT_EQ(Get(file.inode, kAccessAclName),
            Bytes({{kOwner, 6}, {kUser, 6, 1234}, {kGroup, 5}, {kMask, 6}, {kOther, 0}}));
  EXPECT_EQ(Get(file.inode, kDefaultAclName), std::nullopt);
  const Attributes below = make(directory, "below", S_IFDIR | 0755);
  EXPECT_EQ(Get(below.inode, kDefaultAclName), kNamed);
  EXPECT_EQ(below.mode & 0777, 0751u);
  EXPECT_EQ(Get(make(directory, "link", S_IFLNK | 0777).inode, kAccessAclName), std::nullopt);

  ASSERT_TRUE(editor_.SetXattr(directory, kDefaultAclName, kPlain, {}));
  const Attributes plain = make(directory, "plain", S_IFREG | 0777);
  EXPECT_EQ(plain.mode & 0777, 0640u);
  EXPECT_EQ(Get(plain.inode, kAccessAclName), std::nullopt);
  const Attributes nameless = ns_.names->MakeNameless(directory, 0777, caller).value();
  EXPECT_EQ(nameless.mode & 0777, 0640u);
}

}  // namespace
}  // namespace terrace::fs
