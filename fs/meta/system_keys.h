// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Keys of the system table; their values: docs/format.md.
#pragma once

namespace terrace::fs {

// First number of each kind that was never reserved: 8 bytes, little-endian (fs/id_source.h).
inline constexpr char kInodesReservedKey[] = "reserved.inodes";
inline constexpr char kExtentsReservedKey[] = "reserved.extents";
inline constexpr char kSequencesReservedKey[] = "reserved.sequences";

}  // namespace terrace::fs
