// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// A read pins what is in DRAM and takes the buffers for everything else at once, or none of them: a
// reader that waits for memory lets go of what it has, so that readers cannot wait for each other.
// A read that would hold more than a share of DRAM (a badly fragmented range in a small pool) is
// gathered part by part into one buffer.
#include "cache/extent_cache.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/status_latch.h"
#include "base/units.h"

namespace terrace::cache {

namespace {

// What a hole reads as.
constexpr size_t kZerosSize = 64 * kKiB;
alignas(kBlockSize) const std::byte kZeros[kZerosSize] = {};

// How long an allocation waits before it asks again for room: a bound against a lost wake-up of
// another waiter's making, not a way to synchronise.
constexpr std::chrono::milliseconds kRoomWaitMax{50};

// An extent in DRAM takes about 350 bytes beside the pool: at most 1/180 of a large pool, 23 MiB
// beside a small one.
constexpr uint64_t kResidentCountMin = 64 * 1024;
constexpr uint64_t kResidentBytesEach = 64 * 1024;
// A single read may take this share of DRAM in buffers, and a part of a large one half of that.
constexpr uint64_t kReadDramShare = 8;

// The extent's shared pointer, or null when its last owner has just let go.
ExtentRef LockAlive(Extent& extent) { return extent.weak_from_this().lock(); }

// A read that does not begin at the extent's first byte goes on in a pass that has begun.
bool SamePass(const ReadPiece& piece) { return piece.offset != 0; }

// The checksum blocks that hold the piece's bytes.
struct BlockSpan {
  uint32_t first;
  uint32_t count;
  uint64_t size_bytes() const { return count * kChecksumBlockSize; }
};
BlockSpan SpanOf(const ReadPiece& piece) {
  auto first = static_cast<uint32_t>(piece.offset / kChecksumBlockSize);
  auto last = static_cast<uint32_t>((piece.offset + piece.size - 1) / kChecksumBlockSize);
  return {first, last - first + 1};
}

// What an extent, or some blocks of it, take of the pool.
uint64_t PoolBytes(uint64_t size_bytes) {
  return std::bit_ceil(std::max<uint64_t>(size_bytes, kBlockSize));
}
uint64_t PoolBytes(const std::vector<ReadPiece>& pieces) {
  uint64_t bytes = 0;
  for (const ReadPiece& piece : pieces) {
    if (piece.extent != nullptr) bytes += PoolBytes(piece.extent->size_bytes());
  }
  return bytes;
}

void CopyPieces(const PinnedBytes& bytes, std::byte* into) {
  for (const iovec& piece : bytes.pieces) {
    std::memcpy(into, piece.iov_base, piece.iov_len);
    into += piece.iov_len;
  }
}

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

