// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// RocksMetaStore: the real MetaStore: RocksDB (https://rocksdb.org), one column family per table.
//
// Role     Write appends to RocksDB's log (WAL) without syncing it; Sync is one fdatasync of the
//          log. Small write buffers and a small log keep memory low and recovery short.
// Owner    fs/open.cc. The directory belongs to one process: RocksDB locks it.
// Threads  Thread-safe. RocksDB runs at most two threads of its own.
// Errors   Open: kNotFound (no store there), kBusy (locked by a process), kCorrupt, kNoSpace,
//          kPermission, kIo; each names the directory and the way out. kReadOnly: Write on a
//          store opened read-only. After kNoSpace the next Write tries again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "fs/meta/meta_store.h"

namespace terrace::fs {

struct RocksMetaOptions {
  bool create_if_missing = false;
  bool read_only = false;
  uint64_t block_cache_bytes = 32ull << 20;   // data, index and filter blocks together
  uint64_t write_buffer_bytes = 16ull << 20;  // all column families together
  uint64_t wal_bytes_max = 12ull << 20;       // what an engine that died leaves to replay
  int open_files_max = 256;
};

struct RocksMetaMemory {
  uint64_t block_cache_bytes = 0;
  uint64_t write_buffer_bytes = 0;
  uint64_t table_reader_bytes = 0;  // outside the block cache
};

class RocksMetaStore final : public MetaStore {
 public:
  static Result<std::unique_ptr<RocksMetaStore>> Open(const std::string& directory,
                                                      const RocksMetaOptions& options);
  ~RocksMetaStore() override;  // what was written stays; it is not synced
  RocksMetaStore(const RocksMetaStore&) = delete;
  RocksMetaStore& operator=(const RocksMetaStore&) = delete;

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override;
  Result<std::vector<std::optional<std::string>>> GetMany(
      Table table, const std::vector<std::string>& keys) override;
  Status Write(const MetaBatch& batch) override;
  Status Sync() override;
  Status EmptyLog() override;
  std::unique_ptr<MetaCursor> Scan(Table table, std::string_view begin,
                                   std::string_view end) override;
  std::unique_ptr<MetaCursor> ScanFromFloor(Table table, std::string_view key,
                                            std::string_view floor, std::string_view end) override;

  RocksMetaMemory MemoryInUse() const;

 private:
  struct Database;  // what RocksDB's headers declare
  explicit RocksMetaStore(std::unique_ptr<Database> database);

  const std::unique_ptr<Database> database_;
};

}  // namespace terrace::fs
