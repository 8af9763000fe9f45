// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The daemon: an Engine in a process of its own, and how its start is reported.
//
// Role     In the background the calling process waits until the mount answers or has failed:
//          the child reports through a pipe and then lets go of the terminal.
// Errors   As the child found them, with their codes.
#pragma once

#include <optional>

#include "mount/engine.h"
#include "mount/options.h"

namespace terrace::mount {

// Returns in the calling process alone, when the mount answers; nothing: all is well.
std::optional<MountFailure> MountInBackground(const MountConfig& config);
// Returns when the mount is gone. Logs to standard error unless there is a --log.
std::optional<MountFailure> MountInForeground(const MountConfig& config);

}  // namespace terrace::mount
