// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "cache/dirty_set.h"

#include <algorithm>

namespace terrace::cache {

void DirtySet::PushLocked(Extent& extent, uint8_t list) {
  TERRACE_ASSERT(extent.dirty_list_ == kNone);
  Queue& queue = QueueOf(list);
  extent.dirty_list_ = list;
  extent.dirty_previous_ = queue.tail;
  extent.dirty_next_ = nullptr;
  (queue.tail != nullptr ? queue.tail->dirty_next_ : queue.head) = &extent;
  queue.tail = &extent;
  if (list == kStreaming) streaming_bytes_ += extent.charged_bytes_;
}

void DirtySet::PushFrontLocked(Extent& extent, uint8_t list) {
  TERRACE_ASSERT(extent.dirty_list_ == kNone);
  Queue& queue = QueueOf(list);
  extent.dirty_list_ = list;
  extent.dirty_next_ = queue.head;
  extent.dirty_previous_ = nullptr;
  (queue.head != nullptr ? queue.head->dirty_previous_ : queue.tail) = &extent;
  queue.head = &extent;
  if (list == kStreaming) streaming_bytes_ += extent.charged_bytes_;
}

void DirtySet::UnlinkLocked(Extent& extent) {
  if (extent.dirty_list_ == kNone) return;
  Queue& queue = QueueOf(extent.dirty_list_);
  (extent.dirty_previous_ != nullptr ? extent.dirty_previous_->dirty_next_ : queue.head) =
      extent.dirty_next_;
  (extent.dirty_next_ != nullptr ? extent.dirty_next_->dirty_previous_ : queue.tail) =
      extent.dirty_previous_;
  if (extent.dirty_list_ == kStreaming) streaming_bytes_ -= extent.charged_bytes_;
  extent.dirty_list_ = kNone;
  extent.dirty_previous_ = extent.dirty_next_ = nullptr;
}

void DirtySet::Add(Extent& extent, uint32_t reserved_blocks) {
  MutexLock lock(mu_);
  extent.born_ns_ = clock_.MonotonicNs();
  extent.charged_bytes_ = extent.capacity_bytes();
  extent.reserved_blocks_ = reserved_blocks;
  dirty_bytes_ += extent.charged_bytes_;
  dirty_count_++;
  bool streaming = extent.state() == ExtentState::kSealed && extent.size_bytes() >= kAdoptSizeMin;
  PushLocked(extent, streaming ? kStreaming : kLazy);
}

void DirtySet::AddReservation(Extent& extent, uint32_t blocks) {
  MutexLock lock(mu_);
  extent.reserved_blocks_ += blocks;
}

void DirtySet::Seal(Extent& extent) {
  MutexLock lock(mu_);
  ExtentState expected = ExtentState::kOpen;
  if (!extent.state_.compare_exchange_strong(expected, ExtentState::kSealed)) return;
  if (extent.dirty_list_ == kLazy && extent.size_bytes() >= kAdoptSizeMin) {
    UnlinkLocked(extent);
    PushLocked(extent, kStreaming);
  }
}

// Returns: false when it is being copied into or is dying.
bool DirtySet::BeginWritingLocked(Extent& extent, Taken& taken) {
  ExtentRef ref = extent.weak_from_this().lock();
  if (ref == nullptr) return false;
  for (ExtentState from : {ExtentState::kSealed, ExtentState::kOpen}) {
    ExtentState expected = from;
    if (extent.state_.compare_exchange_strong(expected, ExtentState::kWriting)) {
      UnlinkLocked(extent);
      taken.bytes += extent.charged_bytes_;
      taken.extents.push_back(std::move(ref));
      return true;
    }
  }
  taken.passed_over.push_back(std::move(ref));
  return false;
}

// Goes on until `taken` holds bytes_max.
void DirtySet::TakeFromLocked(uint8_t list, int64_t before_ns, uint64_t bytes_max, Taken& taken) {
  Extent* next = QueueOf(list).head;
  while (next != nullptr && taken.bytes < bytes_max && next->born_ns_ <= before_ns) {
    Extent& extent = *next;
    next = extent.dirty_next_;
    BeginWritingLocked(extent, taken);
  }
}

std::vector<ExtentRef> DirtySet::Take(const Limits& limits) {
  Taken taken;
  MutexLock lock(mu_);
  bool enough = streaming_bytes() >= std::max<uint64_t>(limits.streaming_bytes_min, 1);
  int64_t streaming_before = enough ? INT64_MAX : limits.streaming_before_ns;
  TakeFromLocked(kStreaming, streaming_before, limits.bytes_max, taken);
  TakeFromLocked(kLazy, limits.lazy_before_ns, limits.bytes_max, taken);
  return std::move(taken.extents);
}

std::vector<ExtentRef> DirtySet::TakeThese(const std::vector<ExtentRef>& wanted) {
  Taken taken;
  MutexLock lock(mu_);
  for (const ExtentRef& extent : wanted) {
    if (extent->dirty_list_ != kNone) BeginWritingLocked(*extent, taken);
  }
  return std::move(taken.extents);
}

std::vector<ExtentRef> DirtySet::Waiting() const {
  std::vector<ExtentRef> waiting;
  MutexLock lock(mu_);
  for (const Queue* queue : {&lazy_, &streaming_}) {
    for (Extent* extent = queue->head; extent != nullptr; extent = extent->dirty_next_) {
      if (ExtentRef ref = extent->weak_from_this().lock()) waiting.push_back(std::move(ref));
    }
  }
  return waiting;
}

void DirtySet::PutBack(const std::vector<ExtentRef>& extents) {
  MutexLock lock(mu_);
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    ExtentState state = (*extent)->state();
    TERRACE_ASSERT(state == ExtentState::kWriting || state == ExtentState::kWritten);
    (*extent)->state_.store(ExtentState::kSealed);
    PushFrontLocked(**extent, (*extent)->size_bytes() >= kAdoptSizeMin ? kStreaming : kLazy);
  }
}

