// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Files: the bytes of files: handles, writes, reads, sizes, durability.
//
// Role     The way of a write: a request is received into an area that PrepareReceive filled;
//          Write adopts the buffer as an extent as it is (64 KiB and more) or copies less onto
//          the open tail, and replies from memory. The way of a read: from the extents in DRAM,
//          or from all devices at once; the completion replies.
// Threads  Thread-safe. A done callback may run on the calling thread before the call returns or
//          later on another; it must not block.
// Errors   kNoSpace (before bytes are accepted that can't be kept), kTooLarge, kIo, kCorrupt,
//          kNotFound (freed inode), kIsDirectory, kInvalid, kReadOnly.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cache/buffer_pool.h"
#include "cache/extent_cache.h"
#include "cache/write_back.h"
#include "fs/attributes.h"
#include "fs/conditions.h"
#include "fs/file_data.h"
#include "fs/id_source.h"
#include "fs/inode_table.h"
#include "fs/meta/meta_store.h"
#include "fs/receive_area.h"

namespace terrace::fs {

struct WriteRequest {
  InodeId inode;
  uint64_t offset = 0;
  uint32_t size_bytes = 0;
  bool clear_suid_sgid = false;
  bool keep_times = false;  // write-back mode: the kernel owns the times
};

// Bytes for a reply, in order. The memory stays in place until this is destroyed.
using ReadReply = cache::PinnedBytes;

struct ReadRequest {
  InodeId inode;
  uint64_t offset = 0;
  uint32_t size_bytes = 0;
  bool mapped = false;  // a READ of the page cache without a lock owner: how faults look
};

struct HandleMode {
  bool read = false;
  bool write = false;
};

struct OpenResult {
  uint64_t size_bytes = 0;
  uint32_t mode = 0;
  bool complete_in_dram = false;
  bool pages_were_mapped = false;  // the kernel faulted pages of this inode before
};

enum class SeekTarget { kData, kHole };

struct AllocateRequest {
  InodeId inode;
  uint64_t offset = 0;
  uint64_t size = 0;
  bool keep_size = false;
  bool punch_hole = false;  // requires keep_size
  bool zero_range = false;
};

struct CopyRequest {
  InodeId source;
  uint64_t source_offset = 0;
  InodeId target;
  uint64_t target_offset = 0;
  uint64_t size = 0;
};

class Files {
 public:
  using WriteDone = std::function<void(Status)>;
  using ReadDone = cache::ExtentCache::PinDone;
  using SyncDone = std::function<void(Status)>;
  using CopyDone = std::function<void(Result<uint64_t> size)>;

  struct Dependencies {
    MetaStore& meta;
    InodeTable& inodes;
    IdSource& ids;
    Conditions& conditions;
    cache::ExtentCache& cache;
    cache::WriteBack& write_back;
    io::ExtentStore& store;
    const Clock& clock;
    // Waits until space that is on its way to becoming free is free.
    std::function<void()> reclaim_space;
    // A condition closed that kept this inode; called without locks.
    std::function<void(InodeId)> predecessor_released;
  };
  explicit Files(Dependencies dependencies);

  // Makes the area ready to receive a request. Never fails; waits while the pool is exhausted
  // (write-back and eviction make room).
  void PrepareReceive(ReceiveArea& area);

  // Counts a handle; a reader of a small file starts fetching the whole of it.
  Result<OpenResult> Open(InodeId inode, HandleMode mode);
  // A handle is gone. The last writer's release marks the file as finished (its tail is sealed).
  void Release(InodeId inode, HandleMode mode);
  // close(2) of one descriptor: reports an error of background write-back once.
  Status Flush(InodeId inode);

  // The payload is at the start of `area`; it is taken over when that saves a copy. done may be
  // delayed while DRAM is full of dirty bytes: that throttles the writer.
  void Write(const WriteRequest& request, ReceiveArea& area, WriteDone done);
  // Gives min(size, bytes up to the end of file); never less.
  void Read(const ReadRequest& request, ReadDone done);

  Result<Attributes> Truncate(InodeId inode, uint64_t size_bytes, bool clear_suid_sgid);
  Status Allocate(const AllocateRequest& request);
  // Errors: kRange when there is none before the end of the file (ENXIO).
  Result<uint64_t> Seek(InodeId inode, uint64_t offset, SeekTarget target);

