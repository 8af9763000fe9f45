// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/inode_freer.h"

#include <sys/stat.h>

#include <memory>

#include "base/log.h"
#include "fs/file_data.h"
#include "fs/meta/key_format.h"
#include "fs/stored_map.h"
#include "fs/xattrs.h"

namespace terrace::fs {

namespace {

// Map entries, and attributes, of one batch.
constexpr size_t kEntriesPerBatchMax = 1024;

void LogFailure(InodeId inode, const Error& error) {
  LogError("freeing inode " + std::to_string(inode.value()) + ": " + Describe(error) +
           "; the next mount tries again");
}

}  // namespace

struct InodeFreer::Batch {
  MetaBatch meta;
  ExtentDeltas deltas;
  size_t entry_count = 0;
  std::vector<std::unique_ptr<FileData>> dropped;  // let go after the locks
  std::vector<InodeId> freed;                      // whose record goes with the batch

  bool IsFull() const { return entry_count >= kEntriesPerBatchMax; }
};

std::vector<InodeId> InodeFreer::FreeSome(std::span<const InodeId> inodes) {
  Result<std::vector<InodeId>> left = FreeSomeOf(inodes);
  if (left) return *std::move(left);
  if (inodes.size() == 1) {
    LogFailure(inodes.front(), left.error());
    return {};
  }
  std::vector<InodeId> all_left;  // one that fails does not keep the others
  for (const InodeId& inode : inodes) {
    for (InodeId one : FreeSome({&inode, 1})) all_left.push_back(one);
  }
  return all_left;
}

std::vector<InodeRef> InodeFreer::LoadAll(std::span<const InodeId> inodes) {
  std::vector<InodeRef> loaded;
  for (InodeId id : inodes) {
    Result<InodeRef> inode = inodes_.Get(id);
    if (inode) {
      loaded.push_back(std::move(*inode));
    } else if (inode.error().code != Errc::kNotFound) {
      LogFailure(id, inode.error());
    }
  }
  return loaded;
}

bool InodeFreer::IsNeededLocked(const Inode& inode) {
  return inode.record.nlink > 0 || inodes_.KnownToKernel(inode.id) ||
         conditions_.IsPredecessor(inode.id);
}

Result<bool> InodeFreer::CollectLocked(Inode& inode, Batch& batch) {
  if (batch.IsFull()) return false;
  // What was never committed has no map.
  if (S_ISREG(inode.record.mode) && inode.record.durable_sequence > Sequence()) {
    auto cursor =
        meta_.Scan(Table::kMap, InodeKey(inode.id), InodeKey(InodeId(inode.id.value() + 1)));
    for (; cursor->Valid() && !batch.IsFull(); cursor->Next(), batch.entry_count++) {
      batch.meta.Delete(Table::kMap, std::string(cursor->key()));
      TERRACE_ASSIGN_OR_RETURN(StoredEntry entry, DecodeStoredEntry(cursor->value()));
      batch.deltas.Change(entry.extent, -1);
    }
    TERRACE_TRY(cursor->status());
    if (cursor->Valid()) return false;
  }
  if (inode.record.has_xattrs) {
    TERRACE_ASSIGN_OR_RETURN(const bool more,
                             DeleteXattrs(meta_, batch.meta, inode.id, kEntriesPerBatchMax));
    if (more) return false;
  }
  batch.meta.Delete(Table::kInode, InodeKey(inode.id));
  batch.meta.Delete(Table::kOrphan, InodeKey(inode.id));
  return true;
}

Result<std::vector<InodeId>> InodeFreer::FreeSomeOf(std::span<const InodeId> inodes)
    TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  Batch batch;
  ExtentDeltas::Retired retired;
  std::vector<InodeId> left;
  {
    InodeLocks locks(LoadAll(inodes));
    std::vector<Inode*> begun;
    for (const InodeRef& inode : locks.inodes()) {
      if (IsNeededLocked(*inode)) continue;
      begun.push_back(inode.get());
      TERRACE_ASSIGN_OR_RETURN(const bool all, CollectLocked(*inode, batch));
      if (all) {
        batch.freed.push_back(inode->id);
      } else {
        left.push_back(inode->id);
      }
    }
    TERRACE_ASSIGN_OR_RETURN(retired, batch.deltas.Emit(meta_, batch.meta));
    TERRACE_TRY(meta_.Write(batch.meta));
    for (Inode* inode : begun) {
      batch.dropped.push_back(std::move(inode->data));
      inode->record_dirty = false;
      inode->data_sequence = inode->record.durable_sequence;
    }
  }
  batch.dropped.clear();
  for (const auto& [extent, record] : retired) cache_.Retire(extent, record);
  for (InodeId inode : batch.freed) inodes_.Drop(inode);
  return left;
}

}  // namespace terrace::fs
