// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/attribute_editor.h"

#include <sys/stat.h>

#include <optional>

#include "base/assert.h"
#include "fs/meta/key_format.h"

namespace terrace::fs {

namespace {

constexpr uint32_t kModeBits = 07777;

void Apply(const AttributeChange& change, int64_t now_ns, InodeRecord& record) {
  if (change.mode) record.mode = (record.mode & S_IFMT) | (*change.mode & kModeBits);
  if (change.uid) record.uid = *change.uid;
  if (change.gid) record.gid = *change.gid;
  const bool given_away = (change.uid || change.gid) && !change.mode && !S_ISDIR(record.mode);
  if (given_away || change.clear_suid_sgid) ClearSuidSgid(record.mode);
  if (change.atime_ns) record.atime_ns = *change.atime_ns;
  if (change.mtime_ns) record.mtime_ns = *change.mtime_ns;
  record.ctime_ns = change.ctime_ns.value_or(now_ns);
}

}  // namespace

AttributeEditor::AttributeEditor(MetaStore& meta, InodeTable& inodes, const Clock& clock)
    : meta_(meta), inodes_(inodes), clock_(clock) {}

Result<Attributes> AttributeEditor::Get(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  ReaderLock lock(inode->mu);
  return inode->AttributesLocked();
}

Result<Attributes> AttributeEditor::Set(InodeId id, const AttributeChange& change) {
  TERRACE_ASSERT(!change.size_bytes);
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  WriterLock lock(inode->mu);
  InodeRecord before = inode->record;
  Apply(change, clock_.WallNs(), inode->record);
  MetaBatch batch;
  Status written = change.mode ? FollowModeLocked(*inode, batch) : Status{};
  if (written) written = WriteRecordLocked(*inode, batch);
  if (!written) {
    inode->record = std::move(before);
    return tl::unexpected<Error>(std::move(written).error());
  }
  return inode->AttributesLocked();
}

Status AttributeEditor::WriteRecordLocked(Inode& inode, MetaBatch& batch) {
  batch.Put(Table::kInode, InodeKey(inode.id), EncodeInodeRecord(inode.StorableLocked()));
  TERRACE_TRY(meta_.Write(batch));
  if (inode.record.size_bytes == inode.durable_size_bytes) inode.record_dirty = false;
  return {};
}

}  // namespace terrace::fs
