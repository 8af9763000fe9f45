// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/batch_placement.h"

#include <limits.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/units.h"

namespace terrace::io {

namespace {

// The most a group of small extents takes, and the most that is joined into one write.
constexpr uint64_t kSegmentBlocksMax = kMiB / kBlockSize;
constexpr size_t kNoSegment = SIZE_MAX;

class Placer {
 public:
  Placer(const std::vector<std::unique_ptr<Device>>& devices, std::atomic<uint64_t>& stripe_cursor,
         std::vector<ExtentWrite>& batch)
      : devices_(devices),
        stripe_cursor_(stripe_cursor),
        batch_(batch),
        last_segment_(devices.size(), kNoSegment) {}

  Status Place();
  std::vector<Segment> TakeSegments() { return std::move(segments_); }

 private:
  using Members = std::span<ExtentWrite* const>;

  Status PlaceGroup(Members group, uint64_t block_count);
  Status PlaceTogether(Members members, uint64_t block_count);
  void Cut(Device& device, const std::vector<BlockRun>& runs, Members members);
  void AddPiece(Device& device, BlockRun run, std::byte* data);
  void FreeAll();

  const std::vector<std::unique_ptr<Device>>& devices_;
  std::atomic<uint64_t>& stripe_cursor_;
  std::vector<ExtentWrite>& batch_;
  std::vector<Segment> segments_;
  std::vector<size_t> last_segment_;  // by device: the segment that may go on
};

Status Placer::Place() {
  std::vector<ExtentWrite*> group;
  uint64_t group_blocks = 0;
  Status status;
  auto flush = [&] {
    if (!group.empty()) status = PlaceGroup(group, group_blocks);
    group.clear();
    group_blocks = 0;
  };
  for (ExtentWrite& write : batch_) {
    uint64_t block_count = BlockCount(write.size_bytes);
    ExtentWrite* alone = &write;
    if (write.size_bytes >= kAdoptSizeMin) {
      status = PlaceTogether({&alone, 1}, block_count);
    } else {
      if (group_blocks + block_count > kSegmentBlocksMax) flush();
      group.push_back(&write);
      group_blocks += block_count;
    }
    if (!status) break;
  }
  if (status) flush();
  if (!status) FreeAll();
  return status;
}

Status Placer::PlaceGroup(Members group, uint64_t block_count) {
  if (PlaceTogether(group, block_count)) return {};
  // No device holds the group; its extents one by one may still fit.
  for (ExtentWrite* const& write : group) {
    TERRACE_TRY(PlaceTogether({&write, 1}, BlockCount(write->size_bytes)));
  }
  return {};
}

Status Placer::PlaceTogether(Members members, uint64_t block_count) {
  uint64_t start = stripe_cursor_.fetch_add(1, std::memory_order_relaxed);
  Status status;
  for (size_t i = 0; i < devices_.size(); i++) {
    Device& device = *devices_[(start + i) % devices_.size()];
    Result<std::vector<BlockRun>> runs = device.Allocate(block_count);
    if (runs) {
      Cut(device, *runs, members);
      return {};
    }
    status = tl::unexpected<Error>(std::move(runs).error());
  }
  return status;
}

// Deals the runs out to the members, in order.
void Placer::Cut(Device& device, const std::vector<BlockRun>& runs, Members members) {
  auto run = runs.begin();
  uint64_t run_used = 0;
  for (ExtentWrite* write : members) {
    write->record.device = device.id();
    uint64_t block_count = BlockCount(write->size_bytes);
    for (uint64_t done = 0; done < block_count;) {
      if (run_used == run->count) {
        ++run;
        run_used = 0;
      }
      TERRACE_ASSERT(run != runs.end());
      BlockRun piece{run->first + run_used, std::min(block_count - done, run->count - run_used)};
      write->record.runs.push_back(piece);
      AddPiece(device, piece, write->data + done * kBlockSize);
      done += piece.count;
      run_used += piece.count;
    }
  }
}

void Placer::AddPiece(Device& device, BlockRun run, std::byte* data) {
  size_t size_bytes = run.count * kBlockSize;
  size_t& last = last_segment_[device.id().value()];
  if (last != kNoSegment) {
    Segment& segment = segments_[last];
    bool joins = segment.run.end() == run.first &&
                 segment.run.count + run.count <= kSegmentBlocksMax &&
                 segment.pieces.size() < IOV_MAX;
    if (joins) {
      segment.run.count += run.count;
      iovec& piece = segment.pieces.back();
      if (static_cast<std::byte*>(piece.iov_base) + piece.iov_len == data) {
        piece.iov_len += size_bytes;
      } else {
        segment.pieces.push_back({data, size_bytes});
      }
      return;
    }
  }
  last = segments_.size();
  segments_.push_back({.device = &device, .run = run, .pieces = {{data, size_bytes}}});
}

void Placer::FreeAll() {
  for (ExtentWrite& write : batch_) {
    for (BlockRun run : write.record.runs) {
      devices_[write.record.device.value()]->space().FreeUncommitted(run);
    }
    write.record.runs.clear();
  }
}

}  // namespace

Result<std::vector<Segment>> PlaceBatch(const std::vector<std::unique_ptr<Device>>& devices,
                                        std::atomic<uint64_t>& stripe_cursor,
                                        std::vector<ExtentWrite>& batch) {
  Placer placer(devices, stripe_cursor, batch);
  TERRACE_TRY(placer.Place());
  return placer.TakeSegments();
}

}  // namespace terrace::io
