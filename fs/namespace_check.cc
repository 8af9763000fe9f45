// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/namespace_check.h"

#include <sys/stat.h>

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "fs/conditions.h"
#include "fs/inode_record.h"
#include "fs/meta/key_format.h"
#include "fs/name_slots.h"

namespace terrace::fs {

namespace {

class Checker {
 public:
  Checker(MetaStore& meta, uint64_t seed) : meta_(meta), seed_(seed) {}

  Result<std::vector<std::string>> Run() {
    TERRACE_TRY(Visit(Table::kInode, [this](auto key, auto value) { AddInode(key, value); }));
    TERRACE_TRY(Visit(Table::kDentry, [this](auto key, auto value) { AddEntry(key, value); }));
    TERRACE_TRY(Visit(Table::kOrphan, [this](auto key, auto) { AddOrphan(key); }));
    TERRACE_TRY(
        Visit(Table::kCondition, [this](auto key, auto value) { CheckCondition(key, value); }));
    CheckSlots();
    for (const auto& [id, known] : inodes_) {
      CheckLinks(id, known);
      CheckAncestors(id, known);
    }
    return std::move(findings_);
  }

 private:
  struct Known {
    uint32_t type = 0;
    uint32_t nlink = 0;
    InodeId parent;
    uint32_t names = 0;
    uint32_t subdirectories = 0;
    bool is_orphan = false;
    InodeId named_in;  // directories: where its entry is
  };
  // What was seen of the slots of one hash.
  struct Slots {
    bool has_first = false;
    bool flagged = false;
    bool vacant = false;
    uint32_t higher = 0;
  };

  template <typename Visitor>
  Status Visit(Table table, Visitor visitor) {
    auto cursor = meta_.Scan(table, {}, {});
    for (; cursor->Valid(); cursor->Next()) visitor(cursor->key(), cursor->value());
    return cursor->status();
  }

  void Find(InodeId inode, const std::string& what) {
    findings_.push_back("inode " + std::to_string(inode.value()) + ": " + what);
  }

  void AddInode(std::string_view key, std::string_view value) {
    if (key.size() != 8) return Find(kNoInode, "key of a record has the wrong size");
    const InodeId id(ReadBigEndian64(key));
    Result<InodeRecord> record = DecodeInodeRecord(id, value);
    if (!record) return Find(id, record.error().context);
    Known& known = inodes_[id];
    known.type = record->mode & S_IFMT;
    known.nlink = record->nlink;
    known.parent = record->parent;
  }

  void AddEntry(std::string_view key, std::string_view value) {
    if (key.size() != 16) return Find(kNoInode, "key of an entry has the wrong size");
    const InodeId parent(ReadBigEndian64(key));
    const uint64_t cookie = ReadBigEndian64(key.substr(8));
    Result<StoredName> entry = DecodeStoredName(value);
    if (!entry) return Find(parent, entry.error().context);
    Slots& slots = slots_[std::string(key.substr(0, 15))];
    if ((cookie & 0xff) != 0) {
      slots.higher++;
    } else {
      slots = {.has_first = true, .flagged = entry->has_siblings, .vacant = entry->name.empty()};
    }
    if (entry->name.empty()) return;
    const std::string name(entry->name);
    if (NameCookie(name, seed_) != (cookie & ~uint64_t{0xff})) {
      Find(parent, "entry " + name + " stands at the wrong position");
    }
    auto directory = inodes_.find(parent);
    if (directory == inodes_.end() || directory->second.type != S_IFDIR) {
      return Find(parent, "has the entry " + name + " but is no directory");
    }
    auto found = inodes_.find(entry->inode);
    if (found == inodes_.end()) return Find(parent, "entry " + name + " names a missing inode");
    if (found->second.type != entry->type) Find(parent, "entry " + name + " has another type");
    found->second.names++;
    if (entry->type != S_IFDIR) return;
    directory->second.subdirectories++;
    found->second.named_in = parent;
  }

  void AddOrphan(std::string_view key) {
    if (key.size() != 8) return Find(kNoInode, "key of an orphan has the wrong size");
    const InodeId id(ReadBigEndian64(key));
    auto found = inodes_.find(id);
    if (found == inodes_.end()) return Find(id, "is an orphan without a record");
    found->second.is_orphan = true;
  }

  void CheckCondition(std::string_view key, std::string_view value) {
    Result<Condition> condition = DecodeCondition(key, value);
    if (!condition) return Find(kNoInode, condition.error().context);
    Result<NameSlots> slots = NameSlots::Load(meta_, condition->parent, condition->cookie);
    if (!slots) return Find(condition->parent, slots.error().context);
    const auto entry = slots->AtCookie(condition->cookie);
    if (!entry || entry->inode != condition->inode) {
      Find(condition->inode, "has a condition for a name that it does not have");
    }
    if (condition->predecessor != kNoInode && !inodes_.contains(condition->predecessor)) {
      Find(condition->predecessor, "is a predecessor without a record");
    }
  }

  void CheckSlots() {
    for (const auto& [key, slots] : slots_) {
      const InodeId parent(ReadBigEndian64(key));
      if (!slots.has_first) Find(parent, "higher slots of a hash without slot 0");
      if (slots.flagged != (slots.higher > 0)) Find(parent, "slot 0 tells the wrong siblings");
      if (slots.vacant && slots.higher == 0) Find(parent, "vacant slot 0 without siblings");
    }
  }

  void CheckLinks(InodeId id, const Known& known) {
    const bool is_directory = known.type == S_IFDIR;
    const bool has_name = known.names > 0 || id == kRootInode;
    uint32_t expected = known.names;  // NAMES-1
    if (is_directory) expected = has_name ? 2 + known.subdirectories : 0;
    if (known.nlink != expected) {
      Find(id,
           "nlink is " + std::to_string(known.nlink) + ", expected " + std::to_string(expected));
    }
    if (is_directory && known.names > 1) Find(id, "directory with several names");
    if (!has_name && !known.is_orphan) Find(id, "has no name and is no orphan");  // NAMES-2
    if (has_name && known.is_orphan) Find(id, "has a name and is an orphan");
  }

  void CheckAncestors(InodeId id, const Known& known) {
    if (known.type != S_IFDIR || known.is_orphan || id == kRootInode) return;
    if (known.parent != known.named_in) Find(id, "its parent is not where its name is");
    InodeId at = id;
    for (size_t steps = 0; at != kRootInode; steps++) {
      auto found = inodes_.find(at);
      if (steps > inodes_.size() || found == inodes_.end()) {
        return Find(id, "is not below the root");  // NAMES-3
      }
      at = found->second.named_in;
    }
  }

  MetaStore& meta_;
  const uint64_t seed_;
  std::unordered_map<InodeId, Known> inodes_;
  std::unordered_map<std::string, Slots> slots_;
  std::vector<std::string> findings_;
};

}  // namespace

Result<std::vector<std::string>> CheckNamespace(MetaStore& meta, uint64_t name_hash_seed) {
  return Checker(meta, name_hash_seed).Run();
}

}  // namespace terrace::fs
