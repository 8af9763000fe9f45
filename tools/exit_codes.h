// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Exit codes of every verb; documented in docs/operations.md.
#pragma once

namespace terrace::tools {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,        // the thing itself failed
  kExitUsage = 2,         // the command line or a settings file makes no sense
  kExitBusy = 3,          // in use: the mount point, the mount or the store
  kExitStoreRefused = 4,  // foreign, damaged, incomplete or too new
  kExitNotMounted = 5,    // no TerraceFS there, or its daemon does not answer
};

}  // namespace terrace::tools
