// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Names: making inodes and links.

#include <sys/stat.h>

#include "fs/attribute_editor.h"
#include "fs/meta/key_format.h"
#include "fs/name_rules.h"
#include "fs/name_slots.h"
#include "fs/names.h"
#include "fs/namespace_change.h"

namespace terrace::fs {

namespace {

constexpr uint32_t kModeBits = 07777;
constexpr size_t kSymlinkSizeMax = 4095;  // bytes

Status CheckSpec(const NodeSpec& spec) {
  switch (spec.mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK: return {};
    case S_IFLNK:
      if (spec.symlink_target.empty()) return Fail(Errc::kNotFound, "empty symbolic link");
      if (spec.symlink_target.size() > kSymlinkSizeMax) {
        return Fail(Errc::kNameTooLong, "target of a symbolic link");
      }
      return {};
    default: return Fail(Errc::kInvalid, "type of the new inode");
  }
}

InodeRecord NewRecord(InodeId id, const NodeSpec& spec, Caller caller, const InodeRecord& parent,
                      int64_t now_ns) {
  const bool inherits_group = (parent.mode & S_ISGID) != 0;
  InodeRecord record{.id = id,
                     .mode = spec.mode & (S_IFMT | kModeBits),
                     .nlink = 1,
                     .uid = caller.uid,
                     .gid = inherits_group ? parent.gid : caller.gid,
                     .atime_ns = now_ns,
                     .mtime_ns = now_ns,
                     .ctime_ns = now_ns,
                     .btime_ns = now_ns};
  if (S_ISDIR(spec.mode)) {
    record.nlink = 2;
    record.size_bytes = kDirectorySizeBytes;
    record.allocated_bytes = kDirectorySizeBytes;
    record.parent = parent.id;
    if (inherits_group) record.mode |= S_ISGID;
  } else if (S_ISLNK(spec.mode)) {
    record.size_bytes = spec.symlink_target.size();
    record.symlink_target = spec.symlink_target;
  } else if (S_ISCHR(spec.mode) || S_ISBLK(spec.mode)) {
    record.rdev = spec.rdev;
  }
  return record;
}

}  // namespace

Result<Attributes> Names::Make(InodeId parent, std::string_view name, const NodeSpec& spec,
                               Caller caller) {
  TERRACE_TRY(CheckName(name));
  if (IsDot(name) || IsDotDot(name)) return Fail(Errc::kExists, std::string(name));
  TERRACE_TRY(CheckSpec(spec));
  // Before the lock, because it may wait for a reservation.
  TERRACE_ASSIGN_OR_RETURN(const InodeId id, deps_.ids.NextInode());

  MutexLock lock(names_mu_);
  TERRACE_ASSIGN_OR_RETURN(const InodeRef directory, deps_.inodes.Get(parent));
  TERRACE_ASSIGN_OR_RETURN(NameSlots slots, LoadSlots(parent, name));
  if (slots.Find(name)) return Fail(Errc::kExists, std::string(name));

  NamespaceChange change(deps_.meta, deps_.conditions, {directory});
  TERRACE_TRY(CheckTakesName(change.Look(directory), S_ISDIR(spec.mode)));
  const int64_t now_ns = deps_.clock.WallNs();
  InodeRecord made = NewRecord(id, spec, caller, change.Look(directory), now_ns);
  TERRACE_TRY(
      InheritAcl(deps_.meta, change.Look(directory), caller.umask, made, change.batch()));
  TERRACE_TRY(slots.Add(name, id, made.mode));
  slots.Emit(change.batch());
  change.batch().Put(Table::kInode, InodeKey(id), EncodeInodeRecord(made));
  InodeRecord& directory_record = change.Edit(directory);
  TouchDirectory(directory_record, now_ns);
  if (S_ISDIR(made.mode)) directory_record.nlink++;

  // In memory first: once the entry is written, others find the inode.
  const Attributes attributes = AttributesOf(made);
  deps_.inodes.Insert(std::move(made));
  deps_.inodes.CountLookup(id);
  Status committed = change.Commit();
  if (!committed) {
    deps_.inodes.Forget(id, 1);
    deps_.inodes.Drop(id);
    return tl::unexpected<Error>(std::move(committed).error());
  }
  return attributes;
}

Result<Attributes> Names::MakeNameless(InodeId parent, uint32_t mode, Caller caller) {
  TERRACE_ASSIGN_OR_RETURN(const InodeId id, deps_.ids.NextInode());

  MutexLock lock(names_mu_);
  TERRACE_ASSIGN_OR_RETURN(const InodeRef directory, deps_.inodes.Get(parent));
  NamespaceChange change(deps_.meta, deps_.conditions, {directory});
  TERRACE_TRY(CheckTakesName(change.Look(directory), /*adds_directory=*/false));
  const NodeSpec spec{.mode = S_IFREG | (mode & kModeBits)};
  InodeRecord made = NewRecord(id, spec, caller, change.Look(directory), deps_.clock.WallNs());
  made.nlink = 0;
  TERRACE_TRY(
      InheritAcl(deps_.meta, change.Look(directory), caller.umask, made, change.batch()));
  change.batch().Put(Table::kInode, InodeKey(id), EncodeInodeRecord(made));
  change.batch().Put(Table::kOrphan, InodeKey(id), {});
  const Attributes attributes = AttributesOf(made);
  TERRACE_TRY(change.Commit());
  deps_.inodes.Insert(std::move(made));
  deps_.inodes.CountLookup(id);
  NoteNameless(id, /*linkable=*/true);
  return attributes;
}

Result<Attributes> Names::Link(InodeId inode, InodeId new_parent, std::string_view new_name) {
  TERRACE_TRY(CheckName(new_name));
  if (IsDot(new_name) || IsDotDot(new_name)) return Fail(Errc::kExists, std::string(new_name));

  MutexLock lock(names_mu_);
  TERRACE_ASSIGN_OR_RETURN(const InodeRef file, deps_.inodes.Get(inode));
  TERRACE_ASSIGN_OR_RETURN(const InodeRef directory, deps_.inodes.Get(new_parent));
  TERRACE_ASSIGN_OR_RETURN(NameSlots slots, LoadSlots(new_parent, new_name));
  if (slots.Find(new_name)) return Fail(Errc::kExists, std::string(new_name));

  NamespaceChange change(deps_.meta, deps_.conditions, {file, directory});
  TERRACE_TRY(CheckTakesName(change.Look(directory), /*adds_directory=*/false));
  const uint32_t mode = change.Look(file).mode;
  const uint32_t nlink = change.Look(file).nlink;
  if (S_ISDIR(mode)) return Fail(Errc::kPermission, "hard link to a directory");
  const bool was_nameless = nlink == 0;
  if (was_nameless && !IsLinkable(inode)) {
    return Fail(Errc::kNotFound, "the file has no name any more");
  }
  if (nlink >= kLinkCountMax) return Fail(Errc::kTooManyLinks, std::string(new_name));

  const int64_t now_ns = deps_.clock.WallNs();
  TERRACE_ASSIGN_OR_RETURN(const uint64_t cookie, slots.Add(new_name, inode, mode));
  slots.Emit(change.batch());
  InodeRecord& file_record = change.Edit(file);
  file_record.nlink++;
  file_record.ctime_ns = now_ns;
  TouchDirectory(change.Edit(directory), now_ns);
  if (was_nameless) change.batch().Delete(Table::kOrphan, InodeKey(inode));
  if (S_ISREG(mode) && !change.DataIsDurable(file)) {
    change.OpenCondition({.parent = new_parent,
                          .cookie = cookie,
                          .inode = inode,
                          .needs = change.DataSequence(file),
                          .predecessor = kNoInode});
  }
  TERRACE_TRY(change.Commit());
  if (was_nameless) {
    MutexLock nameless_lock(nameless_mu_);
    nameless_.erase(inode);
  }
  deps_.inodes.CountLookup(inode);
  return change.AttributesOf(file);
}

}  // namespace terrace::fs
