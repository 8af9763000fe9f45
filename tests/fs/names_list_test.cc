// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a listing visits an entry that stays exactly once, whatever comes and goes meanwhile.
// Method: passes in small portions, with random changes between them (seed printed).
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "fs/meta/faulty_meta_store.h"
#include "fs/names.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

struct Listed {
  std::string name;
  InodeId inode;
  uint32_t type = 0;
  uint64_t cookie = 0;
};

class NamesListTest : public testing::TestWithParam<StoreKind> {
 protected:
  // At most `count` entries behind the cookie.
  std::vector<Listed> Portion(InodeId directory, uint64_t cookie, size_t count) {
    std::vector<Listed> entries;
    EXPECT_TRUE(ns_.names->List(directory, cookie, [&](const DirectoryEntry& entry) {
      if (entries.size() == count) return false;  // does not count as visited
      entries.push_back({std::string(entry.name), entry.inode, entry.type, entry.cookie});
      return true;
    }));
    return entries;
  }

  AnyMetaStore store_{GetParam()};
  TestNamespace ns_{*store_};
};

INSTANTIATE_TEST_SUITE_P(Stores, NamesListTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kRocks), StoreKindName);

TEST_P(NamesListTest, DotAndDotDotComeFirst) {
  const InodeId directory = ns_.Directory(kRootInode, "d");
  const InodeId file = ns_.File(directory, "file");
  const auto all = Portion(directory, 0, 100);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, ".");
  EXPECT_EQ(all[0].inode, directory);
  EXPECT_EQ(all[0].cookie, 1u);
  EXPECT_EQ(all[1].name, "..");
  EXPECT_EQ(all[1].inode, kRootInode);
  EXPECT_EQ(all[1].cookie, 2u);
  EXPECT_EQ(all[2].inode, file);
  EXPECT_EQ(all[2].type, static_cast<uint32_t>(S_IFREG));
  EXPECT_EQ(Portion(directory, 1, 100).size(), 2u);
  EXPECT_EQ(Portion(directory, 2, 100).size(), 1u);
  EXPECT_TRUE(Portion(directory, all[2].cookie, 100).empty());
  EXPECT_TRUE(Portion(directory, UINT64_MAX, 100).empty());
  EXPECT_TRUE(Portion(directory, 1ull << 63, 100).empty());
}

TEST_P(NamesListTest, NotADirectory) {
  const InodeId file = ns_.File(kRootInode, "file");
  const auto visit = [](const DirectoryEntry&) { return true; };
  EXPECT_EQ(CodeOf(ns_.names->List(file, 0, visit)), Errc::kNotDirectory);
  EXPECT_EQ(CodeOf(ns_.names->List(InodeId(999), 0, visit)), Errc::kNotFound);
}

TEST_P(NamesListTest, RefusedEntryComesAgain) {
  for (int i = 0; i < 20; i++) ns_.File(kRootInode, std::to_string(i));
  std::vector<std::string> names;
  uint64_t cookie = 0;
  while (true) {
    const auto portion = Portion(kRootInode, cookie, 3);
    if (portion.empty()) break;
    for (const Listed& entry : portion) names.push_back(entry.name);
    cookie = portion.back().cookie;
  }
  EXPECT_EQ(names.size(), 22u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 22u);
}

TEST_P(NamesListTest, EntriesThatStayAreVisitedOnceWhateverComesAndGoes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::set<std::string> staying;
  std::vector<std::string> changing = CollidingNames(6);
  for (int i = 0; i < 100; i++) {
    const std::string name = "stay" + std::to_string(i);
    ns_.File(kRootInode, name);
    staying.insert(name);
    changing.push_back("change" + std::to_string(i));
  }
  ns_.File(kRootInode, CollidingNames(7)[6]);
  staying.insert(CollidingNames(7)[6]);
  for (int pass = 0; pass < 5; pass++) {
    std::map<std::string, int> visits;
    uint64_t cookie = 2;
    while (true) {
      const auto portion = Portion(kRootInode, cookie, 1 + random() % 7);
      if (portion.empty()) break;
      for (const Listed& entry : portion) {
        EXPECT_GT(entry.cookie, cookie);
        cookie = entry.cookie;
        visits[entry.name]++;
      }
      for (int i = 0; i < 5; i++) {
        const std::string& name = changing[random() % changing.size()];
        switch (random() % 3) {
          case 0: (void)ns_.MakeForgotten(kRootInode, name, S_IFREG | 0644); break;
          case 1: (void)ns_.names->Unlink(kRootInode, name); break;
          case 2:
            (void)ns_.names->Rename(kRootInode, name, kRootInode,
                                    changing[random() % changing.size()], {});
            break;
        }
      }
    }
    for (const std::string& name : staying) EXPECT_EQ(visits[name], 1) << name;
  }
  ns_.names->CheckInvariants();
}

// rm -rf removes what it was just shown and goes on at the stored position.
TEST_P(NamesListTest, RemovingWhileListingEmptiesTheDirectory) {
  const InodeId directory = ns_.Directory(kRootInode, "d");
  for (int i = 0; i < 300; i++) ns_.File(directory, std::to_string(i));
  uint64_t cookie = 2;
  size_t removed = 0;
  while (true) {
    const auto portion = Portion(directory, cookie, 16);
    if (portion.empty()) break;
    for (const Listed& entry : portion) {
      ASSERT_TRUE(ns_.names->Unlink(directory, entry.name));
      cookie = entry.cookie;
      removed++;
    }
  }
  EXPECT_EQ(removed, 300u);
  EXPECT_TRUE(ns_.names->RemoveDirectory(kRootInode, "d"));
}

// A replaced entry keeps its position: rename over a file while listing shows one of the two.
TEST_P(NamesListTest, ReplacedEntryKeepsItsPosition) {
  ns_.File(kRootInode, "final");
  const uint64_t before = Portion(kRootInode, 2, 1)[0].cookie;
  ns_.File(kRootInode, "tmp");
  ASSERT_TRUE(ns_.names->Rename(kRootInode, "tmp", kRootInode, "final", {}));
  const auto after = Portion(kRootInode, 2, 10);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].cookie, before);
}

}  // namespace
}  // namespace terrace::fs
