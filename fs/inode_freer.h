// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// InodeFreer: deletes what orphans left: map, extents, attributes, record.
//
// Role     The work behind the Reaper, in bounded batches: many small files share one, and a 60 GB
//          file takes several, so that it does not hold its lock for long. An inode that still has
//          a name, or that the kernel or a condition needs, is left alone.
// Threads  Called by the Reaper's thread.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "cache/extent_cache.h"
#include "fs/conditions.h"
#include "fs/inode_locks.h"
#include "fs/inode_table.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class InodeFreer {
 public:
  static constexpr size_t kInodesMax = InodeLocks::kInodesMax;

  InodeFreer(MetaStore& meta, InodeTable& inodes, Conditions& conditions, cache::ExtentCache& cache)
      : meta_(meta), inodes_(inodes), conditions_(conditions), cache_(cache) {}

  // Frees a bounded part in one batch. Requires: no repetitions, at most kInodesMax. Returns: those
  // of which something is left, in any order. Errors are logged; the orphan table still lists the
  // inode then, and the next mount goes on.
  std::vector<InodeId> FreeSome(std::span<const InodeId> inodes);

 private:
  struct Batch;

  // As FreeSome. Errors: nothing of any of them was freed.
  Result<std::vector<InodeId>> FreeSomeOf(std::span<const InodeId> inodes);
  std::vector<InodeRef> LoadAll(std::span<const InodeId> inodes);
  bool IsNeededLocked(const Inode& inode) TERRACE_REQUIRES(inode.mu);
  // Adds the deletion of what the inode left to the batch. Returns: whether it is all.
  Result<bool> CollectLocked(Inode& inode, Batch& batch) TERRACE_REQUIRES(inode.mu);

  MetaStore& meta_;
  InodeTable& inodes_;
  Conditions& conditions_;
  cache::ExtentCache& cache_;
};

}  // namespace terrace::fs
