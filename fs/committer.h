// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Committer: publishes what write-back made durable: maps, sizes, times, conditions.
//
// Role     fs/'s side of CommitSink. Extents are grouped by inode; the inodes of one batch are
//          locked in ascending order until the batch is written, so that every record of an
//          inode arrives in order. A commit moves the inode's durable sequence forward and
//          closes the conditions that it satisfies.
// Threads  Called by write-back's commit thread; SyncMetadata from any.
// Errors   kIo, kCorrupt, kNoSpace from the metadata store; nothing in memory changed then.
//
// Keeps COMMIT-2 (a published name shows its predecessor or a whole version) and COMMIT-3 (fsync
// covers data, size and name): docs/invariants.md; tests/fs/committer_test.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cache/commit_sink.h"
#include "cache/extent_cache.h"
#include "fs/conditions.h"
#include "fs/inode_table.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class Committer final : public cache::CommitSink {
 public:
  Committer(MetaStore& meta, InodeTable& inodes, Conditions& conditions);

  // What comes later in construction and is told of a commit.
  struct Listeners {
    std::function<void(InodeId)> predecessor_released;  // no condition needs it any more
    std::function<void(InodeId)> fragmented;            // its map has too many small entries
  };
  void Wire(cache::ExtentCache& cache, Listeners listeners);

  Result<std::vector<bool>> CommitExtents(const std::vector<cache::ExtentRef>& extents) override;
  Status SyncMetadata() override;
  void NoteWriteError(const std::vector<cache::ExtentRef>& extents, const Error& error) override;

 private:
  using InodeExtents = std::pair<InodeId, std::vector<size_t>>;
  struct Group;  // the inodes of one batch, locked

  Status CommitGroup(std::span<const InodeExtents> inodes,
                     const std::vector<cache::ExtentRef>& extents, std::vector<bool>& named);
  void Announce(const Group& group);

  MetaStore& meta_;
  InodeTable& inodes_;
  Conditions& conditions_;
  cache::ExtentCache* cache_ = nullptr;
  Listeners listeners_;
};

}  // namespace terrace::fs
