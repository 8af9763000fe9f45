// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Handles and durability. Writes: files_write.cc; reads: files_read.cc; sizes: files_resize.cc.
#include "fs/files.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/units.h"
#include "fs/meta/key_format.h"
#include "fs/stored_map.h"

namespace terrace::fs {

namespace {

// A file up to this size is fetched whole when a reader opens it.
constexpr uint64_t kFetchOnOpenMax = 4 * kMiB;
// Bytes ahead of a sequential reader, per device and at most this share of DRAM.
constexpr uint64_t kReadWindowPerDevice = 16 * kMiB;
constexpr uint64_t kReadWindowDramShare = 8;

}  // namespace

Files::Files(Dependencies dependencies)
    : deps_(std::move(dependencies)),
      read_window_bytes_max_(
          std::min(kReadWindowPerDevice * (deps_.store.device_count() + 1),
                   deps_.cache.pool().counts().size_bytes / kReadWindowDramShare)) {}

void Files::PrepareReceive(ReceiveArea& area) {
  area.Refill([&](uint64_t size_bytes) {
    std::optional<cache::Buffer> buffer = deps_.cache.TryAllocateBuffer(size_bytes);
    if (buffer) return std::move(*buffer);
    // Readers that wait for memory hold none, or they would wait for each other.
    area.DropRest();
    return deps_.cache.AllocateBuffer(size_bytes);
  });
}

// The inode's data in memory; loads the committed map on first use.
Result<FileData*> Files::DataLocked(Inode& inode) {
  if (inode.data != nullptr) return inode.data.get();
  if (S_ISDIR(inode.record.mode)) return Fail(Errc::kIsDirectory, "bytes of a directory");
  if (!S_ISREG(inode.record.mode)) return Fail(Errc::kInvalid, "bytes of a special file");
  auto data = std::make_unique<FileData>();
  if (inode.record.allocated_bytes > 0) {
    TERRACE_ASSIGN_OR_RETURN(auto loaded, LoadStoredMap(deps_.meta, inode.id));
    for (const LoadedEntry& entry : loaded) {
      cache::Extent::Birth birth{entry.entry.extent, inode.id,
                                 entry.offset - entry.entry.extent_offset,
                                 inode.record.durable_sequence};
      data->map.Put(entry.offset, {entry.entry.size, entry.entry.extent_offset,
                                   deps_.cache.Known(birth, entry.record)});
    }
    // After a power loss the record may still count bytes that were not committed.
    inode.record.allocated_bytes = RoundUp(data->map.mapped_bytes(), kBlockSize);
  }
  inode.data = std::move(data);
  return inode.data.get();
}

Result<OpenResult> Files::Open(InodeId id, HandleMode mode) {
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(id));
  OpenResult result;
  std::vector<cache::ExtentRef> fetch;
  {
    WriterLock lock(inode->mu);
    TERRACE_ASSIGN_OR_RETURN(FileData * data, DataLocked(*inode));
    if (mode.read) data->reader_count++;
    if (mode.write) data->writer_count++;
    result.size_bytes = inode->record.size_bytes;
    result.mode = inode->record.mode;
    result.pages_were_mapped = data->pages_were_mapped;
    if (mode.read && !mode.write && result.size_bytes <= kFetchOnOpenMax) {
      fetch = ExtentsLocked(*data, 0, result.size_bytes);
    }
  }
  deps_.cache.Prefetch(fetch);
  return result;
}

void Files::Release(InodeId id, HandleMode mode) {
  InodeRef inode = deps_.inodes.Peek(id);
  if (inode == nullptr) return;
  WriterLock lock(inode->mu);
  FileData* data = inode->data.get();
  if (data == nullptr) return;
  if (mode.read && data->reader_count > 0) data->reader_count--;
  if (mode.write && data->writer_count > 0) data->writer_count--;
  if (mode.write && data->writer_count == 0) SealTailLocked(*data);
}

Status Files::Flush(InodeId id) {
  InodeRef inode = deps_.inodes.Peek(id);
  if (inode == nullptr) return {};
  WriterLock lock(inode->mu);
  if (inode->data == nullptr || !inode->data->write_error) return {};
  Error error = std::move(*inode->data->write_error);
  inode->data->write_error.reset();
  return tl::unexpected<Error>(std::move(error));
}

void Files::SealTailLocked(FileData& data) {
  if (data.tail == nullptr) return;
  deps_.cache.dirty().Seal(*data.tail);
  data.tail = nullptr;
}

