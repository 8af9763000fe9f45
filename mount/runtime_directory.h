// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The runtime directory: where the control sockets of mounts lie.
//
// Role     /run/terrace for root, else $XDG_RUNTIME_DIR/terrace, else /tmp/terrace-UID. It is
//          ours alone (0700), which is checked: a directory that another user prepared, or a
//          symbolic link, is refused. A socket's name follows from the mount's device number.
// Errors   kPermission, kIo.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "mount/mount_table.h"

namespace terrace::mount {

// Makes it if it is missing.
Result<std::string> OwnRuntimeDirectory();
// Where mounts of that user may have their sockets, those that exist and are safe.
std::vector<std::string> RuntimeDirectoriesOf(uid_t owner);

std::string SocketName(const MountEntry& mount);  // "mount-0-57.sock"
bool HasControlSocket(const MountEntry& mount);

}  // namespace terrace::mount
