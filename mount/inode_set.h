// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// InodeSet: a compact set of inode numbers (16 bytes or less for each of a million).
//
// Role     Open addressing with linear probing; removal shifts the run back, so that there are
//          no tombstones. 0 is the empty slot: InodeId 0 is none.
// Threads  None of its own; the owner locks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/ids.h"

namespace terrace::mount {

class InodeSet {
 public:
  void Insert(InodeId inode) {
    TERRACE_ASSERT(inode != kNoInode);
    if ((count_ + 1) * 4 > slots_.size() * 3) Grow();
    size_t slot = Find(inode);
    if (slots_[slot] == inode) return;
    slots_[slot] = inode;
    count_++;
  }

  void Erase(InodeId inode) {
    if (count_ == 0 || inode == kNoInode) return;
    size_t hole = Find(inode);
    if (slots_[hole] != inode) return;
    count_--;
    const size_t mask = slots_.size() - 1;
    for (size_t next = Next(hole); slots_[next] != kNoInode; next = Next(next)) {
      // An entry fills the hole if the hole lies on the way from its own place to where it is.
      if (((next - Home(slots_[next])) & mask) < ((next - hole) & mask)) continue;
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole] = kNoInode;
  }

  bool Contains(InodeId inode) const {
    return count_ > 0 && inode != kNoInode && slots_[Find(inode)] == inode;
  }
  size_t size() const { return count_; }

  // Moves all inodes to the end of `out`; the set is empty then and holds no memory.
  void TakeAll(std::vector<InodeId>& out) {
    for (InodeId inode : slots_) {
      if (inode != kNoInode) out.push_back(inode);
    }
    slots_ = {};
    count_ = 0;
  }

 private:
  size_t Home(InodeId inode) const { return std::hash<InodeId>()(inode) & (slots_.size() - 1); }
  size_t Next(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  // The slot that holds the inode, or the empty one where it belongs.
  size_t Find(InodeId inode) const {
    size_t slot = Home(inode);
    while (slots_[slot] != kNoInode && slots_[slot] != inode) slot = Next(slot);
    return slot;
  }
  void Grow() {
    std::vector<InodeId> old = std::move(slots_);
    slots_.assign(old.empty() ? 16 : old.size() * 2, kNoInode);
    for (InodeId inode : old) {
      if (inode != kNoInode) slots_[Find(inode)] = inode;
    }
  }

  std::vector<InodeId> slots_;  // a power of two, at most three quarters full
  size_t count_ = 0;
};

}  // namespace terrace::mount
