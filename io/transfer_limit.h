// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// TransferLimit: the most bytes of scattered pages that a device takes as one request.
//
// Role     Memory of 4 KiB pages is scattered, so that a request has one segment a page. A request
//          with more segments than the device's queue takes is split by the kernel, and a split
//          request is charged twice by bandwidth limits of cgroups (measured on loop devices of
//          128 segments: 1 MiB requests ran at half the limit). Split evenly here, it is not.
// Source   /sys/dev/block/MAJOR:MINOR/queue/max_segments
//          (Linux: Documentation/ABI/stable/sysfs-block)
#pragma once

#include <cstdint>

namespace terrace::io {

// For the device that fd is, or lies on. A power of two of at least 64 KiB; UINT64_MAX when the
// system does not say.
uint64_t TransferLimit(int fd);

}  // namespace terrace::io
