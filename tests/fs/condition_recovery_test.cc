// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: COMMIT-2: after a power loss a published name shows its predecessor or a whole version.
// Method: a store that can be cut after any batch; every cut of every scenario is recovered; then
// random sequences (seed printed) in which each file knows when it is whole.
#include "fs/condition_recovery.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "fs/meta/faulty_meta_store.h"
#include "fs/namespace_check.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

constexpr uint64_t kWhole = 5000;  // size of a file that was written to its end
constexpr uint64_t kPredecessor = 3000;

InodeRecord RecordOf(MetaStore& store, InodeId inode) {
  auto stored = store.Get(Table::kInode, InodeKey(inode)).value();
  EXPECT_TRUE(stored);
  return stored ? DecodeInodeRecord(inode, *stored).value() : InodeRecord();
}

class ConditionRecoveryTest : public testing::Test {
 protected:
  void SetUp() override {
    predecessor_ = ns_.File(kRootInode, "final");
    ns_.Write(predecessor_, kPredecessor);
    ASSERT_TRUE(ns_.MakeDurable(predecessor_));
    file_ = ns_.File(kRootInode, "tmp");
    ns_.Write(file_, kWhole);
    ASSERT_TRUE(store_.Sync());
    store_.TrackPowerLoss();
  }
  Status Rename(std::string_view old_name, std::string_view new_name) {
    return ns_.names->Rename(kRootInode, old_name, kRootInode, new_name, {});
  }
  // Recovers what a power loss after each of the unsynced batches leaves, and looks at it.
  void ForEveryCut(const std::function<void(MemoryMetaStore&, TestNamespace&)>& look) {
    for (size_t kept = 0; kept <= store_.UnsyncedBatches(); kept++) {
      SCOPED_TRACE("batches kept " + std::to_string(kept));
      auto survivor = store_.AfterPowerLoss(kept);
      ASSERT_TRUE(RecoverConditions(*survivor));
      EXPECT_FALSE(survivor->Scan(Table::kCondition, {}, {})->Valid());
      TestNamespace ns(*survivor);
      ns.names->CheckInvariants();
      look(*survivor, ns);
    }
  }

  MemoryMetaStore store_;
  TestNamespace ns_{store_};
  InodeId predecessor_;
  InodeId file_;
};

TEST_F(ConditionRecoveryTest, NothingOpenWritesNothing) {
  FaultyMetaStore counted(store_);
  auto recovery = RecoverConditions(counted);
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->kept + recovery->restored + recovery->removed + recovery->stale, 0u);
  EXPECT_EQ(counted.CallCount(MetaCall::kWrite), 0u);
}

TEST_F(ConditionRecoveryTest, PredecessorComesBack) {
  ASSERT_TRUE(Rename("tmp", "final"));
  auto survivor = store_.AfterPowerLoss(store_.UnsyncedBatches());
  auto recovery = RecoverConditions(*survivor);
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->restored, 1u);
  TestNamespace ns(*survivor);
  EXPECT_EQ(ns.Find(kRootInode, "final"), predecessor_);
  EXPECT_EQ(ns.Find(kRootInode, "tmp"), kNoInode);
  EXPECT_EQ(ns.Stat(predecessor_).nlink, 1u);
  EXPECT_FALSE(survivor->Get(Table::kOrphan, InodeKey(predecessor_)).value());
  EXPECT_TRUE(survivor->Get(Table::kOrphan, InodeKey(file_)).value());
  ns.names->CheckInvariants();
}

TEST_F(ConditionRecoveryTest, NewNameWithoutPredecessorGoes) {
  ASSERT_TRUE(Rename("tmp", "fresh"));
  auto survivor = store_.AfterPowerLoss(store_.UnsyncedBatches());
  EXPECT_EQ(RecoverConditions(*survivor)->removed, 1u);
  TestNamespace ns(*survivor);
  EXPECT_EQ(ns.List(kRootInode), std::set<std::string>{"final"});
  ns.names->CheckInvariants();
}

TEST_F(ConditionRecoveryTest, LinkedFileKeepsItsOldName) {
  ASSERT_TRUE(ns_.names->Link(file_, kRootInode, "link"));
  auto survivor = store_.AfterPowerLoss(store_.UnsyncedBatches());
  EXPECT_EQ(RecoverConditions(*survivor)->removed, 1u);
  TestNamespace ns(*survivor);
  EXPECT_EQ(ns.List(kRootInode), (std::set<std::string>{"final", "tmp"}));
  EXPECT_EQ(ns.Stat(file_).nlink, 1u);
}

TEST_F(ConditionRecoveryTest, CompleteFileStays) {
  ASSERT_TRUE(Rename("tmp", "final"));
  ASSERT_TRUE(ns_.MakeDurable(file_));
  ForEveryCut([&](MemoryMetaStore& store, TestNamespace& ns) {
    const InodeId found = ns.Find(kRootInode, "final");
    ASSERT_NE(found, kNoInode);
    EXPECT_EQ(RecordOf(store, found).size_bytes, found == file_ ? kWhole : kPredecessor);
  });
  auto survivor = store_.AfterPowerLoss(store_.UnsyncedBatches());
  TestNamespace ns(*survivor);
  EXPECT_EQ(ns.Find(kRootInode, "final"), file_);
}

