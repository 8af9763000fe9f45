// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a mount refuses metadata of another store and damaged records, and finds the free space
// that the records leave. Method: hand-made records on a store in memory.
#include "fs/recovery.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "fs/meta/key_format.h"
#include "fs/meta/memory_meta_store.h"
#include "tests/support/io_support.h"

namespace terrace::fs {
namespace {

class RecoveryTest : public ::testing::Test {
 protected:
  void Put(Table table, std::string key, std::string value) {
    MetaBatch batch;
    batch.Put(table, std::move(key), std::move(value));
    ASSERT_TRUE(meta_.Write(batch).has_value());
  }
  void PutExtent(uint64_t id, uint16_t device, uint64_t first_block, uint32_t size_bytes) {
    io::ExtentRecord record;
    record.size_bytes = size_bytes;
    record.reference_count = 1;
    record.device = DeviceId(device);
    record.runs = {{first_block, BlockCount(size_bytes)}};
    record.checksums.assign(io::ChecksumCount(size_bytes), 1);
    Put(Table::kExtent, ExtentKey(ExtentId(id)), io::EncodeExtentRecord(record));
  }
  uint64_t FreeBlocks(uint16_t device) {
    return devices_.store->device(DeviceId(device)).space().counts().free_blocks;
  }

  MemoryMetaStore meta_;
  io::FaultyStore devices_{{.device_count = 2, .device_size_bytes = 64 * kMiB}};
};

TEST_F(RecoveryTest, MetadataBelongsToOneStore) {
  EXPECT_EQ(CheckStoreIdentity(meta_, "one", "/meta", false).error().code, Errc::kInvalid);
  ASSERT_TRUE(CheckStoreIdentity(meta_, "one", "/meta", true).has_value());
  EXPECT_TRUE(CheckStoreIdentity(meta_, "one", "/meta", false).has_value());
  EXPECT_TRUE(CheckStoreIdentity(meta_, "one", "/meta", true).has_value());
  for (bool fresh : {false, true}) {
    Status other = CheckStoreIdentity(meta_, "two", "/meta", fresh);
    ASSERT_EQ(other.error().code, Errc::kInvalid);
    for (const char* part : {"/meta", "one", "two"}) {
      EXPECT_NE(other.error().context.find(part), std::string::npos) << part;
    }
  }
}

TEST_F(RecoveryTest, BlocksOfEveryRecordAreTaken) {
  uint64_t free0 = FreeBlocks(0);
  uint64_t free1 = FreeBlocks(1);
  PutExtent(1, 0, 1000, kMiB);
  PutExtent(2, 0, 300, 1);
  PutExtent(3, 1, 1000, 5000);
  ASSERT_TRUE(RebuildFreeSpace(meta_, *devices_.store).has_value());
  EXPECT_EQ(FreeBlocks(0), free0 - 257);
  EXPECT_EQ(FreeBlocks(1), free1 - 2);
}

TEST_F(RecoveryTest, DamagedRecordsAreRefusedByName) {
  struct {
    const char* what;
    std::function<void()> damage;
  } const cases[] = {
      {"two claim a block", [&] { PutExtent(77, 0, 999, 5000); }},
      {"the superblock", [&] { PutExtent(77, 0, 0, 5000); }},
      {"behind the end", [&] { PutExtent(77, 0, 16383, 5000); }},
      {"no such device", [&] { PutExtent(77, 9, 1000, 5000); }},
      {"nonsense", [&] { Put(Table::kExtent, ExtentKey(ExtentId(77)), "nonsense"); }},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    io::FaultyStore devices{{.device_count = 2, .device_size_bytes = 64 * kMiB}};
    PutExtent(1, 0, 1000, 1);
    one.damage();
    Status rebuilt = RebuildFreeSpace(meta_, *devices.store);
    ASSERT_EQ(rebuilt.error().code, Errc::kCorrupt);
    EXPECT_NE(rebuilt.error().context.find("77"), std::string::npos) << rebuilt.error().context;
  }
}

TEST_F(RecoveryTest, OrphansAreListed) {
  EXPECT_TRUE(ListOrphans(meta_)->empty());
  Put(Table::kOrphan, InodeKey(InodeId(5)), {});
  Put(Table::kOrphan, InodeKey(InodeId(1ull << 40)), {});
  EXPECT_EQ(*ListOrphans(meta_), (std::vector<InodeId>{InodeId(5), InodeId(1ull << 40)}));
  Put(Table::kOrphan, "odd", {});
  EXPECT_EQ(ListOrphans(meta_).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace terrace::fs
