// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// StoredMap: the committed map of files in the metadata store, and how a batch changes it.
//
// Role     MapEdit collects changes to one inode's committed map over the entries that are there
//          (read once per touched range), so that a batch can replace the same entry many times;
//          ExtentDeltas sums up how often extents are named, over all inodes of a batch, and
//          finds the extents that nobody names any more.
// Threads  Not thread-safe: used under the inode's lock, which is held until the batch is
//          written. An extent that one inode alone names is safe under that lock, since sharing it
//          takes the lock of an inode that names it; records of shared ones are changed under
//          MetaStore::shared_extents_mu, which ExtentDeltas holds from Emit to its destruction.
// Errors   kCorrupt (an entry that does not decode, a missing extent record), kIo.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "fs/meta/meta_store.h"
#include "io/extent_format.h"

namespace terrace::fs {

// The value of the map table; the key is {inode, file offset}. Bytes: docs/format.md.
struct StoredEntry {
  uint32_t size = 0;           // bytes, 1 to kExtentSizeMax
  uint32_t extent_offset = 0;  // bytes
  ExtentId extent;
  bool operator==(const StoredEntry&) const = default;
};

std::string EncodeStoredEntry(const StoredEntry& entry);
Result<StoredEntry> DecodeStoredEntry(std::string_view bytes);

// A committed entry together with its extent's record.
struct LoadedEntry {
  uint64_t offset = 0;
  StoredEntry entry;
  io::ExtentRecord record;
};

// The whole committed map of an inode, in file order.
Result<std::vector<LoadedEntry>> LoadStoredMap(MetaStore& meta, InodeId inode);

class ExtentDeltas {
 public:
  ExtentDeltas() = default;
  ~ExtentDeltas() { Unlock(); }
  ExtentDeltas(const ExtentDeltas&) = delete;
  ExtentDeltas& operator=(const ExtentDeltas&) = delete;

  // The extent is new: its record goes into the batch with the count it ends up with.
  void AddNew(ExtentId extent, const io::ExtentRecord& record) { fresh_.emplace(extent, record); }
  void Change(ExtentId extent, int32_t by) { deltas_[extent] += by; }

  using Retired = std::vector<std::pair<ExtentId, io::ExtentRecord>>;
  // Writes the changed records into the batch, which is to be written while this object lives.
  // Returns the extents that nobody names any more. Once.
  Result<Retired> Emit(MetaStore& meta, MetaBatch& batch);

 private:
  struct Known;
  Result<std::vector<Known>> ReadKnown(MetaStore& meta) const;
  void Lock(Mutex& mu);
  void Unlock();

  Mutex* held_ = nullptr;
  std::unordered_map<ExtentId, io::ExtentRecord> fresh_;
  std::unordered_map<ExtentId, int32_t> deltas_;
};

class MapEdit {
 public:
  MapEdit(MetaStore& meta, InodeId inode) : meta_(meta), inode_(inode) {}

  // [offset, offset + entry.size) becomes the entry.
  Status Put(uint64_t offset, const StoredEntry& entry);
  // [offset, end) becomes a hole; UINT64_MAX: to the end of the map.
  Status Clear(uint64_t offset, uint64_t end);
  void Emit(MetaBatch& batch, ExtentDeltas& deltas) const;

  // Whether a committed entry that begins in [offset, end) named the extent before this edit.
  // Requires: Put or Clear touched the range.
  bool NamedBefore(ExtentId extent, uint64_t offset, uint64_t end) const;

 private:
  using Entries = std::map<uint64_t, StoredEntry>;
  Status Load(uint64_t offset, uint64_t end);
  void ClearLoaded(uint64_t offset, uint64_t end);

  MetaStore& meta_;
  const InodeId inode_;
  Entries before_;  // of the ranges in loaded_
  Entries after_;
  std::map<uint64_t, uint64_t> loaded_;  // start -> end, disjoint
};

}  // namespace terrace::fs
