// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

// Both answer from a completion: no reader thread waits for a device.

// fdatasync keeps the same promise: the size and the name are what make the data findable.
void Fsync(fuse_req_t request, fuse_ino_t inode, int, fuse_file_info*) {
  ContextOf(request).volume.files().Sync(
      InodeId(inode), [request](Status status) { ReplyStatus(request, status); });
}

void Fsyncdir(fuse_req_t request, fuse_ino_t inode, int, fuse_file_info*) {
  ContextOf(request).volume.files().SyncDirectory(
      InodeId(inode), [request](Status status) { ReplyStatus(request, status); });
}

}  // namespace

void RegisterSyncOperations(fuse_lowlevel_ops& table) {
  table.fsync = Fsync;
  table.fsyncdir = Fsyncdir;
}

}  // namespace terrace::mount
