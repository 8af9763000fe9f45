// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// FreeRunTree: the free runs of a device in order, with a search for "the next long enough".
//
// Role     A treap keyed by the first block. Every node knows the longest run below it, so that
//          insert, erase, neighbours and the search by position *and* length all take
//          logarithmic time, however fragmented the device is. 40 bytes per run.
// Owner    SpaceAllocator.
// Threads  None of its own; the allocator's lock guards it.
//
// Invariants (CheckInvariants(); tests/io/free_run_tree_test.cc)
//   RUNS-1  Runs are in order, none is empty, and no two overlap or touch.
//   RUNS-2  Every node's `longest` is the longest run of its subtree.
//   RUNS-3  A node's priority is not below its children's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/block_run.h"

namespace terrace::io {

class FreeRunTree {
 public:
  FreeRunTree();

  bool empty() const { return root_ == kNil; }
  size_t run_count() const { return run_count_; }
  // The longest run's length; 0 when empty.
  uint64_t longest() const { return nodes_[root_].longest; }

  // The last run that begins at or before `block`.
  std::optional<BlockRun> AtOrBefore(uint64_t block) const;
  // The first run that begins at or after `block`.
  std::optional<BlockRun> AtOrAfter(uint64_t block) const;
  // The first run of at least `count` blocks that begins at or after `block`.
  std::optional<BlockRun> FirstFit(uint64_t block, uint64_t count) const;

  // Requires: overlaps and touches no run of the tree.
  void Insert(BlockRun run);
  // Requires: a run begins at `first`.
  void Erase(uint64_t first);
  // Puts `run` in the place of the run that begins at `first`. Requires: `run` keeps that place
  // in the order.
  void Replace(uint64_t first, BlockRun run);

  // All runs in order.
  std::vector<BlockRun> Runs() const;
  void CheckInvariants() const;

 private:
  using Index = uint32_t;
  static constexpr Index kNil = 0;  // nodes_[0] stands for "no node": its longest is 0

  struct Node {
    BlockRun run;
    uint64_t longest = 0;
    Index left = kNil;
    Index right = kNil;
    uint32_t priority = 0;
  };
  struct Halves {
    Index before;  // runs that begin before the key
    Index after;
  };

  Index NewNode(BlockRun run);
  void UpdateLongest(Index node);
  Halves Split(Index node, uint64_t first);
  Index Merge(Index before, Index after);
  Index EraseBelow(Index node, uint64_t first);
  void ReplaceBelow(Index node, uint64_t first, BlockRun run);
  Index FirstFitBelow(Index node, uint64_t block, uint64_t count) const;
  std::optional<BlockRun> RunOf(Index node) const;

  std::vector<Node> nodes_;
  std::vector<Index> unused_;
  Index root_ = kNil;
  size_t run_count_ = 0;
  uint64_t random_state_ = 0;
};

}  // namespace terrace::io
