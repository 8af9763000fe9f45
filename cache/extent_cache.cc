// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "cache/extent_cache.h"

#include <algorithm>
#include <chrono>

#include "base/units.h"

namespace terrace::cache {

namespace {

// What a hole reads as.
constexpr size_t kZerosSize = 64 * kKiB;
alignas(kBlockSize) const std::byte kZeros[kZerosSize] = {};

// How long an allocation waits before it asks again for room: a bound against a lost wake-up of
// another waiter's making, not a way to synchronise.
constexpr std::chrono::milliseconds kRoomWaitMax{50};

// The extent's shared pointer, or null when its last owner has just let go.
ExtentRef LockAlive(Extent& extent) { return extent.weak_from_this().lock(); }

// A read that does not begin at the extent's first byte goes on in a pass that has begun.
bool SamePass(const ReadPiece& piece) { return piece.offset != 0; }

}  // namespace

Extent::~Extent() { cache_.OnExtentDestroyed(*this); }

// The pieces of one read, filled in as they come; the last one to come finishes it.
struct ExtentCache::ReadJoin {
  struct Slot {
    const std::byte* data = nullptr;
    ExtentPin pin;
    Buffer buffer;
  };

  ReadJoin(std::vector<ReadPiece> pieces, PinDone when_done)
      : wanted(std::move(pieces)), slots(wanted.size()), done(std::move(when_done)) {}

  void Arrive(Status status) {
    if (!status) {
      MutexLock lock(mu);
      if (!error) error = status.error();
    }
    if (remaining.fetch_sub(1) == 1) Finish();
  }

  void Finish() {
    std::optional<Error> failure;
    {
      MutexLock lock(mu);
      failure = error;
    }
    if (failure) {
      done(tl::unexpected<Error>(std::move(*failure)));
      return;
    }
    PinnedBytes bytes;
    bytes.pieces.reserve(wanted.size());
    for (size_t i = 0; i < wanted.size(); i++) {
      if (wanted[i].extent == nullptr) {
        for (uint32_t at = 0; at < wanted[i].size; at += kZerosSize) {
          size_t size = std::min<size_t>(kZerosSize, wanted[i].size - at);
          bytes.pieces.push_back({const_cast<std::byte*>(kZeros), size});
        }
        continue;
      }
      bytes.pieces.push_back({const_cast<std::byte*>(slots[i].data), wanted[i].size});
      if (slots[i].pin) bytes.pins.push_back(std::move(slots[i].pin));
      if (slots[i].buffer) bytes.buffers.push_back(std::move(slots[i].buffer));
    }
    done(std::move(bytes));
  }

