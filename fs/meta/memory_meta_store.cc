// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/meta/memory_meta_store.h"

#include "base/assert.h"

namespace terrace::fs {

struct MemoryMetaStore::Version {
  Map map;
  uint32_t cursors = 0;  // guarded by mu_ of the store; the map never changes while above 0
};

class MemoryMetaStore::Cursor final : public MetaCursor {
 public:
  // Counted in version->cursors by the caller.
  Cursor(MemoryMetaStore& store, std::shared_ptr<Version> version, Map::const_iterator at,
         std::string_view end)
      : store_(store), version_(std::move(version)), at_(at), end_(end) {
    CheckEnd();
  }
  ~Cursor() override {
    MutexLock lock(store_.mu_);
    version_->cursors--;
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  bool Valid() const override { return at_ != version_->map.end(); }
  void Next() override {
    TERRACE_ASSERT(Valid());
    ++at_;
    CheckEnd();
  }
  std::string_view key() const override { return at_->first; }
  std::string_view value() const override { return at_->second; }
  Status status() const override { return {}; }

 private:
  void CheckEnd() {
    if (Valid() && !end_.empty() && at_->first >= end_) at_ = version_->map.end();
  }

  MemoryMetaStore& store_;
  const std::shared_ptr<Version> version_;
  Map::const_iterator at_;
  const std::string end_;
};

MemoryMetaStore::MemoryMetaStore() {
  for (auto& table : tables_) table = std::make_shared<Version>();
}

MemoryMetaStore::~MemoryMetaStore() = default;

MemoryMetaStore::Map& MemoryMetaStore::WritableLocked(Table table) {
  std::shared_ptr<Version>& version = tables_[static_cast<size_t>(table)];
  if (version->cursors > 0) {
    auto copy = std::make_shared<Version>();
    copy->map = version->map;
    version = std::move(copy);
  }
  return version->map;
}

Result<std::optional<std::string>> MemoryMetaStore::Get(Table table, std::string_view key) {
  MutexLock lock(mu_);
  const Map& map = tables_[static_cast<size_t>(table)]->map;
  auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

Result<std::vector<std::optional<std::string>>> MemoryMetaStore::GetMany(
    Table table, const std::vector<std::string>& keys) {
  MutexLock lock(mu_);
  const Map& map = tables_[static_cast<size_t>(table)]->map;
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) {
    auto found = map.find(key);
    values.push_back(found == map.end() ? std::nullopt : std::optional(found->second));
  }
  return values;
}

Status MemoryMetaStore::Write(const MetaBatch& batch) {
  MutexLock lock(mu_);
  for (const MetaBatch::Operation& operation : batch.operations()) {
    Map& map = WritableLocked(operation.table);
    if (operation.is_delete) {
      map.erase(operation.key);
    } else {
      map.insert_or_assign(operation.key, operation.value);
    }
  }
  if (track_power_loss_) unsynced_.push_back(batch);
  return {};
}

Status MemoryMetaStore::Sync() {
  MutexLock lock(mu_);
  if (!track_power_loss_) return {};
  for (const MetaBatch& batch : unsynced_) Apply(*synced_, batch);
  unsynced_.clear();
  return {};
}

std::unique_ptr<MetaCursor> MemoryMetaStore::Scan(Table table, std::string_view begin,
                                                  std::string_view end) {
  MutexLock lock(mu_);
  std::shared_ptr<Version> version = tables_[static_cast<size_t>(table)];
  version->cursors++;
  auto at = version->map.lower_bound(begin);
  return std::make_unique<Cursor>(*this, std::move(version), at, end);
}

std::unique_ptr<MetaCursor> MemoryMetaStore::ScanFromFloor(Table table, std::string_view key,
                                                           std::string_view floor,
                                                           std::string_view end) {
  MutexLock lock(mu_);
  std::shared_ptr<Version> version = tables_[static_cast<size_t>(table)];
  version->cursors++;
  auto at = version->map.upper_bound(key);
  if (at == version->map.begin() || std::prev(at)->first < floor) {
    at = version->map.end();
  } else {
    --at;
  }
  return std::make_unique<Cursor>(*this, std::move(version), at, end);
}

void MemoryMetaStore::Apply(Tables& tables, const MetaBatch& batch) {
  for (const MetaBatch::Operation& operation : batch.operations()) {
    Map& map = tables[static_cast<size_t>(operation.table)];
    if (operation.is_delete) {
      map.erase(operation.key);
    } else {
      map.insert_or_assign(operation.key, operation.value);
    }
  }
}

void MemoryMetaStore::TrackPowerLoss() {
  MutexLock lock(mu_);
  track_power_loss_ = true;
  synced_ = std::make_unique<Tables>();
  for (size_t i = 0; i < kTableCount; i++) (*synced_)[i] = tables_[i]->map;
  unsynced_.clear();
}

size_t MemoryMetaStore::UnsyncedBatches() {
  MutexLock lock(mu_);
  return unsynced_.size();
}

std::unique_ptr<MemoryMetaStore> MemoryMetaStore::AfterPowerLoss(size_t kept) {
  auto survivor = std::make_unique<MemoryMetaStore>();
  Tables tables;
  {
    MutexLock lock(mu_);
    TERRACE_ASSERT(track_power_loss_);
    TERRACE_ASSERT(kept <= unsynced_.size());
    tables = *synced_;
    for (size_t i = 0; i < kept; i++) Apply(tables, unsynced_[i]);
  }
  MutexLock lock(survivor->mu_);
  for (size_t i = 0; i < kTableCount; i++) survivor->tables_[i]->map = std::move(tables[i]);
  return survivor;
}

}  // namespace terrace::fs
