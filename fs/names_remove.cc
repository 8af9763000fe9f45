// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Names: removing files and directories.

#include <sys/stat.h>

#include "fs/meta/key_format.h"
#include "fs/name_rules.h"
#include "fs/name_slots.h"
#include "fs/names.h"
#include "fs/namespace_change.h"

namespace terrace::fs {

Status Names::Unlink(InodeId parent, std::string_view name) {
  TERRACE_TRY(CheckName(name));
  if (IsDot(name) || IsDotDot(name)) return Fail(Errc::kIsDirectory, std::string(name));
  return Retry([&](int attempt) { return TryUnlink(parent, name, attempt); });
}

Result<Names::Outcome> Names::TryUnlink(InodeId parent, std::string_view name, int attempt) {
  MutexLock lock(names_mu_);
  TERRACE_ASSIGN_OR_RETURN(const InodeRef directory, deps_.inodes.Get(parent));
  TERRACE_ASSIGN_OR_RETURN(NameSlots slots, LoadSlots(parent, name));
  const auto entry = slots.Find(name);
  if (!entry) return Fail(Errc::kNotFound, std::string(name));
  if (S_ISDIR(entry->type)) return Fail(Errc::kIsDirectory, std::string(name));
  TERRACE_ASSIGN_OR_RETURN(const InodeRef file, deps_.inodes.Get(entry->inode));

  NamespaceChange change(deps_.meta, deps_.conditions, {directory, file});
  const auto condition = deps_.conditions.AtName(parent, entry->cookie);
  // The names that stay may all be conditional: then recovery could drop the file.
  const bool may_lose_promise =
      attempt == 0 && change.Look(file).nlink > 1 && change.MayLosePromise(file);
  if (may_lose_promise || (condition && condition->predecessor != kNoInode)) {
    return Outcome{.make_durable_first = entry->inode};
  }
  const int64_t now_ns = deps_.clock.WallNs();
  change.CloseCondition(parent, entry->cookie);
  slots.Remove(entry->cookie);
  slots.Emit(change.batch());
  TERRACE_TRY(DropName(change, file, now_ns));
  TouchDirectory(change.Edit(directory), now_ns);
  TERRACE_TRY(change.Commit());
  if (change.Look(file).nlink > 0) return Outcome{};
  NoteNameless(file->id);
  return Outcome{.nameless = file->id};
}

Status Names::RemoveDirectory(InodeId parent, std::string_view name) {
  TERRACE_TRY(CheckName(name));
  if (IsDot(name)) return Fail(Errc::kInvalid, std::string(name));
  if (IsDotDot(name)) return Fail(Errc::kNotEmpty, std::string(name));
  InodeId nameless;
  {
    MutexLock lock(names_mu_);
    TERRACE_ASSIGN_OR_RETURN(const InodeRef directory, deps_.inodes.Get(parent));
    TERRACE_ASSIGN_OR_RETURN(NameSlots slots, LoadSlots(parent, name));
    const auto entry = slots.Find(name);
    if (!entry) return Fail(Errc::kNotFound, std::string(name));
    if (!S_ISDIR(entry->type)) return Fail(Errc::kNotDirectory, std::string(name));
    TERRACE_ASSIGN_OR_RETURN(const bool empty, IsEmpty(entry->inode));
    if (!empty) return Fail(Errc::kNotEmpty, std::string(name));
    TERRACE_ASSIGN_OR_RETURN(const InodeRef removed, deps_.inodes.Get(entry->inode));

    NamespaceChange change(deps_.meta, deps_.conditions, {directory, removed});
    const int64_t now_ns = deps_.clock.WallNs();
    slots.Remove(entry->cookie);
    slots.Emit(change.batch());
    TERRACE_TRY(DropName(change, removed, now_ns));
    TERRACE_TRY(DropSubdirectory(change.Edit(directory)));
    TouchDirectory(change.Edit(directory), now_ns);
    TERRACE_TRY(change.Commit());
    NoteNameless(removed->id);
    nameless = removed->id;
  }
  ReapIfUnneeded(nameless);
  return {};
}

Result<bool> Names::IsEmpty(InodeId directory) {
  auto cursor = deps_.meta.Scan(Table::kDentry, InodeKey(directory),
                                InodeKey(InodeId(directory.value() + 1)));
  const bool empty = !cursor->Valid();
  TERRACE_TRY(cursor->status());
  return empty;
}

}  // namespace terrace::fs
