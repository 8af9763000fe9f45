// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/free_run_tree.h"

#include <algorithm>

#include "base/assert.h"

// A treap is a binary search tree by key (the first block) and a heap by a random priority,
// which keeps it balanced whatever the order of insertions. Insert splits the tree at the key and
// merges the halves around the new node; erase merges the children of the node that goes.
// Recursion is as deep as the tree: about 2 log2(runs), so some 50 for millions of runs.

namespace terrace::io {

FreeRunTree::FreeRunTree() { nodes_.emplace_back(); }

std::optional<BlockRun> FreeRunTree::RunOf(Index node) const {
  if (node == kNil) return std::nullopt;
  return nodes_[node].run;
}

std::optional<BlockRun> FreeRunTree::AtOrBefore(uint64_t block) const {
  Index found = kNil;
  for (Index node = root_; node != kNil;) {
    if (nodes_[node].run.first <= block) {
      found = node;
      node = nodes_[node].right;
    } else {
      node = nodes_[node].left;
    }
  }
  return RunOf(found);
}

std::optional<BlockRun> FreeRunTree::AtOrAfter(uint64_t block) const {
  Index found = kNil;
  for (Index node = root_; node != kNil;) {
    if (nodes_[node].run.first >= block) {
      found = node;
      node = nodes_[node].left;
    } else {
      node = nodes_[node].right;
    }
  }
  return RunOf(found);
}

std::optional<BlockRun> FreeRunTree::FirstFit(uint64_t block, uint64_t count) const {
  TERRACE_ASSERT(count > 0);
  return RunOf(FirstFitBelow(root_, block, count));
}

FreeRunTree::Index FreeRunTree::FirstFitBelow(Index node, uint64_t block, uint64_t count) const {
  if (nodes_[node].longest < count) return kNil;  // true of kNil too
  const Node& here = nodes_[node];
  if (here.run.first >= block) {
    if (Index found = FirstFitBelow(here.left, block, count); found != kNil) return found;
    if (here.run.count >= count) return node;
  }
  return FirstFitBelow(here.right, block, count);
}

void FreeRunTree::Insert(BlockRun run) {
  TERRACE_ASSERT(run.count > 0);
  Index node = NewNode(run);
  Halves halves = Split(root_, run.first);
  root_ = Merge(Merge(halves.before, node), halves.after);
  run_count_++;
}

void FreeRunTree::Erase(uint64_t first) {
  root_ = EraseBelow(root_, first);
  run_count_--;
}

void FreeRunTree::Replace(uint64_t first, BlockRun run) {
  TERRACE_ASSERT(run.count > 0);
  ReplaceBelow(root_, first, run);
}

FreeRunTree::Index FreeRunTree::NewNode(BlockRun run) {
  random_state_ += 0x9E3779B97F4A7C15ull;  // splitmix64: any sequence will do, a fixed one repeats
  uint64_t mixed = (random_state_ ^ (random_state_ >> 30)) * 0xBF58476D1CE4E5B9ull;
  Node node{.run = run,
            .longest = run.count,
            .left = kNil,
            .right = kNil,
            .priority = static_cast<uint32_t>(mixed >> 32)};
  if (!unused_.empty()) {
    Index index = unused_.back();
    unused_.pop_back();
    nodes_[index] = node;
    return index;
  }
  TERRACE_ASSERT(nodes_.size() < UINT32_MAX);
  nodes_.push_back(node);
  return static_cast<Index>(nodes_.size() - 1);
}

void FreeRunTree::UpdateLongest(Index node) {
  Node& here = nodes_[node];
  here.longest = std::max({here.run.count, nodes_[here.left].longest, nodes_[here.right].longest});
}

FreeRunTree::Halves FreeRunTree::Split(Index node, uint64_t first) {
  if (node == kNil) return {kNil, kNil};
  Halves halves;
  if (nodes_[node].run.first < first) {
    halves = Split(nodes_[node].right, first);
    nodes_[node].right = halves.before;
    halves.before = node;
  } else {
    halves = Split(nodes_[node].left, first);
    nodes_[node].left = halves.after;
    halves.after = node;
  }
  UpdateLongest(node);
  return halves;
}

FreeRunTree::Index FreeRunTree::Merge(Index before, Index after) {
  if (before == kNil) return after;
  if (after == kNil) return before;
  if (nodes_[before].priority >= nodes_[after].priority) {
    Index merged = Merge(nodes_[before].right, after);
    nodes_[before].right = merged;
    UpdateLongest(before);
    return before;
  }
  Index merged = Merge(before, nodes_[after].left);
  nodes_[after].left = merged;
  UpdateLongest(after);
  return after;
}

FreeRunTree::Index FreeRunTree::EraseBelow(Index node, uint64_t first) {
  TERRACE_ASSERT(node != kNil);
  Node& here = nodes_[node];
  if (here.run.first == first) {
    Index merged = Merge(here.left, here.right);
    unused_.push_back(node);
    return merged;
  }
  Index& side = first < here.run.first ? here.left : here.right;
  side = EraseBelow(side, first);
  UpdateLongest(node);
  return node;
}

void FreeRunTree::ReplaceBelow(Index node, uint64_t first, BlockRun run) {
  TERRACE_ASSERT(node != kNil);
  Node& here = nodes_[node];
  if (here.run.first == first) {
    here.run = run;
  } else {
    ReplaceBelow(first < here.run.first ? here.left : here.right, first, run);
  }
  UpdateLongest(node);
}

std::vector<BlockRun> FreeRunTree::Runs() const {
  std::vector<BlockRun> runs;
  runs.reserve(run_count_);
  std::vector<Index> path;
  for (Index node = root_; node != kNil || !path.empty();) {
    if (node != kNil) {
      path.push_back(node);
      node = nodes_[node].left;
      continue;
    }
    node = path.back();
    path.pop_back();
    runs.push_back(nodes_[node].run);
    node = nodes_[node].right;
  }
  return runs;
}

void FreeRunTree::CheckInvariants() const {
  std::vector<BlockRun> runs = Runs();
  TERRACE_ASSERT(runs.size() == run_count_);
  for (size_t i = 0; i < runs.size(); i++) {
    TERRACE_ASSERT(runs[i].count > 0);                             // RUNS-1
    if (i > 0) TERRACE_ASSERT(runs[i - 1].end() < runs[i].first);  // RUNS-1
  }
  std::vector<Index> open{root_};
  while (!open.empty()) {
    const Node& node = nodes_[open.back()];
    open.pop_back();
    if (node.run.count == 0) continue;  // kNil
    uint64_t below = std::max(nodes_[node.left].longest, nodes_[node.right].longest);
    TERRACE_ASSERT(node.longest == std::max(node.run.count, below));  // RUNS-2
    TERRACE_ASSERT(node.priority >= nodes_[node.left].priority);      // RUNS-3
    TERRACE_ASSERT(node.priority >= nodes_[node.right].priority);
    open.push_back(node.left);
    open.push_back(node.right);
  }
}

}  // namespace terrace::io
