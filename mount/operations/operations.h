// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The request handlers, by group: each function enters its group into libfuse's table.
//
// WRITE and READ are not here: mount/data_requests.h serves them without libfuse, because their
// payload must not be copied. Locks are left to the kernel, which alone knows its processes; so
// are ioctl, poll and access.
#pragma once

#include "mount/fuse.h"

namespace terrace::mount {

void RegisterLookupOperations(fuse_lowlevel_ops& table);     // lookup, forget
void RegisterAttributeOperations(fuse_lowlevel_ops& table);  // getattr, setattr, statx
void RegisterNameOperations(fuse_lowlevel_ops& table);       // mknod … rename, link, readlink
void RegisterDirectoryOperations(fuse_lowlevel_ops& table);  // opendir, readdir, readdirplus
void RegisterOpenOperations(fuse_lowlevel_ops& table);       // open, create, release, flush
void RegisterSyncOperations(fuse_lowlevel_ops& table);       // fsync, fsyncdir
void RegisterXattrOperations(fuse_lowlevel_ops& table);
void RegisterSpaceOperations(fuse_lowlevel_ops& table);  // statfs, fallocate, lseek, copies

// The whole table; its user data is a Context (mount/operations/context.h).
fuse_lowlevel_ops BuildOperationTable();

}  // namespace terrace::mount
