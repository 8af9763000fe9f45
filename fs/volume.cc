// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/volume.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/status_latch.h"
#include "base/units.h"

namespace terrace::fs {

namespace {

// Idle clean inodes kept in memory, with their maps.
constexpr size_t kIdleInodesMax = 16384;
// What statfs shows as inodes: there is no fixed number; each needs some metadata, about this.
constexpr uint64_t kBytesPerInodeShown = 4096;

// A fragmented file is rewritten once no commit has touched it for so long.
constexpr int64_t kRewriteQuietNs = 2'000'000'000;

}  // namespace

Volume::Volume(Parts parts) : parts_(std::move(parts)) {
  cache_ = std::make_unique<cache::ExtentCache>(*parts_.pool, *parts_.store, *parts_.clock);
  inodes_ = std::make_unique<InodeTable>(*parts_.meta, kIdleInodesMax);
  committer_ = std::make_unique<Committer>(*parts_.meta, *inodes_, *parts_.conditions);
  cache::WriteBack::Options options;
  options.delay_ns = static_cast<int64_t>(parts_.write_back_delay_ms) * 1'000'000;
  options.high_water_bytes = static_cast<uint64_t>(
      static_cast<double>(parts_.pool->counts().size_bytes) * parts_.dirty_high_water);
  write_back_ = std::make_unique<cache::WriteBack>(*cache_, *parts_.store, *committer_,
                                                   *parts_.clock, options);
  cache_->SetMakeRoom([this] { write_back_->Hurry(); });
  freer_ = std::make_unique<InodeFreer>(*parts_.meta, *inodes_, *parts_.conditions, *cache_);
  reaper_ = std::make_unique<Reaper>(
      [this](std::span<const InodeId> inodes) { return freer_->FreeSome(inodes); },
      InodeFreer::kInodesMax);
  names_ = std::make_unique<Names>(Names::Dependencies{
      *parts_.meta, *inodes_, *parts_.ids, *parts_.conditions, *parts_.clock, parts_.name_hash_seed,
      [this](InodeId inode) { return SyncAndWait(inode); },
      [this](InodeId inode) { reaper_->Enqueue(inode); }});
  rewriter_ = std::make_unique<Rewriter>(
      Rewriter::Dependencies{*inodes_, *parts_.ids, *cache_, *write_back_, *parts_.clock},
      kRewriteQuietNs);
  committer_->Wire(*cache_, {[this](InodeId inode) { names_->PredecessorReleased(inode); },
                             [this](InodeId inode) { rewriter_->Note(inode); }});
  attributes_ = std::make_unique<AttributeEditor>(*parts_.meta, *inodes_, *parts_.clock);
  files_ = std::make_unique<Files>(
      Files::Dependencies{*parts_.meta, *inodes_, *parts_.ids, *parts_.conditions, *cache_,
                          *write_back_, *parts_.store, *parts_.clock, [this] { ReclaimSpace(); },
                          [this](InodeId inode) { names_->PredecessorReleased(inode); }});
}

Volume::~Volume() {
  if (started_) (void)Stop();
}

void Volume::Start(const std::vector<InodeId>& orphans) {
  started_ = true;
  write_back_->Start();
  rewriter_->Start();
  zero_ahead_ = std::make_unique<io::ZeroAhead>(*parts_.store, io::ZeroAhead::Options{});
  for (InodeId orphan : orphans) reaper_->Enqueue(orphan);
  parts_.pool->StartPrefault(
      [this](std::byte* base, size_t size) { parts_.store->RegisterMemory(base, size); });
}

FilesystemSpace Volume::Space() {
  FilesystemSpace space;
  space.total_blocks = parts_.store->capacity_bytes() / kBlockSize;
  uint64_t free = parts_.store->free_bytes();
  uint64_t reserved = parts_.store->reserved_bytes();
  space.free_blocks = (free > reserved ? free - reserved : 0) / kBlockSize;
  space.files_total = parts_.store->capacity_bytes() / kBytesPerInodeShown;
  space.files_free = std::min(space.files_total, space.free_blocks);
  return space;
}

VolumeStatus Volume::GetStatus() {
  VolumeStatus status;
  status.store_id = parts_.store_id;
  cache::BufferPool::Counts pool = parts_.pool->counts();
  status.dram.size_bytes = pool.size_bytes;
  status.dram.used_bytes = pool.used_bytes;
  status.dram.prefaulted_bytes = pool.prefaulted_bytes;
  status.dram.huge_pages = pool.huge_pages;
  status.dram.dirty_bytes = cache_->dirty().dirty_bytes();
  status.dram.hits = cache_->hits();
  status.dram.misses = cache_->misses();
  status.devices = parts_.store->Statuses();
  status.copied_bytes = files_->copied_bytes();
  status.accepted_bytes = files_->accepted_bytes();
  int64_t oldest = write_back_->OldestDirtyNs();
  int64_t now = parts_.clock->MonotonicNs();
  if (oldest < now) status.oldest_dirty_ms = static_cast<uint64_t>(now - oldest) / 1'000'000;
  status.open_conditions = parts_.conditions->size();
  status.rewritten_extents = rewriter_->rewritten_extents();
  status.inodes_in_memory = inodes_->size();
  return status;
}

void Volume::FlushAll(std::function<void(Status)> done) { write_back_->FlushAll(std::move(done)); }

Status Volume::SyncAndWait(InodeId inode) {
  StatusLatch synced;
  files_->Sync(inode, [&synced](Status status) { synced.Set(std::move(status)); });
  return synced.Wait();
}

Status Volume::FlushBelow(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(Attributes attributes, attributes_->Get(id));
  if (S_ISREG(attributes.mode)) return SyncAndWait(id);
  // What lies below a directory is not known without walking it; everything is at least that.
  StatusLatch flushed;
  FlushAll([&flushed](Status status) { flushed.Set(std::move(status)); });
  return flushed.Wait();
}

// Waits until the space of removed files, and of what undurable bytes are about to replace, is
// free. What is on its way to the devices counts twice until it has arrived, so that is waited for
// too.
void Volume::ReclaimSpace() {
  reaper_->Drain();
  StatusLatch flushed;
  write_back_->FlushAll([&flushed](Status status) { flushed.Set(std::move(status)); });
  (void)flushed.Wait();  // a failing device leaves the store full, and the caller says so
}

void Volume::EvictDram() { cache_->EvictAll(); }

Status Volume::Stop() {
  if (!started_) return {};
  started_ = false;
  zero_ahead_.reset();
  rewriter_->Stop();
  reaper_->Drain();
  Status flushed = write_back_->Stop();
  reaper_.reset();
  cache_->WaitIdle();
  cache_->EvictAll();
  Status synced = parts_.meta->EmptyLog();
  return flushed ? synced : flushed;
}

}  // namespace terrace::fs
