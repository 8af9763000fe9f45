// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/committer.h"

#include <algorithm>
#include <unordered_set>

#include "base/assert.h"
#include "fs/file_data.h"
#include "fs/meta/key_format.h"
#include "fs/rewriter.h"
#include "fs/stored_map.h"

namespace terrace::fs {

namespace {

// Bounds of one batch: it is built under the locks of its inodes.
constexpr size_t kInodesPerBatchMax = 64;

}  // namespace

// The inodes that one batch commits. Locked in ascending order from construction to destruction;
// dynamic locking is beyond what the compiler's analysis can follow.
struct Committer::Group {
  struct Member {
    InodeRef inode;
    Sequence durable;
    uint64_t durable_size = 0;
    bool fragmented = false;
  };

  ~Group() { UnlockAll(); }
  void LockAll() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
    for (Member& member : members) member.inode->mu.Lock();
    locked = true;
  }
  void UnlockAll() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
    if (!locked) return;
    for (Member& member : members) member.inode->mu.Unlock();
    locked = false;
  }

  // Adds what the inode's live map still names of `extents` to its committed map.
  Status EditMap(Member& member, MetaStore& meta, const std::vector<size_t>& indexes,
                 const std::vector<cache::ExtentRef>& extents, std::vector<bool>& named)
      TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  void NoteDurable(Member& member, const std::vector<size_t>& indexes,
                   const std::vector<cache::ExtentRef>& extents)
      TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  void PutRecord(Member& member) TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  // The batch is written: what it says is now so in memory too.
  void Apply() TERRACE_NO_THREAD_SAFETY_ANALYSIS;

  std::vector<Member> members;
  MetaBatch batch;
  ExtentDeltas deltas;
  bool locked = false;
};

Committer::Committer(MetaStore& meta, InodeTable& inodes, Conditions& conditions)
    : meta_(meta), inodes_(inodes), conditions_(conditions) {}

void Committer::Wire(cache::ExtentCache& cache, Listeners listeners) {
  cache_ = &cache;
  listeners_ = std::move(listeners);
}

Status Committer::Group::EditMap(Member& member, MetaStore& meta,
                                 const std::vector<size_t>& indexes,
                                 const std::vector<cache::ExtentRef>& extents,
                                 std::vector<bool>& named) {
  member.durable_size = member.inode->durable_size_bytes;
  FileData* data = member.inode->data.get();
  if (data == nullptr) return {};
  MapEdit edit(meta, member.inode->id);
  uint64_t end = member.durable_size;
  for (size_t index : indexes) {
    const cache::ExtentRef& extent = extents[index];
    const uint64_t begin = extent->birth().file_offset;
    const uint64_t stop = begin + extent->size_bytes();
    for (auto at = data->map.FirstBehind(begin); at != data->map.end() && at->first < stop; ++at) {
      if (at->second.extent != extent) continue;
      TERRACE_TRY(edit.Put(at->first, {at->second.size, at->second.extent_offset, extent->id()}));
      end = std::max(end, at->first + at->second.size);
      named[index] = true;
    }
    if (named[index]) deltas.AddNew(extent->id(), extent->record());
  }
  edit.Emit(batch, deltas);
  member.durable_size = end;
  return {};
}

// How far the inode is durable once this batch is: everything before the oldest extent that is
// neither durable nor in the batch.
void Committer::Group::NoteDurable(Member& member, const std::vector<size_t>& indexes,
                                   const std::vector<cache::ExtentRef>& extents) {
  Inode& inode = *member.inode;
  member.durable = inode.data_sequence;
  FileData* data = inode.data.get();
  if (data == nullptr) return;
  std::unordered_set<const cache::Extent*> committing;
  for (size_t index : indexes) committing.insert(extents[index].get());
  for (const auto& weak : data->undurable) {
    cache::ExtentRef extent = weak.lock();
    if (extent == nullptr || extent->durable() || committing.contains(extent.get())) continue;
    member.durable = Sequence(extent->birth().sequence.value() - 1);
    break;
  }
  member.durable = std::max(member.durable, inode.record.durable_sequence);
  if (member.durable == inode.data_sequence) member.durable_size = inode.record.size_bytes;
  member.durable_size = std::min(member.durable_size, inode.record.size_bytes);
}

