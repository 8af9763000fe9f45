// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The way of a write: from the received buffer to a dirty extent in the inode's map.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/units.h"
#include "fs/files.h"

namespace terrace::fs {

// What a write takes before the inode's lock: numbers, and space that it may not need in full.
struct Files::Numbers {
  std::array<ExtentId, 2> extents;  // a payload taken over can come in two pieces
  Sequence sequence;
  uint64_t reserved_blocks = 0;  // not yet handed to an extent
  cache::Buffer spare;           // for a copy, when there was no room without waiting

  uint32_t TakeBlocks(uint64_t count) {
    TERRACE_ASSERT(count <= reserved_blocks);
    reserved_blocks -= count;
    return static_cast<uint32_t>(count);
  }
};

void Files::Write(const WriteRequest& request, ReceiveArea& area, WriteDone done) {
  Status accepted = Accept(request, area);
  if (!accepted) {
    done(std::move(accepted));
    return;
  }
  accepted_bytes_.fetch_add(request.size_bytes, std::memory_order_relaxed);
  deps_.write_back.Kick();
  deps_.write_back.throttle().Admit([done = std::move(done)] { done({}); });
}

// Space for bytes that are about to be accepted. When the store looks full, space that is being
// freed is waited for before the answer is no.
Status Files::ReserveSpace(uint64_t block_count) {
  Status reserved = deps_.store.Reserve(block_count);
  if (reserved || reserved.error().code != Errc::kNoSpace) return reserved;
  deps_.reclaim_space();
  return deps_.store.Reserve(block_count);
}

Status Files::Accept(const WriteRequest& request, ReceiveArea& area) {
  if (request.size_bytes == 0) return {};
  if (request.offset > kFileSizeMax - request.size_bytes) {
    return Fail(Errc::kTooLarge, "write beyond the largest file");
  }
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(request.inode));
  Numbers numbers;
  for (ExtentId& extent : numbers.extents) {
    TERRACE_ASSIGN_OR_RETURN(extent, deps_.ids.NextExtent());
  }
  // Two pieces can need a block more than one.
  uint64_t blocks = BlockCount(request.size_bytes) + 1;
  TERRACE_TRY(ReserveSpace(blocks));
  numbers.reserved_blocks = blocks;
  Status status;
  for (bool accepted = false; !accepted && status;) {
    if (request.size_bytes < kAdoptSizeMin && !numbers.spare && numbers.sequence != Sequence()) {
      numbers.spare = deps_.cache.AllocateBuffer(request.size_bytes);
    }
    WriterLock lock(inode->mu);
    Result<FileData*> data = DataLocked(*inode);
    Result<Sequence> sequence = deps_.ids.NextSequence();
    if (!data || !sequence) {
      status = tl::unexpected<Error>(!data ? data.error() : sequence.error());
      break;
    }
    numbers.sequence = *sequence;
    if (request.size_bytes >= kAdoptSizeMin) {
      AdoptLocked(*inode, **data, request, numbers, area);
      accepted = true;
    } else {
      accepted = CopyLocked(*inode, **data, request, numbers, area.data());
    }
    if (accepted) NoteWrittenLocked(*inode, **data, request, numbers.sequence);
  }
  deps_.store.Unreserve(numbers.reserved_blocks);
  return status;
}

// The received pages become the extent, or two, as they are.
void Files::AdoptLocked(Inode& inode, FileData& data, const WriteRequest& request, Numbers& numbers,
                        ReceiveArea& area) {
  SealTailLocked(data);
  KeepPromisedLocked(inode, data, request.offset, request.offset + request.size_bytes);
  uint64_t offset = request.offset;
  size_t index = 0;
  for (ReceiveArea::Piece& piece : area.Take(request.size_bytes)) {
    cache::ExtentCache::NewExtent what;
    what.birth = {numbers.extents[index++], inode.id, offset, numbers.sequence};
    what.size_bytes = piece.size_bytes;
    what.reserved_blocks = numbers.TakeBlocks(BlockCount(piece.size_bytes));
    cache::ExtentRef extent = deps_.cache.AddDirty(what, std::move(piece.buffer));
    data.undurable.push_back(extent);
    data.map.Put(offset, {piece.size_bytes, 0, std::move(extent)});
    offset += piece.size_bytes;
  }
}

// [offset, end) is about to be overwritten. Bytes there that are not durable, and that an fsync
// under way or an open condition counts on, must not get lost before the new ones are durable.
// Requires: the tail is sealed.
void Files::KeepPromisedLocked(Inode& inode, FileData& data, uint64_t offset, uint64_t end) {
  std::optional<Sequence> promised;
  for (auto at = data.map.FirstBehind(offset); at != data.map.end() && at->first < end; ++at) {
    const auto& [start, entry] = *at;
    if (entry.extent->durable()) continue;
    if (!promised) promised = std::max(data.promised, deps_.conditions.NeededOf(inode.id));
    if (entry.extent->birth().sequence > *promised) continue;
    const uint64_t from = std::max(offset, start);
    const uint64_t to = std::min(end, start + entry.size);
    data.replaced.Add(from,
                      {static_cast<uint32_t>(to - from),
                       entry.extent_offset + static_cast<uint32_t>(from - start), entry.extent});
  }
}

