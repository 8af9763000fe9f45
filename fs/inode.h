// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Inode: one inode in memory: its live attributes and, for a file whose data is in use, its map.
//
// Role     The live truth of an inode. `record` is what programs see; what the metadata store
//          holds can be older in size, times and map until write-back commits.
// Owner    InodeTable and whoever works on it: shared, because the table may drop an inode that
//          a late completion still holds. At most one Inode object per id exists.
// Threads  Everything mutable is guarded by mu. Whoever writes the inode's record to the
//          MetaStore holds mu exclusively from reading the fields until Write returned, so that
//          records arrive in order. Lock order: docs/concurrency.md.
#pragma once

#include <memory>

#include "base/ids.h"
#include "base/mutex.h"
#include "fs/attributes.h"
#include "fs/inode_record.h"

namespace terrace::fs {

struct FileData;  // extent map, tails and dirty state of a regular file: fs/file_data.h

struct Inode {
  explicit Inode(InodeRecord initial);
  ~Inode();
  Inode(const Inode&) = delete;
  Inode& operator=(const Inode&) = delete;

  const InodeId id;

  mutable SharedMutex mu;
  InodeRecord record TERRACE_GUARDED_BY(mu);
  // The size that the metadata store has; record.size_bytes may be ahead of it.
  uint64_t durable_size_bytes TERRACE_GUARDED_BY(mu);
  // The last accepted change of the file's bytes; all of it is committed when
  // record.durable_sequence has reached it.
  Sequence data_sequence TERRACE_GUARDED_BY(mu);
  // Times or the like differ from what the metadata store has.
  bool record_dirty TERRACE_GUARDED_BY(mu) = false;
  // A call promised that the bytes which the metadata store names survive a power loss: fsync, or
  // a close that write-back has followed up. A rename must not give them up (fs/names_rename.cc).
  bool durable_bytes_promised TERRACE_GUARDED_BY(mu);
  std::unique_ptr<FileData> data TERRACE_GUARDED_BY(mu);

  bool DataIsDurableLocked() const TERRACE_REQUIRES_SHARED(mu) {
    return record.durable_sequence >= data_sequence;
  }
  // Whether the metadata store has everything of it and no handle is open.
  bool IsIdleLocked() const TERRACE_REQUIRES_SHARED(mu);
  Attributes AttributesLocked() const TERRACE_REQUIRES_SHARED(mu);
  // The record as the metadata store may hold it now: with the durable size.
  InodeRecord StorableLocked() const TERRACE_REQUIRES_SHARED(mu);
};

using InodeRef = std::shared_ptr<Inode>;

}  // namespace terrace::fs