uint32_t DirtySet::Settle(Extent& extent) {
  MutexLock lock(mu_);
  UnlinkLocked(extent);
  dirty_bytes_ -= extent.charged_bytes_;
  if (extent.charged_bytes_ > 0) dirty_count_--;
  extent.charged_bytes_ = 0;
  return std::exchange(extent.reserved_blocks_, 0);
}

uint32_t DirtySet::TakeReservation(Extent& extent) {
  MutexLock lock(mu_);
  return std::exchange(extent.reserved_blocks_, 0);
}

int64_t DirtySet::OldestLazyNs() const {
  MutexLock lock(mu_);
  return lazy_.head != nullptr ? lazy_.head->born_ns_ : INT64_MAX;
}

int64_t DirtySet::OldestStreamingNs() const {
  MutexLock lock(mu_);
  return streaming_.head != nullptr ? streaming_.head->born_ns_ : INT64_MAX;
}

int64_t DirtySet::OldestNs() const { return std::min(OldestLazyNs(), OldestStreamingNs()); }

void DirtySet::CheckInvariants() const {
  MutexLock lock(mu_);
  uint64_t queued = 0;
  for (uint8_t list : {kLazy, kStreaming}) {
    const Queue& queue = list == kLazy ? lazy_ : streaming_;
    const Extent* previous = nullptr;
    for (const Extent* extent = queue.head; extent != nullptr; extent = extent->dirty_next_) {
      TERRACE_ASSERT(extent->dirty_previous_ == previous);  // DIRTY-1
      TERRACE_ASSERT(extent->dirty_list_ == list);
      ExtentState state = extent->state();
      TERRACE_ASSERT(state == ExtentState::kOpen || state == ExtentState::kCopying ||
                     state == ExtentState::kSealed);
      queued += extent->charged_bytes_;
      previous = extent;
    }
    TERRACE_ASSERT(queue.tail == previous);
  }
  TERRACE_ASSERT(queued <= dirty_bytes());  // DIRTY-2
}

}  // namespace terrace::cache
