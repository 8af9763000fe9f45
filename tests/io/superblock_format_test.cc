// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the superblock's bytes are what docs/format.md shows, and nothing else is accepted.
// Method: golden bytes, then every bit of an encoded superblock flipped in turn.
#include "io/superblock_format.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/checksum.h"
#include "base/units.h"

namespace terrace::io {
namespace {

Superblock Example() {
  Superblock superblock{};
  superblock.device_index = 1;
  superblock.device_count = 3;
  for (uint8_t i = 0; i < 16; i++) superblock.store_id[i] = static_cast<uint8_t>(0xf0 + i);
  superblock.created_unix_ns = 0x0102030405060708;
  superblock.name_hash_seed = 0x1112131415161718;
  return superblock;
}

// The same bytes with the checksum made right again.
std::string Resealed(std::string block) {
  uint64_t checksum = Checksum64(AsBytes(block).first(offsetof(Superblock, checksum)));
  std::memcpy(block.data() + offsetof(Superblock, checksum), &checksum, sizeof checksum);
  return block;
}

TEST(SuperblockFormat, GoldenBytes) {
  const unsigned char golden[] = {
      'T',  'E',  'R',  'R',  'A',  'C',  'E',  '1',   // magic
      1,    0,    0,    0,                             // format version
      1,    0,    0,    0,                             // device index
      3,    0,    0,    0,                             // device count
      0,    0x10, 0,    0,                             // block size
      0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,  // store id
      0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,  //
      8,    7,    6,    5,    4,    3,    2,    1,     // created
      0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // name hash seed
  };
  std::string block = EncodeSuperblock(Example());
  ASSERT_EQ(block.size(), kSuperblockSize);
  EXPECT_EQ(std::memcmp(block.data(), golden, sizeof golden), 0);
  uint64_t checksum = 0;
  std::memcpy(&checksum, block.data() + sizeof golden, sizeof checksum);
  EXPECT_EQ(checksum, Checksum64(AsBytes(block).first(sizeof golden)));
  EXPECT_EQ(block.find_first_not_of('\0', sizeof(Superblock)), std::string::npos);
}

TEST(SuperblockFormat, GoldenBytesOfTheUseMark) {
  std::string block = EncodeUseMark(Example().store_id);
  ASSERT_EQ(block.size(), kBlockSize);
  EXPECT_EQ(block.substr(0, 8), "TERRUSED");
  EXPECT_EQ(std::memcmp(block.data() + 8, Example().store_id.data(), 16), 0);
  uint64_t checksum = 0;
  std::memcpy(&checksum, block.data() + 24, sizeof checksum);
  EXPECT_EQ(checksum, Checksum64(AsBytes(block).first(24)));
  EXPECT_EQ(block.find_first_not_of('\0', sizeof(UseMark)), std::string::npos);
}

TEST(SuperblockFormat, DecodesWhatItEncoded) {
  Result<Superblock> decoded = DecodeSuperblock(AsBytes(EncodeSuperblock(Example())));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->device_index, 1u);
  EXPECT_EQ(decoded->device_count, 3u);
  EXPECT_EQ(decoded->store_id, Example().store_id);
  EXPECT_EQ(decoded->created_unix_ns, Example().created_unix_ns);
  EXPECT_EQ(decoded->name_hash_seed, Example().name_hash_seed);
  EXPECT_EQ(StoreIdText(decoded->store_id), "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
}

TEST(SuperblockFormat, EveryFlippedBitIsNoticed) {
  std::string block = EncodeSuperblock(Example());
  for (size_t bit = 0; bit < sizeof(Superblock) * 8; bit++) {
    block[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(DecodeSuperblock(AsBytes(block)).has_value()) << "bit " << bit;
    block[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

TEST(SuperblockFormat, TellsForeignFromDamagedFromNewer) {
  std::string block = EncodeSuperblock(Example());
  std::string zeros(kSuperblockSize, '\0');
  EXPECT_EQ(DecodeSuperblock(AsBytes(zeros)).error().code, Errc::kNotFound);
  EXPECT_EQ(DecodeSuperblock(AsBytes(block.substr(0, 10))).error().code, Errc::kNotFound);
  std::string damaged = block;
  damaged[40] ^= 1;
  EXPECT_EQ(DecodeSuperblock(AsBytes(damaged)).error().code, Errc::kCorrupt);
  std::string newer = block;
  newer[offsetof(Superblock, format_version)] = 2;
  Result<Superblock> refused = DecodeSuperblock(AsBytes(Resealed(newer)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_NE(refused.error().context.find("format version 2"), std::string::npos);
}

TEST(SuperblockFormat, FieldsThatMakeNoSenseAreDamage) {
  struct {
    size_t offset;
    uint32_t value;
  } cases[] = {{offsetof(Superblock, format_version), 0},
               {offsetof(Superblock, device_index), 3},
               {offsetof(Superblock, device_count), 0},
               {offsetof(Superblock, device_count), kDeviceCountMax + 1},
               {offsetof(Superblock, block_size), 512}};
  for (const auto& change : cases) {
    std::string block = EncodeSuperblock(Example());
    std::memcpy(block.data() + change.offset, &change.value, sizeof change.value);
    Result<Superblock> decoded = DecodeSuperblock(AsBytes(Resealed(block)));
    ASSERT_FALSE(decoded.has_value()) << change.offset;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace terrace::io
