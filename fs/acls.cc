// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// POSIX access control lists: the part of AttributeEditor that deals with them. They are extended
// attributes whose change also changes the mode, and the other way round.
#include <sys/stat.h>

#include <optional>

#include "fs/attribute_editor.h"
#include "fs/meta/key_format.h"
#include "fs/posix_acl.h"

namespace terrace::fs {

namespace {

constexpr uint32_t kPermissionBits = 0777;

}  // namespace

Status AttributeEditor::SetAcl(InodeId id, std::string_view name, std::string_view value,
                               XattrFlags flags) {
  TERRACE_ASSIGN_OR_RETURN(const PosixAcl acl, PosixAcl::Parse(value));
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  WriterLock lock(inode->mu);
  InodeRecord before = inode->record;
  if (S_ISLNK(before.mode)) return Fail(Errc::kUnsupported, "access control list of a link");
  MetaBatch batch;
  if (name == kAccessAclName) {
    inode->record.mode = (before.mode & ~kPermissionBits) | acl.ModeBits();
    if (flags.clear_setgid) inode->record.mode &= ~uint32_t{S_ISGID};
  } else if (!S_ISDIR(before.mode)) {
    return Fail(Errc::kPermission, "default access control list of a file");
  }
  if (name == kAccessAclName && acl.EqualsMode()) {
    batch.Delete(Table::kXattr, XattrKey(id, name));
  } else {
    batch.Put(Table::kXattr, XattrKey(id, name), acl.Encode());
    inode->record.has_xattrs = true;
  }
  Status written = WriteXattrsLocked(*inode, batch);
  if (!written) inode->record = std::move(before);
  return written;
}

Status AttributeEditor::RemoveAcl(InodeId id, std::string_view name) {
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  WriterLock lock(inode->mu);
  MetaBatch batch;
  batch.Delete(Table::kXattr, XattrKey(id, name));
  return WriteXattrsLocked(*inode, batch);
}

Status AttributeEditor::FollowModeLocked(const Inode& inode, MetaBatch& batch) {
  if (!inode.record.has_xattrs || S_ISLNK(inode.record.mode)) return {};
  const std::string key = XattrKey(inode.id, kAccessAclName);
  TERRACE_ASSIGN_OR_RETURN(const std::optional<std::string> stored, meta_.Get(Table::kXattr, key));
  if (!stored) return {};
  TERRACE_ASSIGN_OR_RETURN(PosixAcl acl, PosixAcl::Parse(*stored));
  acl.SetModeBits(inode.record.mode);
  batch.Put(Table::kXattr, key, acl.Encode());
  return {};
}

Status InheritAcl(MetaStore& meta, const InodeRecord& directory, uint32_t umask,
                  InodeRecord& made, MetaBatch& batch) {
  if (S_ISLNK(made.mode)) return {};
  std::optional<std::string> stored;
  if (directory.has_xattrs) {
    TERRACE_ASSIGN_OR_RETURN(
        stored, meta.Get(Table::kXattr, XattrKey(directory.id, kDefaultAclName)));
  }
  if (!stored) {
    made.mode &= ~(umask & kPermissionBits);
    return {};
  }
  TERRACE_ASSIGN_OR_RETURN(PosixAcl acl, PosixAcl::Parse(*stored));
  acl.SetModeBits(acl.ModeBits() & made.mode);
  made.mode = (made.mode & ~kPermissionBits) | acl.ModeBits();
  if (!acl.EqualsMode()) {
    batch.Put(Table::kXattr, XattrKey(made.id, kAccessAclName), acl.Encode());
    made.has_xattrs = true;
  }
  if (S_ISDIR(made.mode)) {
    batch.Put(Table::kXattr, XattrKey(made.id, kDefaultAclName), *stored);
    made.has_xattrs = true;
  }
  return {};
}

}  // namespace terrace::fs
