// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The figures of a mounted volume: what `terrace status` prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/extent_store.h"

namespace terrace::fs {

struct DramStatus {
  uint64_t size_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t dirty_bytes = 0;
  uint64_t prefaulted_bytes = 0;
  uint64_t hits = 0;    // extents that a READ found in DRAM
  uint64_t misses = 0;  // extents that a READ had to wait for
  bool huge_pages = false;
};

struct VolumeStatus {
  std::string store_id;
  DramStatus dram;
  std::vector<io::DeviceStatus> devices;
  uint64_t copied_bytes = 0;    // payload copied by the engine on the write path
  uint64_t accepted_bytes = 0;  // payload of all WRITEs
  uint64_t oldest_dirty_ms = 0;
  uint64_t open_conditions = 0;
  uint64_t inodes_in_memory = 0;
  uint64_t rewritten_extents = 0;  // by background rewriting of fragmented maps
};

}  // namespace terrace::fs
