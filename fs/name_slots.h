// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// NameSlots: the entries of one directory whose names have the same hash.
//
// Role     Hides what happens when names collide. Nearly always there is one entry or none, and
//          Load is one Get; slot 0 says whether it has siblings (fs/meta/key_format.h). Find,
//          Add, Set and Remove work in memory; Emit puts the difference into a batch.
// Owner    A local variable of one operation; the names lock keeps others away, if it changes.
// Threads  Not thread-safe.
// Errors   Load: kIo, kCorrupt. Add: kNoSpace (256 names of one hash).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

// The value of one key of the directory table.
struct StoredName {
  InodeId inode;
  uint32_t type = 0;          // S_IFMT bits
  bool has_siblings = false;  // slot 0: higher slots of the hash are in use
  std::string_view name;      // empty: a vacant slot 0
};

std::string EncodeStoredName(const StoredName& entry);
Result<StoredName> DecodeStoredName(std::string_view bytes);  // name points into bytes

class NameSlots {
 public:
  struct Entry {
    uint64_t cookie = 0;
    InodeId inode;
    uint32_t type = 0;
    bool operator==(const Entry&) const = default;
  };

  // cookie: any of the hash's cookies.
  static Result<NameSlots> Load(MetaStore& meta, InodeId parent, uint64_t cookie);

  bool IsFor(InodeId parent, uint64_t cookie) const;
  std::optional<Entry> Find(std::string_view name) const;
  std::optional<Entry> AtCookie(uint64_t cookie) const;
  // Returns: the new entry's cookie. Requires: the name is not there.
  Result<uint64_t> Add(std::string_view name, InodeId inode, uint32_t type);
  // Lets the name at `cookie` stand for another inode. Requires: it is there.
  void Set(uint64_t cookie, InodeId inode, uint32_t type);
  // Requires: it is there.
  void Remove(uint64_t cookie);
  void Emit(MetaBatch& batch) const;

 private:
  struct Slot {
    uint8_t number = 0;
    InodeId inode{};  // kNoInode: vacant or removed
    uint32_t type = 0;
    std::string name{};
    bool changed = false;
    bool stored = false;        // the store has a key for it
    bool had_siblings = false;  // as stored in slot 0
  };
  NameSlots(InodeId parent, uint64_t first_cookie) : parent_(parent), first_cookie_(first_cookie) {}
  Status AddStored(uint8_t number, std::string_view value);
  Slot& SlotAt(uint64_t cookie);
  Entry EntryOf(const Slot& slot) const;

  InodeId parent_;
  uint64_t first_cookie_;
  std::vector<Slot> slots_;  // ascending by number
};

}  // namespace terrace::fs
