// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/extent_map.h"

#include <algorithm>

#include "base/assert.h"

namespace terrace::fs {

void ExtentMap::Put(uint64_t offset, Entry entry) {
  TERRACE_ASSERT(entry.size > 0);
  Clear(offset, offset + entry.size);
  mapped_bytes_ += entry.size;
  entries_.emplace(offset, std::move(entry));
}

void ExtentMap::Clear(uint64_t offset, uint64_t end) {
  auto at = entries_.upper_bound(offset);
  if (at != entries_.begin()) {
    auto before = std::prev(at);
    uint64_t before_end = before->first + before->second.size;
    if (before_end > offset) at = before;
  }
  while (at != entries_.end() && at->first < end) {
    uint64_t start = at->first;
    uint64_t stop = start + at->second.size;
    Entry& entry = at->second;
    if (stop > end) {
      // The right part stays, under a key of its own.
      auto cut = static_cast<uint32_t>(end - start);
      Entry right{static_cast<uint32_t>(stop - end), entry.extent_offset + cut, entry.extent};
      mapped_bytes_ += right.size;
      entries_.emplace_hint(std::next(at), end, std::move(right));
    }
    mapped_bytes_ -= entry.size;
    if (start < offset) {
      entry.size = static_cast<uint32_t>(offset - start);
      mapped_bytes_ += entry.size;
      ++at;
    } else {
      at = entries_.erase(at);
    }
  }
}

void ExtentMap::Extend(uint64_t offset, uint32_t bytes) {
  auto found = entries_.find(offset);
  TERRACE_ASSERT(found != entries_.end());
  found->second.size += bytes;
  mapped_bytes_ += bytes;
}

ExtentMap::Entries::const_iterator ExtentMap::FirstBehind(uint64_t offset) const {
  auto at = entries_.upper_bound(offset);
  if (at != entries_.begin()) {
    auto before = std::prev(at);
    if (before->first + before->second.size > offset) return before;
  }
  return at;
}

ExtentMap::Entries::const_iterator ExtentMap::Covering(uint64_t offset) const {
  auto found = FirstBehind(offset);
  return found != entries_.end() && found->first <= offset ? found : entries_.end();
}

uint64_t ExtentMap::MappedBytesIn(uint64_t offset, uint64_t end) const {
  uint64_t bytes = 0;
  for (auto at = FirstBehind(offset); at != entries_.end() && at->first < end; ++at) {
    uint64_t stop = std::min(end, at->first + at->second.size);
    bytes += stop - std::max(offset, at->first);
  }
  return bytes;
}

void ExtentMap::CheckInvariants() const {
  uint64_t end = 0;
  uint64_t bytes = 0;
  for (const auto& [offset, entry] : entries_) {
    TERRACE_ASSERT(offset >= end);  // MAP-1
    TERRACE_ASSERT(entry.size > 0);
    TERRACE_ASSERT(entry.extent_offset + entry.size <= entry.extent->size_bytes());
    end = offset + entry.size;
    bytes += entry.size;
  }
  TERRACE_ASSERT(bytes == mapped_bytes_);  // MAP-2
}

}  // namespace terrace::fs
