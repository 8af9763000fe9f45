// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// A segmented LRU. What streams through enters and leaves probation and never meets protected;
// what was used twice stands in protected until more than its share was used twice later, and
// then gets one more round through probation.
#include "cache/eviction_policy.h"

#include <algorithm>

#include "base/assert.h"

namespace terrace::cache {

EvictionPolicy::EvictionPolicy(uint64_t capacity_bytes)
    : capacity_bytes_(capacity_bytes),
      protected_bytes_max_(capacity_bytes * kProtectedSharePercent / 100) {
  TERRACE_ASSERT(capacity_bytes_ > 0);
}

void EvictionPolicy::Add(Node& node, uint32_t bytes) {
  AddPrefetched(node, bytes);
  node.last_use_tick_ = ++tick_;
  Use(node);
}

void EvictionPolicy::AddPrefetched(Node& node, uint32_t bytes) {
  TERRACE_ASSERT(!node.linked());
  TERRACE_ASSERT(bytes > 0);
  node.bytes_ = bytes;
  Append(Node::Segment::kProbation, node);
}

void EvictionPolicy::Touch(Node& node, bool same_pass) {
  if (node.last_use_tick_ == tick_) return;  // nothing else was used in between
  node.last_use_tick_ = ++tick_;
  if (!same_pass) Use(node);
}

void EvictionPolicy::Use(Node& node) {
  node.uses_ = std::min(node.uses_ + 1, kUsesToPromote);
  if (node.linked() && node.uses_ == kUsesToPromote) Promote(node);
}

void EvictionPolicy::Remove(Node& node) {
  if (node.linked()) Unlink(node);
  node.uses_ = 0;
  node.last_use_tick_ = 0;
}

EvictionPolicy::Node* EvictionPolicy::Victim(Node* skip) {
  const List& first = ProbationFirst() ? probation_ : protected_;
  const List& second = ProbationFirst() ? protected_ : probation_;
  if (skip == nullptr) return first.head != nullptr ? first.head : second.head;
  TERRACE_ASSERT(skip->linked());
  if (skip->next_ != nullptr) return skip->next_;
  return skip == first.tail ? second.head : nullptr;
}

bool EvictionPolicy::ProbationFirst() const {
  constexpr uint64_t kProbationSharePercent = 100 - kProtectedSharePercent;
  uint64_t share = (probation_.bytes + protected_.bytes) * kProbationSharePercent / 100;
  return probation_.bytes > share;
}

// Moves the node to the recent end of protected, whichever list it is on, and what is then too
// much back to probation. The node itself stays, even if it alone is too much.
void EvictionPolicy::Promote(Node& node) {
  Unlink(node);
  Append(Node::Segment::kProtected, node);
  while (protected_.bytes > protected_bytes_max_ && protected_.head != &node) {
    Node& demoted = *protected_.head;
    Unlink(demoted);
    Append(Node::Segment::kProbation, demoted);  // one more use brings it back
  }
}

EvictionPolicy::List& EvictionPolicy::ListOf(Node::Segment segment) {
  TERRACE_ASSERT(segment != Node::Segment::kNone);
  return segment == Node::Segment::kProbation ? probation_ : protected_;
}

void EvictionPolicy::Append(Node::Segment segment, Node& node) {
  List& list = ListOf(segment);
  node.segment_ = segment;
  node.next_ = nullptr;
  node.previous_ = list.tail;
  (list.tail != nullptr ? list.tail->next_ : list.head) = &node;
  list.tail = &node;
  list.bytes += node.bytes_;
}

void EvictionPolicy::Unlink(Node& node) {
  List& list = ListOf(node.segment_);
  TERRACE_ASSERT(list.bytes >= node.bytes_);
  (node.previous_ != nullptr ? node.previous_->next_ : list.head) = node.next_;
  (node.next_ != nullptr ? node.next_->previous_ : list.tail) = node.previous_;
  list.bytes -= node.bytes_;
  node.previous_ = nullptr;
  node.next_ = nullptr;
  node.segment_ = Node::Segment::kNone;
}

void EvictionPolicy::CheckList(const List& list, Node::Segment segment) const {
  uint64_t bytes = 0;
  const Node* previous = nullptr;
  for (const Node* node = list.head; node != nullptr; node = node->next_) {
    TERRACE_ASSERT(node->segment_ == segment);    // EVICT-1
    TERRACE_ASSERT(node->previous_ == previous);  // EVICT-1
    TERRACE_ASSERT(node->last_use_tick_ <= tick_);
    bytes += node->bytes_;
    previous = node;
  }
  TERRACE_ASSERT(list.tail == previous);  // EVICT-1
  TERRACE_ASSERT(list.bytes == bytes);    // EVICT-2
}

void EvictionPolicy::CheckInvariants() const {
  CheckList(probation_, Node::Segment::kProbation);
  CheckList(protected_, Node::Segment::kProtected);
  // EVICT-3 is the choice that Victim makes; its test compares the two.
  if (protected_.head != protected_.tail) {
    TERRACE_ASSERT(protected_.bytes <= protected_bytes_max_);  // EVICT-4
  }
}

}  // namespace terrace::cache
