// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: every MetaStore keeps the one contract of fs/meta/meta_store.h.
// Method: the same tests on the real store and on the one in memory; faults by the decorator.
#include "fs/meta/meta_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/bytes.h"
#include "fs/meta/faulty_meta_store.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class MetaStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  void Put(const std::string& key, const std::string& value, Table table = Table::kDentry) {
    MetaBatch batch;
    batch.Put(table, key, value);
    ASSERT_TRUE(store_->Write(batch));
  }
  std::string Keys(std::unique_ptr<MetaCursor> cursor) {
    std::string keys;
    for (; cursor->Valid(); cursor->Next()) keys += std::string(cursor->key()) + ' ';
    EXPECT_TRUE(cursor->status());
    return keys;
  }
  std::string Scan(std::string_view begin, std::string_view end) {
    return Keys(store_->Scan(Table::kDentry, begin, end));
  }
  std::string FromFloor(std::string_view key, std::string_view floor, std::string_view end) {
    return Keys(store_->ScanFromFloor(Table::kDentry, key, floor, end));
  }

  AnyMetaStore store_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Stores, MetaStoreTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kRocks), StoreKindName);

TEST_P(MetaStoreTest, GetPutDelete) {
  EXPECT_EQ(store_->Get(Table::kDentry, "a").value(), std::nullopt);
  Put("a", "1");
  EXPECT_EQ(store_->Get(Table::kDentry, "a").value(), "1");
  EXPECT_EQ(store_->Get(Table::kInode, "a").value(), std::nullopt) << "tables are apart";
  Put("a", std::string("\0x\xff", 3));
  EXPECT_EQ(store_->Get(Table::kDentry, "a").value(), std::string("\0x\xff", 3));
  Put("empty", "");
  EXPECT_EQ(store_->Get(Table::kDentry, "empty").value(), "");
  MetaBatch batch;
  batch.Delete(Table::kDentry, "a");
  batch.Delete(Table::kDentry, "never there");
  ASSERT_TRUE(store_->Write(batch));
  EXPECT_EQ(store_->Get(Table::kDentry, "a").value(), std::nullopt);
}

TEST_P(MetaStoreTest, BatchAppliesInOrderAcrossTables) {
  MetaBatch batch;
  batch.Put(Table::kInode, "k", "first");
  batch.Delete(Table::kInode, "k");
  batch.Put(Table::kXattr, "k", "x");
  batch.Put(Table::kInode, "k", "last");
  EXPECT_EQ(batch.size(), 4u);
  ASSERT_TRUE(store_->Write(batch));
  ASSERT_TRUE(store_->Write(MetaBatch()));
  EXPECT_EQ(store_->Get(Table::kInode, "k").value(), "last");
  EXPECT_EQ(store_->Get(Table::kXattr, "k").value(), "x");
}

TEST_P(MetaStoreTest, GetManyAnswersInOrder) {
  Put("a", "1");
  Put("c", "3");
  const auto values = store_->GetMany(Table::kDentry, {"c", "b", "a", "c"});
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, (std::vector<std::optional<std::string>>{"3", std::nullopt, "1", "3"}));
  EXPECT_TRUE(store_->GetMany(Table::kDentry, {})->empty());
}

TEST_P(MetaStoreTest, ScanHonoursBounds) {
  for (const char* key : {"b", "a", "d", "c"}) Put(key, key);
  Put("c", "other table", Table::kInode);
  EXPECT_EQ(Scan("", ""), "a b c d ");
  EXPECT_EQ(Scan("b", "d"), "b c ");
  EXPECT_EQ(Scan("bb", ""), "c d ");
  EXPECT_EQ(Scan("e", ""), "");
  EXPECT_EQ(Scan("b", "b"), "");
}

TEST_P(MetaStoreTest, ScanFromFloor) {
  for (const char* key : {"b", "d", "f"}) Put(key, key);
  EXPECT_EQ(FromFloor("d", "a", ""), "d f ");
  EXPECT_EQ(FromFloor("e", "a", ""), "d f ");
  EXPECT_EQ(FromFloor("e", "a", "f"), "d ");
  EXPECT_EQ(FromFloor("e", "e", ""), "") << "nothing between floor and key";
  EXPECT_EQ(FromFloor("a", "a", ""), "");
  EXPECT_EQ(FromFloor("z", "f", ""), "f ");
}

