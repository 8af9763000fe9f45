// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// A whole volume for tests: on devices and metadata in memory, which outlive a mount and can lose
// power, or on RocksDB and real files.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_latch.h"
#include "fs/meta/faulty_meta_store.h"
#include "fs/meta/memory_meta_store.h"
#include "fs/volume.h"
#include "tests/support/cache_fixture.h"
#include "tests/support/io_support.h"

namespace terrace::fs {

using cache::PatternOf;

class TestVolume {
 public:
  struct Options {
    size_t device_count = 1;
    uint64_t device_size_bytes = 128 * kMiB;
    uint64_t pool_bytes = 32 * kMiB;
    uint64_t write_back_delay_ms = 3'600'000;  // nothing becomes durable by itself
    double dirty_high_water = 0.8;
    bool real = false;  // RocksDB and UringFile, in a temporary directory
  };
  // How many of the unsynced metadata batches a power loss keeps.
  using ChooseKept = std::function<size_t(size_t unsynced)>;

  TestVolume() : TestVolume(Options{}) {}
  explicit TestVolume(const Options& options);
  ~TestVolume();
  TestVolume(const TestVolume&) = delete;
  TestVolume& operator=(const TestVolume&) = delete;

  Volume& operator*() { return *volume_; }
  Volume* operator->() { return volume_.get(); }
  Files& files() { return volume_->files(); }
  Names& names() { return volume_->names(); }

  void Mount();
  Status Unmount();
  void Remount();
  // Everything that was not synced is gone, but for what `choose` keeps; then mounts again.
  // Requires: in memory.
  void LosePower(const ChooseKept& choose = [](size_t) { return size_t{0}; });

  // Requires: in memory.
  io::MemoryFile& memory(size_t device = 0) { return *disks_[device].memory; }
  io::FaultyFile& fault(size_t device = 0) { return *disks_[device].faulty; }
  FaultyMetaStore& meta_fault() { return *meta_fault_; }
  // Runs before each batch of this mount is written, on the writer's thread and under its locks.
  void SetBeforeMetaWrite(std::function<void(const MetaBatch&)> before_write);
  MetaStore& meta() { return *meta_view_; }

  InodeId Create(std::string_view name, InodeId parent = kRootInode);
  Result<InodeId> Lookup(std::string_view name, InodeId parent = kRootInode);
  // Removes the name, and the kernel's knowledge of it.
  Status Remove(std::string_view name, InodeId inode);
  Status Rename(std::string_view from, std::string_view to);

  // In WRITEs and READs of at most 1 MiB.
  Status Write(InodeId inode, uint64_t offset, std::string_view bytes);
  Result<std::string> Read(InodeId inode, uint64_t offset, uint64_t size_bytes);
  Result<std::string> ReadAll(InodeId inode);
  // The content of a file, or why there is none: "not found".
  std::string Content(std::string_view name);
  Status Sync(InodeId inode);
  Status SyncDirectory(InodeId inode);
  Status FlushAll();
  uint64_t SizeOf(InodeId inode);
  size_t CommittedEntries(InodeId inode);
  size_t RowsOf(Table table);
  // Unmounts, compares what the metadata says with itself and with the devices' free space, and
  // mounts again: every extent is named as often as it says, nothing else is allocated.
  void CheckConsistency();
  uint64_t DirtyBytes() { return volume_->GetStatus().dram.dirty_bytes; }

 private:
  class Gate;
  class GatedFile;
  class GatedMeta;
  struct Disk {
    std::shared_ptr<io::FaultyFile> faulty;
    io::MemoryFile* memory;
  };

  void CheckReferences(MetaStore& meta, uint64_t& used_blocks);
  std::unique_ptr<io::ExtentStore> OpenStore();
  std::unique_ptr<MetaStore> OpenMeta();
  void TrackMeta(std::unique_ptr<MemoryMetaStore> meta);

  const Options options_;
  std::shared_ptr<Gate> gate_;  // of the present mount
  std::vector<Disk> disks_;
  std::unique_ptr<MemoryMetaStore> memory_meta_;
  std::unique_ptr<FaultyMetaStore> meta_fault_;
  std::unique_ptr<io::IoTempDirectory> directory_;  // real
  bool fresh_ = true;
  MetaStore* meta_view_ = nullptr;  // of the present mount
  std::unique_ptr<Volume> volume_;
};

}  // namespace terrace::fs
