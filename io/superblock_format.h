// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The first block of every device: who it is. Layout and history: docs/format.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/bytes.h"
#include "base/result.h"

namespace terrace::io {

using StoreId = std::array<uint8_t, 16>;  // random, chosen at format

inline constexpr std::array<char, 8> kSuperblockMagic = {'T', 'E', 'R', 'R', 'A', 'C', 'E', '1'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint64_t kSuperblockSize = 4096;
// Blocks at the head of a device that are never handed out: superblock and its spare copy.
inline constexpr uint64_t kReservedBlocks = 256;
// The most devices one store has.
inline constexpr uint32_t kDeviceCountMax = 64;

struct Superblock {
  std::array<char, 8> magic;
  uint32_t format_version;
  uint32_t device_index;
  uint32_t device_count;
  uint32_t block_size;
  StoreId store_id;
  uint64_t created_unix_ns;
  uint64_t name_hash_seed;  // directory entries are ordered by a keyed hash of their names
  uint64_t checksum;        // XXH3-64 of everything before it
};
static_assert(std::has_unique_object_representations_v<Superblock>);

// The use mark, in block kUseMarkBlock of device 0: the store's metadata exists. Written once, when
// that is durable. Without it a store is fresh: metadata may be made for it, and none is missing.
inline constexpr std::array<char, 8> kUseMarkMagic = {'T', 'E', 'R', 'R', 'U', 'S', 'E', 'D'};
inline constexpr uint64_t kUseMarkBlock = 2;

struct UseMark {
  std::array<char, 8> magic;
  StoreId store_id;
  uint64_t checksum;  // XXH3-64 of everything before it
};
static_assert(std::has_unique_object_representations_v<UseMark>);

std::string StoreIdText(const StoreId& id);  // 32 hexadecimal digits

// One block of kSuperblockSize bytes: the struct, then zeros. Fills in magic, version, block size
// and checksum itself.
std::string EncodeSuperblock(Superblock superblock);
// Errors: kNotFound (no magic: not a TerraceFS device), kCorrupt (checksum), kInvalid (version).
Result<Superblock> DecodeSuperblock(ByteView block);

// One block: the mark, then zeros.
std::string EncodeUseMark(const StoreId& id);

}  // namespace terrace::io