  std::vector<ReadPiece> wanted;
  std::vector<Slot> slots;
  PinDone done;
  std::atomic<size_t> remaining{1};
  Mutex mu;
  std::optional<Error> error TERRACE_GUARDED_BY(mu);
};

ExtentCache::ExtentCache(BufferPool& pool, io::ExtentStore& store, const Clock& clock)
    : pool_(pool), store_(store), dirty_(clock), policy_(pool.counts().size_bytes) {}

ExtentCache::~ExtentCache() {
  MutexLock lock(mu_);
  TERRACE_ASSERT(by_id_.empty());
  TERRACE_ASSERT(fetches_.empty());
}

void ExtentCache::OnExtentDestroyed(Extent& extent) {
  Buffer freed;
  {
    MutexLock lock(mu_);
    auto found = by_id_.find(extent.id());
    if (found != by_id_.end() && found->second == &extent) by_id_.erase(found);
    TERRACE_ASSERT(!extent.linked());
    freed = std::move(extent.buffer_);
  }
  if (extent.state() != ExtentState::kClean) store_.Unreserve(dirty_.Settle(extent));
  TERRACE_ASSERT(extent.state() != ExtentState::kWriting);  // write-back holds it until kClean
  if (extent.durable() && extent.retired_.load()) store_.FreeAwaiting(extent.record_);  // EXT-3
  if (freed) {
    freed.Reset();
    NotifyRoom();
  }
}

void ExtentCache::NotifyRoom() {
  MutexLock lock(mu_);
  room_epoch_++;
  if (room_waiters_ > 0) room_.NotifyAll();
}

// Clean, in DRAM and named by a commit: from now on the cache keeps it (CACHE-1). An extent that
// nobody has asked for yet is not used by its first read a second time.
void ExtentCache::LinkLocked(const ExtentRef& extent, bool prefetched) {
  if (extent->retired_.load()) return;
  auto bytes = static_cast<uint32_t>(extent->buffer_.size_bytes());
  if (prefetched) {
    policy_.AddPrefetched(*extent, bytes);
  } else {
    policy_.Add(*extent, bytes);
  }
  extent->resident_self_ = extent;
}

// Returns the cache's share, for the caller to drop after the lock.
ExtentRef ExtentCache::UnlinkLocked(Extent& extent) {
  policy_.Remove(extent);
  return std::move(extent.resident_self_);
}

bool ExtentCache::EvictOne(uint64_t& freed_bytes) {
  ExtentRef victim;  // dropped after the lock
  Buffer freed;
  MutexLock lock(mu_);
  EvictionPolicy::Node* node = policy_.Victim();
  while (node != nullptr) {
    auto& extent = static_cast<Extent&>(*node);
    if (extent.pins_.load(std::memory_order_acquire) == 0) {
      victim = UnlinkLocked(extent);
      freed = std::move(extent.buffer_);
      freed_bytes += freed.size_bytes();
      return true;
    }
    node = policy_.Victim(node);
  }
  return false;
}

std::optional<Buffer> ExtentCache::TryAllocateBuffer(uint64_t size_bytes) {
  for (;;) {
    if (std::optional<Buffer> buffer = pool_.TryAllocate(size_bytes)) return buffer;
    uint64_t freed = 0;
    if (!EvictOne(freed)) return std::nullopt;
  }
}

Buffer ExtentCache::AllocateBuffer(uint64_t size_bytes) {
  for (;;) {
    uint64_t epoch;
    {
      MutexLock lock(mu_);
      epoch = room_epoch_;
    }
    if (std::optional<Buffer> buffer = TryAllocateBuffer(size_bytes)) return std::move(*buffer);
    if (make_room_) make_room_();
    MutexLock lock(mu_);
    room_waiters_++;
    if (room_epoch_ == epoch) room_.WaitFor(mu_, kRoomWaitMax);
    room_waiters_--;
  }
}

ExtentRef ExtentCache::AddDirty(const NewExtent& what, Buffer buffer) {
  TERRACE_ASSERT(what.size_bytes <= buffer.size_bytes());
  auto extent = std::make_shared<Extent>(
      *this, what.birth, what.open ? ExtentState::kOpen : ExtentState::kSealed, what.size_bytes);
  BufferHeader& header = buffer.header();
  header.inode = what.birth.inode.value();
  header.file_offset = what.birth.file_offset;
  header.extent = what.birth.id.value();
  header.length_bytes = what.size_bytes;
  header.page_count = static_cast<uint32_t>(BlockCount(buffer.size_bytes()));
  header.sequence.store(what.birth.sequence.value(), std::memory_order_release);
  extent->buffer_ = std::move(buffer);
  {
    MutexLock lock(mu_);
    by_id_.emplace(what.birth.id, extent.get());
  }
  dirty_.Add(*extent, what.reserved_blocks);
  return extent;
}

ExtentRef ExtentCache::Known(const Extent::Birth& birth, const io::ExtentRecord& record) {
  auto fresh = std::make_shared<Extent>(*this, birth, ExtentState::kClean, record.size_bytes);
  fresh->record_ = record;
  ExtentRef known;
  {
    MutexLock lock(mu_);
    auto [found, inserted] = by_id_.try_emplace(birth.id, fresh.get());
    if (inserted) return fresh;
    known = LockAlive(*found->second);
    if (known == nullptr) {
      found->second = fresh.get();  // the old object is dying and will see that it lost its place
      return fresh;
    }
  }
  return known;
}

bool ExtentCache::PinLocked(ReadJoin& join, size_t index) {
  const ReadPiece& piece = join.wanted[index];
  Extent& extent = *piece.extent;
  if (!extent.buffer_) return false;
  join.slots[index].pin = ExtentPin(piece.extent);
  join.slots[index].data = extent.buffer_.data() + piece.offset;
  if (extent.linked()) policy_.Touch(extent, SamePass(piece));
  return true;
}

void ExtentCache::PinForRead(std::vector<ReadPiece> wanted, FetchMode mode, PinDone done) {
  auto join = std::make_shared<ReadJoin>(std::move(wanted), std::move(done));
  std::vector<size_t> missing;
  uint64_t found = 0;
  {
    MutexLock lock(mu_);
    for (size_t i = 0; i < join->wanted.size(); i++) {
      if (join->wanted[i].extent == nullptr) continue;
      if (PinLocked(*join, i)) {
        found++;
      } else {
        missing.push_back(i);
      }
    }
  }
  hits_.fetch_add(found, std::memory_order_relaxed);
  misses_.fetch_add(missing.size(), std::memory_order_relaxed);
  join->remaining += missing.size();
  for (size_t index : missing) FetchForJoin(join, index, mode);
  join->Arrive({});
}

void ExtentCache::FetchForJoin(const std::shared_ptr<ReadJoin>& join, size_t index,
                               FetchMode mode) {
  const ReadPiece& piece = join->wanted[index];
  // A small part of a big extent is not worth the whole of it.
  uint64_t needed = RoundUp(piece.offset + piece.size, kChecksumBlockSize) -
                    RoundDown(piece.offset, kChecksumBlockSize);
  if (mode == FetchMode::kTransient && needed * 2 <= piece.extent->size_bytes()) {
    FetchTransient(join, index);
    return;
  }
  Attempt attempt = JoinOrBegin({join, index}, piece.extent, {});
  if (attempt == Attempt::kNeedsBuffer) {
    Buffer buffer = AllocateBuffer(piece.extent->size_bytes());
    buffer.Trim(piece.extent->size_bytes());
    attempt = JoinOrBegin({join, index}, piece.extent, std::move(buffer));
  }
  if (attempt == Attempt::kInDram) join->Arrive({});
  if (attempt == Attempt::kBegun) ReadFromDevice(piece.extent);
}

void ExtentCache::FetchTransient(const std::shared_ptr<ReadJoin>& join, size_t index) {
  const ReadPiece& piece = join->wanted[index];
  auto first = static_cast<uint32_t>(piece.offset / kChecksumBlockSize);
  auto last = static_cast<uint32_t>((piece.offset + piece.size - 1) / kChecksumBlockSize);
  ReadJoin::Slot& slot = join->slots[index];
  slot.buffer = AllocateBuffer((last - first + 1) * kChecksumBlockSize);
  slot.data = slot.buffer.data() + (piece.offset - first * kChecksumBlockSize);
  {
    MutexLock lock(mu_);
    transient_count_++;
  }
  store_.Read(piece.extent->record(), first, last - first + 1, slot.buffer.data(),
              [this, join](Status status) {
                join->Arrive(std::move(status));
                MutexLock lock(mu_);
                if (--transient_count_ == 0) idle_.NotifyAll();
              });
}

ExtentCache::Attempt ExtentCache::JoinOrBegin(Waiter waiter, const ExtentRef& extent,
                                              Buffer buffer) {
  MutexLock lock(mu_);
  if (waiter.join != nullptr ? PinLocked(*waiter.join, waiter.index) : bool{extent->buffer_}) {
    return Attempt::kInDram;
  }
  auto found = fetches_.find(extent.get());
  if (found == fetches_.end()) {
    if (!buffer) return Attempt::kNeedsBuffer;
    found = fetches_.try_emplace(extent.get()).first;
    found->second.buffer = std::move(buffer);
    if (waiter.join != nullptr) found->second.waiters.push_back(std::move(waiter));
    return Attempt::kBegun;
  }
  if (waiter.join != nullptr) found->second.waiters.push_back(std::move(waiter));
  return Attempt::kJoined;
}

void ExtentCache::ReadFromDevice(const ExtentRef& extent) {
  std::byte* into;
  {
    MutexLock lock(mu_);
    into = fetches_.at(extent.get()).buffer.data();
  }
  auto blocks = static_cast<uint32_t>((extent->size_bytes() + kChecksumBlockSize - 1) /
                                      kChecksumBlockSize);
  store_.Read(extent->record(), 0, blocks, into,
              [this, extent](Status status) { OnFetched(extent, status); });
}

void ExtentCache::OnFetched(const ExtentRef& extent, const Status& status) {
  std::vector<Waiter> waiters;
  Buffer unused;  // given back after the lock
  {
    MutexLock lock(mu_);
    auto found = fetches_.find(extent.get());
    TERRACE_ASSERT(found != fetches_.end());
    waiters = std::move(found->second.waiters);
    if (status) {
      extent->buffer_ = std::move(found->second.buffer);
      LinkLocked(extent, waiters.empty());
      for (const Waiter& waiter : waiters) {
        bool pinned = PinLocked(*waiter.join, waiter.index);
        TERRACE_ASSERT(pinned);
      }
    } else {
      unused = std::move(found->second.buffer);
    }
    fetches_.erase(found);
    if (fetches_.empty()) idle_.NotifyAll();
  }
  for (const Waiter& waiter : waiters) waiter.join->Arrive(status);
}

void ExtentCache::Prefetch(const std::vector<ExtentRef>& extents) {
  for (const ExtentRef& extent : extents) {
    if (!extent->durable()) continue;
    Attempt attempt = JoinOrBegin({}, extent, {});
    if (attempt == Attempt::kNeedsBuffer) {
      std::optional<Buffer> buffer = TryAllocateBuffer(extent->size_bytes());
      if (!buffer) return;
      buffer->Trim(extent->size_bytes());
      attempt = JoinOrBegin({}, extent, std::move(*buffer));
    }
    if (attempt == Attempt::kBegun) ReadFromDevice(extent);
  }
}

void ExtentCache::MarkClean(const ExtentRef& extent, bool named) {
  {
    MutexLock lock(mu_);
    TERRACE_ASSERT(extent->state() == ExtentState::kWritten);
    if (!named) extent->retired_.store(true);
    extent->state_.store(ExtentState::kClean, std::memory_order_release);
    if (named) LinkLocked(extent, false);
  }
  store_.Unreserve(dirty_.Settle(*extent));
  NotifyRoom();
}

void ExtentCache::Retire(ExtentId id, const io::ExtentRecord& record) {
  ExtentRef held;      // both dropped after the lock
  ExtentRef resident;
  {
    MutexLock lock(mu_);
    auto found = by_id_.find(id);
    if (found != by_id_.end()) held = LockAlive(*found->second);
    if (held != nullptr) {
      held->retired_.store(true);
      resident = UnlinkLocked(*held);
    }
  }
  // Nobody holds it: nobody will read it any more (EXT-3).
  if (held == nullptr) store_.FreeAwaiting(record);
}

void ExtentCache::EvictAll() {
  uint64_t freed = 0;
  while (EvictOne(freed)) {
  }
  NotifyRoom();
}

void ExtentCache::WaitIdle() {
  MutexLock lock(mu_);
  while (!fetches_.empty() || transient_count_ > 0) idle_.Wait(mu_);
}

void ExtentCache::CheckInvariants() {
  dirty_.CheckInvariants();
  MutexLock lock(mu_);
  policy_.CheckInvariants();
  for (const auto& [id, extent] : by_id_) {
    bool in_dram = bool{extent->buffer_};
    if (extent->linked()) TERRACE_ASSERT(in_dram);              // CACHE-1
    if (!in_dram) TERRACE_ASSERT(extent->durable());            // EXT-1
    if (extent->pins_.load() > 0) TERRACE_ASSERT(in_dram);      // CACHE-2
  }
}

}  // namespace terrace::cache
