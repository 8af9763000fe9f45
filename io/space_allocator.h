// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// SpaceAllocator: free space of one device, in blocks of 4 KiB.
//
// Role     Hands out runs of blocks to write-back and takes them back when the commit that
//          freed them is durable. Knows nothing of extents or inodes. Prefers one contiguous
//          run (next fit, so that a stream lies in order); splits only when none is left.
// Owner    io::Device owns it. Rebuilt from the extent records at start; never stored.
// Threads  Public methods are thread-safe; mu_ is a leaf lock.
// Cost     Logarithmic in the number of free runs, however fragmented the device is.
// Errors   kNoSpace, kCorrupt (MarkAllocated and Hold of blocks that are taken or outside).
//
// Invariants (CheckInvariants(); tests/io/space_allocator_test.cc)
//   ALLOC-1  Every block is in exactly one of: free, allocated, awaiting commit.
//   ALLOC-2  A block awaiting commit is never handed out.
//   ALLOC-3  free + allocated + awaiting = capacity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "io/block_run.h"
#include "io/free_run_tree.h"

namespace terrace::io {

class SpaceAllocator {
 public:
  struct Counts {
    uint64_t capacity_blocks;
    uint64_t free_blocks;
    uint64_t awaiting_blocks;  // freed, but the commit that freed them is not durable yet
  };

  // Blocks below reserved_blocks (superblock and the like) count as allocated for ever.
  SpaceAllocator(uint64_t capacity_blocks, uint64_t reserved_blocks);

  // Takes this very run: at start-up because an extent record says that it is in use.
  Status MarkAllocated(BlockRun run);
  // Takes the run for a moment: it still counts as free.
  Status Hold(BlockRun run);
  void EndHold(BlockRun run);
  // Returns runs that sum up to count; one run when any free run is long enough.
  Result<std::vector<BlockRun>> Allocate(uint64_t count);
  // One run of `count` blocks, or nothing when no free run is long enough.
  std::optional<BlockRun> AllocateRun(uint64_t count);
  // The run was allocated and never named by a commit: free at once.
  void FreeUncommitted(BlockRun run);
  // The run was named by a commit that is now replaced: free when that replacement is durable.
  void FreeAwaiting(BlockRun run);
  // What awaits at this moment becomes free when Release gets the returned ticket.
  uint64_t SealAwaiting();
  void Release(uint64_t ticket);
  // The device has grown: the new blocks are free. Does nothing if it is that large already.
  void Extend(uint64_t capacity_blocks);

  Counts counts() const;
  // Where the last run ended: the next one will be looked for from here.
  uint64_t cursor() const;
  // The free blocks at `block`, or the next free run after it.
  std::optional<BlockRun> NextFree(uint64_t block) const;
  void CheckInvariants() const;

 private:
  Status TakeExactlyLocked(BlockRun run) TERRACE_REQUIRES(mu_);
  // Allocated blocks become free at once.
  void GiveBackLocked(BlockRun run) TERRACE_REQUIRES(mu_);
  std::optional<BlockRun> TakeRunLocked(uint64_t count) TERRACE_REQUIRES(mu_);
  void TakeLocked(BlockRun run) TERRACE_REQUIRES(mu_);
  void InsertFreeLocked(BlockRun run) TERRACE_REQUIRES(mu_);
  void AssertNotFreeLocked(BlockRun run) const TERRACE_REQUIRES(mu_);

  // Constant after construction.
  const uint64_t reserved_blocks_;

  // Guarded by mu_.
  mutable Mutex mu_;
  FreeRunTree free_ TERRACE_GUARDED_BY(mu_);
  std::vector<BlockRun> awaiting_ TERRACE_GUARDED_BY(mu_);
  std::map<uint64_t, std::vector<BlockRun>> sealed_ TERRACE_GUARDED_BY(mu_);  // by ticket
  uint64_t next_ticket_ TERRACE_GUARDED_BY(mu_) = 1;
  uint64_t cursor_ TERRACE_GUARDED_BY(mu_) = 0;  // where the last run ended
  uint64_t capacity_blocks_ TERRACE_GUARDED_BY(mu_) = 0;
  uint64_t free_blocks_ TERRACE_GUARDED_BY(mu_) = 0;
  uint64_t held_blocks_ TERRACE_GUARDED_BY(mu_) = 0;
  uint64_t allocated_blocks_ TERRACE_GUARDED_BY(mu_) = 0;  // reserved ones included
  uint64_t awaiting_blocks_ TERRACE_GUARDED_BY(mu_) = 0;
};

}  // namespace terrace::io
