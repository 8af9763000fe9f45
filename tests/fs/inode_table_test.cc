// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: one Inode per id (INODE-1), and none dropped that holds more than the store (INODE-2).
// Method: small tables, injected faults, threads that load and drop the same inodes.
#include "fs/inode_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "fs/meta/faulty_meta_store.h"
#include "fs/meta/key_format.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

void Store(MetaStore& meta, const InodeRecord& record) {
  MetaBatch batch;
  batch.Put(Table::kInode, InodeKey(record.id), EncodeInodeRecord(record));
  ASSERT_TRUE(meta.Write(batch));
}

InodeRecord Record(uint64_t id) { return {.id = InodeId(id), .mode = S_IFREG | 0644, .nlink = 1}; }

// Holds the first Get after it has read, until it is released.
class HeldStore final : public MetaStore {
 public:
  explicit HeldStore(MetaStore& inner) : inner_(inner) {}
  Result<std::optional<std::string>> Get(Table table, std::string_view key) override {
    auto value = inner_.Get(table, key);
    if (gets++ == 0) {
      reading.count_down();
      release.wait();
    }
    return value;
  }
  Result<std::vector<std::optional<std::string>>> GetMany(
      Table table, const std::vector<std::string>& keys) override {
    return inner_.GetMany(table, keys);
  }
  Status Write(const MetaBatch& batch) override { return inner_.Write(batch); }
  Status Sync() override { return inner_.Sync(); }
  std::unique_ptr<MetaCursor> Scan(Table table, std::string_view begin,
                                   std::string_view end) override {
    return inner_.Scan(table, begin, end);
  }
  std::unique_ptr<MetaCursor> ScanFromFloor(Table table, std::string_view key,
                                            std::string_view floor, std::string_view end) override {
    return inner_.ScanFromFloor(table, key, floor, end);
  }

  std::atomic<int> gets = 0;
  std::latch reading{1};
  std::latch release{1};

 private:
  MetaStore& inner_;
};

TEST(InodeTable, LoadsOnceAndPeeks) {
  MemoryMetaStore inner;
  FaultyMetaStore meta(inner);
  InodeTable table(meta, 100);
  EXPECT_EQ(CodeOf(table.Get(InodeId(5))), Errc::kNotFound);
  Store(meta, Record(5));
  EXPECT_EQ(table.Peek(InodeId(5)), nullptr);
  auto inode = table.Get(InodeId(5));
  ASSERT_TRUE(inode);
  const uint64_t gets = meta.CallCount(MetaCall::kGet);
  EXPECT_EQ(table.Get(InodeId(5)).value(), *inode);  // INODE-1
  EXPECT_EQ(table.Peek(InodeId(5)), *inode);
  EXPECT_EQ(meta.CallCount(MetaCall::kGet), gets);
  EXPECT_EQ(table.size(), 1u);
  table.Drop(InodeId(5));
  EXPECT_EQ(table.Peek(InodeId(5)), nullptr);
  table.CheckInvariants();
}

TEST(InodeTable, ErrorsOfTheStoreAndDamage) {
  MemoryMetaStore inner;
  FaultyMetaStore meta(inner);
  InodeTable table(meta, 100);
  Store(meta, Record(5));
  meta.FailNth(MetaCall::kGet, 1, Errc::kIo);
  EXPECT_EQ(CodeOf(table.Get(InodeId(5))), Errc::kIo);
  EXPECT_TRUE(table.Get(InodeId(5)));
  MetaBatch batch;
  batch.Put(Table::kInode, InodeKey(InodeId(6)), "garbage");
  ASSERT_TRUE(meta.Write(batch));
  EXPECT_EQ(CodeOf(table.Get(InodeId(6))), Errc::kCorrupt);
}

TEST(InodeTable, DropsLeastRecentlyUsedIdleOnes) {
  MemoryMetaStore meta;
  InodeTable table(meta, 4 * InodeTable::kShards);
  const auto id = [](uint64_t i) { return 1 + i * InodeTable::kShards; };  // one shard
  for (uint64_t i = 0; i < 10; i++) {
    Store(meta, Record(id(i)));
    ASSERT_TRUE(table.Get(InodeId(id(i))));
    ASSERT_TRUE(table.Get(InodeId(id(0))));  // stays in use
  }
  EXPECT_EQ(table.size(), 4u);
  EXPECT_NE(table.Peek(InodeId(id(0))), nullptr);
  EXPECT_EQ(table.Peek(InodeId(id(1))), nullptr);
  EXPECT_NE(table.Peek(InodeId(id(9))), nullptr);
  table.CheckInvariants();
}

