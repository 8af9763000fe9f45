// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ExtentMap: which bytes of a file are in which extents, as programs see the file now.
//
// Role     In file order: {file offset, size, extent, offset in the extent}; what no entry covers
//          reads as zeros. Overwriting, punching and truncating trim or split entries; an extent
//          that no entry names is let go. The live map; the committed one is StoredMap's.
// Threads  Not thread-safe: the inode's lock guards it.
//
// Invariants (CheckInvariants(); tests/fs/extent_map_test.cc)
//   MAP-1  Entries do not overlap, are not empty and lie inside their extents.
//   MAP-2  mapped_bytes is the sum of their sizes.
#pragma once

#include <cstdint>
#include <map>

#include "cache/extent.h"

namespace terrace::fs {

class ExtentMap {
 public:
  struct Entry {
    uint32_t size = 0;           // bytes
    uint32_t extent_offset = 0;  // where they begin in the extent
    cache::ExtentRef extent;
  };
  using Entries = std::map<uint64_t, Entry>;  // by file offset

  // [offset, offset + entry.size) becomes this entry, whatever was there.
  void Put(uint64_t offset, Entry entry);
  // [offset, end) becomes a hole.
  void Clear(uint64_t offset, uint64_t end);
  // The entry at `offset` got longer by `bytes`; the file had a hole there.
  void Extend(uint64_t offset, uint32_t bytes);

  // The first entry that ends behind `offset`.
  Entries::const_iterator FirstBehind(uint64_t offset) const;
  Entries::const_iterator end() const { return entries_.end(); }
  Entries::const_iterator begin() const { return entries_.begin(); }
  // The entry that covers `offset`, or end().
  Entries::const_iterator Covering(uint64_t offset) const;

  // How much of [offset, end) entries cover.
  uint64_t MappedBytesIn(uint64_t offset, uint64_t end) const;

  size_t size() const { return entries_.size(); }
  uint64_t mapped_bytes() const { return mapped_bytes_; }
  void CheckInvariants() const;

 private:
  Entries entries_;
  uint64_t mapped_bytes_ = 0;
};

}  // namespace terrace::fs
