// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: batches change the committed map as asked, and every extent is counted as often as it is
// named. Method: both metadata stores; random edits against a map of bytes; damaged records.
#include "fs/stored_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/units.h"
#include "fs/meta/key_format.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

constexpr InodeId kInode{42};

io::ExtentRecord RecordOf(uint32_t size_bytes) {
  io::ExtentRecord record;
  record.size_bytes = size_bytes;
  record.runs = {{100, BlockCount(size_bytes)}};
  record.checksums.assign(io::ChecksumCount(size_bytes), 7);
  return record;
}

class StoredMapTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoredMapTest() : meta_(GetParam()) {}

  // Applies an edit; new extents get a record of 1 MiB.
  ExtentDeltas::Retired Commit(MapEdit& edit, const std::vector<ExtentId>& fresh = {}) {
    MetaBatch batch;
    ExtentDeltas deltas;
    for (ExtentId extent : fresh) deltas.AddNew(extent, RecordOf(kExtentSizeMax));
    edit.Emit(batch, deltas);
    auto retired = deltas.Emit(*meta_, batch);
    EXPECT_TRUE(retired.has_value());
    EXPECT_TRUE(meta_->Write(batch).has_value());
    return retired ? *retired : ExtentDeltas::Retired{};
  }
  uint32_t CountOf(ExtentId extent) {
    auto stored = meta_->Get(Table::kExtent, ExtentKey(extent));
    if (!stored || !*stored) return 0;
    return io::DecodeExtentRecord(**stored)->reference_count;
  }
  std::map<uint64_t, StoredEntry> Entries(InodeId inode = kInode) {
    std::map<uint64_t, StoredEntry> entries;
    auto loaded = LoadStoredMap(*meta_, inode);
    EXPECT_TRUE(loaded.has_value());
    for (const LoadedEntry& entry : *loaded) entries[entry.offset] = entry.entry;
    return entries;
  }

  AnyMetaStore meta_;
};

TEST(StoredEntryTest, EncodesAndRefusesWhatItDidNotEncode) {
  StoredEntry entry{4096, 77, ExtentId(1ull << 40)};
  std::string bytes = EncodeStoredEntry(entry);
  EXPECT_EQ(DecodeStoredEntry(bytes).value(), entry);
  for (size_t size = 0; size < bytes.size(); size++) {
    EXPECT_EQ(DecodeStoredEntry(bytes.substr(0, size)).error().code, Errc::kCorrupt) << size;
  }
  EXPECT_EQ(DecodeStoredEntry(bytes + "x").error().code, Errc::kCorrupt);
  std::string newer = bytes;
  newer[0]++;
  EXPECT_EQ(DecodeStoredEntry(newer).error().code, Errc::kCorrupt);
  const StoredEntry bad[] = {{0, 0, ExtentId(1)},
                             {4096, 0, ExtentId(0)},
                             {kExtentSizeMax + 1, 0, ExtentId(1)},
                             {1, kExtentSizeMax, ExtentId(1)},
                             {UINT32_MAX, UINT32_MAX, ExtentId(1)}};
  for (const StoredEntry& one : bad) {
    EXPECT_EQ(DecodeStoredEntry(EncodeStoredEntry(one)).error().code, Errc::kCorrupt);
  }
}

TEST_P(StoredMapTest, PutReplacesWhatItCovers) {
  MapEdit first(*meta_, kInode);
  ASSERT_TRUE(first.Put(1000, {3000, 0, ExtentId(1)}).has_value());
  EXPECT_TRUE(Commit(first, {ExtentId(1)}).empty());
  EXPECT_EQ(CountOf(ExtentId(1)), 1u);
  MapEdit second(*meta_, kInode);
  ASSERT_TRUE(second.Put(2000, {500, 9, ExtentId(2)}).has_value());
  EXPECT_TRUE(second.NamedBefore(ExtentId(1), 0, 5000));
  EXPECT_FALSE(second.NamedBefore(ExtentId(1), 1001, 5000));
  EXPECT_FALSE(second.NamedBefore(ExtentId(2), 0, 5000));
  EXPECT_TRUE(Commit(second, {ExtentId(2)}).empty());
  EXPECT_EQ(Entries(), (std::map<uint64_t, StoredEntry>{{1000, {1000, 0, ExtentId(1)}},
                                                        {2000, {500, 9, ExtentId(2)}},
                                                        {2500, {1500, 1500, ExtentId(1)}}}));
  EXPECT_EQ(CountOf(ExtentId(1)), 2u);
  MapEdit third(*meta_, kInode);
  ASSERT_TRUE(third.Put(0, {5000, 0, ExtentId(3)}).has_value());
  auto retired = Commit(third, {ExtentId(3)});
  EXPECT_EQ(retired.size(), 2u);
  EXPECT_EQ(CountOf(ExtentId(1)), 0u);
  EXPECT_EQ(Entries().size(), 1u);
}

TEST_P(StoredMapTest, OneBatchMayReplaceTheSameBytesOften) {
  MapEdit edit(*meta_, kInode);
  for (uint64_t i = 1; i <= 50; i++) {
    ASSERT_TRUE(edit.Put(100 * i, {1000, 0, ExtentId(i)}).has_value());
  }
  ASSERT_TRUE(edit.Clear(5000, UINT64_MAX).has_value());
  std::vector<ExtentId> fresh;
  for (uint64_t i = 1; i <= 50; i++) fresh.push_back(ExtentId(i));
  EXPECT_TRUE(Commit(edit, fresh).empty());
  EXPECT_EQ(Entries().size(), 49u);
  EXPECT_EQ(CountOf(ExtentId(49)), 1u);
  EXPECT_EQ(CountOf(ExtentId(50)), 0u);  // never named in the end
}

