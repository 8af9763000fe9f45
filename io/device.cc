// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/device.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"

namespace terrace::io {

namespace {

constexpr uint64_t kGrowStepMax = kGiB;
constexpr uint64_t kGrowStepMin = 64 * kMiB;
// A file is not grown by less than this, except to its very end.
constexpr uint64_t kGrowRoomMin = kMiB;

}  // namespace

Device::Device(DeviceId id, std::unique_ptr<File> file, const Superblock& superblock,
               uint64_t capacity_bytes)
    : id_(id),
      file_(std::move(file)),
      superblock_(superblock),
      capacity_blocks_(std::max(capacity_bytes, file_->size_bytes()) / kBlockSize),
      space_(file_->size_bytes() / kBlockSize, kReservedBlocks) {}

uint64_t Device::growable_bytes() const {
  uint64_t size_bytes = file_->size_bytes();
  if (capacity_bytes() <= size_bytes) return 0;
  return RoundDown(std::min(capacity_bytes() - size_bytes, file_->room_bytes()), kBlockSize);
}

Result<std::vector<BlockRun>> Device::Allocate(uint64_t block_count) {
  for (;;) {
    uint64_t seen_blocks = space_.counts().capacity_blocks;
    std::optional<BlockRun> run = space_.AllocateRun(block_count);
    if (run) return std::vector<BlockRun>{*run};
    // Rather grow than scatter an extent; scatter it rather than give up.
    if (!Grow(block_count, seen_blocks)) break;
  }
  Result<std::vector<BlockRun>> runs = space_.Allocate(block_count);
  if (!runs) return Wrap(std::move(runs).error(), path());
  return runs;
}

Status Device::Grow(uint64_t block_count_min, uint64_t seen_blocks) {
  MutexLock lock(grow_mu_);
  if (space_.counts().capacity_blocks > seen_blocks) return {};
  uint64_t room_bytes = growable_bytes();
  uint64_t want_bytes = std::max(GrowStepBlocks(), block_count_min) * kBlockSize;
  uint64_t step_bytes = std::min(want_bytes, room_bytes);
  uint64_t size_bytes = file_->size_bytes();
  bool is_last = size_bytes + step_bytes == capacity_bytes();
  if (step_bytes == 0 || (step_bytes < kGrowRoomMin && !is_last)) {
    return Fail(Errc::kNoSpace, path() + ": no room to grow");
  }
  Status grown = file_->Grow(size_bytes + step_bytes);
  if (!grown) {
    if (grown.error().code != Errc::kNoSpace) LogWarning(Describe(grown.error()));
    return Fail(Errc::kNoSpace, std::move(grown).error().context);
  }
  space_.Extend(file_->size_bytes() / kBlockSize);
  TERRACE_ASSERT(file_->size_bytes() <= capacity_bytes());  // DEVICE-2
  return {};
}

uint64_t Device::GrowStepBlocks() const {
  return std::clamp(capacity_bytes() / 16, kGrowStepMin, kGrowStepMax) / kBlockSize;
}

void Device::NoteWritten(uint64_t size_bytes) {
  counters_.written_bytes += size_bytes;
  write_count_++;
}

}  // namespace terrace::io
