// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Names: rename, with what renameat2(2) asks of it.
//
// A rename that publishes a file whose bytes are not durable opens a condition; the replaced inode
// is its predecessor, which recovery puts back when the bytes did not make it. Three cases:
//
//   the entry at the target, or the moved one, is conditional *with* a predecessor: its file is
//     made durable first (without locks), and the rename tries again, so that there is never a
//     chain of predecessors;
//   the moved entry is conditional without one: the condition moves along;
//   the target is conditional without one: nothing durable was ever there under that name, so the
//     new entry has no predecessor either, and the replaced file goes at once.
//
// Recovery drops a file that is incomplete under its new name. That must not cost bytes that were
// promised to survive (fsync, write some more, rename): such a file is made durable first too, as
// is the replaced one if it keeps other names, which may be conditional.
//
// An exchange makes both files durable first: it is rare, and each would be the other's
// predecessor.

#include <sys/stat.h>

#include <optional>

#include "fs/meta/key_format.h"
#include "fs/name_rules.h"
#include "fs/name_slots.h"
#include "fs/names.h"
#include "fs/namespace_change.h"

namespace terrace::fs {

namespace {

// A rename waits for the bytes of each file once; what is written meanwhile is a change in place,
// which promises less.
constexpr int kDataAttemptsMax = 2;
// Deeper than any path that can be built in practice; more means a loop in damaged records.
constexpr int kDirectoryDepthMax = 1 << 20;

}  // namespace

struct Names::RenamePlan {
  InodeId old_parent;
  InodeId new_parent;
  std::string_view new_name;
  InodeRef old_directory;
  InodeRef new_directory;
  NameSlots old_slots;
  std::optional<NameSlots> other_slots{};  // of the new name, if its hash or directory differs
  NameSlots::Entry source{};
  std::optional<NameSlots::Entry> target{};
  InodeRef source_inode{};
  InodeRef target_inode{};
  bool exchange = false;
  bool nothing_to_do = false;

