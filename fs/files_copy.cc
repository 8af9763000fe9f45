// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// copy_file_range: two files, or two places of one, name the same extents.
//
// Only durable extents are shared: one that is not durable yet belongs to the inode that it was
// born with, whose commit publishes it. So what of the source is not durable is written first. The
// target's map changes live and committed in one batch, like that of a punched hole; its bytes are
// durable already, and the batch is logged before all that comes later.
#include <algorithm>

#include "base/units.h"
#include "fs/files.h"
#include "fs/inode_locks.h"
#include "fs/stored_map.h"

namespace terrace::fs {

namespace {

// Per call; the program goes on behind what it got.
constexpr size_t kCopyEntriesMax = 4096;
constexpr uint64_t kCopySizeMax = kGiB;
// Less than this that is not durable: a copy through memory is quicker than the devices.
constexpr uint64_t kWriteFirstSizeMin = 4 * kMiB;
// Each attempt waits for the devices; meanwhile others may write to the source again.
constexpr int kCopyAttemptsMax = 3;

}  // namespace

// What a copy found in the source.
struct Files::CopyPlan {
  uint64_t size = 0;  // bytes from the start of the range, holes included
  std::vector<std::pair<uint64_t, ExtentMap::Entry>> entries;  // by offset in the target
  std::vector<cache::ExtentRef> undurable;  // to be written first; then plan again
};

Result<Files::CopyPlan> Files::PlanCopyLocked(Inode& source, const CopyRequest& request) {
  TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(source));
  CopyPlan plan;
  if (request.source_offset >= source.record.size_bytes) return plan;
  uint64_t end =
      request.source_offset +
      std::min({request.size, kCopySizeMax, source.record.size_bytes - request.source_offset});
  uint64_t undurable_bytes = 0;
  for (auto at = data->map.FirstBehind(request.source_offset);
       at != data->map.end() && at->first < end; ++at) {
    const auto& [start, entry] = *at;
    const uint64_t from = std::max(request.source_offset, start);
    if (plan.entries.size() == kCopyEntriesMax) {
      end = from;
      break;
    }
    const uint64_t to = std::min(end, start + entry.size);
    plan.entries.emplace_back(
        request.target_offset + (from - request.source_offset),
        ExtentMap::Entry{static_cast<uint32_t>(to - from),
                         entry.extent_offset + static_cast<uint32_t>(from - start), entry.extent});
    if (entry.extent->durable()) continue;
    undurable_bytes += to - from;
    plan.undurable.push_back(entry.extent);
  }
  plan.size = end - request.source_offset;
  if (undurable_bytes == 0) return plan;
  if (undurable_bytes < kWriteFirstSizeMin) {
    return Fail(Errc::kUnsupported, "little to share, and not durable yet");
  }
  SealTailLocked(*data);
  return plan;
}

Status Files::ShareLocked(Inode& target, const CopyRequest& request, const CopyPlan& plan) {
  TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(target));
  SealTailLocked(*data);
  const uint64_t begin = request.target_offset;
  const uint64_t end = begin + plan.size;
  MetaBatch batch;
  ExtentDeltas deltas;
  MapEdit edit(deps_.meta, target.id);
  TERRACE_TRY(edit.Clear(begin, end));
  uint64_t mapped = data->map.mapped_bytes() - data->map.MappedBytesIn(begin, end);
  for (const auto& [offset, entry] : plan.entries) {
    TERRACE_TRY(edit.Put(offset, {entry.size, entry.extent_offset, entry.extent->id()}));
    mapped += entry.size;
  }
  edit.Emit(batch, deltas);
  TERRACE_ASSIGN_OR_RETURN(auto retired, deltas.Emit(deps_.meta, batch));
  // The live map goes second, as in ClearRangeLocked.
  const InodeRecord before = target.record;
  const uint64_t durable_before = target.durable_size_bytes;
  const Sequence sequence_before = target.data_sequence;
  // Above 0, as of every inode with committed bytes (fs/id_source.cc), and below any write's.
  constexpr Sequence kCommitted(1);
  target.data_sequence = std::max(target.data_sequence, kCommitted);
  target.record.durable_sequence = std::max(target.record.durable_sequence, kCommitted);
  target.record.allocated_bytes = RoundUp(mapped, kBlockSize);
  target.record.mtime_ns = target.record.ctime_ns = deps_.clock.WallNs();
  target.record.size_bytes = std::max(target.record.size_bytes, end);
  // What was copied is there; the end of the file is, if this is it.
  target.durable_size_bytes = std::max(target.durable_size_bytes, end);
  Status written = WriteRecordLocked(target, std::move(batch));
  if (!written) {
    target.record = before;
    target.durable_size_bytes = durable_before;
    target.data_sequence = sequence_before;
    return written;
  }
  data->map.Clear(begin, end);
  for (const auto& [offset, entry] : plan.entries) data->map.Put(offset, entry);
  data->replaced.Clear(begin, end);
  for (const auto& [extent, record] : retired) deps_.cache.Retire(extent, record);
  data->undurable.Prune();
  return {};
}

void Files::TryCopy(const CopyRequest& request, int attempt, CopyDone done) {
  Result<InodeRef> source = deps_.inodes.Get(request.source);
  Result<InodeRef> target = deps_.inodes.Get(request.target);
  if (!source || !target) {
    done(tl::unexpected<Error>(!source ? source.error() : target.error()));
    return;
  }
  Result<CopyPlan> plan;
  Status shared;
  std::vector<Condition> closed;
  [&]() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
    std::vector<InodeRef> inodes = {*source};
    if (*source != *target) inodes.push_back(*target);
    InodeLocks locks(std::move(inodes));
    plan = PlanCopyLocked(**source, request);
    if (!plan || plan->size == 0 || !plan->undurable.empty()) return;
    shared = ShareLocked(**target, request, *plan);
    // What was overwritten may be all that was not durable; if this fails, the next sync does it.
    if (shared) closed = SettleLocked(**target).value_or(closed);
  }();
  ReleasePredecessors(closed);
  if (!plan || !shared) {
    done(tl::unexpected<Error>(!plan ? plan.error() : shared.error()));
    return;
  }
  if (plan->undurable.empty()) {
    done(plan->size);
    return;
  }
  if (attempt == kCopyAttemptsMax) {
    done(Fail(Errc::kUnsupported, "the source is written to all the while"));
    return;
  }
  deps_.write_back.Flush(std::move(plan->undurable),
                         [this, request, attempt, done = std::move(done)](Status written) {
                           if (!written) {
                             done(tl::unexpected<Error>(written.error()));
                             return;
                           }
                           TryCopy(request, attempt + 1, done);
                         });
}

void Files::Copy(const CopyRequest& request, CopyDone done) {
  if (request.size == 0) return done(uint64_t{0});
  if (request.target_offset > kFileSizeMax - std::min(request.size, kFileSizeMax)) {
    return done(Fail(Errc::kTooLarge, "copy beyond the largest file"));
  }
  TryCopy(request, 1, std::move(done));
}

}  // namespace terrace::fs
