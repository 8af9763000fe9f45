// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The lock on a data file or device: one process at a time works on a store.
//
// Role     An exclusive flock, which the kernel drops with the last descriptor.
// Errors   kBusy, naming the process that holds it.
#pragma once

#include <string>

#include "base/result.h"

namespace terrace::io {

// Requires: fd is open on `path`.
Status LockFile(int fd, const std::string& path);

// The process that holds the flock of `path`, for instance "terrace (pid 4711)"; empty: unknown.
std::string LockHolder(const std::string& path);

// True when the lock's holder has died: the kernel still ends its I/O and then drops the lock.
bool LockHolderIsDead(const std::string& path);

}  // namespace terrace::io
