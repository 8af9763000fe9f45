// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Device: one member of a store: a directory's data file or a block device.
//
// Role     An open file whose superblock was checked (store_layout opens it), its space and its
//          counters. Identity is {store id, device index, device count}. A data file grows in
//          large preallocated steps when no free run is long enough, up to its capacity.
// Owner    ExtentStore owns its devices.
// Threads  Thread-safe. Grow calls the host under grow_mu_, which only growers take and which is
//          taken before the allocator's lock.
// Errors   kNoSpace.
//
// Invariants (tests/io/device_test.cc)
//   DEVICE-1  Space is handed out only inside the file as it is at that moment.
//   DEVICE-2  The file never becomes larger than the capacity.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/units.h"
#include "io/file.h"
#include "io/space_allocator.h"
#include "io/superblock_format.h"

namespace terrace::io {

struct DeviceCounters {
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> written_bytes{0};
  std::atomic<uint64_t> errors{0};  // failed transfers and barriers, checksum mismatches
};

class Device {
 public:
  // Takes an open file whose superblock was checked. capacity_bytes: what the device may grow
  // to (--store-size); the file grows in steps as the allocator reaches further.
  Device(DeviceId id, std::unique_ptr<File> file, const Superblock& superblock,
         uint64_t capacity_bytes);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceId id() const { return id_; }
  const Superblock& superblock() const { return superblock_; }
  const std::string& path() const { return file_->path(); }
  File& file() { return *file_; }
  SpaceAllocator& space() { return space_; }
  const SpaceAllocator& space() const { return space_; }
  DeviceCounters& counters() { return counters_; }
  const DeviceCounters& counters() const { return counters_; }

  // What it may grow to, or its size if that is larger.
  uint64_t capacity_bytes() const { return capacity_blocks_ * kBlockSize; }
  // How far it could grow now, as the capacity and the host's file system allow.
  uint64_t growable_bytes() const;

  // Allocates and makes sure the file reaches that far. Errors: kNoSpace.
  Result<std::vector<BlockRun>> Allocate(uint64_t block_count);
  // Grows by a step, of block_count_min blocks at least if there is room for them; less than
  // that only to the end of the room. Does nothing if another thread has grown the device since
  // its size was seen_blocks. Errors: kNoSpace when there is no room at all.
  Status Grow(uint64_t block_count_min, uint64_t seen_blocks) TERRACE_EXCLUDES(grow_mu_);

  // For the barrier: data arrived; how much of it arrived; it is durable up to that.
  void NoteWritten(uint64_t size_bytes);
  uint64_t write_count() const { return write_count_.load(); }
  bool needs_barrier() const { return write_count_.load() != synced_write_count_.load(); }
  void NoteSynced(uint64_t write_count) { synced_write_count_ = write_count; }

 private:
  uint64_t GrowStepBlocks() const;

  // Dependencies.
  const DeviceId id_;
  const std::unique_ptr<File> file_;
  // Constant after construction.
  const Superblock superblock_;
  const uint64_t capacity_blocks_;
  // Thread-safe by themselves.
  SpaceAllocator space_;
  DeviceCounters counters_;
  std::atomic<uint64_t> write_count_{0};         // writes that completed
  std::atomic<uint64_t> synced_write_count_{0};  // those that a barrier covers
  Mutex grow_mu_;  // one grower at a time; taken without any other lock
};

}  // namespace terrace::io
