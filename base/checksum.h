// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Checksum64: XXH3-64 (https://github.com/Cyan4973/xxHash), seed 0, and the same with a seed for
// keyed hashing. Thread-safe, no errors.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace terrace {

uint64_t Checksum64(ByteView bytes);
uint64_t Checksum64Seeded(ByteView bytes, uint64_t seed);

}  // namespace terrace
