// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// PlaceBatch: where the extents of one batch go, and the large writes that bring them there.
//
// Role     Extents of 64 KiB and more take the next device each, in turn; smaller ones are packed
//          into groups of up to 1 MiB, one contiguous run per group. A device without space is
//          passed over. What lies side by side on a device is joined into one vectored write.
// Owner    A function of ExtentStore; keeps nothing.
// Threads  Thread-safe.
// Errors   kNoSpace; every block is free again then.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "io/extent_store.h"

namespace terrace::io {

// One write: neighbouring blocks of one device.
struct Segment {
  Device* device = nullptr;
  BlockRun run;
  std::vector<iovec> pieces;
};

// Allocates, fills in device and runs of every record, and returns the writes.
Result<std::vector<Segment>> PlaceBatch(const std::vector<std::unique_ptr<Device>>& devices,
                                        std::atomic<uint64_t>& stripe_cursor,
                                        std::vector<ExtentWrite>& batch);

}  // namespace terrace::io
