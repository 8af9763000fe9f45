// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Sizes and holes: truncate, fallocate, SEEK_DATA and SEEK_HOLE.
#include <algorithm>

#include "base/units.h"
#include "fs/files.h"
#include "fs/stored_map.h"

namespace terrace::fs {

// [offset, end) becomes a hole, live and committed, in one batch with the inode's record.
Status Files::ClearRangeLocked(Inode& inode, FileData& data, uint64_t offset, uint64_t end) {
  SealTailLocked(data);
  MetaBatch batch;
  ExtentDeltas deltas;
  MapEdit edit(deps_.meta, inode.id);
  TERRACE_TRY(edit.Clear(offset, end));
  edit.Emit(batch, deltas);
  TERRACE_ASSIGN_OR_RETURN(auto retired, deltas.Emit(deps_.meta, batch));
  // The live map goes second, so that a failing store changes nothing, and extents are let go
  // only after the record that frees them is written.
  uint64_t allocated_before = inode.record.allocated_bytes;
  uint64_t kept_bytes = data.map.mapped_bytes() - data.map.MappedBytesIn(offset, end);
  inode.record.allocated_bytes = RoundUp(kept_bytes, kBlockSize);
  Status written = WriteRecordLocked(inode, std::move(batch));
  if (!written) {
    inode.record.allocated_bytes = allocated_before;
    return written;
  }
  data.map.Clear(offset, end);
  data.replaced.Clear(offset, end);
  for (const auto& [extent, record] : retired) deps_.cache.Retire(extent, record);
  data.undurable.Prune();
  return {};
}

Result<Attributes> Files::TruncateLocked(Inode& inode, uint64_t size_bytes, bool clear_suid_sgid) {
  TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(inode));
  const InodeRecord before = inode.record;
  const uint64_t durable_before = inode.durable_size_bytes;
  inode.record.size_bytes = inode.durable_size_bytes = size_bytes;
  inode.record.mtime_ns = inode.record.ctime_ns = deps_.clock.WallNs();
  if (clear_suid_sgid) ClearSuidSgid(inode.record.mode);
  // Truncating up changes the size alone; entries never reach beyond it.
  Status written = size_bytes < before.size_bytes
                       ? ClearRangeLocked(inode, *data, size_bytes, UINT64_MAX)
                       : WriteRecordLocked(inode, {});
  if (!written) {
    inode.record = before;
    inode.durable_size_bytes = durable_before;
    return tl::unexpected<Error>(written.error());
  }
  return inode.AttributesLocked();
}

Result<Attributes> Files::Truncate(InodeId id, uint64_t size_bytes, bool clear_suid_sgid) {
  if (size_bytes > kFileSizeMax) return Fail(Errc::kTooLarge, "truncate beyond the largest file");
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(id));
  Result<Attributes> attributes;
  std::vector<Condition> closed;
  {
    WriterLock lock(inode->mu);
    attributes = TruncateLocked(*inode, size_bytes, clear_suid_sgid);
    // What was cut off may be all that was not durable. If this fails, the next sync does it.
    if (attributes) closed = SettleLocked(*inode).value_or(closed);
  }
  ReleasePredecessors(closed);
  return attributes;
}

// Looked at before space is reserved: trying makes data files grow and holds up other writers.
Status Files::CheckRoomFor(uint64_t size_bytes) {
  if (size_bytes <= deps_.store.free_bytes()) return {};
  if (size_bytes <= deps_.store.capacity_bytes()) deps_.reclaim_space();
  if (size_bytes <= deps_.store.free_bytes()) return {};
  return Fail(Errc::kNoSpace, "fallocate of " + FormatSize(size_bytes) + ", " +
                                  FormatSize(deps_.store.free_bytes()) + " are free");
}

Status Files::AllocateLocked(Inode& inode, const AllocateRequest& request) {
  TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(inode));
  const uint64_t end = request.offset + request.size;
  const InodeRecord before = inode.record;
  const uint64_t durable_before = inode.durable_size_bytes;
  if (!request.keep_size && end > inode.record.size_bytes) {
    inode.record.size_bytes = inode.durable_size_bytes = end;
  }
  // No entry will ever show where a file ends in a hole.
  const bool clears_end = (request.punch_hole || request.zero_range) &&
                          end >= inode.record.size_bytes &&
                          request.offset < inode.record.size_bytes;
  if (clears_end) inode.durable_size_bytes = inode.record.size_bytes;
  inode.record.mtime_ns = inode.record.ctime_ns = deps_.clock.WallNs();
  Status written = request.punch_hole || request.zero_range
                       ? ClearRangeLocked(inode, *data, request.offset, end)
                       : WriteRecordLocked(inode, {});
  if (!written) {
    inode.record = before;
    inode.durable_size_bytes = durable_before;
  }
  return written;
}

Status Files::Allocate(const AllocateRequest& request) {
  if (request.size == 0) return Fail(Errc::kInvalid, "fallocate of nothing");
  if (request.offset > kFileSizeMax - request.size) {
    return Fail(Errc::kTooLarge, "fallocate beyond the largest file");
  }
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(request.inode));
  if (!request.punch_hole && !request.zero_range) {
    // Room for all of it must be there now.
    uint64_t blocks = BlockCount(request.size);
    TERRACE_TRY(CheckRoomFor(blocks * kBlockSize));
    TERRACE_TRY(ReserveSpace(blocks));
    deps_.store.Unreserve(blocks);
  }
  std::vector<Condition> closed;
  {
    WriterLock lock(inode->mu);
    TERRACE_TRY(AllocateLocked(*inode, request));
    closed = SettleLocked(*inode).value_or(closed);  // as in Truncate
  }
  ReleasePredecessors(closed);
  return {};
}

Result<uint64_t> Files::Seek(InodeId id, uint64_t offset, SeekTarget target) {
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(id));
  WriterLock lock(inode->mu);
  TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(*inode));
  const uint64_t size = inode->record.size_bytes;
  if (offset >= size) return Fail(Errc::kRange, "seek beyond the end of the file");
  auto at = data->map.FirstBehind(offset);
  if (target == SeekTarget::kData) {
    if (at == data->map.end() || at->first >= size) return Fail(Errc::kRange, "no more data");
    return std::max(offset, at->first);
  }
  uint64_t hole = offset;
  while (at != data->map.end() && at->first <= hole) {
    hole = at->first + at->second.size;
    ++at;
  }
  return std::min(hole, size);
}

}  // namespace terrace::fs
