// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/superblock_format.h"

#include <cstring>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/units.h"

namespace terrace::io {

namespace {

constexpr size_t kChecksummedSize = offsetof(Superblock, checksum);
static_assert(kChecksummedSize + sizeof(uint64_t) == sizeof(Superblock));

uint64_t ChecksumOf(const Superblock& superblock) {
  return Checksum64({reinterpret_cast<const std::byte*>(&superblock), kChecksummedSize});
}

}  // namespace

std::string StoreIdText(const StoreId& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : id) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string EncodeSuperblock(Superblock superblock) {
  TERRACE_ASSERT(superblock.device_index < superblock.device_count);
  TERRACE_ASSERT(superblock.device_count <= kDeviceCountMax);
  superblock.magic = kSuperblockMagic;
  superblock.format_version = kFormatVersion;
  superblock.block_size = static_cast<uint32_t>(kBlockSize);
  superblock.checksum = ChecksumOf(superblock);
  std::string block(kSuperblockSize, '\0');
  std::memcpy(block.data(), &superblock, sizeof superblock);
  return block;
}

Result<Superblock> DecodeSuperblock(ByteView block) {
  Superblock superblock;
  if (block.size() < sizeof superblock) return Fail(Errc::kNotFound, "no superblock: too short");
  std::memcpy(&superblock, block.data(), sizeof superblock);
  if (superblock.magic != kSuperblockMagic) return Fail(Errc::kNotFound, "no superblock");
  // The version stands before the checksum: a newer format may put its checksum elsewhere.
  if (superblock.format_version > kFormatVersion) {
    return Fail(Errc::kInvalid, "format version " + std::to_string(superblock.format_version) +
                                    ", this program knows up to " + std::to_string(kFormatVersion));
  }
  if (superblock.checksum != ChecksumOf(superblock)) {
    return Fail(Errc::kCorrupt, "the superblock's checksum does not match");
  }
  bool sane = superblock.format_version == kFormatVersion && superblock.block_size == kBlockSize &&
              superblock.device_index < superblock.device_count &&
              superblock.device_count <= kDeviceCountMax;
  if (!sane) return Fail(Errc::kCorrupt, "the superblock's fields make no sense");
  return superblock;
}

std::string EncodeUseMark(const StoreId& id) {
  UseMark mark{.magic = kUseMarkMagic, .store_id = id, .checksum = 0};
  mark.checksum =
      Checksum64({reinterpret_cast<const std::byte*>(&mark), offsetof(UseMark, checksum)});
  std::string block(kBlockSize, '\0');
  std::memcpy(block.data(), &mark, sizeof mark);
  return block;
}

}  // namespace terrace::io
