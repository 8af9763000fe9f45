// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The status of a mount as JSON: the stable names of `terrace status --json`.
//
// Names are documented in docs/operations.md; more may be added, none changes or goes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fs/volume.h"
#include "mount/mount_table.h"
#include "mount/session.h"

namespace terrace::mount {

nlohmann::json StatusJson(fs::Volume& volume, Session& session, const MountEntry& mount);

}  // namespace terrace::mount
