// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// A DRAM tier on devices in memory, for tests of cache/: pool, store, cache, and a commit sink
// that remembers what it was told.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_latch.h"
#include "base/units.h"
#include "cache/commit_sink.h"
#include "cache/extent_cache.h"
#include "tests/support/io_support.h"

namespace terrace::cache {

// Bytes that depend on the seed and on their position.
inline std::string PatternOf(uint64_t seed, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

inline std::string Join(const PinnedBytes& bytes) {
  std::string joined;
  for (const iovec& piece : bytes.pieces) {
    joined.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return joined;
}

// What a read came to.
class ReadOutcome {
 public:
  ExtentCache::PinDone Callback() {
    return [this](Result<PinnedBytes> result) {
      Status status;
      if (result) {
        bytes = std::move(*result);
      } else {
        status = tl::unexpected<Error>(result.error());
      }
      arrived_.Set(std::move(status));
    };
  }
  Status Wait() { return arrived_.Wait(); }

  PinnedBytes bytes;

 private:
  StatusLatch arrived_;
};

// Names every extent unless told otherwise.
class RecordingSink final : public CommitSink {
 public:
  Result<std::vector<bool>> CommitExtents(const std::vector<ExtentRef>& extents) override {
    if (before_commit) before_commit(extents);
    MutexLock lock(mu_);
    if (failures_ > 0) {
      failures_--;
      return Fail(Errc::kIo, "a commit that the test fails");
    }
    std::vector<bool> named;
    for (const ExtentRef& extent : extents) {
      bool keep = !is_named || is_named(*extent);
      named.push_back(keep);
      records_[extent->id()] = extent->record();
    }
    commits_++;
    changed_.NotifyAll();
    return named;
  }
  Status SyncMetadata() override {
    MutexLock lock(mu_);
    syncs_++;
    if (sync_failures_ == 0) return {};
    sync_failures_--;
    return Fail(Errc::kIo, "a sync that the test fails");
  }
  void NoteWriteError(const std::vector<ExtentRef>& extents, const Error&) override {
    MutexLock lock(mu_);
    for (const ExtentRef& extent : extents) errors_[extent->id()]++;
  }

  void FailCommits(int count) {
    MutexLock lock(mu_);
    failures_ = count;
  }
  void FailSyncs(int count) {
    MutexLock lock(mu_);
    sync_failures_ = count;
  }
  bool Committed(ExtentId id) {
    MutexLock lock(mu_);
    return records_.contains(id);
  }
  io::ExtentRecord RecordOf(ExtentId id) {
    MutexLock lock(mu_);
    return records_.at(id);
  }
  void WaitCommitted(size_t count) {
    MutexLock lock(mu_);
    while (records_.size() < count) changed_.Wait(mu_);
  }
  int ErrorsOf(ExtentId id) {
    MutexLock lock(mu_);
    return errors_[id];
  }
  int commits() {
    MutexLock lock(mu_);
    return commits_;
  }

  // Set before write-back starts. Run on the commit thread.
  std::function<void(const std::vector<ExtentRef>&)> before_commit;
  std::function<bool(const Extent&)> is_named;

 private:
  Mutex mu_;
  CondVar changed_;
  std::map<ExtentId, io::ExtentRecord> records_ TERRACE_GUARDED_BY(mu_);
  std::map<ExtentId, int> errors_ TERRACE_GUARDED_BY(mu_);
  int failures_ TERRACE_GUARDED_BY(mu_) = 0;
  int sync_failures_ TERRACE_GUARDED_BY(mu_) = 0;
  int commits_ TERRACE_GUARDED_BY(mu_) = 0;
  int syncs_ TERRACE_GUARDED_BY(mu_) = 0;
};

class CacheFixture : public ::testing::Test {
 protected:
  static constexpr InodeId kInode{7};

  explicit CacheFixture(size_t device_count = 1, uint64_t pool_bytes = 16 * kMiB)
      : devices_({.device_count = device_count, .device_size_bytes = 128 * kMiB}) {
    auto pool = BufferPool::Create({.size_bytes = pool_bytes, .prefault = false});
    EXPECT_TRUE(pool.has_value());
    pool_ = std::move(*pool);
    cache_ = std::make_unique<ExtentCache>(*pool_, store(), clock_);
  }

  ~CacheFixture() override {
    cache_->WaitIdle();
    cache_->CheckInvariants();
    pool_->CheckInvariants();
    cache_->EvictAll();  // the cache holds what is in DRAM
  }

  io::ExtentStore& store() { return *devices_.store; }
  io::MemoryFile& memory(size_t device = 0) { return *devices_.memories[device]; }
  io::FaultyFile& fault(size_t device = 0) { return *devices_.faults[device]; }

  Extent::Birth NextBirth(uint64_t file_offset = 0) {
    uint64_t number = next_.fetch_add(1);
    return {ExtentId(number), kInode, file_offset, Sequence(number)};
  }

  // A dirty extent with a reservation, as a WRITE makes it.
  ExtentRef AddDirty(const std::string& bytes, bool open = false, uint64_t capacity = 0) {
    auto blocks = static_cast<uint32_t>(BlockCount(bytes.size()));
    EXPECT_TRUE(store().Reserve(blocks).has_value());
    Buffer buffer = cache_->AllocateBuffer(std::max<uint64_t>(bytes.size(), capacity));
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    if (!open) buffer.Trim(bytes.size());
    ExtentCache::NewExtent what;
    what.birth = NextBirth();
    what.size_bytes = static_cast<uint32_t>(bytes.size());
    what.open = open;
    what.reserved_blocks = blocks;
    return cache_->AddDirty(what, std::move(buffer));
  }

  // A durable extent that is on a device only. Not through the cache.
  ExtentRef AddCold(const std::string& bytes) {
    io::IoMemory block(bytes.size());
    std::memcpy(block.data(), bytes.data(), bytes.size());
    Extent::Birth birth = NextBirth();
    io::ExtentWrite write;
    write.data = block.data();
    write.size_bytes = static_cast<uint32_t>(bytes.size());
    write.id = birth.id;
    write.inode = birth.inode;
    std::vector<io::ExtentWrite> batch;
    batch.push_back(std::move(write));
    io::WrittenBatch written = io::WriteBatchNow(store(), std::move(batch));
    EXPECT_TRUE(written.status.has_value());
    EXPECT_TRUE(store().Sync().has_value());
    written.batch[0].record.reference_count = 1;
    return cache_->Known(birth, written.batch[0].record);
  }

  Result<std::string> Read(std::vector<ReadPiece> pieces, FetchMode mode = FetchMode::kKeep) {
    ReadOutcome outcome;
    cache_->PinForRead(std::move(pieces), mode, outcome.Callback());
    TERRACE_TRY(outcome.Wait());
    return Join(outcome.bytes);
  }
  Result<std::string> ReadWhole(const ExtentRef& extent, FetchMode mode = FetchMode::kKeep) {
    return Read({{extent, 0, extent->size_bytes()}}, mode);
  }

  uint64_t FreeBlocks(size_t device = 0) {
    return store().device(DeviceId(static_cast<uint16_t>(device))).space().counts().free_blocks;
  }
  uint64_t AwaitingBlocks(size_t device = 0) {
    return store().device(DeviceId(static_cast<uint16_t>(device))).space().counts().awaiting_blocks;
  }

  ManualClock clock_{1'000'000'000'000};
  io::FaultyStore devices_;
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<ExtentCache> cache_;

 private:
  std::atomic<uint64_t> next_{1};
};

}  // namespace terrace::cache