void Committer::Group::PutRecord(Member& member) {
  InodeRecord record = member.inode->StorableLocked();
  record.durable_sequence = member.durable;
  record.size_bytes = member.durable_size;
  batch.Put(Table::kInode, InodeKey(member.inode->id), EncodeInodeRecord(record));
}

void Committer::Group::Apply() {
  for (Member& member : members) {
    Inode& inode = *member.inode;
    inode.record.durable_sequence = member.durable;
    inode.durable_size_bytes = member.durable_size;
    if (member.durable_size == inode.record.size_bytes) inode.record_dirty = false;
    // Nobody writes any more and all of it is there: what close promises is kept from now on.
    const bool is_written = inode.data != nullptr && inode.data->writer_count > 0;
    if (!is_written && inode.DataIsDurableLocked()) inode.durable_bytes_promised = true;
    member.fragmented = inode.data != nullptr && Rewriter::IsFragmented(inode.data->map);
  }
}

Status Committer::CommitGroup(std::span<const std::pair<InodeId, std::vector<size_t>>> inodes,
                              const std::vector<cache::ExtentRef>& extents,
                              std::vector<bool>& named) {
  Group group;
  std::vector<const std::vector<size_t>*> indexes;
  for (const auto& [id, members] : inodes) {
    InodeRef inode = inodes_.Peek(id);
    if (inode == nullptr) continue;  // freed: nothing of it is named any more
    group.members.push_back({std::move(inode), {}, 0, false});
    indexes.push_back(&members);
  }
  std::vector<Condition> closed;
  ExtentDeltas::Retired retired;
  group.LockAll();
  for (size_t i = 0; i < group.members.size(); i++) {
    Group::Member& member = group.members[i];
    TERRACE_TRY(group.EditMap(member, meta_, *indexes[i], extents, named));
    group.NoteDurable(member, *indexes[i], extents);
    group.PutRecord(member);
  }
  TERRACE_ASSIGN_OR_RETURN(retired, group.deltas.Emit(meta_, group.batch));
  for (Group::Member& member : group.members) {
    auto more = conditions_.CloseSatisfied(group.batch, member.inode->id, member.durable);
    closed.insert(closed.end(), more.begin(), more.end());
  }
  Status written = meta_.Write(group.batch);
  if (!written) {
    MetaBatch unused;
    for (const Condition& condition : closed) conditions_.Open(unused, condition);
    return written;
  }
  group.Apply();
  group.UnlockAll();
  for (const auto& [extent, record] : retired) cache_->Retire(extent, record);
  for (const Condition& condition : closed) {
    if (condition.predecessor != kNoInode) listeners_.predecessor_released(condition.predecessor);
  }
  for (const Group::Member& member : group.members) {
    if (member.fragmented) listeners_.fragmented(member.inode->id);
  }
  return {};
}

Result<std::vector<bool>> Committer::CommitExtents(const std::vector<cache::ExtentRef>& extents) {
  std::map<InodeId, std::vector<size_t>> by_inode;
  for (size_t i = 0; i < extents.size(); i++) by_inode[extents[i]->birth().inode].push_back(i);
  std::vector<std::pair<InodeId, std::vector<size_t>>> inodes(by_inode.begin(), by_inode.end());
  std::vector<bool> named(extents.size(), false);
  std::span<const std::pair<InodeId, std::vector<size_t>>> rest(inodes);
  while (!rest.empty()) {
    size_t count = std::min(rest.size(), kInodesPerBatchMax);
    TERRACE_TRY(CommitGroup(rest.first(count), extents, named));
    rest = rest.subspan(count);
  }
  return named;
}

Status Committer::SyncMetadata() { return meta_.Sync(); }

void Committer::NoteWriteError(const std::vector<cache::ExtentRef>& extents, const Error& error) {
  std::unordered_set<InodeId> told;
  for (const cache::ExtentRef& extent : extents) {
    if (!told.insert(extent->birth().inode).second) continue;
    InodeRef inode = inodes_.Peek(extent->birth().inode);
    if (inode == nullptr) continue;
    WriterLock lock(inode->mu);
    if (inode->data != nullptr) inode->data->write_error = error;
  }
}

}  // namespace terrace::fs
