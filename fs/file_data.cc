// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/file_data.h"

namespace terrace::fs {

void ReplacedBytes::Committed(const cache::ExtentRef& extent) {
  for (size_t passed = 0; passed < pieces_.size();) {  // from the newest to the oldest
    const size_t index = pieces_.size() - 1 - passed;
    if (pieces_[index].entry.extent != extent) {
      passed++;
      continue;
    }
    const uint64_t offset = pieces_[index].offset;
    const uint64_t end = offset + pieces_[index].entry.size;
    pieces_.erase(pieces_.begin() + static_cast<ptrdiff_t>(index));
    ClearBefore(index, offset, end);
  }
}

void ReplacedBytes::ClearBefore(size_t count, uint64_t offset, uint64_t end) {
  std::vector<Piece> kept;
  for (size_t i = 0; i < pieces_.size(); i++) {
    Piece& piece = pieces_[i];
    const uint64_t stop = piece.offset + piece.entry.size;
    if (i >= count || stop <= offset || piece.offset >= end) {
      kept.push_back(std::move(piece));
      continue;
    }
    if (piece.offset < offset) {
      auto left = static_cast<uint32_t>(offset - piece.offset);
      kept.push_back({piece.offset, {left, piece.entry.extent_offset, piece.entry.extent}});
    }
    if (stop > end) {
      auto cut = static_cast<uint32_t>(end - piece.offset);
      kept.push_back(
          {end, {piece.entry.size - cut, piece.entry.extent_offset + cut, piece.entry.extent}});
    }
  }
  pieces_ = std::move(kept);
}

void UndurableExtents::Prune() {
  while (begin() != end()) {
    cache::ExtentRef extent = begin()->lock();
    if (extent != nullptr && !extent->durable()) break;
    front_++;
  }
  // At least half at a time, so that moving the rest costs a bounded share.
  if (front_ == 0 || begin() - extents_.begin() < end() - begin()) return;
  extents_.erase(extents_.begin(), begin());
  front_ = 0;
}

std::vector<cache::ExtentRef> FileData::CollectUndurable() {
  undurable.Prune();
  std::vector<cache::ExtentRef> extents;
  for (const auto& weak : undurable) {
    cache::ExtentRef extent = weak.lock();
    if (extent != nullptr && !extent->durable()) extents.push_back(std::move(extent));
  }
  return extents;
}

}  // namespace terrace::fs
