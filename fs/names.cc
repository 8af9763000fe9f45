// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Look-ups, and what all operations share. Making is in names_make.cc, removing in
// names_remove.cc, renaming in names_rename.cc, listing in names_list.cc.
//
// Look-ups take no lock that changes take, so that the inode behind an entry may lose its last
// name at any moment. The order makes it safe: the kernel's look-up is counted *before* the
// attributes are read. Whoever decides to reap an inode looks at the count *after* the link count
// became 0; so either the reaper sees the look-up, or the look-up sees the link count of 0 and
// takes itself back.
#include "fs/names.h"

#include <sys/stat.h>

#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "fs/meta/key_format.h"
#include "fs/name_rules.h"
#include "fs/name_slots.h"
#include "fs/namespace_change.h"
#include "fs/namespace_check.h"

namespace terrace::fs {

namespace {

constexpr uint32_t kRootMode = S_IFDIR | 0755;
constexpr int kLookupAttemptsMax = 16;
// Each attempt waits for a file to become durable; between two, others may publish again.
constexpr int kDurableAttemptsMax = 100;

}  // namespace

Names::Names(Dependencies dependencies) : deps_(std::move(dependencies)) {}

Status Names::EnsureRoot(Caller owner) {
  MutexLock lock(names_mu_);
  const std::string key = InodeKey(kRootInode);
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> stored, deps_.meta.Get(Table::kInode, key));
  if (stored) return {};
  const int64_t now_ns = deps_.clock.WallNs();
  InodeRecord root{.id = kRootInode,
                   .mode = kRootMode,
                   .nlink = 2,
                   .uid = owner.uid,
                   .gid = owner.gid,
                   .size_bytes = kDirectorySizeBytes,
                   .allocated_bytes = kDirectorySizeBytes,
                   .atime_ns = now_ns,
                   .mtime_ns = now_ns,
                   .ctime_ns = now_ns,
                   .btime_ns = now_ns,
                   .parent = kRootInode};
  MetaBatch batch;
  batch.Put(Table::kInode, key, EncodeInodeRecord(root));
  return deps_.meta.Write(batch);
}

Result<NameSlots> Names::LoadSlots(InodeId parent, std::string_view name) {
  return NameSlots::Load(deps_.meta, parent, NameCookie(name, deps_.name_hash_seed));
}

// A copy of the live record. An inode that is not in memory is not brought there: a listing of a
// million files must not push out what is in use.
Result<InodeRecord> Names::RecordOf(InodeId id) {
  InodeRef inode = deps_.inodes.Peek(id);
  if (inode == nullptr) {
    TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> stored,
                             deps_.meta.Get(Table::kInode, InodeKey(id)));
    // Somebody may have loaded and changed it meanwhile; what is in memory is newer.
    inode = deps_.inodes.Peek(id);
    if (inode == nullptr) {
      if (!stored) return Fail(Errc::kNotFound, "inode " + std::to_string(id.value()));
      return DecodeInodeRecord(id, *stored);
    }
  }
  ReaderLock lock(inode->mu);
  return inode->record;
}

// Attributes of an inode that an entry names, with one look-up counted. Errors: kNotFound when
// its last name went meanwhile.
Result<Attributes> Names::AttributesAndLookup(InodeId id) {
  deps_.inodes.CountLookup(id);
  Result<Attributes> attributes = Fail(Errc::kNotFound, "");
  if (InodeRef inode = deps_.inodes.Peek(id)) {
    ReaderLock lock(inode->mu);
    attributes = inode->AttributesLocked();
  } else {
    attributes = RecordOf(id).map([](const InodeRecord& record) { return AttributesOf(record); });
  }
  if (attributes && attributes->nlink > 0) return attributes;
  // Whoever frees it may have left it alone because of the look-up that is taken back now.
  if (attributes) NoteNameless(id);
  Forget(id, 1);
  if (!attributes) return attributes;
  return Fail(Errc::kNotFound, "inode " + std::to_string(id.value()));
}

Result<Attributes> Names::AttributesForEntry(InodeId inode) { return AttributesAndLookup(inode); }

