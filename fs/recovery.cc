// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/recovery.h"

#include "base/bytes.h"

namespace terrace::fs {

namespace {

constexpr char kStoreIdKey[] = "store_id";

}  // namespace

Status CheckStoreIdentity(MetaStore& meta, const std::string& store_id,
                          const std::string& directory, bool fresh) {
  TERRACE_ASSIGN_OR_RETURN(auto stored, meta.Get(Table::kSystem, kStoreIdKey));
  if (!stored && fresh) {
    MetaBatch batch;
    batch.Put(Table::kSystem, kStoreIdKey, store_id);
    TERRACE_TRY(meta.Write(batch));
    return meta.Sync();
  }
  if (stored == store_id) return {};
  std::string found = stored ? "store " + *stored : "no store";
  return Fail(Errc::kInvalid, "metadata directory " + directory + " belongs to " + found +
                                  ", but the devices to store " + store_id +
                                  ": give the directory and the devices that belong together");
}

Status RebuildFreeSpace(MetaStore& meta, io::ExtentStore& store) {
  auto cursor = meta.Scan(Table::kExtent, {}, {});
  for (; cursor->Valid(); cursor->Next()) {
    std::string what = "extent record";
    if (cursor->key().size() == 8) {
      what += " " + std::to_string(ReadBigEndian64(cursor->key()));
    }
    Result<io::ExtentRecord> record = io::DecodeExtentRecord(cursor->value());
    if (!record) return Wrap(record.error(), what);
    Status marked = store.MarkAllocated(*record);
    if (!marked) return Wrap(marked.error(), what);
  }
  return cursor->status();
}

Result<std::vector<InodeId>> ListOrphans(MetaStore& meta) {
  std::vector<InodeId> orphans;
  auto cursor = meta.Scan(Table::kOrphan, {}, {});
  for (; cursor->Valid(); cursor->Next()) {
    if (cursor->key().size() != 8) return Fail(Errc::kCorrupt, "orphan key does not decode");
    orphans.push_back(InodeId(ReadBigEndian64(cursor->key())));
  }
  TERRACE_TRY(cursor->status());
  return orphans;
}

}  // namespace terrace::fs