TEST_P(StoredMapTest, NeighbouringInodesAreLeftAlone) {
  for (uint64_t inode : {41, 42, 43}) {
    MapEdit edit(*meta_, InodeId(inode));
    ASSERT_TRUE(edit.Put(0, {4096, 0, ExtentId(inode)}).has_value());
    Commit(edit, {ExtentId(inode)});
  }
  MapEdit edit(*meta_, kInode);
  ASSERT_TRUE(edit.Clear(0, UINT64_MAX).has_value());
  EXPECT_EQ(Commit(edit).size(), 1u);
  EXPECT_TRUE(Entries().empty());
  EXPECT_EQ(Entries(InodeId(41)).size(), 1u);
  EXPECT_EQ(Entries(InodeId(43)).size(), 1u);
}

TEST_P(StoredMapTest, RandomEditsAgainstAMapOfBytes) {
  constexpr uint64_t kFileSize = 3000;
  struct Byte {
    uint64_t extent = 0;
    uint32_t offset = 0;
    bool operator==(const Byte&) const = default;
  };
  std::vector<Byte> model(kFileSize);
  std::mt19937 random(4711);
  uint64_t next_extent = 1;
  size_t retired_count = 0;
  for (int round = 0; round < 150; round++) {
    MapEdit edit(*meta_, kInode);
    std::vector<ExtentId> fresh;
    for (int i = 0; i < 6; i++) {
      uint64_t offset = random() % kFileSize;
      auto size = static_cast<uint32_t>(1 + random() % std::min<uint64_t>(700, kFileSize - offset));
      if (random() % 4 == 0) {
        ASSERT_TRUE(edit.Clear(offset, offset + size).has_value());
        std::fill_n(model.begin() + static_cast<ptrdiff_t>(offset), size, Byte{});
      } else {
        auto inside = static_cast<uint32_t>(random() % 1000);
        fresh.push_back(ExtentId(next_extent++));
        ASSERT_TRUE(edit.Put(offset, {size, inside, fresh.back()}).has_value());
        for (uint32_t j = 0; j < size; j++) {
          model[offset + j] = {fresh.back().value(), inside + j};
        }
      }
    }
    retired_count += Commit(edit, fresh).size();
    std::vector<Byte> found(kFileSize);
    std::map<uint64_t, uint32_t> named;
    for (const auto& [start, entry] : Entries()) {
      named[entry.extent.value()]++;
      for (uint32_t j = 0; j < entry.size; j++) {
        found[start + j] = {entry.extent.value(), entry.extent_offset + j};
      }
    }
    ASSERT_EQ(found, model) << "round " << round;
    for (uint64_t extent = 1; extent < next_extent; extent++) {
      ASSERT_EQ(CountOf(ExtentId(extent)), named[extent]) << "round " << round;
    }
  }
  EXPECT_GT(retired_count, 100u);
}

TEST_P(StoredMapTest, DamageIsAnError) {
  MetaBatch batch;
  batch.Put(Table::kMap, MapKey(kInode, 0), EncodeStoredEntry({4096, 0, ExtentId(5)}));
  ASSERT_TRUE(meta_->Write(batch).has_value());
  EXPECT_EQ(LoadStoredMap(*meta_, kInode).error().code, Errc::kCorrupt);  // no record
  batch.Put(Table::kExtent, ExtentKey(ExtentId(5)), io::EncodeExtentRecord(RecordOf(4000)));
  ASSERT_TRUE(meta_->Write(batch).has_value());
  EXPECT_EQ(LoadStoredMap(*meta_, kInode).error().code, Errc::kCorrupt);  // too short a one
  batch.Put(Table::kExtent, ExtentKey(ExtentId(5)), "nonsense");
  ASSERT_TRUE(meta_->Write(batch).has_value());
  EXPECT_EQ(LoadStoredMap(*meta_, kInode).error().code, Errc::kCorrupt);
  batch.Put(Table::kMap, MapKey(kInode, 0), "nonsense");
  ASSERT_TRUE(meta_->Write(batch).has_value());
  EXPECT_EQ(LoadStoredMap(*meta_, kInode).error().code, Errc::kCorrupt);
  MapEdit edit(*meta_, kInode);
  EXPECT_EQ(edit.Clear(0, 10).error().code, Errc::kCorrupt);
}

TEST_P(StoredMapTest, CountBelowZeroIsDamage) {
  MetaBatch batch;
  io::ExtentRecord record = RecordOf(4096);
  record.reference_count = 1;
  batch.Put(Table::kExtent, ExtentKey(ExtentId(5)), io::EncodeExtentRecord(record));
  ASSERT_TRUE(meta_->Write(batch).has_value());
  ExtentDeltas deltas;
  deltas.Change(ExtentId(5), -2);
  MetaBatch unused;
  EXPECT_EQ(deltas.Emit(*meta_, unused).error().code, Errc::kCorrupt);
  ExtentDeltas unknown;
  unknown.Change(ExtentId(6), -1);
  EXPECT_EQ(unknown.Emit(*meta_, unused).error().code, Errc::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoredMapTest,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kRocks), StoreKindName);

}  // namespace
}  // namespace terrace::fs
