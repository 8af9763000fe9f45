// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ExtentCache: the DRAM tier: which extents have their bytes in the pool.
//
// Role     Adopts received buffers as dirty extents, pins extents for readers, brings missing
//          ones from the devices (one fetch for all who want it), evicts clean ones when the
//          pool has no room. Keeps one Extent object per id. Knows no paths, files or maps.
// Owner    fs/open builds it; must outlive every Extent.
// Threads  Thread-safe. Callbacks run on the calling thread when everything is in DRAM, else on
//          a completion thread. AllocateBuffer may wait; nothing else does.
// Errors   kIo, kCorrupt from the devices; kNoSpace from AddDirty's reservation.
// Locks    mu_, then DirtySet::mu_, BufferPool::mu_. No ExtentRef may be dropped under mu_.
//
// Invariants (CheckInvariants(); tests/cache/extent_cache_test.cc)
//   CACHE-1  A clean extent that a commit names is linked in the eviction policy, and the cache
//            holds it, just as long as it is in DRAM; no other extent is.
//   CACHE-2  A pinned extent keeps its buffer.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cache/buffer_pool.h"
#include "cache/dirty_set.h"
#include "cache/eviction_policy.h"
#include "cache/extent.h"
#include "io/extent_store.h"

namespace terrace::cache {

// Bytes [offset, offset + size) of an extent; without an extent: zeros.
struct ReadPiece {
  ExtentRef extent;
  uint32_t offset = 0;
  uint32_t size = 0;
};

// Bytes for a reply, in order. The memory stays in place until this is destroyed.
struct PinnedBytes {
  std::vector<iovec> pieces;
  std::vector<ExtentPin> pins;
  std::vector<Buffer> buffers;
  std::unique_ptr<std::byte[]> copy;  // of a read too large for the pool at once
};

enum class FetchMode {
  kKeep,       // missing extents come to DRAM whole and stay
  kTransient,  // only the checksum blocks that are needed are read, and not kept
};

class ExtentCache {
 public:
  using PinDone = std::function<void(Result<PinnedBytes>)>;

  // resident_count_max: clean extents that stay in DRAM; 0: one for each 64 KiB of the pool, at
  // least 65,536.
  ExtentCache(BufferPool& pool, io::ExtentStore& store, const Clock& clock,
              uint64_t resident_count_max = 0);
  ~ExtentCache();

  // A buffer of at least size_bytes; evicts clean extents, and waits while all is dirty or
  // pinned. While it waits, make_room (see SetMakeRoom) is asked to hurry.
  Buffer AllocateBuffer(uint64_t size_bytes);
  // The same without waiting.
  std::optional<Buffer> TryAllocateBuffer(uint64_t size_bytes);
  // Called without locks whenever an allocation has to wait.
  void SetMakeRoom(std::function<void()> make_room) { make_room_ = std::move(make_room); }

  struct NewExtent {
    Extent::Birth birth;
    uint32_t size_bytes = 0;
    bool open = false;             // may still grow inside its buffer
    uint32_t reserved_blocks = 0;  // of device space, by the caller
  };
  // Makes the buffer's bytes a dirty extent. Publishes the buffer's header.
  ExtentRef AddDirty(const NewExtent& what, Buffer buffer);
  // The extent of a committed record: the object in memory if there is one, else a new one
  // without a buffer.
  ExtentRef Known(const Extent::Birth& birth, const io::ExtentRecord& record);

  // Requires: kExtentSizeMax bytes in all at most.
  void PinForRead(std::vector<ReadPiece> wanted, FetchMode mode, PinDone done);
  // Brings extents to DRAM in the background as far as there is room without waiting.
  void Prefetch(const std::vector<ExtentRef>& extents);

  // WriteBack: the extent is durable. named: a commit names it; else nothing does any more and
  // its blocks are freed with its last holder.
  void MarkClean(const ExtentRef& extent, bool named);
  // A commit removed the last map entry of `id`: its blocks are freed when the last holder lets
  // go (at once when it is not in memory).
  void Retire(ExtentId id, const io::ExtentRecord& record);

