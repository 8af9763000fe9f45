// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Extent: a run of up to 1 MiB of one file, as one request brought it; the unit of everything.
//
// Role     The one object, per extent id, that says where the bytes are: in a pool buffer, on a
//          device, or both. Begins on a page in memory and on a block of a device, and at any
//          byte of the file. Once sealed its bytes never change.
// Owner    Shared by the map entries that name it, the reads and prefetches in flight, write-back,
//          and the cache while the extent is clean and in DRAM. The last owner's release gives
//          back buffer, reservation and, when a commit has retired it, its blocks.
// Threads  state and size are atomic; the other fields belong to the class named beside them.
//
//   kOpen --BeginCopy--> kCopying --EndCopy--> kOpen        small writes, under the inode's lock
//   kOpen --DirtySet::Seal/Take--> kSealed / kWriting
//   kSealed --DirtySet::Take--> kWriting
//   kWriting --DirtySet::PutBack--> kSealed                 the device failed; tried again
//   kWriting --WriteBack--> kWritten --WriteBack--> kClean  on the device; named by a commit
//   kWritten --DirtySet::PutBack--> kSealed                 a barrier failed: written again
//
// Invariants (tests/cache/extent_cache_test.cc)
//   EXT-1  Only a kClean extent may be without a buffer.
//   EXT-2  Bytes change only in kOpen and kCopying.
//   EXT-3  The blocks of an extent are freed only when no one holds the extent any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/ids.h"
#include "cache/buffer_pool.h"
#include "cache/eviction_policy.h"
#include "io/extent_format.h"

namespace terrace::cache {

class DirtySet;
class ExtentCache;

enum class ExtentState : uint8_t { kOpen, kCopying, kSealed, kWriting, kWritten, kClean };

class Extent final : public EvictionPolicy::Node, public std::enable_shared_from_this<Extent> {
 public:
  // Which bytes of which file the extent was born with; a clone may name it elsewhere too.
  struct Birth {
    ExtentId id;
    InodeId inode;
    uint64_t file_offset = 0;
    Sequence sequence;  // of the first change it carries
  };

  Extent(ExtentCache& cache, const Birth& birth, ExtentState state, uint32_t size_bytes)
      : cache_(cache), birth_(birth), size_bytes_(size_bytes), state_(state) {}
  ~Extent();
  Extent(const Extent&) = delete;
  Extent& operator=(const Extent&) = delete;

  const Birth& birth() const { return birth_; }
  ExtentId id() const { return birth_.id; }
  uint32_t size_bytes() const { return size_bytes_.load(std::memory_order_acquire); }
  ExtentState state() const { return state_.load(std::memory_order_acquire); }
  bool durable() const { return state() == ExtentState::kClean; }

  // Small writes. The caller holds the inode's lock, so that there is one copier at a time.
  // Returns: false when the extent is sealed.
  bool BeginCopy() {
    ExtentState expected = ExtentState::kOpen;
    return state_.compare_exchange_strong(expected, ExtentState::kCopying);
  }
  void EndCopy(uint32_t size_bytes) {
    TERRACE_ASSERT(size_bytes <= capacity_bytes());
    size_bytes_.store(size_bytes, std::memory_order_release);
    state_.store(ExtentState::kOpen, std::memory_order_release);
  }
  // Requires: kOpen or kCopying, so that the buffer is in place.
  std::byte* memory() { return buffer_.data(); }
  uint32_t capacity_bytes() const { return static_cast<uint32_t>(buffer_.size_bytes()); }

  // Requires: kWritten or kClean.
  const io::ExtentRecord& record() const { return record_; }

 private:
  friend class DirtySet;
  friend class ExtentCache;
  friend class ExtentPin;
  friend class WriteBack;

  ExtentCache& cache_;
  const Birth birth_;
  std::atomic<uint32_t> size_bytes_;
  std::atomic<ExtentState> state_;
  std::atomic<bool> retired_{false};  // a commit removed its last map entry
  std::atomic<uint32_t> pins_{0};     // readers of the buffer; rises only under ExtentCache::mu_

  Buffer buffer_;  // ExtentCache::mu_ when kClean; else set once before sharing
  std::shared_ptr<Extent> resident_self_;  // ExtentCache::mu_: the cache's own share while linked
  io::ExtentRecord record_;       // written by WriteBack before kWritten, constant from kClean on
  uint64_t failed_barriers_ = 0;  // WriteBack: how many there were when it was submitted

  // DirtySet::mu_.
  Extent* dirty_previous_ = nullptr;
  Extent* dirty_next_ = nullptr;
  int64_t born_ns_ = 0;
  uint32_t charged_bytes_ = 0;    // what it counts in dirty_bytes
  uint32_t reserved_blocks_ = 0;  // of the device space promised to it
  uint8_t dirty_list_ = 0;        // 0: on none
};

using ExtentRef = std::shared_ptr<Extent>;

// Keeps an extent's buffer in DRAM while a reply is on its way. Move-only.
class ExtentPin {
 public:
  ExtentPin() = default;
  ~ExtentPin() { Reset(); }
  ExtentPin(ExtentPin&& other) noexcept : extent_(std::move(other.extent_)) {}
  ExtentPin& operator=(ExtentPin&& other) noexcept {
    Reset();
    extent_ = std::move(other.extent_);
    return *this;
  }
  ExtentPin(const ExtentPin&) = delete;
  ExtentPin& operator=(const ExtentPin&) = delete;

  explicit operator bool() const { return extent_ != nullptr; }
  const std::byte* data() const { return extent_->buffer_.data(); }
  void Reset() {
    if (extent_ == nullptr) return;
    extent_->pins_.fetch_sub(1, std::memory_order_release);
    extent_.reset();
  }

 private:
  friend class ExtentCache;
  explicit ExtentPin(ExtentRef extent) : extent_(std::move(extent)) {
    extent_->pins_.fetch_add(1, std::memory_order_acquire);
  }
  ExtentRef extent_;
};

}  // namespace terrace::cache