TEST_P(MetaStoreTest, CursorIsASnapshot) {
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  auto cursor = store_->Scan(Table::kDentry, "", "");
  MetaBatch batch;
  batch.Delete(Table::kDentry, "b");
  batch.Put(Table::kDentry, "bb", "new");
  batch.Put(Table::kDentry, "c", "new");
  ASSERT_TRUE(store_->Write(batch));
  std::string seen;
  for (; cursor->Valid(); cursor->Next()) {
    seen += std::string(cursor->key()) + "=" + std::string(cursor->value()) + ' ';
  }
  EXPECT_EQ(seen, "a=old b=old c=old ");
  EXPECT_EQ(Scan("", ""), "a bb c ");
}

TEST_P(MetaStoreTest, ReadersAndWritersMixed) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; i < 2000; i++) {
      std::string value;
      AppendLittleEndian(value, i);
      MetaBatch batch;  // always equal, because a batch is atomic
      batch.Put(Table::kDentry, "x", value);
      batch.Put(Table::kDentry, "y", value);
      ASSERT_TRUE(store_->Write(batch));
    }
    stop = true;
  });
  while (!stop) {
    auto cursor = store_->Scan(Table::kDentry, "", "");
    if (!cursor->Valid()) continue;
    const std::string x(cursor->value());
    cursor->Next();
    ASSERT_TRUE(cursor->Valid());
    EXPECT_EQ(cursor->value(), x);
  }
  writer.join();
}

TEST_P(MetaStoreTest, SyncAndReopenKeepEverything) {
  for (int i = 0; i < 1000; i++) Put("key" + std::to_string(i), std::string(100, 'v'));
  ASSERT_TRUE(store_->Sync());
  store_.Reopen();
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(store_->Get(Table::kDentry, "key" + std::to_string(i)).value(),
              std::string(100, 'v'));
  }
}

TEST(MemoryMetaStore, PowerLossKeepsAPrefix) {
  MemoryMetaStore store;
  const auto put = [&](const std::string& key) {
    MetaBatch batch;
    batch.Put(Table::kInode, key, key);
    batch.Put(Table::kDentry, key, key);
    ASSERT_TRUE(store.Write(batch));
  };
  put("before");
  store.TrackPowerLoss();
  put("synced");
  ASSERT_TRUE(store.Sync());
  for (const char* key : {"1", "2", "3"}) put(key);
  ASSERT_EQ(store.UnsyncedBatches(), 3u);
  for (size_t kept = 0; kept <= 3; kept++) {
    auto survivor = store.AfterPowerLoss(kept);
    EXPECT_NE(survivor->Get(Table::kInode, "before").value(), std::nullopt);
    EXPECT_NE(survivor->Get(Table::kInode, "synced").value(), std::nullopt);
    for (size_t i = 1; i <= 3; i++) {
      EXPECT_EQ(survivor->Get(Table::kDentry, std::to_string(i)).value().has_value(), i <= kept);
    }
  }
}

TEST(FaultyMetaStore, FailsTheChosenCallOnly) {
  MemoryMetaStore inner;
  FaultyMetaStore store(inner);
  MetaBatch batch;
  batch.Put(Table::kInode, "k", "v");
  store.FailNth(MetaCall::kWrite, 2, Errc::kNoSpace);
  EXPECT_TRUE(store.Write(batch));
  MetaBatch lost;
  lost.Put(Table::kInode, "lost", "v");
  EXPECT_EQ(CodeOf(store.Write(lost)), Errc::kNoSpace);
  EXPECT_TRUE(store.Write(batch));
  EXPECT_EQ(store.CallCount(MetaCall::kWrite), 3u);
  EXPECT_EQ(store.Get(Table::kInode, "lost").value(), std::nullopt);

  store.FailAll(MetaCall::kGet, Errc::kIo);
  store.FailAll(MetaCall::kScan, Errc::kCorrupt);
  store.FailAll(MetaCall::kSync, Errc::kIo);
  EXPECT_EQ(CodeOf(store.Get(Table::kInode, "k")), Errc::kIo);
  EXPECT_EQ(CodeOf(store.GetMany(Table::kInode, {"k"})), Errc::kIo);
  EXPECT_EQ(CodeOf(store.Sync()), Errc::kIo);
  auto cursor = store.Scan(Table::kInode, "", "");
  EXPECT_FALSE(cursor->Valid());
  EXPECT_EQ(CodeOf(cursor->status()), Errc::kCorrupt);
  EXPECT_EQ(CodeOf(store.ScanFromFloor(Table::kInode, "k", "", "")->status()), Errc::kCorrupt);
  store.Heal();
  EXPECT_EQ(store.Get(Table::kInode, "k").value(), "v");
  EXPECT_TRUE(store.Sync());
  EXPECT_TRUE(store.Scan(Table::kInode, "", "")->Valid());
}

}  // namespace
}  // namespace terrace::fs
