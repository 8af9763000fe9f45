// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Composition root: builds the object graph of a store from validated settings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/volume.h"

namespace terrace::fs {

struct VolumeConfig {
  std::vector<std::string> store_paths;           // directories and block devices, in order
  std::optional<std::string> metadata_directory;  // --meta; needed without any directory store
  std::string metadata_parent;                    // default for it: PARENT/<store id>
  std::optional<uint64_t> store_size_bytes;
  uint64_t dram_bytes = 0;
  uint64_t write_back_delay_ms = 5000;
  double dirty_high_water = 0.8;  // share of dram_bytes, 0.05 to 0.95
  bool read_only = false;
  uint32_t root_uid = 0;  // owner of a fresh store's root directory
  uint32_t root_gid = 0;
};

// Opens (or formats, when every path is empty or missing) and recovers a store. Errors: each
// names the path, what was expected and found, and the way out; a refusal wrote nothing.
Result<std::unique_ptr<Volume>> OpenVolume(const VolumeConfig& config);

// A quarter of the machine's memory, or of the cgroup's limit if that is lower.
uint64_t DefaultDramBytes();

}  // namespace terrace::fs
