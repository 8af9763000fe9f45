// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/space_allocator.h"

#include <algorithm>

#include "base/assert.h"

// Next fit: a run begins where the last one ended if the free run there is long enough, else in
// the next run that is, else (wrapping around) in the first one that is. A stream of allocations
// thus lies in order on the device, and space freed behind it is used on the next round.

namespace terrace::io {

namespace {

std::string NameOf(BlockRun run) {
  return std::to_string(run.count) + " blocks at block " + std::to_string(run.first);
}

}  // namespace

SpaceAllocator::SpaceAllocator(uint64_t capacity_blocks, uint64_t reserved_blocks)
    : reserved_blocks_(reserved_blocks) {
  TERRACE_ASSERT(reserved_blocks <= capacity_blocks);
  MutexLock lock(mu_);
  capacity_blocks_ = capacity_blocks;
  allocated_blocks_ = capacity_blocks;
  cursor_ = reserved_blocks;
  if (capacity_blocks > reserved_blocks) {
    BlockRun all{reserved_blocks, capacity_blocks - reserved_blocks};
    InsertFreeLocked(all);
    allocated_blocks_ -= all.count;
  }
}

Status SpaceAllocator::MarkAllocated(BlockRun run) {
  MutexLock lock(mu_);
  return TakeExactlyLocked(run);
}

Status SpaceAllocator::Hold(BlockRun run) {
  MutexLock lock(mu_);
  TERRACE_TRY(TakeExactlyLocked(run));
  held_blocks_ += run.count;
  return {};
}

void SpaceAllocator::EndHold(BlockRun run) {
  MutexLock lock(mu_);
  TERRACE_ASSERT(held_blocks_ >= run.count);
  held_blocks_ -= run.count;
  GiveBackLocked(run);
}

Status SpaceAllocator::TakeExactlyLocked(BlockRun run) {
  bool outside = run.count == 0 || run.first < reserved_blocks_ || run.first >= capacity_blocks_ ||
                 run.count > capacity_blocks_ - run.first;
  if (outside) {
    return Fail(Errc::kCorrupt, NameOf(run) + " lie outside the device, which has " +
                                    std::to_string(capacity_blocks_));
  }
  std::optional<BlockRun> around = free_.AtOrBefore(run.first);
  if (!around || around->end() < run.end()) {
    return Fail(Errc::kCorrupt, NameOf(run) + " are in use already");
  }
  TakeLocked(run);
  return {};
}

Result<std::vector<BlockRun>> SpaceAllocator::Allocate(uint64_t count) {
  TERRACE_ASSERT(count > 0);
  MutexLock lock(mu_);
  if (count > free_blocks_) {
    return Fail(Errc::kNoSpace, std::to_string(count) + " blocks wanted, " +
                                    std::to_string(free_blocks_) + " free");
  }
  std::vector<BlockRun> runs;
  while (count > 0) {
    uint64_t piece = std::min(count, free_.longest());
    std::optional<BlockRun> run = TakeRunLocked(piece);
    TERRACE_ASSERT(run.has_value());
    runs.push_back(*run);
    count -= piece;
  }
  return runs;
}

std::optional<BlockRun> SpaceAllocator::AllocateRun(uint64_t count) {
  TERRACE_ASSERT(count > 0);
  MutexLock lock(mu_);
  return TakeRunLocked(count);
}

void SpaceAllocator::FreeUncommitted(BlockRun run) {
  MutexLock lock(mu_);
  GiveBackLocked(run);
}

void SpaceAllocator::GiveBackLocked(BlockRun run) {
  TERRACE_ASSERT(run.first >= reserved_blocks_);
  TERRACE_ASSERT(run.end() <= capacity_blocks_);
  TERRACE_ASSERT(allocated_blocks_ >= run.count);
  InsertFreeLocked(run);
  allocated_blocks_ -= run.count;
}

void SpaceAllocator::FreeAwaiting(BlockRun run) {
  MutexLock lock(mu_);
  TERRACE_ASSERT(run.count > 0);
  TERRACE_ASSERT(run.first >= reserved_blocks_);
  TERRACE_ASSERT(run.end() <= capacity_blocks_);
  TERRACE_ASSERT(allocated_blocks_ >= run.count);
  AssertNotFreeLocked(run);
  awaiting_.push_back(run);
  awaiting_blocks_ += run.count;
  allocated_blocks_ -= run.count;
}

uint64_t SpaceAllocator::SealAwaiting() {
  MutexLock lock(mu_);
  uint64_t ticket = next_ticket_++;
  sealed_.emplace(ticket, std::move(awaiting_));
  awaiting_.clear();
  return ticket;
}

void SpaceAllocator::Release(uint64_t ticket) {
  MutexLock lock(mu_);
  auto sealed = sealed_.find(ticket);
  TERRACE_ASSERT(sealed != sealed_.end());
  for (BlockRun run : sealed->second) {
    InsertFreeLocked(run);
    awaiting_blocks_ -= run.count;
  }
  sealed_.erase(sealed);
}

void SpaceAllocator::Extend(uint64_t capacity_blocks) {
  MutexLock lock(mu_);
  if (capacity_blocks <= capacity_blocks_) return;
  BlockRun added{capacity_blocks_, capacity_blocks - capacity_blocks_};
  capacity_blocks_ = capacity_blocks;
  InsertFreeLocked(added);
}

SpaceAllocator::Counts SpaceAllocator::counts() const {
  MutexLock lock(mu_);
  return {.capacity_blocks = capacity_blocks_,
          .free_blocks = free_blocks_ + held_blocks_,
          .awaiting_blocks = awaiting_blocks_};
}

uint64_t SpaceAllocator::cursor() const {
  MutexLock lock(mu_);
  return cursor_;
}

std::optional<BlockRun> SpaceAllocator::NextFree(uint64_t block) const {
  MutexLock lock(mu_);
  std::optional<BlockRun> here = free_.AtOrBefore(block);
  if (here && here->end() > block) return BlockRun{block, here->end() - block};
  return free_.AtOrAfter(block);
}

std::optional<BlockRun> SpaceAllocator::TakeRunLocked(uint64_t count) {
  std::optional<BlockRun> fit = free_.AtOrBefore(cursor_);
  if (fit && fit->end() > cursor_ && fit->end() - cursor_ >= count) {
    fit->first = cursor_;
  } else {
    fit = free_.FirstFit(cursor_, count);
    if (!fit) fit = free_.FirstFit(0, count);
    if (!fit) return std::nullopt;
  }
  BlockRun run{fit->first, count};
  TakeLocked(run);
  cursor_ = run.end();
  return run;
}

// Takes blocks out of the free run they lie in: all of it, its head, its tail or its middle.
void SpaceAllocator::TakeLocked(BlockRun run) {
  std::optional<BlockRun> around = free_.AtOrBefore(run.first);
  TERRACE_ASSERT(around.has_value());
  TERRACE_ASSERT(around->end() >= run.end());
  BlockRun before{around->first, run.first - around->first};
  BlockRun after{run.end(), around->end() - run.end()};
  if (before.count == 0 && after.count == 0) {
    free_.Erase(around->first);
  } else if (before.count == 0) {
    free_.Replace(around->first, after);
  } else {
    free_.Replace(around->first, before);
    if (after.count > 0) free_.Insert(after);
  }
  free_blocks_ -= run.count;
  allocated_blocks_ += run.count;
}

// Puts blocks back, joined with the free runs that touch them.
void SpaceAllocator::InsertFreeLocked(BlockRun run) {
  TERRACE_ASSERT(run.count > 0);
  AssertNotFreeLocked(run);
  free_blocks_ += run.count;
  std::optional<BlockRun> before = free_.AtOrBefore(run.first);
  std::optional<BlockRun> after = free_.AtOrAfter(run.first);
  bool joins_before = before && before->end() == run.first;
  bool joins_after = after && after->first == run.end();
  if (joins_before && joins_after) {
    free_.Erase(after->first);
    free_.Replace(before->first, {before->first, after->end() - before->first});
  } else if (joins_before) {
    free_.Replace(before->first, {before->first, run.end() - before->first});
  } else if (joins_after) {
    free_.Replace(after->first, {run.first, after->end() - run.first});
  } else {
    free_.Insert(run);
  }
}

void SpaceAllocator::AssertNotFreeLocked(BlockRun run) const {
  std::optional<BlockRun> before = free_.AtOrBefore(run.end() - 1);
  TERRACE_ASSERT(!before || before->end() <= run.first);  // ALLOC-1: else it is free already
}

void SpaceAllocator::CheckInvariants() const {
  MutexLock lock(mu_);
  free_.CheckInvariants();
  std::vector<BlockRun> runs = free_.Runs();
  uint64_t free_sum = 0;
  for (BlockRun run : runs) free_sum += run.count;
  TERRACE_ASSERT(free_sum == free_blocks_);
  uint64_t awaiting_sum = 0;
  auto add = [&](const std::vector<BlockRun>& more) {
    runs.insert(runs.end(), more.begin(), more.end());
    for (BlockRun run : more) awaiting_sum += run.count;
  };
  add(awaiting_);
  for (const auto& [ticket, sealed] : sealed_) add(sealed);
  TERRACE_ASSERT(awaiting_sum == awaiting_blocks_);
  // ALLOC-1 and ALLOC-2: what is free and what awaits are apart, and within the device.
  std::sort(runs.begin(), runs.end(), [](BlockRun a, BlockRun b) { return a.first < b.first; });
  uint64_t end = reserved_blocks_;
  for (BlockRun run : runs) {
    TERRACE_ASSERT(run.first >= end);
    end = run.end();
  }
  TERRACE_ASSERT(end <= capacity_blocks_);
  // ALLOC-3.
  TERRACE_ASSERT(free_blocks_ + allocated_blocks_ + awaiting_blocks_ == capacity_blocks_);
}

}  // namespace terrace::io
