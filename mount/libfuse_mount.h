// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Mounting through libfuse: its arguments, its environment, and what it says when it fails.
#pragma once

#include "base/result.h"
#include "mount/fuse.h"

namespace terrace::mount {

struct SessionOptions;

// Mounts; what libfuse and fusermount3 print on failure becomes the error's text. Not for several
// threads at once: it borrows standard error.
Result<fuse_session*> MountLibfuseSession(const SessionOptions& options,
                                          const fuse_lowlevel_ops& table, void* userdata);

// Puts libfuse's messages into our log.
void SendLibfuseMessagesToLog();

}  // namespace terrace::mount
