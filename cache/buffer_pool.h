// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// BufferPool: the memory of the DRAM tier, handed out in page-aligned buffers.
//
// Role     A buddy allocator over one memfd, from 4 KiB to 1 MiB; a buffer can be trimmed to
//          the pages it really needs, without moving its bytes, and the rest is free at once.
//          Beside the pool lies a second memfd with one BufferHeader per page. Both count in
//          the budget. Knows nothing of eviction: when it is empty the caller decides.
// Owner    fs/open builds it; ExtentCache uses it. Outlives every Buffer.
// Threads  Thread-safe; mu_ is a leaf lock.
// Errors   Create: kNoMemory, kIo, kInvalid (less than 16 MiB).
//
// Invariants (CheckInvariants(); tests/cache/buffer_pool_test.cc)
//   POOL-1  Every page is free or belongs to exactly one live Buffer.
//   POOL-2  used + free = size; free blocks are aligned to their size and merged with free
//           buddies.
//   POOL-3  The header of a free page has sequence 0.
//   POOL-4  The pages, their headers and the allocator's own 9 bytes per page fit the budget.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread.h"
#include "base/units.h"
#include "cache/buffer_format.h"
#include "io/memory_region.h"

namespace terrace::cache {

class BufferPool;

// A run of pages of the pool. Move-only; gives the pages back when destroyed.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() {
    if (pool_ != nullptr) Reset();
  }
  Buffer(Buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), first_(other.first_), count_(other.count_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      Reset();
      pool_ = std::exchange(other.pool_, nullptr);
      first_ = other.first_;
      count_ = other.count_;
    }
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  explicit operator bool() const { return pool_ != nullptr; }
  std::byte* data() const;
  uint64_t size_bytes() const { return uint64_t{count_} * kBlockSize; }
  // Position in the pool's memfd.
  uint64_t memory_offset() const { return uint64_t{first_} * kBlockSize; }
  BufferHeader& header() const;

  // Keeps the pages that the first size_bytes need and gives the others back. Leaves the header
  // alone: trim before publishing it.
  // Requires: 0 < size_bytes <= size_bytes().
  void Trim(uint64_t size_bytes);
  // Makes the pages that the first size_bytes need a buffer of their own; this one keeps the
  // others, and is empty when there are none. Like Trim: before publishing a header.
  Buffer SplitFront(uint64_t size_bytes);
  // Sets the header's sequence to 0, then gives all pages back. Does nothing when empty.
  void Reset();

 private:
  friend class BufferPool;
  Buffer(BufferPool* pool, uint32_t first, uint32_t count)
      : pool_(pool), first_(first), count_(count) {}

  BufferPool* pool_ = nullptr;
  uint32_t first_ = 0;  // page
  uint32_t count_ = 0;  // pages
};

class BufferPool {
 public:
  struct Options {
    uint64_t size_bytes;   // the whole budget, headers included; rounded down to MiB
    bool prefault = true;  // false: StartPrefault does nothing
  };
  struct Counts {
    uint64_t size_bytes;  // pages that can be handed out
    uint64_t used_bytes;
    uint64_t prefaulted_bytes;
    bool huge_pages;
  };

  // The unit of the report to StartPrefault's callback.
  static constexpr uint64_t kPrefaultChunkBytes = 64 * kMiB;

  static Result<std::unique_ptr<BufferPool>> Create(const Options& options);
  ~BufferPool();  // Requires: no live Buffer.

  // A buffer of the smallest class that holds size_bytes (4 KiB to 1 MiB), or nothing when no
  // block of that class is free. Prefers recently used pages, then prefaulted ones.
  // Requires: 0 < size_bytes <= 1 MiB.
  std::optional<Buffer> TryAllocate(uint64_t size_bytes);

  // Starts the background prefault: chunk by chunk, each then reported to on_chunk (base,
  // size), from the prefault thread. Stops early at destruction, and where the system has no
  // more memory (logged). Requires: not called before.
  void StartPrefault(std::function<void(std::byte*, size_t)> on_chunk);

  const io::MemoryRegion& memory() const { return *memory_; }
  Counts counts() const;
  void CheckInvariants() const;

 private:
  friend class Buffer;
  struct FreeLists;

  BufferPool(std::unique_ptr<io::MemoryRegion> memory, std::unique_ptr<io::MemoryRegion> headers,
             bool prefault);
  BufferHeader& HeaderOf(uint32_t page) const;
  // Gives back pages [keep, count) of a live buffer; keep = 0 ends it.
  void Free(uint32_t first, uint32_t count, uint32_t keep);
  // A live buffer was split: its second part begins here.
  void BeginBufferAt(uint32_t page);
  void Prefault(const std::function<void(std::byte*, size_t)>& on_chunk);
  Status PrefaultStep(uint64_t offset_bytes, uint64_t size_bytes);

  // Constant after construction.
  const std::unique_ptr<io::MemoryRegion> memory_;
  const std::unique_ptr<io::MemoryRegion> headers_;
  const uint32_t page_count_;
  const bool prefault_;

  // Guarded by mu_.
  mutable Mutex mu_;
  const std::unique_ptr<FreeLists> free_ TERRACE_PT_GUARDED_BY(mu_);
  uint64_t used_pages_ TERRACE_GUARDED_BY(mu_) = 0;

  // Shared with the prefault thread.
  std::atomic<uint64_t> prefaulted_bytes_{0};
  std::atomic<bool> stopping_{false};
  bool prefault_started_ = false;
  Thread prefault_thread_;
};

}  // namespace terrace::cache
