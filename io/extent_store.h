// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ExtentStore: extents on all devices of a store: placement, writing, reading, verification.
//
// Role     Places consecutive extents of a batch on different devices, packs small ones into
//          one large vectored write per device, computes XXH3-64 per 64 KiB when writing and
//          verifies it on every read. Never overwrites in place: space comes from the devices'
//          allocators. Knows no tiers, files or policies; an inode is an opaque id.
// Owner    fs/open builds it; cache/ uses it.
// Threads  Thread-safe. Callbacks: see io/file.h.
// Errors   kNoSpace, kIo, kCorrupt (checksum mismatch: counted and logged with device and
//          block; the caller adds file and offset).
//
// Invariants (tests/io/extent_store_test.cc)
//   STORE-1  Blocks of a failed batch are free again, and none of its records was filled in.
//   STORE-2  A read hands out only bytes whose checksum matches the record.
//   STORE-3  What was reserved fits on the devices as they are, in extents of any size.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "io/barrier.h"
#include "io/device.h"
#include "io/extent_format.h"

namespace terrace::io {

// One extent on its way to a device.
struct ExtentWrite {
  // In: memory of BlockCount(size_bytes) whole blocks, block-aligned; WriteBatch zeroes the
  // padding of the last block. Stays valid and unchanged until the callback.
  std::byte* data = nullptr;
  uint32_t size_bytes = 0;
  ExtentId id;
  InodeId inode;
  uint64_t file_offset = 0;
  Sequence sequence;
  // Out: device, runs and checksums (reference_count stays 0).
  ExtentRecord record;
};

struct DeviceStatus {
  std::string path;
  uint64_t size_bytes;
  uint64_t used_bytes;
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t errors;
};

class ExtentStore {
 public:
  using WriteDone = std::function<void(std::vector<ExtentWrite> batch, Status status)>;

  explicit ExtentStore(std::vector<std::unique_ptr<Device>> devices);
  // Waits for everything in flight (see File).
  ~ExtentStore();
  ExtentStore(const ExtentStore&) = delete;
  ExtentStore& operator=(const ExtentStore&) = delete;

  size_t device_count() const { return devices_.size(); }
  Device& device(DeviceId id) { return *devices_[id.value()]; }

  // Space for accepted bytes, so that none is accepted that can't be kept: data files grow now
  // if they must. What was placed counts twice until its Unreserve. Errors: kNoSpace.
  Status Reserve(uint64_t block_count);
  void Unreserve(uint64_t block_count);

  // Places, checksums and writes a batch on all devices at once. On error every block of the
  // batch is free again and no record may be used. Reservations stay the caller's.
  void WriteBatch(std::vector<ExtentWrite> batch, WriteDone done);

  // Reads checksum blocks [first, first + count) of the extent into `into` (whole blocks of
  // 4 KiB, block-aligned), verified.
  void Read(const ExtentRecord& record, uint32_t first_checksum_block,
            uint32_t checksum_block_count, std::byte* into, IoDone done);

  // Barrier: fdatasync of every device that received data since the last barrier, in parallel;
  // callers beside each other share one. A commit compares failed_barriers() from before its
  // WriteBatch with that after its Sync: if it changed, the batch must be written again, because
  // the host reports a lost write once, to one barrier (see io/barrier.h).
  Status Sync();
  uint64_t failed_barriers() const { return barrier_.failure_count(); }

  // See SpaceAllocator; for all devices.
  Status MarkAllocated(const ExtentRecord& record);
  void FreeUncommitted(const ExtentRecord& record);
  // The same for an extent that is to be written again: as many blocks are reserved for it anew.
  void FreeForRewrite(const ExtentRecord& record);
  void FreeAwaiting(const ExtentRecord& record);
  uint64_t SealAwaiting();
  void Release(uint64_t ticket);

  void RegisterMemory(std::byte* base, size_t size_bytes);

  std::vector<DeviceStatus> Statuses() const;
  uint64_t capacity_bytes() const;
  uint64_t free_bytes() const;  // free now, reservations not subtracted
  uint64_t reserved_bytes() const;

 private:
  uint64_t FreeBlocksNow() const;
  bool GrowSomeDevice(uint64_t block_count);

  // Constant after construction.
  const std::vector<std::unique_ptr<Device>> devices_;
  Barrier barrier_;
  // Touched by any thread.
  std::atomic<uint64_t> stripe_cursor_{0};
  std::atomic<uint64_t> reserved_blocks_{0};
  // Keeps the tickets of all devices equal; taken before an allocator's lock.
  Mutex seal_mu_;
};

}  // namespace terrace::io
