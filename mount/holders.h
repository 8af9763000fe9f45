// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Who keeps a mount busy: processes with open files, mappings, a working directory or a root on it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "mount/mount_table.h"

namespace terrace::mount {

struct Holder {
  pid_t pid = 0;
  std::string name;
  std::string how;  // "has /mnt/x open", "works in /mnt"
};

// One entry per process, at most holders_max; processes that we may not look at are left out.
std::vector<Holder> FindHolders(const MountEntry& mount, size_t holders_max);

}  // namespace terrace::mount
