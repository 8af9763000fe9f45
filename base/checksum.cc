// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace terrace {

uint64_t Checksum64(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t Checksum64Seeded(ByteView bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace terrace
