// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// BlockRun: neighbouring blocks of one device.
#pragma once

#include <cstdint>

namespace terrace::io {

struct BlockRun {
  uint64_t first = 0;  // block number on the device
  uint64_t count = 0;  // blocks
  uint64_t end() const { return first + count; }
  bool operator==(const BlockRun&) const = default;
};

}  // namespace terrace::io