  // The target's bytes become the source's by sharing extents: nothing is read or written but what
  // of the source was not durable yet. done(size): how many from the start, 0 at the source's end.
  // Errors: kUnsupported when copying through memory is better (little that is not durable).
  void Copy(const CopyRequest& request, CopyDone done);

  // fsync / fdatasync of a file: data, size and name (COMMIT-3).
  void Sync(InodeId inode, SyncDone done);
  // fsync of a directory: its entries, and the files of its conditional entries.
  void SyncDirectory(InodeId inode, SyncDone done);

  uint64_t copied_bytes() const { return copied_bytes_.load(std::memory_order_relaxed); }
  uint64_t accepted_bytes() const { return accepted_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Numbers;  // ids and space taken for one write before the lock

  Result<FileData*> DataLocked(Inode& inode) TERRACE_REQUIRES(inode.mu);
  Status ReserveSpace(uint64_t block_count);
  Status Accept(const WriteRequest& request, ReceiveArea& area);
  void AdoptLocked(Inode& inode, FileData& data, const WriteRequest& request, Numbers& numbers,
                   ReceiveArea& area) TERRACE_REQUIRES(inode.mu);
  // False: there is no room without waiting; try again with a buffer at hand.
  bool CopyLocked(Inode& inode, FileData& data, const WriteRequest& request, Numbers& numbers,
                  const std::byte* payload) TERRACE_REQUIRES(inode.mu);
  bool AppendToTailLocked(FileData& data, const WriteRequest& request, Numbers& numbers,
                          const std::byte* payload);
  bool OverwriteOpenLocked(FileData& data, const WriteRequest& request, const std::byte* payload);
  void NoteWrittenLocked(Inode& inode, FileData& data, const WriteRequest& request,
                         Sequence sequence) TERRACE_REQUIRES(inode.mu);
  void SealTailLocked(FileData& data);
  void KeepPromisedLocked(Inode& inode, FileData& data, uint64_t offset, uint64_t end)
      TERRACE_REQUIRES(inode.mu);
  struct CopyPlan;
  void TryCopy(const CopyRequest& request, int attempt, CopyDone done);
  Result<CopyPlan> PlanCopyLocked(Inode& source, const CopyRequest& request)
      TERRACE_REQUIRES(source.mu);
  Status ShareLocked(Inode& target, const CopyRequest& request, const CopyPlan& plan)
      TERRACE_REQUIRES(target.mu);
  struct ReadPlan;
  Status PrepareRead(Inode& inode, const ReadRequest& request);
  ReadPlan PlanReadLocked(Inode& inode, const ReadRequest& request)
      TERRACE_REQUIRES_SHARED(inode.mu);
  std::vector<cache::ReadPiece> PiecesLocked(const FileData& data, uint64_t offset,
                                             uint64_t size) const;
  std::vector<cache::ExtentRef> ExtentsLocked(const FileData& data, uint64_t offset,
                                              uint64_t end) const;
  void NoteReadLocked(Inode& inode) TERRACE_REQUIRES(inode.mu);
  Status WriteRecordLocked(Inode& inode, MetaBatch batch) TERRACE_REQUIRES(inode.mu);
  Result<Attributes> TruncateLocked(Inode& inode, uint64_t size_bytes, bool clear_suid_sgid)
      TERRACE_REQUIRES(inode.mu);
  Status AllocateLocked(Inode& inode, const AllocateRequest& request) TERRACE_REQUIRES(inode.mu);
  Status ClearRangeLocked(Inode& inode, FileData& data, uint64_t offset, uint64_t end)
      TERRACE_REQUIRES(inode.mu);
  Result<std::vector<Condition>> SettleLocked(Inode& inode) TERRACE_REQUIRES(inode.mu);
  void ReleasePredecessors(const std::vector<Condition>& closed);
  Status CheckRoomFor(uint64_t size_bytes);
  Result<std::vector<cache::ExtentRef>> PrepareSync(InodeId inode);

  Dependencies deps_;
  const uint64_t read_window_bytes_max_;
  std::atomic<uint64_t> copied_bytes_{0};
  std::atomic<uint64_t> accepted_bytes_{0};
};

}  // namespace terrace::fs