// INODE-2: every kind of change that the store does not have keeps the inode in memory.
TEST(InodeTable, NeverDropsUndurableOnes) {
  MemoryMetaStore meta;
  InodeTable table(meta, 0);
  for (uint64_t i = 1; i <= 3; i++) Store(meta, Record(i * InodeTable::kShards));
  const auto at = [&](uint64_t i) { return table.Get(InodeId(i * InodeTable::kShards)).value(); };
  {
    InodeRef times = at(1);
    WriterLock lock(times->mu);
    times->record_dirty = true;
  }
  {
    InodeRef bytes = at(2);
    WriterLock lock(bytes->mu);
    bytes->data_sequence = Sequence(9);
  }
  {
    InodeRef size = at(3);
    WriterLock lock(size->mu);
    size->record.size_bytes = 100;
  }
  for (uint64_t i = 10; i < 100; i++) {
    Store(meta, Record(i * InodeTable::kShards));
    (void)at(i);
  }
  table.DropIdle();
  for (uint64_t i = 1; i <= 3; i++) {
    EXPECT_NE(table.Peek(InodeId(i * InodeTable::kShards)), nullptr) << i;
  }
  EXPECT_EQ(table.size(), 3u);
  {
    InodeRef times = at(1);
    WriterLock lock(times->mu);
    times->record_dirty = false;
  }
  table.DropIdle();
  EXPECT_EQ(table.Peek(InodeId(1 * InodeTable::kShards)), nullptr);
  table.CheckInvariants();
}

TEST(InodeTable, InUseIsNeverDropped) {
  MemoryMetaStore meta;
  InodeTable table(meta, 0);
  InodeRef held = table.Insert(Record(16));
  for (uint64_t i = 2; i < 50; i++) table.Insert(Record(16 * i));
  table.DropIdle();
  EXPECT_EQ(table.Peek(InodeId(16)), held);
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTable, CountsLookups) {
  MemoryMetaStore meta;
  InodeTable table(meta, 10);
  EXPECT_FALSE(table.KnownToKernel(InodeId(7)));
  table.CountLookup(InodeId(7));
  table.CountLookup(InodeId(7));
  EXPECT_FALSE(table.Forget(InodeId(7), 1));
  EXPECT_TRUE(table.KnownToKernel(InodeId(7)));
  EXPECT_TRUE(table.Forget(InodeId(7), 1));
  EXPECT_FALSE(table.KnownToKernel(InodeId(7)));
}

TEST(InodeTable, ForEachVisitsAllWithoutLocks) {
  MemoryMetaStore meta;
  InodeTable table(meta, 1000);
  for (uint64_t i = 1; i <= 100; i++) table.Insert(Record(i));
  size_t visited = 0;
  table.ForEach([&](const InodeRef& inode) {
    EXPECT_EQ(table.Peek(inode->id), inode);  // would hang if a shard were locked
    visited++;
  });
  EXPECT_EQ(visited, 100u);
}

// A second loader waits for the first, else one of them could insert what it read long before.
TEST(InodeTable, OneLoadAtATime) {
  MemoryMetaStore inner;
  Store(inner, Record(5));
  HeldStore meta(inner);
  InodeTable table(meta, 100);
  InodeRef first;
  InodeRef second;
  std::latch started(1);
  std::thread one([&] { first = table.Get(InodeId(5)).value(); });
  meta.reading.wait();
  std::thread two([&] {
    started.count_down();
    second = table.Get(InodeId(5)).value();
  });
  started.wait();
  for (int i = 0; i < 10000 && meta.gets == 1; i++) std::this_thread::yield();
  EXPECT_EQ(table.Peek(InodeId(5)), nullptr);
  meta.release.count_down();
  one.join();
  two.join();
  EXPECT_EQ(meta.gets, 1);
  EXPECT_EQ(first, second);
}

TEST(InodeTable, FreedWhileItIsLoaded) {
  MemoryMetaStore inner;
  Store(inner, Record(5));
  HeldStore meta(inner);
  InodeTable table(meta, 100);
  std::optional<Errc> code;
  std::thread one([&] { code = CodeOf(table.Get(InodeId(5))); });
  meta.reading.wait();
  table.Drop(InodeId(5));
  meta.release.count_down();
  one.join();
  EXPECT_EQ(code, Errc::kNotFound);
  EXPECT_EQ(table.size(), 0u);
}

// Threads load, change and drop the same inodes: a counter kept in the record must not lose a
// step, which it would if a stale record were ever inserted (INODE-1).
TEST(InodeTable, NoStaleRecordUnderThreads) {
  MemoryMetaStore meta;
  InodeTable table(meta, 0);
  constexpr uint64_t kInodes = 3;
  constexpr int kThreads = 4;
  constexpr int kSteps = 3000;
  for (uint64_t i = 1; i <= kInodes; i++) Store(meta, Record(i * InodeTable::kShards));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; step++) {
        const InodeId id(InodeTable::kShards * (1 + (t + step) % kInodes));
        InodeRef inode = table.Get(id).value();
        {
          WriterLock lock(inode->mu);
          inode->record.rdev++;
          MetaBatch batch;
          batch.Put(Table::kInode, InodeKey(id), EncodeInodeRecord(inode->record));
          ASSERT_TRUE(meta.Write(batch));
        }
        inode.reset();
        if (step % 3 == 0) table.DropIdle();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t total = 0;
  for (uint64_t i = 1; i <= kInodes; i++) {
    InodeRef inode = table.Get(InodeId(i * InodeTable::kShards)).value();
    ReaderLock lock(inode->mu);
    total += inode->record.rdev;
  }
  EXPECT_EQ(total, static_cast<uint64_t>(kThreads) * kSteps);
  table.CheckInvariants();
}

}  // namespace
}  // namespace terrace::fs
