// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// LookupCounts: how often the kernel was told of each inode.
//
// Role     An open-addressing table of 16 bytes per place, linear probing, no tombstones: entries
//          behind a freed place move up. Grows by a quarter at 7/8 full, so that a million
//          inodes take 18 to 23 MB.
// Threads  Not thread-safe; InodeTable has one per shard under the shard's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace terrace::fs {

class LookupCounts {
 public:
  void Add(InodeId id);
  // Returns: what is left; 0 when it goes below (the kernel never does that) or was unknown.
  uint64_t Subtract(InodeId id, uint64_t count);
  uint64_t CountOf(InodeId id) const;
  size_t size() const { return used_; }
  size_t MemoryBytes() const { return places_.capacity() * sizeof(Place); }

 private:
  struct Place {
    InodeId id;  // kNoInode: free
    uint64_t count = 0;
  };
  size_t Home(InodeId id) const;
  size_t Find(InodeId id) const;  // its place, or the free one where it belongs
  void Resize(size_t capacity);
  void FreePlace(size_t place);

  std::vector<Place> places_;
  size_t used_ = 0;
};

}  // namespace terrace::fs
