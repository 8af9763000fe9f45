// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// SpaceGuard: refuses metadata writes before the file system below them is full.
//
// Role     RocksDB stops until it is resumed when an append or a flush runs out of space, and some
//          builds of it (Debian's) abort when a log is synced after that. A reserve keeps it from
//          getting there. Batches that free something may use most of the reserve: a full store
//          must take deletions.
// Owner    RocksMetaStore.
// Threads  Thread-safe, no locks. Asks the file system once per MiB written, and for every write
//          while space is low.
// Errors   kNoSpace.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace terrace::fs {

struct SpaceOnDisk {
  uint64_t capacity_bytes = 0;
  uint64_t available_bytes = 0;
};

class SpaceGuard {
 public:
  // query: what the file system says; an error counts as enough space.
  using Query = std::function<Result<SpaceOnDisk>()>;
  explicit SpaceGuard(Query query) : query_(std::move(query)) {}

  Status Admit(uint64_t size_bytes, bool frees);

 private:
  static constexpr uint64_t kBytesPerQuery = 1 << 20;

  const Query query_;
  std::atomic<uint64_t> unchecked_bytes_{kBytesPerQuery};  // since the last query
  std::atomic<bool> is_low_{false};
};

}  // namespace terrace::fs