  void Unpin() {
    for (Slot& slot : slots) slot.pin.Reset();
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
  size_t present = 0;  // pieces that are no holes
  PinDone done;
  std::atomic<size_t> remaining{1};
  Mutex mu;
  std::optional<Error> error TERRACE_GUARDED_BY(mu);
};

// One read from a device: pieces of one extent that are not in DRAM.
struct ExtentCache::Missing {
  std::vector<size_t> indexes;  // of the pieces; a single one unless `whole`
  bool whole = true;            // the extent comes to DRAM and stays
  uint64_t buffer_bytes = 0;
  Buffer buffer;
};

ExtentCache::ExtentCache(BufferPool& pool, io::ExtentStore& store, const Clock& clock,
                         uint64_t resident_count_max)
    : pool_(pool),
      store_(store),
      resident_count_max_(resident_count_max != 0
                              ? resident_count_max
                              : std::max(kResidentCountMin,
                                         pool.counts().size_bytes / kResidentBytesEach)),
      read_bytes_max_(pool.counts().size_bytes / kReadDramShare),
      dirty_(clock),
      policy_(pool.counts().size_bytes) {}

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
  resident_count_++;
}

// Returns the cache's share, for the caller to drop after the lock.
ExtentRef ExtentCache::UnlinkLocked(Extent& extent) {
  policy_.Remove(extent);
  resident_count_--;
  return std::move(extent.resident_self_);
}

bool ExtentCache::EvictOne() {
  ExtentRef victim;  // both dropped after the lock
  Buffer freed;
  MutexLock lock(mu_);
  EvictionPolicy::Node* node = policy_.Victim();
  while (node != nullptr) {
    auto& extent = static_cast<Extent&>(*node);
    if (extent.pins_.load(std::memory_order_acquire) == 0) {
      victim = UnlinkLocked(extent);
      freed = std::move(extent.buffer_);
      return true;
    }
    node = policy_.Victim(node);
  }
  return false;
}

// Each takes memory beside the pool, however small it is.
void ExtentCache::KeepToCount() {
  while (resident_count_.load(std::memory_order_relaxed) > resident_count_max_ && EvictOne()) {
  }
}

std::optional<Buffer> ExtentCache::TryAllocateBuffer(uint64_t size_bytes) {
  for (;;) {
    if (std::optional<Buffer> buffer = pool_.TryAllocate(size_bytes)) return buffer;
    if (!EvictOne()) return std::nullopt;
  }
}

Buffer ExtentCache::AllocateBuffer(uint64_t size_bytes) {
  for (;;) {
    uint64_t epoch = RoomEpoch();
    if (std::optional<Buffer> buffer = TryAllocateBuffer(size_bytes)) return std::move(*buffer);
    WaitForRoom(epoch);
  }
}

uint64_t ExtentCache::RoomEpoch() {
  MutexLock lock(mu_);
  return room_epoch_;
}

// Returns when memory may have come free since `epoch` was read.
void ExtentCache::WaitForRoom(uint64_t epoch) {
  if (make_room_) make_room_();
  MutexLock lock(mu_);
  room_waiters_++;
  if (room_epoch_ == epoch) room_.WaitFor(mu_, kRoomWaitMax);
  room_waiters_--;
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
  const bool divisible =
      join->wanted.size() > 1 && PoolBytes(join->wanted) > read_bytes_max_ / 2;
  for (;;) {
    uint64_t epoch = RoomEpoch();
    std::vector<Missing> missing = PinPresent(*join, mode);
    size_t absent = 0;
    uint64_t needed_bytes = 0;
    for (const Missing& one : missing) {
      absent += one.indexes.size();
      needed_bytes += PoolBytes(one.buffer_bytes);
    }
    const bool too_much = divisible && needed_bytes > read_bytes_max_;
    if (!too_much && TakeBuffers(missing)) {
      misses_.fetch_add(absent, std::memory_order_relaxed);
      hits_.fetch_add(join->present - absent, std::memory_order_relaxed);
      join->remaining += absent;
      for (Missing& one : missing) BeginRead(join, std::move(one));
      join->Arrive({});
      return;
    }
    missing.clear();
    join->Unpin();
    if (divisible) {  // what it pins may be what it lacks
      ReadInParts(std::move(join->wanted), mode, std::move(join->done));
      return;
    }
    WaitForRoom(epoch);
  }
}

std::vector<ExtentCache::Missing> ExtentCache::PinPresent(ReadJoin& join, FetchMode mode) {
  std::vector<Missing> by_extent;
  std::unordered_map<const Extent*, size_t> positions;  // in by_extent
  {
    MutexLock lock(mu_);
    join.present = 0;
    for (size_t i = 0; i < join.wanted.size(); i++) {
      const ExtentRef& extent = join.wanted[i].extent;
      if (extent == nullptr) continue;
      join.present++;
      if (PinLocked(join, i)) continue;
      auto [position, is_new] = positions.try_emplace(extent.get(), by_extent.size());
      if (is_new) by_extent.push_back({{}, true, extent->size_bytes(), {}});
      by_extent[position->second].indexes.push_back(i);
    }
  }
  if (mode == FetchMode::kKeep) return by_extent;
  std::vector<Missing> missing;
  for (Missing& one : by_extent) {
    // A small part of a big extent is not worth the whole of it.
    uint64_t needed_bytes = 0;
    for (size_t index : one.indexes) needed_bytes += SpanOf(join.wanted[index]).size_bytes();
    if (needed_bytes * 2 > one.buffer_bytes) {
      missing.push_back(std::move(one));
      continue;
    }
    for (size_t index : one.indexes) {
      missing.push_back({{index}, false, SpanOf(join.wanted[index]).size_bytes(), {}});
    }
  }
  return missing;
}

void ExtentCache::ReadInParts(std::vector<ReadPiece> wanted, FetchMode mode, PinDone done) {
  uint64_t size_bytes = 0;
  for (const ReadPiece& piece : wanted) size_bytes += piece.size;
  PinnedBytes whole;
  // Not from the pool: a reader that holds pool memory while it waits for more can meet another.
  whole.copy.reset(new std::byte[size_bytes]);
  std::byte* into = whole.copy.get();
  whole.pieces.push_back({into, size_bytes});
  for (size_t first = 0; first < wanted.size();) {
    std::vector<ReadPiece> part;
    uint64_t part_bytes = 0;
    uint64_t held_bytes = 0;
    for (; first < wanted.size(); first++) {
      ReadPiece& piece = wanted[first];
      if (piece.extent != nullptr) held_bytes += PoolBytes(piece.extent->size_bytes());
      if (!part.empty() && held_bytes > read_bytes_max_ / 2) break;
      part_bytes += piece.size;
      part.push_back(std::move(piece));
    }
    StatusLatch arrived;
    PinForRead(std::move(part), mode, [&](Result<PinnedBytes> bytes) {
      if (bytes) CopyPieces(*bytes, into);
      arrived.Set(bytes ? Status{} : tl::unexpected<Error>(bytes.error()));
    });
    Status status = arrived.Wait();
    if (!status) {
      done(tl::unexpected<Error>(std::move(status).error()));
      return;
    }
    into += part_bytes;
  }
  done(std::move(whole));
}

bool ExtentCache::TakeBuffers(std::vector<Missing>& missing) {
  for (Missing& one : missing) {
    std::optional<Buffer> buffer = TryAllocateBuffer(one.buffer_bytes);
    if (!buffer) return false;
    one.buffer = std::move(*buffer);
  }
  return true;
}

void ExtentCache::BeginRead(const std::shared_ptr<ReadJoin>& join, Missing missing) {
  if (!missing.whole) {
    ReadTransient(join, std::move(missing));
    return;
  }
  std::vector<Waiter> waiters;
  for (size_t index : missing.indexes) waiters.push_back({join, index});
  const ExtentRef extent = join->wanted[missing.indexes.front()].extent;
  switch (JoinOrBegin(extent, std::move(waiters), std::move(missing.buffer))) {
    case Attempt::kInDram:
      for (size_t i = 0; i < missing.indexes.size(); i++) join->Arrive({});
      break;
    case Attempt::kJoined: break;
    case Attempt::kBegun: ReadFromDevice(extent); break;
  }
}

void ExtentCache::ReadTransient(const std::shared_ptr<ReadJoin>& join, Missing missing) {
  const size_t index = missing.indexes.front();
  const ReadPiece& piece = join->wanted[index];
  const BlockSpan span = SpanOf(piece);
  ReadJoin::Slot& slot = join->slots[index];
  slot.buffer = std::move(missing.buffer);
  slot.data = slot.buffer.data() + (piece.offset - span.first * kChecksumBlockSize);
  {
    MutexLock lock(mu_);
    reads_in_flight_++;
  }
  store_.Read(piece.extent->record(), span.first, span.count, slot.buffer.data(),
              [this, join = join](Status status) mutable {
                std::exchange(join, nullptr)->Arrive(std::move(status));
                EndRead();
              });
}

ExtentCache::Attempt ExtentCache::JoinOrBegin(const ExtentRef& extent, std::vector<Waiter> waiters,
                                              Buffer buffer) {
  MutexLock lock(mu_);
  if (extent->buffer_) {
    for (const Waiter& waiter : waiters) PinLocked(*waiter.join, waiter.index);
    return Attempt::kInDram;
  }
  auto [fetch, begun] = fetches_.try_emplace(extent.get());
  if (begun) {
    fetch->second.buffer = std::move(buffer);
    reads_in_flight_++;
  }
  std::move(waiters.begin(), waiters.end(), std::back_inserter(fetch->second.waiters));
  return begun ? Attempt::kBegun : Attempt::kJoined;
}

void ExtentCache::ReadFromDevice(const ExtentRef& extent) {
  std::byte* into;
  {
    MutexLock lock(mu_);
    into = fetches_.at(extent.get()).buffer.data();
  }
  auto blocks =
      static_cast<uint32_t>((extent->size_bytes() + kChecksumBlockSize - 1) / kChecksumBlockSize);
  store_.Read(extent->record(), 0, blocks, into, [this, extent = extent](Status status) mutable {
    OnFetched(std::move(extent), status);
  });
}

void ExtentCache::OnFetched(ExtentRef extent, const Status& status) {
  std::vector<Waiter> waiters;
  Buffer unused;  // given back after the lock
  {
    MutexLock lock(mu_);
    auto found = fetches_.find(extent.get());
    TERRACE_ASSERT(found != fetches_.end());
    waiters = std::move(found->second.waiters);
    if (status) {
      extent->buffer_ = std::move(found->second.buffer);
      LinkLocked(extent, /*prefetched=*/waiters.empty());
      for (const Waiter& waiter : waiters) {
        bool pinned = PinLocked(*waiter.join, waiter.index);
        TERRACE_ASSERT(pinned);
      }
    } else {
      unused = std::move(found->second.buffer);
    }
    fetches_.erase(found);
  }
  for (const Waiter& waiter : waiters) waiter.join->Arrive(status);
  KeepToCount();
  // Everything that holds extents goes before WaitIdle may return.
  waiters.clear();
  extent.reset();
  EndRead();
}

void ExtentCache::EndRead() {
  MutexLock lock(mu_);
  if (--reads_in_flight_ == 0) idle_.NotifyAll();
}

void ExtentCache::Prefetch(const std::vector<ExtentRef>& extents) {
  for (const ExtentRef& extent : extents) {
    if (!extent->durable()) continue;
    {
      MutexLock lock(mu_);
      if (extent->buffer_ || fetches_.contains(extent.get())) continue;
    }
    std::optional<Buffer> buffer = TryAllocateBuffer(extent->size_bytes());
    if (!buffer) return;
    if (JoinOrBegin(extent, {}, std::move(*buffer)) == Attempt::kBegun) ReadFromDevice(extent);
  }
}

void ExtentCache::MarkClean(const ExtentRef& extent, bool named) {
  {
    MutexLock lock(mu_);
    TERRACE_ASSERT(extent->state() == ExtentState::kWritten);
    if (!named) extent->retired_.store(true);
    extent->state_.store(ExtentState::kClean, std::memory_order_release);
    if (named) LinkLocked(extent, /*prefetched=*/false);
  }
  store_.Unreserve(dirty_.Settle(*extent));
  KeepToCount();
  NotifyRoom();
}

void ExtentCache::Retire(ExtentId id, const io::ExtentRecord& record) {
  ExtentRef held;  // both dropped after the lock
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
  while (EvictOne()) {
  }
  NotifyRoom();
}

void ExtentCache::WaitIdle() {
  MutexLock lock(mu_);
  while (reads_in_flight_ > 0) idle_.Wait(mu_);
}

void ExtentCache::CheckInvariants() {
  dirty_.CheckInvariants();
  MutexLock lock(mu_);
  policy_.CheckInvariants();
  for (const auto& [id, extent] : by_id_) {
    bool in_dram = bool{extent->buffer_};
    bool kept = extent->durable() && in_dram && !extent->retired_.load();
    TERRACE_ASSERT(extent->linked() == kept);  // CACHE-1
    TERRACE_ASSERT((extent->resident_self_ != nullptr) == kept);
    if (!in_dram) TERRACE_ASSERT(extent->durable());        // EXT-1
    if (extent->pins_.load() > 0) TERRACE_ASSERT(in_dram);  // CACHE-2
  }
}

}  // namespace terrace::cache
