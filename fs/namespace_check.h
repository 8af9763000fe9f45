// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// CheckNamespace: compares directory entries, link counts, orphans and conditions of a store.
//
// Role     The slow check of NAMES-1 to NAMES-3 (fs/names.h) over the whole metadata: for tests
//          and for fsck. Changes nothing.
// Threads  The store must not change meanwhile.
// Errors   kIo; damaged records are findings, not errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

// Returns: one line per violation, naming the inode; empty when all is well. Keeps a few dozen
// bytes per inode in memory.
Result<std::vector<std::string>> CheckNamespace(MetaStore& meta, uint64_t name_hash_seed);

}  // namespace terrace::fs
