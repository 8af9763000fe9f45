// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

void Statfs(fuse_req_t request, fuse_ino_t) {
  fs::FilesystemSpace space = ContextOf(request).volume.Space();
  struct statvfs result {};
  result.f_bsize = space.block_size;
  result.f_frsize = space.block_size;
  result.f_blocks = space.total_blocks;
  result.f_bfree = space.free_blocks;
  result.f_bavail = space.free_blocks;
  result.f_files = space.files_total;
  result.f_ffree = space.files_free;
  result.f_favail = space.files_free;
  result.f_namemax = fs::kNameSizeMax;
  fuse_reply_statfs(request, &result);
}

void Fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
               fuse_file_info*) {
  constexpr int kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  const bool punch_hole = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
  const bool keep_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const bool zero_range = (mode & FALLOC_FL_ZERO_RANGE) != 0;
  if ((mode & ~kKnown) != 0 || (punch_hole && !keep_size) || (punch_hole && zero_range)) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  if (offset < 0 || length <= 0 || offset > INT64_MAX - length) {
    fuse_reply_err(request, offset < 0 || length <= 0 ? EINVAL : EFBIG);
    return;
  }
  ReplyStatus(request,
              ContextOf(request).volume.files().Allocate({.inode = InodeId(inode),
                                                          .offset = static_cast<uint64_t>(offset),
                                                          .size = static_cast<uint64_t>(length),
                                                          .keep_size = keep_size,
                                                          .punch_hole = punch_hole,
                                                          .zero_range = zero_range}));
}

void CopyFileRange(fuse_req_t request, fuse_ino_t source, off_t source_offset, fuse_file_info*,
                   fuse_ino_t target, off_t target_offset, fuse_file_info*, size_t size,
                   int flags) {
  if (flags != 0 || source_offset < 0 || target_offset < 0) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  fs::CopyRequest copy{.source = InodeId(source),
                       .source_offset = static_cast<uint64_t>(source_offset),
                       .target = InodeId(target),
                       .target_offset = static_cast<uint64_t>(target_offset),
                       .size = size};
  // It may wait for a device: answered from a completion then. To kUnsupported the kernel answers
  // with a copy through memory, this time.
  ContextOf(request).volume.files().Copy(copy, [request](Result<uint64_t> copied) {
    if (!copied) return ReplyError(request, copied.error());
    fuse_reply_write(request, *copied);
  });
}

void ReplyLseek(fuse_req_t request, InodeId inode, uint64_t offset, fs::SeekTarget target) {
  Result<uint64_t> found = ContextOf(request).volume.files().Seek(inode, offset, target);
  if (found) {
    fuse_reply_lseek(request, static_cast<off_t>(*found));
  } else if (found.error().code == Errc::kRange) {
    fuse_reply_err(request, ENXIO);
  } else {
    ReplyError(request, found.error());
  }
}

void Lseek(fuse_req_t request, fuse_ino_t ino, off_t offset, int whence, fuse_file_info*) {
  Context& context = ContextOf(request);
  if (whence != SEEK_DATA && whence != SEEK_HOLE) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  if (offset < 0) {
    fuse_reply_err(request, ENXIO);
    return;
  }
  const InodeId inode(ino);
  const auto from = static_cast<uint64_t>(offset);
  const auto target = whence == SEEK_DATA ? fs::SeekTarget::kData : fs::SeekTarget::kHole;
  if (context.page_syncer == nullptr || !context.open_modes.MayHoldDirtyPages(inode)) {
    return ReplyLseek(request, inode, from, target);
  }
  // The kernel may hold written pages that we have not seen, and asks all the same.
  context.page_syncer->SyncThen(inode, [request, inode, from, target](bool synced) {
    if (synced) return ReplyLseek(request, inode, from, target);
    // Rather no answer than a hole where data is: programs then copy everything.
    fuse_reply_err(request, EINVAL);
  });
}

}  // namespace

void RegisterSpaceOperations(fuse_lowlevel_ops& table) {
  table.statfs = Statfs;
  table.fallocate = Fallocate;
  table.lseek = Lseek;
  table.copy_file_range = CopyFileRange;
}

}  // namespace terrace::mount
