// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// InodeTable: the inodes in memory, and how often the kernel knows each.
//
// Role     Loads inodes on demand, keeps a bounded number of idle clean ones (least recently
//          used go first), never drops one that is in use or has undurable changes. Counts the
//          kernel's look-ups compactly (16 bytes an inode), because a million inodes may be
//          known to the kernel while a few are in memory.
// Threads  Thread-safe, sharded; shard locks are leaves (no call out while one is held).
// Errors   Get: kNotFound, kIo, kCorrupt.
//
// Invariants (CheckInvariants(); tests/fs/inode_table_test.cc)
//   INODE-1  At most one Inode object per id is reachable through the table.
//   INODE-2  An inode with undurable changes is never dropped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/inode.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class InodeTable {
 public:
  static constexpr size_t kShards = 16;

  // idle_inodes_max: how many idle clean inodes stay in memory.
  InodeTable(MetaStore& meta, size_t idle_inodes_max);
  ~InodeTable();

  Result<InodeRef> Get(InodeId id);
  // The Inode if it is in memory; null otherwise. Never loads.
  InodeRef Peek(InodeId id);
  // A new inode whose record is (being) written by the caller.
  InodeRef Insert(InodeRecord record);
  // Forgets a freed inode. Its id never comes back.
  void Drop(InodeId id);

  // Kernel look-ups. CountLookup for each entry that a reply hands to the kernel.
  void CountLookup(InodeId id);
  // Returns: true when the kernel does not know the inode any more.
  bool Forget(InodeId id, uint64_t count);
  bool KnownToKernel(InodeId id);

  // Calls visit for every inode in memory, without any lock held during the call.
  void ForEach(const std::function<void(const InodeRef&)>& visit);
  size_t size();
  // Drops idle inodes above the limit that were in use or dirty when they were passed over.
  // Insertions do that too, a few at a time; a timer may call this.
  void DropIdle();
  void CheckInvariants();

 private:
  struct Shard;
  Shard& ShardOf(InodeId id);
  // Loads the record of an inode that is not in memory.
  Result<InodeRecord> Load(InodeId id);

  // Dependencies.
  MetaStore& meta_;
  // Constant after construction.
  const size_t idle_per_shard_max_;
  std::array<std::unique_ptr<Shard>, kShards> shards_;
};

}  // namespace terrace::fs
