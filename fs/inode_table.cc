// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// One shard: a map from id to Inode, a list of ids by last use, and the look-up counts.
//
// An inode is idle when only the table refers to it and the metadata store has everything of it.
// Whoever inserts examines a few of the least recently used ones; idle ones go, others move to
// the front, so that no caller ever walks over many dirty ones.
//
// Loading happens without the shard's lock, by one thread per inode: a second one waits, so that
// no thread can insert a record that it read before another loaded, changed and dropped the inode.
#include "fs/inode_table.h"

#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "fs/lookup_counts.h"
#include "fs/meta/key_format.h"

namespace terrace::fs {

namespace {

constexpr size_t kExaminedPerInsertMax = 8;

// Whether the metadata store has everything of an inode that only the table refers to.
bool IsIdle(const InodeRef& ref) {
  if (ref.use_count() != 1) return false;
  Inode& inode = *ref;
  if (!inode.mu.TryLock()) return false;
  const bool idle = inode.IsIdleLocked();
  inode.mu.Unlock();
  return idle;
}

}  // namespace

struct InodeTable::Shard {
  struct Slot {
    InodeRef inode;
    std::list<InodeId>::iterator use;
  };

  Mutex mu;
  CondVar loaded;
  std::unordered_map<InodeId, Slot> slots TERRACE_GUARDED_BY(mu);
  std::list<InodeId> by_use TERRACE_GUARDED_BY(mu);  // most recently used first
  // Being loaded; true: dropped meanwhile.
  std::unordered_map<InodeId, bool> loading TERRACE_GUARDED_BY(mu);
  LookupCounts lookups TERRACE_GUARDED_BY(mu);

  InodeRef FindLocked(InodeId id) TERRACE_REQUIRES(mu) {
    auto found = slots.find(id);
    if (found == slots.end()) return nullptr;
    by_use.splice(by_use.begin(), by_use, found->second.use);
    return found->second.inode;
  }

  void InsertLocked(InodeRef inode) TERRACE_REQUIRES(mu) {
    by_use.push_front(inode->id);
    const InodeId id = inode->id;
    const bool is_new = slots.emplace(id, Slot{std::move(inode), by_use.begin()}).second;
    TERRACE_ASSERT(is_new);
  }

  // Takes idle inodes out while there are more than `inodes_max`, examining at most
  // `examined_max`. They are handed out, so that they are destroyed without the lock.
  void TakeIdleLocked(size_t inodes_max, size_t examined_max, std::vector<InodeRef>& out)
      TERRACE_REQUIRES(mu) {
    for (size_t i = 0; i < examined_max && slots.size() > inodes_max; i++) {
      auto oldest = std::prev(by_use.end());
      auto slot = slots.find(*oldest);
      if (IsIdle(slot->second.inode)) {
        out.push_back(std::move(slot->second.inode));
        slots.erase(slot);
        by_use.erase(oldest);
      } else {
        by_use.splice(by_use.begin(), by_use, oldest);
      }
    }
  }
};

InodeTable::InodeTable(MetaStore& meta, size_t idle_inodes_max)
    : meta_(meta), idle_per_shard_max_((idle_inodes_max + kShards - 1) / kShards) {
  for (auto& shard : shards_) shard = std::make_unique<Shard>();
}

InodeTable::~InodeTable() = default;

InodeTable::Shard& InodeTable::ShardOf(InodeId id) { return *shards_[id.value() % kShards]; }

Result<InodeRecord> InodeTable::Load(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> stored,
                           meta_.Get(Table::kInode, InodeKey(id)));
  if (!stored) return Fail(Errc::kNotFound, "inode " + std::to_string(id.value()));
  return DecodeInodeRecord(id, *stored);
}

