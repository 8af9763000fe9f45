// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// InodeFreer: deletes what an orphan left: map, extents, attributes, record.
//
// Role     The work behind the Reaper, in bounded batches, so that a 60 GB file does not hold its
//          lock for long. An inode that still has a name, or that the kernel or a condition
//          needs, is left alone.
// Threads  Called by the Reaper's thread.
#pragma once

#include "base/result.h"
#include "cache/extent_cache.h"
#include "fs/conditions.h"
#include "fs/inode_table.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class InodeFreer {
 public:
  InodeFreer(MetaStore& meta, InodeTable& inodes, Conditions& conditions, cache::ExtentCache& cache)
      : meta_(meta), inodes_(inodes), conditions_(conditions), cache_(cache) {}

  // Frees a bounded part. Returns: true when there is more. Errors are logged; the orphan table
  // still lists the inode then, and the next mount goes on.
  bool FreeSome(InodeId inode);

 private:
  Result<bool> FreeSomeOf(InodeId inode);

  MetaStore& meta_;
  InodeTable& inodes_;
  Conditions& conditions_;
  cache::ExtentCache& cache_;
};

}  // namespace terrace::fs
