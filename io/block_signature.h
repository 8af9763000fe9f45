// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// What the head of a block device tells about its content, so that nothing is overwritten by
// mistake. Knows common file systems, volume managers, partition tables and swap.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/units.h"

namespace terrace::io {

// How much of the head DescribeContent wants to see (btrfs keeps its superblock at 64 KiB).
inline constexpr size_t kSignatureHeadSize = 128 * kKiB;

// For instance "an ext2, ext3 or ext4 file system"; "unknown data" when not all zeros; empty when
// all zeros.
std::string DescribeContent(ByteView head);

}  // namespace terrace::io
