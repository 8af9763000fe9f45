// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/open_modes.h"

#include <fcntl.h>

#include "base/assert.h"

namespace terrace::mount {

namespace {

bool MayWrite(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

}  // namespace

CacheMode OpenModes::Open(InodeId inode, const OpenFacts& facts) {
  Shard& shard = ShardOf(inode);
  MutexLock lock(shard.mu);
  OpenCounts& counts = shard.open[inode];
  CacheMode mode = ChooseCacheMode(connection_, facts, counts);
  if (mode.direct) {
    // Direct readers are not counted: they are coherent beside anything.
    if (MayWrite(facts.flags)) counts.direct_writers++;
    if (counts.direct_writers == 0) shard.open.erase(inode);
    return mode;
  }
  counts.cached++;
  if (MayWrite(facts.flags)) counts.cached_writers++;
  shard.with_pages.Insert(inode);
  return mode;
}

void OpenModes::Close(const FileHandle& handle) {
  if (!handle.cached && !handle.write) return;
  Shard& shard = ShardOf(handle.inode);
  MutexLock lock(shard.mu);
  auto found = shard.open.find(handle.inode);
  // The number comes from the kernel, which has it from us; a stray one changes nothing.
  if (found == shard.open.end()) return;
  OpenCounts& counts = found->second;
  auto drop = [](uint32_t& count) { count -= count > 0 ? 1 : 0; };
  if (handle.cached) {
    drop(counts.cached);
    if (handle.write) drop(counts.cached_writers);
  } else {
    drop(counts.direct_writers);
  }
  if (counts.cached == 0 && counts.direct_writers == 0) shard.open.erase(found);
}

bool OpenModes::MayHoldDirtyPages(InodeId inode) {
  if (connection_.mode != ConnectionMode::kWriteback) return false;
  Shard& shard = ShardOf(inode);
  MutexLock lock(shard.mu);
  auto found = shard.open.find(inode);
  return found != shard.open.end() && found->second.cached_writers > 0;
}

void OpenModes::NotePages(InodeId inode) {
  Shard& shard = ShardOf(inode);
  MutexLock lock(shard.mu);
  shard.with_pages.Insert(inode);
}

void OpenModes::Forget(InodeId inode) {
  Shard& shard = ShardOf(inode);
  MutexLock lock(shard.mu);
  shard.with_pages.Erase(inode);
}

std::vector<InodeId> OpenModes::TakeInodesWithPages() {
  std::vector<InodeId> inodes;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mu);
    shard.with_pages.TakeAll(inodes);
    for (const auto& [inode, counts] : shard.open) {
      if (counts.cached > 0) shard.with_pages.Insert(inode);
    }
  }
  return inodes;
}

void OpenModes::CheckInvariants() {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mu);
    for (const auto& [inode, counts] : shard.open) {
      TERRACE_ASSERT(counts.cached + counts.direct_writers > 0);
      TERRACE_ASSERT(counts.cached >= counts.cached_writers);
      // MODE-1
      TERRACE_ASSERT(!connection_.direct_mmap || counts.cached == 0 || counts.direct_writers == 0);
    }
  }
}

}  // namespace terrace::mount
