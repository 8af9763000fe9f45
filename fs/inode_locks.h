// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// InodeLocks: many inodes, locked at once.
//
// Role     Locks by ascending id, as everybody does who needs more than one, so that nobody waits
//          in a circle (docs/concurrency.md).
// Threads  Not thread-safe: a local variable. The compiler's analysis cannot follow a number of
//          locks that is known at run time only; functions that touch the inodes say so.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "fs/inode.h"

namespace terrace::fs {

class InodeLocks {
 public:
  // At once. (ThreadSanitizer follows at most 64 locks of a thread.)
  static constexpr size_t kInodesMax = 48;

  // Requires: no repetitions, at most kInodesMax.
  explicit InodeLocks(std::vector<InodeRef> inodes) TERRACE_NO_THREAD_SAFETY_ANALYSIS
      : inodes_(std::move(inodes)) {
    std::sort(inodes_.begin(), inodes_.end(),
              [](const InodeRef& a, const InodeRef& b) { return a->id < b->id; });
    for (const InodeRef& inode : inodes_) inode->mu.Lock();
  }
  ~InodeLocks() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
    for (const InodeRef& inode : inodes_) inode->mu.Unlock();
  }
  InodeLocks(const InodeLocks&) = delete;
  InodeLocks& operator=(const InodeLocks&) = delete;

  const std::vector<InodeRef>& inodes() const { return inodes_; }

 private:
  std::vector<InodeRef> inodes_;
};

}  // namespace terrace::fs