  // Drops every clean, unpinned extent from DRAM.
  void EvictAll();
  // Waits until no read or prefetch is on its way from a device.
  void WaitIdle();

  DirtySet& dirty() { return dirty_; }
  BufferPool& pool() { return pool_; }
  io::ExtentStore& store() { return store_; }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  void CheckInvariants();

 private:
  friend class Extent;
  struct ReadJoin;
  struct Missing;
  // Who waits for a fetch: piece `index` of a read.
  struct Waiter {
    std::shared_ptr<ReadJoin> join;
    size_t index = 0;
  };
  struct Fetch {
    Buffer buffer;
    std::vector<Waiter> waiters;
  };
  enum class Attempt { kInDram, kJoined, kBegun };

  void OnExtentDestroyed(Extent& extent);
  void LinkLocked(const ExtentRef& extent, bool prefetched) TERRACE_REQUIRES(mu_);
  ExtentRef UnlinkLocked(Extent& extent) TERRACE_REQUIRES(mu_);
  bool EvictOne() TERRACE_EXCLUDES(mu_);
  // Evicts while there are more than resident_count_max_.
  void KeepToCount() TERRACE_EXCLUDES(mu_);
  uint64_t RoomEpoch() TERRACE_EXCLUDES(mu_);
  void WaitForRoom(uint64_t epoch) TERRACE_EXCLUDES(mu_);
  void NotifyRoom();

  bool PinLocked(ReadJoin& join, size_t index) TERRACE_REQUIRES(mu_);
  // Pins what is in DRAM; what is not there is to be read as the answer says.
  std::vector<Missing> PinPresent(ReadJoin& join, FetchMode mode) TERRACE_EXCLUDES(mu_);
  // More than DRAM should hold for one read: gathered into one buffer, while the caller waits.
  void ReadInParts(std::vector<ReadPiece> wanted, FetchMode mode, PinDone done);
  // All buffers or none, without waiting.
  bool TakeBuffers(std::vector<Missing>& missing);
  void BeginRead(const std::shared_ptr<ReadJoin>& join, Missing missing);
  void ReadTransient(const std::shared_ptr<ReadJoin>& join, Missing missing);
  // Pins for the waiters what is in DRAM by now, joins a fetch under way, or takes note of a new
  // one into `buffer`, which the caller then starts with ReadFromDevice.
  Attempt JoinOrBegin(const ExtentRef& extent, std::vector<Waiter> waiters, Buffer buffer);
  void ReadFromDevice(const ExtentRef& extent);
  void OnFetched(ExtentRef extent, const Status& status);
  void EndRead();

  // Dependencies.
  BufferPool& pool_;
  io::ExtentStore& store_;
  // Constant after construction.
  const uint64_t resident_count_max_;  // clean extents in DRAM
  const uint64_t read_bytes_max_;      // of the buffers that one read takes at a time
  std::function<void()> make_room_;
  DirtySet dirty_;

  // Guarded by mu_.
  Mutex mu_;
  CondVar room_;
  uint64_t room_epoch_ TERRACE_GUARDED_BY(mu_) = 0;  // rises whenever memory may have come free
  uint32_t room_waiters_ TERRACE_GUARDED_BY(mu_) = 0;
  EvictionPolicy policy_ TERRACE_GUARDED_BY(mu_);
  std::atomic<uint64_t> resident_count_{0};  // linked there; changes under mu_
  std::unordered_map<ExtentId, Extent*> by_id_ TERRACE_GUARDED_BY(mu_);
  std::unordered_map<Extent*, Fetch> fetches_ TERRACE_GUARDED_BY(mu_);
  // Reads from devices whose completion may still hold extents.
  uint32_t reads_in_flight_ TERRACE_GUARDED_BY(mu_) = 0;
  CondVar idle_;

  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

}  // namespace terrace::cache
