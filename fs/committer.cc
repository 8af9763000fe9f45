// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/committer.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/assert.h"
#include "fs/file_data.h"
#include "fs/inode_locks.h"
#include "fs/meta/key_format.h"
#include "fs/rewriter.h"
#include "fs/stored_map.h"

namespace terrace::fs {

namespace {

// Bounds of one batch: it is built under the locks of its inodes.
constexpr size_t kInodesPerBatchMax = InodeLocks::kInodesMax;

}  // namespace

// The inodes that one batch commits, locked from LockAll on; what touches them is beyond what the
// compiler's analysis can follow.
struct Committer::Group {
  struct Member {
    InodeRef inode;
    const std::vector<size_t>* indexes = nullptr;  // of its extents
    Sequence durable;
    uint64_t durable_size = 0;
    bool fragmented = false;
  };

  void LockAll() {
    std::vector<InodeRef> inodes;
    for (const Member& member : members) inodes.push_back(member.inode);
    locks.emplace(std::move(inodes));
  }
  // Inodes that were freed: nothing of them is named any more, and their record must not come back.
  void LeaveOutFreed() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
    std::erase_if(members, [](const Member& member) TERRACE_NO_THREAD_SAFETY_ANALYSIS {
      return member.inode->data == nullptr;
    });
  }

  // Adds what the inode's maps still name of its extents to its committed map.
  Status EditMap(Member& member, MetaStore& meta, const std::vector<cache::ExtentRef>& extents,
                 std::vector<bool>& named) TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  Status PutReplaced(Member& member, MapEdit& edit, const std::vector<cache::ExtentRef>& extents,
                     std::vector<bool>& named) TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  void NoteDurable(Member& member,
                   const std::vector<cache::ExtentRef>& extents) TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  void PutRecord(Member& member) TERRACE_NO_THREAD_SAFETY_ANALYSIS;
  // The batch is written: what it says is now so in memory too.
  void Apply(const std::vector<cache::ExtentRef>& extents) TERRACE_NO_THREAD_SAFETY_ANALYSIS;

  std::vector<Member> members;
  MetaBatch batch;
  ExtentDeltas deltas;
  ExtentDeltas::Retired retired;
  std::vector<Condition> closed;
  std::optional<InodeLocks> locks;
};

namespace {

// visit(offset, entry) for each entry of the live map that names the extent.
template <typename Visit>
void ForLiveEntries(const ExtentMap& map, const cache::ExtentRef& extent, const Visit& visit) {
  const uint64_t begin = extent->birth().file_offset;
  const uint64_t end = begin + extent->size_bytes();
  for (auto at = map.FirstBehind(begin); at != map.end() && at->first < end; ++at) {
    if (at->second.extent == extent) visit(at->first, at->second);
  }
}

StoredEntry ToStored(const ExtentMap::Entry& entry) {
  return {entry.size, entry.extent_offset, entry.extent->id()};
}

}  // namespace

Committer::Committer(MetaStore& meta, InodeTable& inodes, Conditions& conditions)
    : meta_(meta), inodes_(inodes), conditions_(conditions) {}

void Committer::Wire(cache::ExtentCache& cache, Listeners listeners) {
  cache_ = &cache;
  listeners_ = std::move(listeners);
}

Status Committer::Group::EditMap(Member& member, MetaStore& meta,
                                 const std::vector<cache::ExtentRef>& extents,
                                 std::vector<bool>& named) {
  const FileData& data = *member.inode->data;
  member.durable_size = member.inode->durable_size_bytes;
  MapEdit edit(meta, member.inode->id);
  TERRACE_TRY(PutReplaced(member, edit, extents, named));
  for (size_t index : *member.indexes) {
    const cache::ExtentRef& extent = extents[index];
    Status put;
    ForLiveEntries(data.map, extent, [&](uint64_t offset, const ExtentMap::Entry& entry) {
      if (put) put = edit.Put(offset, ToStored(entry));
      member.durable_size = std::max(member.durable_size, offset + entry.size);
      named[index] = true;
    });
    TERRACE_TRY(put);
    // When an earlier commit was cut short between two batches, it is not new any more.
    const uint64_t begin = extent->birth().file_offset;
    if (named[index] && !edit.NamedBefore(extent->id(), begin, begin + extent->size_bytes())) {
      deltas.AddNew(extent->id(), extent->record());
    }
  }
  edit.Emit(batch, deltas);
  return {};
}