Result<InodeRef> InodeTable::Get(InodeId id) {
  Shard& shard = ShardOf(id);
  {
    MutexLock lock(shard.mu);
    while (true) {
      if (InodeRef inode = shard.FindLocked(id)) return inode;
      if (shard.loading.emplace(id, false).second) break;
      shard.loaded.Wait(shard.mu);
    }
  }
  Result<InodeRecord> record = Load(id);
  std::vector<InodeRef> dropped;  // destroyed after the lock is released
  MutexLock lock(shard.mu);
  const bool freed = shard.loading.extract(id).mapped();
  shard.loaded.NotifyAll();
  if (!record) return tl::unexpected<Error>(std::move(record).error());
  if (freed) return Fail(Errc::kNotFound, "inode " + std::to_string(id.value()));
  auto inode = std::make_shared<Inode>(std::move(*record));
  shard.InsertLocked(inode);
  shard.TakeIdleLocked(idle_per_shard_max_, kExaminedPerInsertMax, dropped);
  return inode;
}

InodeRef InodeTable::Peek(InodeId id) {
  Shard& shard = ShardOf(id);
  MutexLock lock(shard.mu);
  return shard.FindLocked(id);
}

InodeRef InodeTable::Insert(InodeRecord record) {
  auto inode = std::make_shared<Inode>(std::move(record));
  Shard& shard = ShardOf(inode->id);
  std::vector<InodeRef> dropped;  // destroyed after the lock is released
  MutexLock lock(shard.mu);
  // Somebody asked for the id before it was handed out: no such inode then.
  if (auto loading = shard.loading.find(inode->id); loading != shard.loading.end()) {
    loading->second = true;
  }
  shard.InsertLocked(inode);
  shard.TakeIdleLocked(idle_per_shard_max_, kExaminedPerInsertMax, dropped);
  return inode;
}

void InodeTable::Drop(InodeId id) {
  Shard& shard = ShardOf(id);
  InodeRef dropped;  // destroyed after the lock is released
  MutexLock lock(shard.mu);
  if (auto loading = shard.loading.find(id); loading != shard.loading.end()) {
    loading->second = true;
  }
  auto found = shard.slots.find(id);
  if (found == shard.slots.end()) return;
  dropped = std::move(found->second.inode);
  shard.by_use.erase(found->second.use);
  shard.slots.erase(found);
}

void InodeTable::CountLookup(InodeId id) {
  Shard& shard = ShardOf(id);
  MutexLock lock(shard.mu);
  shard.lookups.Add(id);
}

bool InodeTable::Forget(InodeId id, uint64_t count) {
  Shard& shard = ShardOf(id);
  MutexLock lock(shard.mu);
  return shard.lookups.Subtract(id, count) == 0;
}

bool InodeTable::KnownToKernel(InodeId id) {
  Shard& shard = ShardOf(id);
  MutexLock lock(shard.mu);
  return shard.lookups.CountOf(id) > 0;
}

void InodeTable::ForEach(const std::function<void(const InodeRef&)>& visit) {
  std::vector<InodeRef> inodes;
  for (auto& shard : shards_) {
    {
      MutexLock lock(shard->mu);
      inodes.reserve(shard->slots.size());
      for (const auto& [id, slot] : shard->slots) inodes.push_back(slot.inode);
    }
    for (const InodeRef& inode : inodes) visit(inode);
    inodes.clear();
  }
}

size_t InodeTable::size() {
  size_t inodes = 0;
  for (auto& shard : shards_) {
    MutexLock lock(shard->mu);
    inodes += shard->slots.size();
  }
  return inodes;
}

void InodeTable::DropIdle() {
  for (auto& shard : shards_) {
    std::vector<InodeRef> dropped;  // destroyed after the lock is released
    MutexLock lock(shard->mu);
    shard->TakeIdleLocked(idle_per_shard_max_, shard->slots.size(), dropped);
  }
}

void InodeTable::CheckInvariants() {
  for (size_t i = 0; i < kShards; i++) {
    Shard& shard = *shards_[i];
    MutexLock lock(shard.mu);
    // INODE-1: each id has one slot, the slot has its inode, and the order of use has it once.
    TERRACE_ASSERT(shard.slots.size() == shard.by_use.size());
    for (const auto& [id, slot] : shard.slots) {
      TERRACE_ASSERT(slot.inode != nullptr);
      TERRACE_ASSERT(slot.inode->id == id);
      TERRACE_ASSERT(*slot.use == id);
      TERRACE_ASSERT(id.value() % kShards == i);
    }
  }
}

}  // namespace terrace::fs
