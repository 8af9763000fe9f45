// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// StoreLayout: from --store paths to opened devices, and the explicit formatting of them.
//
// Role     A PATH is a directory (its data file is PATH/terrace.data) or a block device. Finds
//          out what each holds, formats what is empty, refuses what is foreign, takes the lock.
// Threads  Start-up only.
// Errors   kInvalid, kCorrupt, kBusy, kNotFound, kNoSpace, kPermission: each names the path,
//          what was expected and found, and the way out. A refusal wrote nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "io/device.h"
#include "io/file_lock.h"  // LockHolder

namespace terrace::io {

// The least a device of a store holds.
inline constexpr uint64_t kDeviceSizeMin = 64 * kMiB;

struct StoreOptions {
  std::vector<std::string> paths;
  std::optional<uint64_t> store_size_bytes;  // per directory store; default 90 % of free space
  bool force = false;                        // format only: overwrite what is there
  bool read_only = false;
  bool make = true;  // open only: format paths that are all empty
  // Where the metadata of a store that is made would go, if not beside the data. It has to be
  // empty or missing.
  std::optional<std::string> metadata_directory = std::nullopt;
};

struct OpenedStore {
  StoreId store_id;
  uint64_t name_hash_seed;
  bool freshly_formatted;  // no metadata was ever made for it: see MarkStoreInUse
  std::optional<std::string> metadata_directory;  // PATH/terrace.meta in the first directory
  std::vector<std::unique_ptr<Device>> devices;   // by device index
};

// Formats empty or missing paths, opens formatted ones; all or none may be empty. A data file
// carries an exclusive flock (block devices: O_EXCL and flock) for as long as it is open.
Result<OpenedStore> OpenStore(const StoreOptions& options);
// Formats; paths that hold anything are refused by name of what they hold without `force`.
// Returns the new store's id.
Result<StoreId> FormatStore(const StoreOptions& options);

// To be called once the metadata of a fresh store is durable: from then on a store without its
// metadata is refused instead of being taken for a fresh one. Blocks.
Status MarkStoreInUse(Device& first_device);

}  // namespace terrace::io