Result<Attributes> Names::Lookup(InodeId parent, std::string_view name) {
  TERRACE_TRY(CheckName(name));
  if (IsDot(name)) return AttributesAndLookup(parent);
  if (IsDotDot(name)) {
    TERRACE_ASSIGN_OR_RETURN(const InodeRecord directory, RecordOf(parent));
    if (!S_ISDIR(directory.mode)) return Fail(Errc::kNotDirectory, "..");
    return AttributesAndLookup(directory.parent);
  }
  for (int attempt = 0; attempt < kLookupAttemptsMax; attempt++) {
    TERRACE_ASSIGN_OR_RETURN(const NameSlots slots, LoadSlots(parent, name));
    const auto entry = slots.Find(name);
    if (!entry) {
      TERRACE_ASSIGN_OR_RETURN(const InodeRecord directory, RecordOf(parent));
      if (!S_ISDIR(directory.mode)) return Fail(Errc::kNotDirectory, std::string(name));
      return Fail(Errc::kNotFound, std::string(name));
    }
    Result<Attributes> attributes = AttributesAndLookup(entry->inode);
    if (attributes || attributes.error().code != Errc::kNotFound) return attributes;
  }
  return Fail(Errc::kNotFound, std::string(name));
}

Result<std::string> Names::ReadLink(InodeId inode) {
  TERRACE_ASSIGN_OR_RETURN(InodeRecord record, RecordOf(inode));
  if (!S_ISLNK(record.mode)) return Fail(Errc::kInvalid, "not a symbolic link");
  return std::move(record.symlink_target);
}

Status Names::Retry(const std::function<Result<Outcome>(int attempt)>& attempt) {
  for (int i = 0; i < kDurableAttemptsMax; i++) {
    TERRACE_ASSIGN_OR_RETURN(const Outcome outcome, attempt(i));
    if (outcome.make_durable_first == kNoInode) {
      if (outcome.nameless != kNoInode) ReapIfUnneeded(outcome.nameless);
      return {};
    }
    Status durable = deps_.make_durable(outcome.make_durable_first);
    // kNotFound: its last name went meanwhile, so that nobody waits for it any more.
    if (!durable && durable.error().code != Errc::kNotFound) {
      return Wrap(std::move(durable).error(), "make the replaced file durable");
    }
  }
  return Fail(Errc::kBusy, "the name is published again and again");
}

Status Names::DropName(NamespaceChange& change, const InodeRef& inode, int64_t now_ns) {
  InodeRecord& record = change.Edit(inode);
  if (record.nlink == 0) {
    return Fail(Errc::kCorrupt, "link count of inode " + std::to_string(record.id.value()));
  }
  record.nlink = S_ISDIR(record.mode) ? 0 : record.nlink - 1;
  record.ctime_ns = now_ns;
  if (record.nlink == 0) change.batch().Put(Table::kOrphan, InodeKey(record.id), {});
  return {};
}

void Names::NoteNameless(InodeId inode, bool linkable) {
  MutexLock lock(nameless_mu_);
  nameless_.emplace(inode, linkable);
}

bool Names::IsLinkable(InodeId inode) {
  MutexLock lock(nameless_mu_);
  const auto found = nameless_.find(inode);
  return found != nameless_.end() && found->second;
}

void Names::ReapIfUnneeded(InodeId inode) {
  if (deps_.inodes.KnownToKernel(inode)) return;
  if (deps_.conditions.IsPredecessor(inode)) return;
  {
    MutexLock lock(nameless_mu_);
    if (nameless_.erase(inode) == 0) return;
  }
  deps_.reap(inode);
}

void Names::Forget(InodeId inode, uint64_t count) {
  if (deps_.inodes.Forget(inode, count)) ReapIfUnneeded(inode);
}

void Names::PredecessorReleased(InodeId inode) { ReapIfUnneeded(inode); }

Status Names::MakeEntriesDurable(InodeId directory) {
  for (const Condition& condition : deps_.conditions.InDirectory(directory)) {
    // The barrier for one file often covers the others.
    if (deps_.conditions.AtName(directory, condition.cookie) != condition) continue;
    Status durable = deps_.make_durable(condition.inode);
    if (!durable && durable.error().code != Errc::kNotFound) return durable;
  }
  return {};
}

void Names::CheckInvariants() {
  MutexLock lock(names_mu_);
  Result<std::vector<std::string>> findings = CheckNamespace(deps_.meta, deps_.name_hash_seed);
  TERRACE_ASSERT(findings);
  for (const std::string& finding : *findings) LogError(finding);
  TERRACE_ASSERT(findings->empty());
}

}  // namespace terrace::fs
