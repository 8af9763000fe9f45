// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// MetaStore: ordered key-value tables with atomic batches; the seam that hides RocksDB.
//
// Role     Keeps all metadata of a store. RocksMetaStore is the real one, MemoryMetaStore lives
//          in memory, FaultyMetaStore decorates another with faults. Keys and values are bytes;
//          their formats are in fs/meta/key_format.h and the *_record.h files.
// Order    Batches are applied and logged in the order of their Write calls: after a power loss
//          a prefix of them is there. Write alone survives the death of the process, not of
//          the host; Sync makes everything written before it durable.
// Threads  Thread-safe. Reads see every Write that returned.
// Errors   kIo, kCorrupt (damaged tables: names the directory), kNoSpace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace terrace::fs {

enum class Table : uint8_t {
  kSystem,     // store id, format version, reservations of ids
  kInode,      // inode -> InodeRecord
  kDentry,     // parent, hash of name, slot -> name, inode, type
  kMap,        // inode, file offset -> length, extent, offset in the extent
  kExtent,     // extent -> io::ExtentRecord
  kXattr,      // inode, name -> value
  kOrphan,     // inode without a name, freed when the kernel forgets it
  kCondition,  // open conditional entries: see fs/condition.h
};
inline constexpr size_t kTableCount = 8;

class MetaBatch {
 public:
  struct Operation {
    Table table;
    bool is_delete;
    std::string key;
    std::string value;
  };
  void Put(Table table, std::string key, std::string value) {
    operations_.push_back({table, false, std::move(key), std::move(value)});
  }
  void Delete(Table table, std::string key) {
    operations_.push_back({table, true, std::move(key), {}});
  }
  bool empty() const { return operations_.empty(); }
  size_t size() const { return operations_.size(); }
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  std::vector<Operation> operations_;
};

// A position in one table, as of the moment it was made (a snapshot).
class MetaCursor {
 public:
  virtual ~MetaCursor() = default;
  virtual bool Valid() const = 0;  // false at the end and after an error
  virtual void Next() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual Status status() const = 0;  // why Valid() is false, if it is an error
};

class MetaStore {
 public:
  virtual ~MetaStore() = default;
  virtual Result<std::optional<std::string>> Get(Table table, std::string_view key) = 0;
  // Several keys of one table; answers in the order of the keys.
  virtual Result<std::vector<std::optional<std::string>>> GetMany(
      Table table, const std::vector<std::string>& keys) = 0;
  virtual Status Write(const MetaBatch& batch) = 0;
  virtual Status Sync() = 0;
  // Sync for an orderly end: afterwards nothing hangs on the log, whose end is believed to be where
  // it stops making sense, so that damage of it could not be told from a power loss.
  virtual Status EmptyLog() { return Sync(); }
  // At the first key >= begin; ends before `end` (empty: the end of the table).
  virtual std::unique_ptr<MetaCursor> Scan(Table table, std::string_view begin,
                                           std::string_view end) = 0;
  // At the last key <= key that is >= floor; not Valid() when there is none. Next() goes on up
  // to `end` (empty: the end of the table).
  virtual std::unique_ptr<MetaCursor> ScanFromFloor(Table table, std::string_view key,
                                                    std::string_view floor,
                                                    std::string_view end) = 0;

  // Held from reading to writing the record of an extent that several inodes name: the lock of one
  // of them does not keep the others away (fs/stored_map.h). A leaf but for the store itself.
  Mutex& shared_extents_mu() { return shared_extents_mu_; }

 private:
  Mutex shared_extents_mu_;
};

}  // namespace terrace::fs