// Two files published in the place of each other, a move, a removal: every cut of it.
TEST_F(ConditionRecoveryTest, EveryCutOfAChain) {
  ASSERT_TRUE(Rename("tmp", "final"));
  const InodeId second = ns_.File(kRootInode, "tmp");
  ns_.Write(second, kWhole);
  ASSERT_TRUE(Rename("tmp", "final"));  // makes the first durable
  ASSERT_TRUE(Rename("final", "moved"));
  const InodeId third = ns_.File(kRootInode, "tmp");
  ns_.Write(third, kWhole);
  ASSERT_TRUE(Rename("tmp", "fresh"));
  ASSERT_TRUE(Rename("fresh", "moved"));
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, "moved"));
  ForEveryCut([&](MemoryMetaStore& store, TestNamespace& ns) {
    for (const char* name : {"final", "moved", "fresh"}) {
      const InodeId found = ns.Find(kRootInode, name);
      if (found == kNoInode) continue;
      EXPECT_EQ(RecordOf(store, found).size_bytes, found == predecessor_ ? kPredecessor : kWhole)
          << name;
    }
  });
}

TEST_F(ConditionRecoveryTest, InterruptedRecoveryGoesOn) {
  ASSERT_TRUE(Rename("tmp", "final"));
  const InodeId second = ns_.File(kRootInode, "tmp");
  ns_.Write(second, kWhole);
  ASSERT_TRUE(Rename("tmp", "fresh"));
  auto survivor = store_.AfterPowerLoss(store_.UnsyncedBatches());
  FaultyMetaStore faulty(*survivor);
  faulty.FailNth(MetaCall::kWrite, 2, Errc::kIo);
  EXPECT_EQ(CodeOf(RecoverConditions(faulty)), Errc::kIo);
  ASSERT_TRUE(RecoverConditions(faulty));
  TestNamespace ns(*survivor);
  ns.names->CheckInvariants();
  EXPECT_EQ(ns.Find(kRootInode, "final"), predecessor_);
  EXPECT_EQ(ns.Find(kRootInode, "fresh"), kNoInode);
}

TEST_F(ConditionRecoveryTest, CollidingNamesAreRestoredInTheirSlots) {
  const auto names = CollidingNames(3);
  std::vector<InodeId> files;
  for (const std::string& name : names) {
    files.push_back(ns_.File(kRootInode, name));
    ns_.Write(files.back(), kPredecessor);
    ASSERT_TRUE(ns_.MakeDurable(files.back()));
  }
  ASSERT_TRUE(Rename("tmp", names[1]));
  const InodeId another = ns_.File(kRootInode, "tmp");
  ns_.Write(another, kWhole);
  ASSERT_TRUE(ns_.names->Unlink(kRootInode, names[0]));
  ASSERT_TRUE(Rename("tmp", names[0]));
  auto survivor = store_.AfterPowerLoss(store_.UnsyncedBatches());
  ASSERT_TRUE(RecoverConditions(*survivor));
  TestNamespace ns(*survivor);
  ns.names->CheckInvariants();
  EXPECT_EQ(ns.Find(kRootInode, names[0]), kNoInode);
  EXPECT_EQ(ns.Find(kRootInode, names[1]), files[1]);
  EXPECT_EQ(ns.Find(kRootInode, names[2]), files[2]);
}

TEST_F(ConditionRecoveryTest, StaleAndDamagedConditions) {
  MetaBatch batch;
  batch.Put(Table::kCondition, DentryKey(kRootInode, 768),
            EncodeCondition({kRootInode, 768, file_, Sequence(UINT64_MAX), kNoInode}));
  ASSERT_TRUE(store_.Write(batch));
  EXPECT_EQ(RecoverConditions(store_)->stale, 1u);
  MetaBatch damaged;
  damaged.Put(Table::kCondition, DentryKey(kRootInode, 768), "x");
  ASSERT_TRUE(store_.Write(damaged));
  EXPECT_EQ(CodeOf(RecoverConditions(store_)), Errc::kCorrupt);
}

// Random publishing, overwriting, moving, linking and committing of files that are written once.
// Whatever is cut, a name that was only ever given to whole files shows a whole file.
TEST(ConditionRecovery, RandomSequencesCutAnywhere) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; round++) {
    MemoryMetaStore store;
    TestNamespace ns(store);
    store.TrackPowerLoss();
    std::vector<InodeId> written;
    const auto key = [&] { return "key" + std::to_string(random() % 4); };
    for (int step = 0; step < 40; step++) {
      switch (random() % 6) {
        case 0:
        case 1:
        case 2: {
          const InodeId file = ns.File(kRootInode, "tmp");
          ns.Write(file, kWhole);
          written.push_back(file);
          ASSERT_TRUE(ns.names->Rename(kRootInode, "tmp", kRootInode, key(), {}));
          break;
        }
        case 3:
          if (!written.empty()) (void)ns.MakeDurable(written[random() % written.size()]);
          break;
        case 4: (void)ns.names->Unlink(kRootInode, key()); break;
        case 5:
          (void)ns.names->Rename(kRootInode, key(), kRootInode, key(),
                                 {.exchange = random() % 2 == 0});
          break;
      }
    }
    for (size_t kept = 0; kept <= store.UnsyncedBatches(); kept++) {
      auto survivor = store.AfterPowerLoss(kept);
      ASSERT_TRUE(RecoverConditions(*survivor));
      ASSERT_TRUE(CheckNamespace(*survivor, kTestSeed)->empty());
      TestNamespace again(*survivor);
      for (const std::string& name : again.List(kRootInode)) {
        if (name == "tmp") continue;
        const InodeRecord record = RecordOf(*survivor, again.Find(kRootInode, name));
        ASSERT_EQ(record.size_bytes, kWhole) << name << ", batches kept " << kept;
      }
    }
  }
}

}  // namespace
}  // namespace terrace::fs
