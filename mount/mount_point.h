// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The mount point: is it fit for a mount, and how to take a mount away.
//
// Errors   One line each: what is wrong with which path, and the way out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "mount/mount_table.h"

namespace terrace::mount {

// Looks at everything that can be seen before mounting: the directory, what is mounted there,
// /dev/fuse, fusermount3. Returns: the canonical path.
Result<std::string> CheckMountPoint(const std::string& path);

// Refuses a mount that would hide one of `paths` (of the store, its metadata or its log): the
// engine would meet itself there. Requires: `canonical` is what CheckMountPoint returned.
Status CheckHidesNothing(const std::string& canonical, const std::vector<std::string>& paths);

struct UnmountFlags {
  bool lazy = false;  // detach now; it ends when the last user is gone
};
// As root directly, else with fusermount3. Errors: kBusy, kPermission, kIo.
Status Unmount(const std::string& mount_point, UnmountFlags flags);

// Raises the kernel's readahead window of the mount, so that page faults arrive as 1 MiB reads.
// Errors: kPermission when not root: the kernel's 128 KiB stay.
Status RaiseReadahead(const MountEntry& mount);
// The window in KiB; 0: unknown.
uint64_t ReadaheadKiB(const MountEntry& mount);

}  // namespace terrace::mount
