// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/inode_freer.h"

#include "base/log.h"
#include "fs/file_data.h"
#include "fs/meta/key_format.h"
#include "fs/stored_map.h"
#include "fs/xattrs.h"

namespace terrace::fs {

namespace {

// Map entries, and attributes, of one batch.
constexpr size_t kEntriesPerBatchMax = 1024;

}  // namespace

bool InodeFreer::FreeSome(InodeId inode) {
  Result<bool> more = FreeSomeOf(inode);
  if (more) return *more;
  if (more.error().code != Errc::kNotFound) {
    LogError("freeing inode " + std::to_string(inode.value()) + ": " + Describe(more.error()) +
             "; the next mount tries again");
  }
  return false;
}

Result<bool> InodeFreer::FreeSomeOf(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, inodes_.Get(id));
  ExtentDeltas::Retired retired;
  std::unique_ptr<FileData> dropped;  // let go after the lock
  bool more = false;
  {
    WriterLock lock(inode->mu);
    bool needed =
        inode->record.nlink > 0 || inodes_.KnownToKernel(id) || conditions_.IsPredecessor(id);
    if (needed) return false;
    dropped = std::move(inode->data);
    MetaBatch batch;
    ExtentDeltas deltas;
    auto cursor = meta_.Scan(Table::kMap, InodeKey(id), InodeKey(InodeId(id.value() + 1)));
    size_t count = 0;
    for (; cursor->Valid() && count < kEntriesPerBatchMax; cursor->Next(), count++) {
      batch.Delete(Table::kMap, std::string(cursor->key()));
      TERRACE_ASSIGN_OR_RETURN(StoredEntry entry, DecodeStoredEntry(cursor->value()));
      deltas.Change(entry.extent, -1);
    }
    TERRACE_TRY(cursor->status());
    more = cursor->Valid();
    TERRACE_ASSIGN_OR_RETURN(retired, deltas.Emit(meta_, batch));
    if (!more) {
      TERRACE_ASSIGN_OR_RETURN(more, DeleteXattrs(meta_, batch, id, kEntriesPerBatchMax));
    }
    if (!more) {
      batch.Delete(Table::kInode, InodeKey(id));
      batch.Delete(Table::kOrphan, InodeKey(id));
    }
    TERRACE_TRY(meta_.Write(batch));
    inode->record_dirty = false;
    inode->data_sequence = inode->record.durable_sequence;
  }
  dropped.reset();
  for (const auto& [extent, record] : retired) cache_.Retire(extent, record);
  if (!more) inodes_.Drop(id);
  return more;
}

}  // namespace terrace::fs
