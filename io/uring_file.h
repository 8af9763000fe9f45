// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// UringFile: the real File: one io_uring per file, O_DIRECT, a completion thread of its own.
//
// Role     Submits under a short lock from any thread; one thread reaps completions, continues
//          short transfers and runs callbacks. Uses a registered file, and registered buffers
//          for single pieces inside registered memory; without them where the memlock limit
//          forbids (said once in the log).
// Owner    io::Device. The destructor waits for everything in flight.
// Errors   Open: kNotFound, kPermission, kIo, kUnsupported (no io_uring).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "io/file.h"

namespace terrace::io {

struct UringOptions {
  unsigned queue_depth = 128;  // requests in flight; further ones wait in order, bounded by callers
};

// Takes over fd (opened O_RDWR | O_DIRECT, also on error).
Result<std::unique_ptr<File>> OpenUringFile(int fd, std::string path, const UringOptions& options);

}  // namespace terrace::io
