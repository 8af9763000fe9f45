// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/meta/space_guard.h"

#include <algorithm>

#include "base/units.h"

namespace terrace::fs {

namespace {

// More than RocksDB writes between two queries: its log, a flush of all buffers, a compaction.
constexpr uint64_t kReserveBytesMax = 64 * kMiB;
// Of a small file system, only a part.
constexpr uint64_t kReserveShare = 4;
// What deletions leave of the reserve.
constexpr uint64_t kLastShare = 4;

}  // namespace

Status SpaceGuard::Admit(uint64_t size_bytes, bool frees) {
  const uint64_t unchecked =
      unchecked_bytes_.fetch_add(size_bytes, std::memory_order_relaxed) + size_bytes;
  if (unchecked < kBytesPerQuery && !is_low_.load(std::memory_order_relaxed)) return {};
  unchecked_bytes_.store(0, std::memory_order_relaxed);
  const Result<SpaceOnDisk> space = query_();
  if (!space) return {};
  const uint64_t reserve = std::min(kReserveBytesMax, space->capacity_bytes / kReserveShare);
  is_low_.store(space->available_bytes < reserve, std::memory_order_relaxed);
  if (space->available_bytes >= (frees ? reserve / kLastShare : reserve)) return {};
  return Fail(Errc::kNoSpace, "only " + FormatSize(space->available_bytes) +
                                  " left on the file system of the metadata");
}

}  // namespace terrace::fs
