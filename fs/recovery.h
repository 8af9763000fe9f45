// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Recovery: what a mount does with a store before it serves it.
//
// Role     Checks that the metadata belongs to the devices, rebuilds the devices' free space from
//          the extent records (they are the only truth), and lists the orphans that the last
//          mount left. After a clean unmount the same steps find nothing
//          to settle.
// Threads  Start-up only.
// Errors   kInvalid (metadata of another store: both ids named), kCorrupt (a record that does
//          not decode, blocks that two extents claim), kIo. Nothing is changed then.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "fs/meta/meta_store.h"
#include "io/extent_store.h"

namespace terrace::fs {

// Fresh metadata: writes the store's id. Else compares it.
Status CheckStoreIdentity(MetaStore& meta, const std::string& store_id,
                          const std::string& directory, bool fresh);

// Marks the blocks of every extent record as allocated.
Status RebuildFreeSpace(MetaStore& meta, io::ExtentStore& store);

// Inodes without a name.
Result<std::vector<InodeId>> ListOrphans(MetaStore& meta);

}  // namespace terrace::fs
