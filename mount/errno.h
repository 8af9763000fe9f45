// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ToErrno: the one table that turns an error code of the tree into an errno for a program.
//
// Where one code means different errnos to different calls (lseek, setxattr), the operation
// says so in its own file.
#pragma once

#include "base/result.h"

namespace terrace::mount {

// Returns: a positive errno.
int ToErrno(Errc code);

}  // namespace terrace::mount
