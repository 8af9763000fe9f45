// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Volume: a mounted store: the facade that mount/ calls.
//
// Role     Owns the object graph of a store and hands out its parts by subject: names() finds
//          and changes names, attributes() attributes and xattrs, files() bytes and handles.
// Owner    mount/; built by fs/open.h.
// Threads  All parts are thread-safe. Stop ends all background work after a final flush.
// Errors   See the parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "cache/buffer_pool.h"
#include "cache/extent_cache.h"
#include "cache/write_back.h"
#include "fs/attribute_editor.h"
#include "fs/committer.h"
#include "fs/conditions.h"
#include "fs/files.h"
#include "fs/id_source.h"
#include "fs/inode_freer.h"
#include "fs/inode_table.h"
#include "fs/names.h"
#include "fs/reaper.h"
#include "fs/rewriter.h"
#include "fs/status.h"
#include "io/extent_store.h"
#include "io/zero_ahead.h"

namespace terrace::fs {

struct FilesystemSpace {
  uint64_t block_size = 4096;
  uint64_t total_blocks = 0;
  uint64_t free_blocks = 0;  // reservations of accepted bytes subtracted
  uint64_t files_total = 0;
  uint64_t files_free = 0;
};

class Volume {
 public:
  // What the volume is built from; opened, checked and recovered by fs/open.
  struct Parts {
    std::unique_ptr<Clock> clock;
    std::unique_ptr<MetaStore> meta;
    std::unique_ptr<Conditions> conditions;  // as recovery left them
    std::unique_ptr<IdSource> ids;
    std::unique_ptr<io::ExtentStore> store;
    std::unique_ptr<cache::BufferPool> pool;
    std::string store_id;
    uint64_t name_hash_seed = 0;
    uint64_t write_back_delay_ms = 5000;
    double dirty_high_water = 0.8;  // share of the pool
  };
  explicit Volume(Parts parts);
  ~Volume();  // stops first, if Stop did not run

  Names& names() { return *names_; }
  AttributeEditor& attributes() { return *attributes_; }
  Files& files() { return *files_; }

  // Starts write-back, reaping (of these orphans first) and the background prefault.
  void Start(const std::vector<InodeId>& orphans);

  FilesystemSpace Space();
  VolumeStatus GetStatus();

  // Everything accepted before the call becomes durable, then done runs (on another thread).
  void FlushAll(std::function<void(Status)> done);
  // Everything below `inode` (file or directory). Blocks.
  Status FlushBelow(InodeId inode);
  // Drops clean extents from DRAM.
  void EvictDram();
  // Final flush; ends all threads. Afterwards only destruction is allowed.
  Status Stop();

 private:
  void ReclaimSpace();
  Status SyncAndWait(InodeId inode);

  // Dependencies, in the order in which they are built; destroyed the other way round.
  const Parts parts_;
  std::unique_ptr<cache::ExtentCache> cache_;
  std::unique_ptr<InodeTable> inodes_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<cache::WriteBack> write_back_;
  std::unique_ptr<InodeFreer> freer_;
  std::unique_ptr<Reaper> reaper_;
  std::unique_ptr<Rewriter> rewriter_;
  std::unique_ptr<io::ZeroAhead> zero_ahead_;
  std::unique_ptr<Names> names_;
  std::unique_ptr<AttributeEditor> attributes_;
  std::unique_ptr<Files> files_;
  bool started_ = false;
};

}  // namespace terrace::fs
