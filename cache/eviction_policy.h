// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// EvictionPolicy: which clean extent leaves DRAM first.
//
// Role     Scan-resistant order over opaque entries: an extent read or written once (a
//          checkpoint streaming through) leaves before one that was asked for again. Two
//          segments: probation (first in, first out) and protected (least recently used, at
//          most kProtectedSharePercent of the capacity; what is too much goes back to the end
//          of probation). A second use promotes, unless nothing else was used in between: such
//          uses are correlated and count as one. Intrusive lists: no allocation, O(1).
// Owner    ExtentCache, which derives its extents from Node.
// Threads  Not thread-safe; the cache's lock guards it.
//
// Invariants (CheckInvariants(); tests/cache/eviction_policy_test.cc)
//   EVICT-1  A node is on exactly one list or on none.
//   EVICT-2  The bytes of a segment are the sum of its nodes' bytes.
//   EVICT-3  Victims come from probation while it holds more than its share: a fifth of the
//            bytes on both lists, so that dirty bytes shrink both segments alike.
//   EVICT-4  Protected holds at most its share of the capacity, or a single node.
#pragma once

#include <cstdint>

namespace terrace::cache {

class EvictionPolicy {
 public:
  static constexpr uint64_t kProtectedSharePercent = 80;

  class Node {
   public:
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    bool linked() const { return segment_ != Segment::kNone; }

   private:
    friend class EvictionPolicy;
    enum class Segment : uint8_t { kNone, kProbation, kProtected };
    Node* previous_ = nullptr;
    Node* next_ = nullptr;
    uint32_t bytes_ = 0;
    uint32_t uses_ = 0;  // that count, up to kUsesToPromote
    uint64_t last_use_tick_ = 0;
    Segment segment_ = Segment::kNone;
  };

  // capacity_bytes: what DRAM holds, clean and dirty.
  explicit EvictionPolicy(uint64_t capacity_bytes);

  // A clean extent came to DRAM because it was asked for, or became clean. That is its first
  // use; uses reported while it was dirty count too. Requires: not linked, bytes > 0.
  void Add(Node& node, uint32_t bytes);
  // It came before anyone asked for it: no use yet, so that its first read is not its second.
  // Requires: not linked, bytes > 0.
  void AddPrefetched(Node& node, uint32_t bytes);
  // It was read. A read that goes on with a pass which used the extent before passes `same_pass`
  // and does not count. May be called while not linked (dirty): remembered for Add.
  void Touch(Node& node, bool same_pass);
  // It leaves, for whatever reason, and its uses are forgotten.
  void Remove(Node& node);
  // The next victim, or null when there is none. Does not remove it. `skip` lets the caller
  // pass over pinned nodes: the search goes on behind it, at last on the other list. It ends
  // early if Remove changed meanwhile which list is first. Requires: skip is null or linked.
  Node* Victim(Node* skip = nullptr);

  uint64_t probation_bytes() const { return probation_.bytes; }
  uint64_t protected_bytes() const { return protected_.bytes; }
  void CheckInvariants() const;

 private:
  struct List {
    Node* head = nullptr;  // next victim
    Node* tail = nullptr;  // most recent
    uint64_t bytes = 0;
  };
  static constexpr uint32_t kUsesToPromote = 2;

  void Use(Node& node);
  void Append(Node::Segment segment, Node& node);
  void Unlink(Node& node);
  List& ListOf(Node::Segment segment);
  void Promote(Node& node);
  bool ProbationFirst() const;
  void CheckList(const List& list, Node::Segment segment) const;

  const uint64_t capacity_bytes_;
  const uint64_t protected_bytes_max_;
  List probation_;
  List protected_;
  // Advances when another node is used than the last one: the node that carries the present
  // tick is the most recently used one. Starts at 1, so that a new node never is.
  uint64_t tick_ = 1;
};

}  // namespace terrace::cache
