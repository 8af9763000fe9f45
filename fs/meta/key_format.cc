// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/meta/key_format.h"

#include <algorithm>

#include "base/checksum.h"

namespace terrace::fs {

uint64_t NameCookie(std::string_view name, uint64_t name_hash_seed) {
  constexpr int kDroppedBits = 64 - 55;
  uint64_t hash = Checksum64Seeded(AsBytes(name), name_hash_seed) >> kDroppedBits;
  return std::max<uint64_t>(hash, 1) << 8;
}

}  // namespace terrace::fs
