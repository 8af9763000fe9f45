// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// MemoryMetaStore: a MetaStore in memory, for tests.
//
// Role     Keeps the contract of MetaStore without a disk, and can show what a power loss would
//          leave: everything up to the last Sync, and a prefix of the batches since.
// Threads  Thread-safe; mu_ is a leaf lock.
// Errors   None.
//
// Cursors are snapshots: while one is open, a Write to its table copies the table first.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class MemoryMetaStore final : public MetaStore {
 public:
  MemoryMetaStore();
  ~MemoryMetaStore() override;

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override;
  Result<std::vector<std::optional<std::string>>> GetMany(
      Table table, const std::vector<std::string>& keys) override;
  Status Write(const MetaBatch& batch) override;
  Status Sync() override;
  std::unique_ptr<MetaCursor> Scan(Table table, std::string_view begin,
                                   std::string_view end) override;
  std::unique_ptr<MetaCursor> ScanFromFloor(Table table, std::string_view key,
                                            std::string_view floor, std::string_view end) override;

  // Keeps from now on what AfterPowerLoss needs; what is there already counts as synced.
  void TrackPowerLoss();
  size_t UnsyncedBatches();
  // The store after a power loss that kept the first `kept` unsynced batches.
  // Requires: TrackPowerLoss was called; kept <= UnsyncedBatches().
  std::unique_ptr<MemoryMetaStore> AfterPowerLoss(size_t kept);

 private:
  using Map = std::map<std::string, std::string, std::less<>>;
  using Tables = std::array<Map, kTableCount>;
  struct Version;  // a table at one moment, and how many cursors look at it
  class Cursor;

  static void Apply(Tables& tables, const MetaBatch& batch);
  Map& WritableLocked(Table table) TERRACE_REQUIRES(mu_);

  Mutex mu_;
  std::array<std::shared_ptr<Version>, kTableCount> tables_ TERRACE_GUARDED_BY(mu_);
  bool track_power_loss_ TERRACE_GUARDED_BY(mu_) = false;
  std::unique_ptr<Tables> synced_ TERRACE_GUARDED_BY(mu_);
  std::vector<MetaBatch> unsynced_ TERRACE_GUARDED_BY(mu_);
};

}  // namespace terrace::fs
