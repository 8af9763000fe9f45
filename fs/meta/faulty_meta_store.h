// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// FaultyMetaStore: decorates a MetaStore with faults, for tests.
//
// Role     Fails chosen calls with a chosen code and does nothing else for them; every other
//          call goes to the decorated store. A failed Write leaves the store as it was.
// Threads  Thread-safe if the decorated store is.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "base/mutex.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

enum class MetaCall { kGet, kWrite, kSync, kScan };

class FaultyMetaStore final : public MetaStore {
 public:
  explicit FaultyMetaStore(MetaStore& inner) : inner_(inner) {}

  // The nth call from now on (1: the next) fails once; GetMany counts as one kGet.
  void FailNth(MetaCall call, uint64_t nth, Errc code);
  // Every call fails until Heal.
  void FailAll(MetaCall call, Errc code);
  void Heal();
  uint64_t CallCount(MetaCall call);

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override;
  Result<std::vector<std::optional<std::string>>> GetMany(
      Table table, const std::vector<std::string>& keys) override;
  Status Write(const MetaBatch& batch) override;
  Status Sync() override;
  Status EmptyLog() override;  // counts as kSync
  std::unique_ptr<MetaCursor> Scan(Table table, std::string_view begin,
                                   std::string_view end) override;
  std::unique_ptr<MetaCursor> ScanFromFloor(Table table, std::string_view key,
                                            std::string_view floor, std::string_view end) override;

 private:
  struct Plan {
    uint64_t calls = 0;
    uint64_t fail_at = 0;  // 0: never
    bool fail_all = false;
    Errc code = Errc::kIo;
  };
  Status Count(MetaCall call);

  MetaStore& inner_;
  Mutex mu_;
  std::array<Plan, 4> plans_ TERRACE_GUARDED_BY(mu_);
};

}  // namespace terrace::fs
