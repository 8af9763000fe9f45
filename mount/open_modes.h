// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// OpenModes: how each open inode is served now, and whose pages the kernel may hold.
//
// Role     Counts the handles of an inode by mode, and decides the mode of the next open under
//          the same lock, before the reply: the kernel does not fall back from a wrong mode.
//          Keeps the inodes that were served through the page cache, for `terrace evict`.
// Owner    Session. Nothing here outlives the connection; an engine that starts anew rebuilds
//          it from the handles (mount/file_handle.h).
// Threads  Thread-safe, sharded; shard locks are leaves.
//
// Invariants (CheckInvariants(); tests/mount/open_modes_test.cc)
//   MODE-1  An inode has cached handles or direct writers, not both, unless the kernel lacks
//           mmap beside direct I/O.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "mount/cache_mode.h"
#include "mount/file_handle.h"
#include "mount/inode_set.h"

namespace terrace::mount {

class OpenModes {
 public:
  explicit OpenModes(const Connection& connection) : connection_(connection) {}

  // Set once, at INIT, before the first open.
  void SetConnection(const Connection& connection) { connection_ = connection; }
  const Connection& connection() const { return connection_; }

  // Decides and counts. Each Open is answered by one Close with the same handle.
  CacheMode Open(InodeId inode, const OpenFacts& facts);
  void Close(const FileHandle& handle);

  // The kernel may hold dirty pages of the inode that we have not seen (write-back mode).
  bool MayHoldDirtyPages(InodeId inode);

  // Pages of the inode came into the page cache otherwise: by a mapping of a direct handle.
  void NotePages(InodeId inode);
  // The kernel dropped the inode, pages and all.
  void Forget(InodeId inode);
  // The inodes whose pages the kernel may hold; those that are open stay noted.
  std::vector<InodeId> TakeInodesWithPages();

  void CheckInvariants();

 private:
  static constexpr size_t kShards = 16;
  struct Shard {
    Mutex mu;
    std::unordered_map<InodeId, OpenCounts> open TERRACE_GUARDED_BY(mu);
    InodeSet with_pages TERRACE_GUARDED_BY(mu);
  };
  // Other bits of the hash than InodeSet uses.
  Shard& ShardOf(InodeId inode) { return shards_[(std::hash<InodeId>()(inode) >> 40) % kShards]; }

  // Constant after INIT.
  Connection connection_;
  std::array<Shard, kShards> shards_;
};

}  // namespace terrace::mount