bool Files::CopyLocked(Inode& inode, FileData& data, const WriteRequest& request, Numbers& numbers,
                       const std::byte* payload) {
  bool placed = AppendToTailLocked(data, request, numbers, payload) ||
                OverwriteOpenLocked(data, request, payload);
  if (!placed) {
    // A new extent. One that goes on where the tail ended gets twice the tail's room, so that a
    // stream of small writes ends up in extents of 1 MiB and a small file takes one page.
    uint64_t room = std::bit_ceil(std::max<uint64_t>(request.size_bytes, kBlockSize));
    cache::Buffer buffer = std::move(numbers.spare);
    bool continues = data.tail != nullptr &&
                     data.tail->birth().file_offset + data.tail->size_bytes() == request.offset;
    if (!buffer) {
      uint64_t wanted =
          continues ? std::clamp<uint64_t>(2 * data.tail->size_bytes(), room, kExtentSizeMax)
                    : room;
      std::optional<cache::Buffer> got = deps_.cache.TryAllocateBuffer(wanted);
      if (!got) return false;
      buffer = std::move(*got);
    }
    SealTailLocked(data);
    KeepPromisedLocked(inode, data, request.offset, request.offset + request.size_bytes);
    std::memcpy(buffer.data(), payload, request.size_bytes);
    cache::ExtentCache::NewExtent what;
    what.birth = {numbers.extents[0], inode.id, request.offset, numbers.sequence};
    what.size_bytes = request.size_bytes;
    what.open = true;
    what.reserved_blocks = numbers.TakeBlocks(BlockCount(request.size_bytes));
    cache::ExtentRef extent = deps_.cache.AddDirty(what, std::move(buffer));
    data.undurable.push_back(extent);
    data.tail = extent;
    data.map.Put(request.offset, {request.size_bytes, 0, std::move(extent)});
  }
  copied_bytes_.fetch_add(request.size_bytes, std::memory_order_relaxed);
  return true;
}

// A write that goes on where the open tail ends, and fits into its buffer.
bool Files::AppendToTailLocked(FileData& data, const WriteRequest& request, Numbers& numbers,
                               const std::byte* payload) {
  cache::Extent* tail = data.tail.get();
  if (tail == nullptr || request.offset == 0) return false;
  auto last = data.map.Covering(request.offset - 1);
  if (last == data.map.end() || last->second.extent != data.tail) return false;
  uint32_t size = tail->size_bytes();
  bool ends_here = last->first + last->second.size == request.offset &&
                   last->second.extent_offset + last->second.size == size;
  auto next = data.map.FirstBehind(request.offset);
  bool over_a_hole = next == data.map.end() || next->first >= request.offset + request.size_bytes;
  if (!ends_here || !over_a_hole) return false;
  if (!tail->BeginCopy()) return false;
  if (uint64_t{size} + request.size_bytes > tail->capacity_bytes()) {
    tail->EndCopy(size);
    return false;
  }
  uint64_t more = BlockCount(size + request.size_bytes) - BlockCount(size);
  std::memcpy(tail->memory() + size, payload, request.size_bytes);
  deps_.cache.dirty().AddReservation(*tail, numbers.TakeBlocks(more));
  tail->EndCopy(size + request.size_bytes);
  data.map.Extend(last->first, request.size_bytes);
  return true;
}

// A write inside an extent that is still open: its bytes change in place.
bool Files::OverwriteOpenLocked(FileData& data, const WriteRequest& request,
                                const std::byte* payload) {
  auto found = data.map.Covering(request.offset);
  if (found == data.map.end()) return false;
  const ExtentMap::Entry& entry = found->second;
  if (request.offset + request.size_bytes > found->first + entry.size) return false;
  cache::Extent& extent = *entry.extent;
  if (!extent.BeginCopy()) return false;
  uint64_t at = entry.extent_offset + (request.offset - found->first);
  std::memcpy(extent.memory() + at, payload, request.size_bytes);
  extent.EndCopy(extent.size_bytes());
  return true;
}

void Files::NoteWrittenLocked(Inode& inode, FileData& data, const WriteRequest& request,
                              Sequence sequence) {
  uint64_t end = request.offset + request.size_bytes;
  inode.record.size_bytes = std::max(inode.record.size_bytes, end);
  inode.record.allocated_bytes = RoundUp(data.map.mapped_bytes(), kBlockSize);
  inode.data_sequence = sequence;
  inode.record_dirty = true;
  if (!request.keep_times) inode.record.mtime_ns = inode.record.ctime_ns = deps_.clock.WallNs();
  if (request.clear_suid_sgid) ClearSuidSgid(inode.record.mode);
  data.undurable.Prune();
}

}  // namespace terrace::fs