std::vector<cache::ExtentRef> Files::ExtentsLocked(const FileData& data, uint64_t offset,
                                                   uint64_t end) const {
  std::vector<cache::ExtentRef> extents;
  for (auto at = data.map.FirstBehind(offset); at != data.map.end() && at->first < end; ++at) {
    if (extents.empty() || extents.back() != at->second.extent) {
      extents.push_back(at->second.extent);
    }
  }
  return extents;
}

// Writes the inode's record, alone or with the changes in `batch`.
Status Files::WriteRecordLocked(Inode& inode, MetaBatch batch) {
  batch.Put(Table::kInode, InodeKey(inode.id), EncodeInodeRecord(inode.StorableLocked()));
  TERRACE_TRY(deps_.meta.Write(batch));
  if (inode.durable_size_bytes == inode.record.size_bytes) inode.record_dirty = false;
  return {};
}

// When no byte of the inode is missing on the devices, says so in its record and closes the
// conditions that waited for it. Bytes that were overwritten or cut off before they were written
// leave no extent whose commit would do it. Returns: the closed conditions.
Result<std::vector<Condition>> Files::SettleLocked(Inode& inode) {
  if (inode.data != nullptr && !inode.data->CollectUndurable().empty()) {
    return std::vector<Condition>{};
  }
  bool behind = !inode.DataIsDurableLocked() || inode.record_dirty ||
                inode.durable_size_bytes != inode.record.size_bytes;
  if (!behind) return std::vector<Condition>{};
  const Sequence durable_before = inode.record.durable_sequence;
  const uint64_t size_before = inode.durable_size_bytes;
  inode.record.durable_sequence = inode.data_sequence;
  inode.durable_size_bytes = inode.record.size_bytes;
  MetaBatch batch;
  std::vector<Condition> closed =
      deps_.conditions.CloseSatisfied(batch, inode.id, inode.data_sequence);
  Status written = WriteRecordLocked(inode, std::move(batch));
  if (written) return closed;
  inode.record.durable_sequence = durable_before;
  inode.durable_size_bytes = size_before;
  for (const Condition& condition : closed) deps_.conditions.UndoClose(condition);
  return tl::unexpected<Error>(written.error());
}

void Files::ReleasePredecessors(const std::vector<Condition>& closed) {
  for (const Condition& condition : closed) {
    if (condition.predecessor != kNoInode) deps_.predecessor_released(condition.predecessor);
  }
}

// What has to reach a device before the inode counts as durable; when that is nothing, what else is
// missing in the metadata store is written.
Result<std::vector<cache::ExtentRef>> Files::PrepareSync(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(id));
  std::vector<cache::ExtentRef> extents;
  std::vector<Condition> closed;
  {
    WriterLock lock(inode->mu);
    inode->durable_bytes_promised = true;
    if (FileData* data = inode->data.get()) {
      SealTailLocked(*data);
      if (data->write_error) {
        Error error = std::move(*data->write_error);
        data->write_error.reset();
        return tl::unexpected<Error>(std::move(error));
      }
      extents = data->CollectUndurable();
      data->promised = inode->data_sequence;
    }
    TERRACE_ASSIGN_OR_RETURN(closed, SettleLocked(*inode));
  }
  ReleasePredecessors(closed);
  return extents;
}

void Files::Sync(InodeId id, SyncDone done) {
  Result<std::vector<cache::ExtentRef>> extents = PrepareSync(id);
  if (!extents) {
    done(tl::unexpected<Error>(extents.error()));
    return;
  }
  deps_.write_back.Flush(std::move(*extents), [this, id, done = std::move(done)](Status status) {
    if (!status) (void)Flush(id);  // reported here, and not by close once more
    done(std::move(status));
  });
}

void Files::SyncDirectory(InodeId id, SyncDone done) {
  std::vector<cache::ExtentRef> all;
  for (const Condition& condition : deps_.conditions.InDirectory(id)) {
    Result<std::vector<cache::ExtentRef>> extents = PrepareSync(condition.inode);
    if (!extents) {
      if (extents.error().code == Errc::kNotFound) continue;  // removed meanwhile
      done(tl::unexpected<Error>(extents.error()));
      return;
    }
    all.insert(all.end(), extents->begin(), extents->end());
  }
  deps_.write_back.Flush(std::move(all), std::move(done));
}

}  // namespace terrace::fs
