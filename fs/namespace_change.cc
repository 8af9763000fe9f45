// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/namespace_change.h"

#include <algorithm>

#include "base/assert.h"
#include "fs/meta/key_format.h"

namespace terrace::fs {

NamespaceChange::NamespaceChange(MetaStore& meta, Conditions& conditions,
                                 std::initializer_list<InodeRef> inodes)
    TERRACE_NO_THREAD_SAFETY_ANALYSIS : meta_(meta),
                                        conditions_(conditions) {
  for (const InodeRef& inode : inodes) {
    auto same = [&](const Held& held) { return held.inode == inode; };
    auto end = held_.begin() + held_count_;
    if (inode == nullptr || std::any_of(held_.begin(), end, same)) continue;
    TERRACE_ASSERT(held_count_ < kInodesMax);
    held_[held_count_++].inode = inode;
  }
  std::sort(held_.begin(), held_.begin() + held_count_,
            [](const Held& a, const Held& b) { return a.inode->id < b.inode->id; });
  for (size_t i = 0; i < held_count_; i++) held_[i].inode->mu.Lock();
}

NamespaceChange::~NamespaceChange() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  if (!committed_) Undo();
  for (size_t i = held_count_; i > 0; i--) held_[i - 1].inode->mu.Unlock();
}

NamespaceChange::Held& NamespaceChange::HeldOf(const InodeRef& inode) {
  auto found = std::find_if(held_.begin(), held_.begin() + held_count_,
                            [&](const Held& held) { return held.inode == inode; });
  TERRACE_ASSERT(found != held_.begin() + held_count_);
  return *found;
}

const InodeRecord& NamespaceChange::Look(const InodeRef& inode) const
    TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  return inode->record;
}

bool NamespaceChange::DataIsDurable(const InodeRef& inode) const TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  return inode->DataIsDurableLocked();
}

bool NamespaceChange::MayLosePromise(const InodeRef& inode) const
    TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  return !inode->DataIsDurableLocked() && inode->durable_bytes_promised;
}

Sequence NamespaceChange::DataSequence(const InodeRef& inode) const
    TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  return inode->data_sequence;
}

Attributes NamespaceChange::AttributesOf(const InodeRef& inode) const
    TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  return inode->AttributesLocked();
}

InodeRecord& NamespaceChange::Edit(const InodeRef& inode) TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  TERRACE_ASSERT(!committed_);
  Held& held = HeldOf(inode);
  if (!held.before) held.before = inode->record;
  return inode->record;
}

void NamespaceChange::OpenCondition(const Condition& condition) {
  conditions_.Open(batch_, condition);
  opened_.push_back(condition);
}

void NamespaceChange::CloseCondition(InodeId parent, uint64_t cookie) {
  auto condition = conditions_.CloseName(batch_, parent, cookie);
  if (condition) closed_.push_back(*condition);
}

Status NamespaceChange::Commit() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  TERRACE_ASSERT(!committed_);
  for (size_t i = 0; i < held_count_; i++) {
    if (!held_[i].before) continue;
    const Inode& inode = *held_[i].inode;
    batch_.Put(Table::kInode, InodeKey(inode.id), EncodeInodeRecord(inode.StorableLocked()));
  }
  TERRACE_TRY(meta_.Write(batch_));
  for (size_t i = 0; i < held_count_; i++) {
    Inode& inode = *held_[i].inode;
    if (!held_[i].before) continue;
    if (inode.record.size_bytes == inode.durable_size_bytes) inode.record_dirty = false;
  }
  committed_ = true;
  return {};
}

void NamespaceChange::Undo() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  for (size_t i = 0; i < held_count_; i++) {
    if (held_[i].before) held_[i].inode->record = std::move(*held_[i].before);
  }
  for (const Condition& condition : opened_) conditions_.UndoOpen(condition);
  for (const Condition& condition : closed_) conditions_.UndoClose(condition);
}

}  // namespace terrace::fs