// Versions that are no longer live, but whose successors are not durable yet. Older ones first.
Status Committer::Group::PutReplaced(Member& member, MapEdit& edit,
                                     const std::vector<cache::ExtentRef>& extents,
                                     std::vector<bool>& named) {
  for (const ReplacedBytes::Piece& piece : member.inode->data->replaced.pieces()) {
    for (size_t index : *member.indexes) {
      if (extents[index] != piece.entry.extent) continue;
      TERRACE_TRY(edit.Put(piece.offset, ToStored(piece.entry)));
      member.durable_size = std::max(member.durable_size, piece.offset + piece.entry.size);
      named[index] = true;
    }
  }
  return {};
}

// How far the inode is durable once this batch is: everything before the oldest extent that is
// neither durable nor in the batch.
void Committer::Group::NoteDurable(Member& member, const std::vector<cache::ExtentRef>& extents) {
  Inode& inode = *member.inode;
  member.durable = inode.data_sequence;
  std::unordered_set<const cache::Extent*> committing;
  for (size_t index : *member.indexes) committing.insert(extents[index].get());
  for (const auto& weak : inode.data->undurable) {
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

void Committer::Group::Apply(const std::vector<cache::ExtentRef>& extents) {
  for (Member& member : members) {
    Inode& inode = *member.inode;
    FileData& data = *inode.data;
    inode.record.durable_sequence = member.durable;
    inode.durable_size_bytes = member.durable_size;
    if (member.durable_size == inode.record.size_bytes) inode.record_dirty = false;
    // Nobody writes it any more and all of it is there: from now on close's promise is kept.
    if (data.writer_count == 0 && inode.DataIsDurableLocked()) inode.durable_bytes_promised = true;
    member.fragmented = Rewriter::IsFragmented(data.map);
    for (size_t index : *member.indexes) {
      if (data.replaced.empty()) break;
      ForLiveEntries(data.map, extents[index], [&](uint64_t offset, const ExtentMap::Entry& entry) {
        data.replaced.Clear(offset, offset + entry.size);
      });
      data.replaced.Committed(extents[index]);
    }
  }
}

Status Committer::CommitGroup(std::span<const InodeExtents> inodes,
                              const std::vector<cache::ExtentRef>& extents,
                              std::vector<bool>& named) {
  Group group;
  for (const auto& [id, indexes] : inodes) {
    InodeRef inode = inodes_.Peek(id);
    if (inode == nullptr) continue;  // freed: nothing of it is named any more
    group.members.push_back({std::move(inode), &indexes, {}, 0, false});
  }
  group.LockAll();
  group.LeaveOutFreed();
  for (Group::Member& member : group.members) {
    TERRACE_TRY(group.EditMap(member, meta_, extents, named));
    group.NoteDurable(member, extents);
    group.PutRecord(member);
  }
  TERRACE_ASSIGN_OR_RETURN(group.retired, group.deltas.Emit(meta_, group.batch));
  for (Group::Member& member : group.members) {
    auto closed = conditions_.CloseSatisfied(group.batch, member.inode->id, member.durable);
    group.closed.insert(group.closed.end(), closed.begin(), closed.end());
  }
  Status written = meta_.Write(group.batch);
  if (!written) {
    for (const Condition& condition : group.closed) conditions_.UndoClose(condition);
    return written;
  }
  group.Apply(extents);
  group.locks.reset();
  Announce(group);
  return {};
}

void Committer::Announce(const Group& group) {
  for (const auto& [extent, record] : group.retired) cache_->Retire(extent, record);
  for (const Condition& condition : group.closed) {
    if (condition.predecessor != kNoInode) listeners_.predecessor_released(condition.predecessor);
  }
  for (const Group::Member& member : group.members) {
    if (member.fragmented) listeners_.fragmented(member.inode->id);
  }
}

Result<std::vector<bool>> Committer::CommitExtents(const std::vector<cache::ExtentRef>& extents) {
  std::map<InodeId, std::vector<size_t>> by_inode;
  for (size_t i = 0; i < extents.size(); i++) by_inode[extents[i]->birth().inode].push_back(i);
  const std::vector<InodeExtents> inodes(by_inode.begin(), by_inode.end());
  std::vector<bool> named(extents.size(), false);
  std::span<const InodeExtents> rest(inodes);
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
