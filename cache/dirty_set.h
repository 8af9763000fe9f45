// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// DirtySet: the extents that are not durable yet, in the order of their age.
//
// Role     Two queues: streaming (sealed and at least 64 KiB: written as soon as a batch is
//          together) and lazy (open tails and small extents: written when they are old, asked
//          for, or when DRAM fills). Both oldest first. Accounts dirty bytes and reservations.
// Owner    ExtentCache.
// Threads  Thread-safe; mu_ is a leaf lock below ExtentCache::mu_.
//
// Invariants (CheckInvariants(); tests/cache/dirty_set_test.cc)
//   DIRTY-1  An extent in kOpen, kCopying or kSealed is on exactly one queue; others on none.
//   DIRTY-2  dirty_bytes is the sum of the charged bytes of all extents that are not durable.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cache/extent.h"

namespace terrace::cache {

class DirtySet {
 public:
  explicit DirtySet(const Clock& clock) : clock_(clock) {}

  // Takes note of a new undurable extent; reserved_blocks were reserved for it.
  void Add(Extent& extent, uint32_t reserved_blocks);
  // More blocks were reserved for it: an open extent got longer inside its buffer, or one that was
  // placed already is to be written again.
  void AddReservation(Extent& extent, uint32_t blocks);
  // No more bytes will be copied into it. Does nothing unless it is kOpen.
  void Seal(Extent& extent);

  struct Limits {
    uint64_t bytes_max = 0;
    int64_t lazy_before_ns = 0;        // lazy extents born before this are due; INT64_MAX: all
    uint64_t streaming_bytes_min = 0;  // take streaming extents only when that many wait…
    int64_t streaming_before_ns = 0;   // …or when the oldest was born before this
  };
  // Moves due extents to kWriting and returns them, oldest first.
  std::vector<ExtentRef> Take(const Limits& limits);
  // Moves the given ones to kWriting if they are on a queue; others are left out.
  std::vector<ExtentRef> TakeThese(const std::vector<ExtentRef>& wanted);
  // Everything that waits, in no order.
  std::vector<ExtentRef> Waiting() const;
  // kWriting or kWritten -> kSealed: the device failed. Its reservation is the caller's business.
  void PutBack(const std::vector<ExtentRef>& extents);
  // It is durable, or dead: no longer counted. Returns the blocks that were still reserved.
  uint32_t Settle(Extent& extent);
  // The reservation was turned into blocks. Returns the blocks that were reserved.
  uint32_t TakeReservation(Extent& extent);

  uint64_t dirty_bytes() const { return dirty_bytes_.load(std::memory_order_relaxed); }
  uint64_t dirty_count() const { return dirty_count_.load(std::memory_order_relaxed); }
  uint64_t streaming_bytes() const { return streaming_bytes_.load(std::memory_order_relaxed); }
  // Birth of the oldest waiting extent; INT64_MAX: none. streaming or lazy queue, or both.
  int64_t OldestNs() const;
  int64_t OldestLazyNs() const;
  int64_t OldestStreamingNs() const;
  void CheckInvariants() const;

 private:
  static constexpr uint8_t kNone = 0, kLazy = 1, kStreaming = 2;
  struct Queue {
    Extent* head = nullptr;
    Extent* tail = nullptr;
  };
  Queue& QueueOf(uint8_t list) TERRACE_REQUIRES(mu_) { return list == kLazy ? lazy_ : streaming_; }
  void PushLocked(Extent& extent, uint8_t list) TERRACE_REQUIRES(mu_);
  void PushFrontLocked(Extent& extent, uint8_t list) TERRACE_REQUIRES(mu_);
  void UnlinkLocked(Extent& extent) TERRACE_REQUIRES(mu_);
  // What was taken, and what was looked at in vain: a share that may be the last one must not be
  // dropped under mu_, which the extent's destructor takes.
  struct Taken {
    std::vector<ExtentRef> extents;
    std::vector<ExtentRef> passed_over;
    uint64_t bytes = 0;  // charged
  };
  bool BeginWritingLocked(Extent& extent, Taken& taken) TERRACE_REQUIRES(mu_);
  void TakeFromLocked(uint8_t list, int64_t before_ns, uint64_t bytes_max, Taken& taken)
      TERRACE_REQUIRES(mu_);

  const Clock& clock_;
  mutable Mutex mu_;
  Queue lazy_ TERRACE_GUARDED_BY(mu_);
  Queue streaming_ TERRACE_GUARDED_BY(mu_);
  std::atomic<uint64_t> dirty_bytes_{0};
  std::atomic<uint64_t> dirty_count_{0};  // extents
  std::atomic<uint64_t> streaming_bytes_{0};
};

}  // namespace terrace::cache