  NameSlots& new_slots() { return other_slots ? *other_slots : old_slots; }
};

Status Names::Rename(InodeId old_parent, std::string_view old_name, InodeId new_parent,
                     std::string_view new_name, RenameFlags flags) {
  TERRACE_TRY(CheckName(old_name));
  TERRACE_TRY(CheckName(new_name));
  for (std::string_view name : {old_name, new_name}) {
    if (IsDot(name) || IsDotDot(name)) return Fail(Errc::kBusy, std::string(name));
  }
  if (flags.no_replace && flags.exchange) {
    return Fail(Errc::kInvalid, "rename: no_replace and exchange exclude each other");
  }
  const RenameRequest request{old_parent, old_name, new_parent, new_name, flags};
  return Retry([&](int attempt) { return TryRename(request, attempt); });
}

Result<Names::Outcome> Names::TryRename(const RenameRequest& request, int attempt) {
  MutexLock lock(names_mu_);
  TERRACE_ASSIGN_OR_RETURN(RenamePlan plan, PlanRename(request));
  if (plan.nothing_to_do) return Outcome{};

  NamespaceChange change(
      deps_.meta, deps_.conditions,
      {plan.old_directory, plan.new_directory, plan.source_inode, plan.target_inode});
  const bool adds_directory = S_ISDIR(plan.source.type) && plan.old_parent != plan.new_parent;
  TERRACE_TRY(CheckTakesName(change.Look(plan.new_directory), adds_directory));
  const InodeId first = UndurableBefore(change, plan, attempt);
  if (first != kNoInode) return Outcome{.make_durable_first = first};

  TERRACE_TRY(plan.exchange ? ApplyExchange(change, plan) : ApplyMove(change, plan));
  plan.old_slots.Emit(change.batch());
  if (plan.other_slots) plan.other_slots->Emit(change.batch());
  TERRACE_TRY(change.Commit());
  if (plan.target_inode == nullptr || change.Look(plan.target_inode).nlink > 0) return Outcome{};
  NoteNameless(plan.target_inode->id);
  return Outcome{.nameless = plan.target_inode->id};
}

Result<Names::RenamePlan> Names::PlanRename(const RenameRequest& request) {
  const auto& [old_parent, old_name, new_parent, new_name, flags] = request;
  TERRACE_ASSIGN_OR_RETURN(InodeRef old_directory, deps_.inodes.Get(old_parent));
  TERRACE_ASSIGN_OR_RETURN(InodeRef new_directory, deps_.inodes.Get(new_parent));
  TERRACE_ASSIGN_OR_RETURN(NameSlots old_slots, LoadSlots(old_parent, old_name));
  RenamePlan plan{.old_parent = old_parent,
                  .new_parent = new_parent,
                  .new_name = new_name,
                  .old_directory = std::move(old_directory),
                  .new_directory = std::move(new_directory),
                  .old_slots = std::move(old_slots),
                  .exchange = flags.exchange};
  if (!plan.old_slots.IsFor(new_parent, NameCookie(new_name, deps_.name_hash_seed))) {
    TERRACE_ASSIGN_OR_RETURN(plan.other_slots, LoadSlots(new_parent, new_name));
  }
  const auto source = plan.old_slots.Find(old_name);
  if (!source) return Fail(Errc::kNotFound, std::string(old_name));
  plan.source = *source;
  plan.target = plan.new_slots().Find(new_name);
  if (plan.target && flags.no_replace) return Fail(Errc::kExists, std::string(new_name));
  if (!plan.target && flags.exchange) return Fail(Errc::kNotFound, std::string(new_name));
  if (plan.target && plan.target->inode == plan.source.inode) {
    plan.nothing_to_do = true;
    return plan;
  }
  TERRACE_TRY(CheckRename(plan));
  TERRACE_ASSIGN_OR_RETURN(plan.source_inode, deps_.inodes.Get(plan.source.inode));
  if (plan.target) {
    TERRACE_ASSIGN_OR_RETURN(plan.target_inode, deps_.inodes.Get(plan.target->inode));
  }
  return plan;
}

// The rules that need no inode's lock: nothing changes entries while names_mu_ is held.
Status Names::CheckRename(const RenamePlan& plan) {
  if (S_ISDIR(plan.source.type) && plan.old_parent != plan.new_parent) {
    TERRACE_ASSIGN_OR_RETURN(const bool loop, LiesBelow(plan.new_parent, plan.source.inode));
    if (loop) return Fail(Errc::kInvalid, "a directory can't be moved into itself");
  }
  if (!plan.target) return {};
  if (plan.exchange) {
    if (S_ISDIR(plan.target->type) && plan.old_parent != plan.new_parent) {
      TERRACE_ASSIGN_OR_RETURN(const bool loop, LiesBelow(plan.old_parent, plan.target->inode));
      if (loop) return Fail(Errc::kInvalid, "a directory can't be moved into itself");
    }
    return {};
  }
  const std::string name(plan.new_name);
  if (!S_ISDIR(plan.target->type)) {
    return S_ISDIR(plan.source.type) ? Fail(Errc::kNotDirectory, name) : Status{};
  }
  if (!S_ISDIR(plan.source.type)) return Fail(Errc::kIsDirectory, name);
  TERRACE_ASSIGN_OR_RETURN(const bool empty, IsEmpty(plan.target->inode));
  if (!empty) return Fail(Errc::kNotEmpty, name);
  return {};
}

Result<bool> Names::LiesBelow(InodeId directory, InodeId ancestor) {
  for (int depth = 0; depth < kDirectoryDepthMax; depth++) {
    if (directory == ancestor) return true;
    if (directory == kRootInode) return false;
    TERRACE_ASSIGN_OR_RETURN(const InodeRecord record, RecordOf(directory));
    directory = record.parent;
  }
  return Fail(Errc::kCorrupt,
              "the parents of directory " + std::to_string(directory.value()) + " form a loop");
}

InodeId Names::UndurableBefore(const NamespaceChange& change, const RenamePlan& plan, int attempt) {
  const auto must_wait = [&](InodeId parent, uint64_t cookie, const InodeRef& inode,
                             bool keeps_a_name) {
    if (!S_ISREG(change.Look(inode).mode)) return false;
    const auto condition = deps_.conditions.AtName(parent, cookie);
    if (condition && (plan.exchange || condition->predecessor != kNoInode)) return true;
    if (attempt >= kDataAttemptsMax) return false;
    return plan.exchange ? !change.DataIsDurable(inode)
                         : keeps_a_name && change.MayLosePromise(inode);
  };
  if (must_wait(plan.old_parent, plan.source.cookie, plan.source_inode, true)) {
    return plan.source.inode;
  }
  if (!plan.target) return kNoInode;
  const bool keeps_a_name = change.Look(plan.target_inode).nlink > 1;
  if (must_wait(plan.new_parent, plan.target->cookie, plan.target_inode, keeps_a_name)) {
    return plan.target->inode;
  }
  return kNoInode;
}

Status Names::ApplyMove(NamespaceChange& change, RenamePlan& plan) {
  const bool target_was_conditional =
      plan.target && deps_.conditions.AtName(plan.new_parent, plan.target->cookie);
  change.CloseCondition(plan.old_parent, plan.source.cookie);
  plan.old_slots.Remove(plan.source.cookie);
  uint64_t cookie = 0;
  if (plan.target) {
    cookie = plan.target->cookie;
    change.CloseCondition(plan.new_parent, cookie);
    plan.new_slots().Set(cookie, plan.source.inode, plan.source.type);
  } else {
    TERRACE_ASSIGN_OR_RETURN(
        cookie, plan.new_slots().Add(plan.new_name, plan.source.inode, plan.source.type));
  }
  if (S_ISREG(plan.source.type) && !change.DataIsDurable(plan.source_inode)) {
    const bool has_predecessor = plan.target && !target_was_conditional;
    change.OpenCondition({.parent = plan.new_parent,
                          .cookie = cookie,
                          .inode = plan.source.inode,
                          .needs = change.DataSequence(plan.source_inode),
                          .predecessor = has_predecessor ? plan.target->inode : kNoInode});
  }

  const int64_t now_ns = deps_.clock.WallNs();
  if (plan.target) {
    TERRACE_TRY(DropName(change, plan.target_inode, now_ns));
    if (S_ISDIR(plan.target->type)) {
      TERRACE_TRY(DropSubdirectory(change.Edit(plan.new_directory)));
    }
  }
  InodeRecord& source_record = change.Edit(plan.source_inode);
  source_record.ctime_ns = now_ns;
  if (S_ISDIR(plan.source.type) && plan.old_parent != plan.new_parent) {
    source_record.parent = plan.new_parent;
    TERRACE_TRY(DropSubdirectory(change.Edit(plan.old_directory)));
    change.Edit(plan.new_directory).nlink++;
  }
  TouchDirectory(change.Edit(plan.old_directory), now_ns);
  TouchDirectory(change.Edit(plan.new_directory), now_ns);
  return {};
}

Status Names::ApplyExchange(NamespaceChange& change, RenamePlan& plan) {
  plan.old_slots.Set(plan.source.cookie, plan.target->inode, plan.target->type);
  plan.new_slots().Set(plan.target->cookie, plan.source.inode, plan.source.type);
  const int64_t now_ns = deps_.clock.WallNs();
  InodeRecord& source_record = change.Edit(plan.source_inode);
  InodeRecord& target_record = change.Edit(plan.target_inode);
  source_record.ctime_ns = now_ns;
  target_record.ctime_ns = now_ns;
  InodeRecord& old_record = change.Edit(plan.old_directory);
  InodeRecord& new_record = change.Edit(plan.new_directory);
  if (plan.old_parent != plan.new_parent) {
    const bool source_is_directory = S_ISDIR(plan.source.type);
    const bool target_is_directory = S_ISDIR(plan.target->type);
    if (source_is_directory) source_record.parent = plan.new_parent;
    if (target_is_directory) target_record.parent = plan.old_parent;
    if (source_is_directory && !target_is_directory) {
      TERRACE_TRY(DropSubdirectory(old_record));
      new_record.nlink++;
    } else if (target_is_directory && !source_is_directory) {
      TERRACE_TRY(DropSubdirectory(new_record));
      old_record.nlink++;
    }
  }
  TouchDirectory(old_record, now_ns);
  TouchDirectory(new_record, now_ns);
  return {};
}

}  // namespace terrace::fs
