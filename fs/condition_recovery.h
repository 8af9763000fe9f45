// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Recovery of conditional entries: what a mount does with names that were published before their
// file's bytes were durable.
//
// Role     For each open condition: if the file is complete the condition is closed and the name
//          stays; else the predecessor gets its name back, or the name goes. Afterwards no
//          condition is open, and every inode without a name is in the orphan table. May be
//          repeated after it was interrupted at any point.
// Threads  Start-up only.
// Errors   kCorrupt (a record that does not decode), kIo, kNoSpace.
//
// Keeps COMMIT-2: docs/invariants.md; tests/fs/condition_recovery_test.cc.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

struct ConditionRecovery {
  uint64_t kept = 0;      // complete files: their names stay
  uint64_t restored = 0;  // incomplete: the predecessor has its name again
  uint64_t removed = 0;   // incomplete and without a predecessor: the name is gone
  uint64_t stale = 0;     // the entry names another inode; only damage can do that
};

// Writes one batch per condition and syncs at the end, if there was any.
Result<ConditionRecovery> RecoverConditions(MetaStore& meta);

}  // namespace terrace::fs
