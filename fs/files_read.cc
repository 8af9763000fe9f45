// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The way of a read: from the inode's map to bytes in DRAM, and what to fetch ahead.
#include <algorithm>

#include "base/log.h"
#include "base/units.h"
#include "fs/files.h"

namespace terrace::fs {

namespace {

// relatime: a read moves atime when it is not newer than mtime or ctime, or a day old.
constexpr int64_t kAtimeAgeNs = 24LL * 3600 * 1'000'000'000;

bool AtimeIsDue(const InodeRecord& record, int64_t now_ns) {
  return record.atime_ns <= record.mtime_ns || record.atime_ns <= record.ctime_ns ||
         now_ns - record.atime_ns > kAtimeAgeNs;
}

}  // namespace

std::vector<cache::ReadPiece> Files::PiecesLocked(const FileData& data, uint64_t offset,
                                                  uint64_t size) const {
  std::vector<cache::ReadPiece> pieces;
  uint64_t at = offset;
  const uint64_t end = offset + size;
  for (auto next = data.map.FirstBehind(offset); at < end; ++next) {
    uint64_t start = next == data.map.end() ? end : std::min(end, next->first);
    if (start > at) {
      pieces.push_back({nullptr, 0, static_cast<uint32_t>(start - at)});
      at = start;
    }
    if (at >= end) break;
    const ExtentMap::Entry& entry = next->second;
    uint64_t skip = at - next->first;
    uint64_t take = std::min(end - at, entry.size - skip);
    pieces.push_back({entry.extent, static_cast<uint32_t>(entry.extent_offset + skip),
                      static_cast<uint32_t>(take)});
    at += take;
  }
  return pieces;
}

// Moves atime by the relatime rule; a failure to store it is no reason to fail the read.
void Files::NoteReadLocked(Inode& inode) {
  int64_t now = deps_.clock.WallNs();
  if (!AtimeIsDue(inode.record, now)) return;
  inode.record.atime_ns = now;
  bool clean = inode.durable_size_bytes == inode.record.size_bytes;
  inode.record_dirty = !(clean && WriteRecordLocked(inode, {}));
}

// What a read needs, found under the inode's lock: the bytes asked for, and what to fetch ahead.
struct Files::ReadPlan {
  std::vector<cache::ReadPiece> pieces;
  std::vector<cache::ExtentRef> ahead;
  cache::FetchMode mode = cache::FetchMode::kKeep;
  bool atime_due = false;
};

// Loads what a read needs of the inode that is not there yet.
Status Files::PrepareRead(Inode& inode, const ReadRequest& request) {
  {
    ReaderLock lock(inode.mu);
    if (inode.data != nullptr && (!request.mapped || inode.data->pages_were_mapped)) return {};
  }
  WriterLock lock(inode.mu);
  TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(inode));
  data->pages_were_mapped |= request.mapped;
  return {};
}

Files::ReadPlan Files::PlanReadLocked(Inode& inode, const ReadRequest& request) {
  ReadPlan plan;
  uint64_t file_size = inode.record.size_bytes;
  if (inode.data == nullptr || request.offset >= file_size) return plan;
  FileData& data = *inode.data;
  uint64_t size = std::min<uint64_t>(request.size_bytes, file_size - request.offset);
  plan.pieces = PiecesLocked(data, request.offset, size);
  cache::SequenceModel::Advice advice;
  {
    MutexLock lock(data.sequence_mu);
    if (data.sequence == nullptr) data.sequence = std::make_unique<cache::SequenceModel>();
    advice = data.sequence->OnRead(request.offset, size, file_size, read_window_bytes_max_);
  }
  if (advice.prefetch)
    plan.ahead = ExtentsLocked(data, advice.prefetch->offset, advice.prefetch->end());
  if (!advice.sequential) plan.mode = cache::FetchMode::kTransient;
  plan.atime_due = AtimeIsDue(inode.record, deps_.clock.WallNs());
  return plan;
}

void Files::Read(const ReadRequest& request, ReadDone done) {
  Result<InodeRef> inode = deps_.inodes.Get(request.inode);
  Status prepared = inode ? PrepareRead(**inode, request) : tl::unexpected<Error>(inode.error());
  if (!prepared) {
    done(tl::unexpected<Error>(prepared.error()));
    return;
  }
  ReadPlan plan;
  {
    ReaderLock lock((*inode)->mu);
    plan = PlanReadLocked(**inode, request);
  }
  if (plan.atime_due) {
    WriterLock lock((*inode)->mu);
    NoteReadLocked(**inode);
  }
  auto named = [id = request.inode, offset = request.offset,
                done = std::move(done)](Result<ReadReply> reply) {
    if (!reply) {
      LogError("read of inode " + std::to_string(id.value()) + " at offset " +
               std::to_string(offset) + ": " + Describe(reply.error()));
    }
    done(std::move(reply));
  };
  deps_.cache.PinForRead(std::move(plan.pieces), plan.mode, std::move(named));
  deps_.cache.Prefetch(plan.ahead);
}

}  // namespace terrace::fs
