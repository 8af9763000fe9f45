// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// StartExtentRead: reads checksum blocks of one extent from its device and verifies them.
//
// Role     The reading half of ExtentStore: maps the blocks to runs, reads the runs beside each
//          other, and compares every checksum before the callback.
// Threads  Thread-safe. Verification runs on the device's completion thread.
// Errors   kIo; kCorrupt, counted and logged here with device and block.
#pragma once

#include <cstdint>

#include "io/device.h"
#include "io/extent_format.h"
#include "io/file.h"

namespace terrace::io {

struct ChecksumBlockRange {
  uint32_t first;
  uint32_t count;
};

// Requires: the range is not empty and lies in the extent; `into` holds whole blocks.
void StartExtentRead(Device& device, const ExtentRecord& record, ChecksumBlockRange range,
                     std::byte* into, IoDone done);

}  // namespace terrace::io
