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
  area.Refill([this](uint64_t size_bytes) { return deps_.cache.AllocateBuffer(size_bytes); });
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

// What has to reach a device before the inode counts as durable; its record is written if that
// is all that is missing.
Result<std::vector<cache::ExtentRef>> Files::PrepareSync(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(InodeRef inode, deps_.inodes.Get(id));
  WriterLock lock(inode->mu);
  inode->durable_bytes_promised = true;
  std::vector<cache::ExtentRef> extents;
  if (inode->data != nullptr) {
    SealTailLocked(*inode->data);
    if (inode->data->write_error) {
      Error error = std::move(*inode->data->write_error);
      inode->data->write_error.reset();
      return tl::unexpected<Error>(std::move(error));
    }
    extents = inode->data->CollectUndurable();
  }
  if (extents.empty()) {
    // Bytes that were overwritten before they were written leave nothing to wait for.
    inode->record.durable_sequence = inode->data_sequence;
    bool size_behind = inode->durable_size_bytes != inode->record.size_bytes;
    inode->durable_size_bytes = inode->record.size_bytes;
    if (inode->record_dirty || size_behind) TERRACE_TRY(WriteRecordLocked(*inode, {}));
  }
  return extents;
}

void Files::Sync(InodeId id, SyncDone done) {
  Result<std::vector<cache::ExtentRef>> extents = PrepareSync(id);
  if (!extents) {
    done(tl::unexpected<Error>(extents.error()));
    return;
  }
  deps_.write_back.Flush(std::move(*extents), std::move(done));
}

void Files::SyncDirectory(InodeId id, SyncDone done) {
  std::vector<cache::ExtentRef> all;
  for (const Condition& condition : deps_.conditions.InDirectory(id)) {
    Result<std::vector<cache::ExtentRef>> extents = PrepareSync(condition.inode);
    if (!extents) {
      done(tl::unexpected<Error>(extents.error()));
      return;
    }
    all.insert(all.end(), extents->begin(), extents->end());
  }
  deps_.write_back.Flush(std::move(all), std::move(done));
}

}  // namespace terrace::fs
