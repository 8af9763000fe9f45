// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Conditions: names that were published before their file's bytes were durable.
//
// Role     A rename or link that publishes a file with undurable bytes leaves a conditional
//          entry: {name, inode, sequence it needs, predecessor or none}. The record goes into
//          the same batch as the directory entry, and a later commit that reaches the sequence
//          deletes it (closes the condition). Until then the predecessor stays allocated. After
//          a power loss recovery keeps what is complete and puts back the predecessor, or
//          nothing, where it is not (COMMIT-2 in docs/invariants.md). DESIGN: docs/architecture.md.
// Threads  Thread-safe; mu_ is a leaf lock. The in-memory index mirrors the condition table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

struct Condition {
  InodeId parent;       // the directory that holds the name
  uint64_t cookie = 0;  // the name's position in it (fs/meta/key_format.h)
  InodeId inode;        // the file published under the name
  Sequence needs;       // complete when the inode's durable sequence has reached this
  InodeId predecessor;  // the inode that had the name before; kNoInode: none
  bool operator==(const Condition&) const = default;
};

std::string EncodeCondition(const Condition& condition);  // without parent and cookie: the key
Result<Condition> DecodeCondition(std::string_view key, std::string_view value);

class Conditions {
 public:
  // Adds to the batch and to the index; the caller writes the batch while the inode's lock or
  // the names lock keeps others from deciding on the same name.
  void Open(MetaBatch& batch, const Condition& condition);
  // Removes the condition of a name (it moved, or was removed), if there is one.
  std::optional<Condition> CloseName(MetaBatch& batch, InodeId parent, uint64_t cookie);
  // Removes the conditions of `inode` that `durable` satisfies; returns them (their
  // predecessors may be freed once the batch is written).
  std::vector<Condition> CloseSatisfied(MetaBatch& batch, InodeId inode, Sequence durable);

  // Take Open or Close… back in the index, because the batch could not be written. The caller
  // still holds what it held then.
  void UndoOpen(const Condition& condition);
  void UndoClose(const Condition& condition);

  std::optional<Condition> AtName(InodeId parent, uint64_t cookie) const;
  std::vector<Condition> InDirectory(InodeId parent) const;
  bool IsPredecessor(InodeId inode) const;  // of any open condition
  // The highest sequence that an open condition of `inode` needs; Sequence(): none.
  Sequence NeededOf(InodeId inode) const;
  size_t size() const;

 private:
  struct NameKey {
    InodeId parent;
    uint64_t cookie;
    bool operator==(const NameKey&) const = default;
  };
  struct NameKeyHash {
    size_t operator()(const NameKey& key) const {
      return std::hash<InodeId>()(key.parent) ^ (key.cookie * 0x9E3779B97F4A7C15ull);
    }
  };
  void RememberLocked(const Condition& condition) TERRACE_REQUIRES(mu_);
  void ForgetLocked(const Condition& condition) TERRACE_REQUIRES(mu_);

  mutable Mutex mu_;
  std::unordered_map<NameKey, Condition, NameKeyHash> by_name_ TERRACE_GUARDED_BY(mu_);
  std::unordered_multimap<InodeId, NameKey> by_inode_ TERRACE_GUARDED_BY(mu_);
  std::unordered_multimap<InodeId, NameKey> by_directory_ TERRACE_GUARDED_BY(mu_);
  std::unordered_map<InodeId, uint32_t> predecessors_ TERRACE_GUARDED_BY(mu_);
};

}  // namespace terrace::fs
