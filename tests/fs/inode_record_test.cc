// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: records come back as they were stored, and damaged bytes are an error.
// Method: round trips with edge values, golden bytes, every truncation.
#include "fs/inode_record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

InodeRecord Sample() {
  return {.id = InodeId(42),
          .mode = S_IFLNK | 0777,
          .nlink = 3,
          .uid = 1000,
          .gid = UINT32_MAX,
          .rdev = 0x0102,
          .size_bytes = (1ull << 63) - 1,
          .allocated_bytes = 4096,
          .atime_ns = INT64_MIN,
          .mtime_ns = -1,
          .ctime_ns = INT64_MAX,
          .btime_ns = 1,
          .durable_sequence = Sequence(77),
          .parent = InodeId(1),
          .has_xattrs = true,
          .symlink_target = "../a b"};
}

TEST(InodeRecord, RoundTrip) {
  for (InodeRecord record : {Sample(), InodeRecord{.id = InodeId(7)}}) {
    auto decoded = DecodeInodeRecord(record.id, EncodeInodeRecord(record));
    ASSERT_TRUE(decoded) << decoded.error().context;
    EXPECT_EQ(*decoded, record);
  }
}

// A store on disk depends on these bytes: docs/format.md.
TEST(InodeRecord, BytesAreStable) {
  const std::string bytes = EncodeInodeRecord(Sample());
  const unsigned char golden[] = {
      1,                                                              // version
      0xff, 0xa1, 0,    0,    3,    0,    0,    0,    0xe8, 3, 0, 0,  // mode, nlink, uid
      0xff, 0xff, 0xff, 0xff, 2,    1,    0,    0,    0,    0, 0, 0,  // gid, rdev
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,                 // size
      0,    0x10, 0,    0,    0,    0,    0,    0,                    // allocated
      0,    0,    0,    0,    0,    0,    0,    0x80,                 // atime
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,                 // mtime
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,                 // ctime
      1,    0,    0,    0,    0,    0,    0,    0,    77,   0, 0, 0,
      0,    0,    0,    0,                                      // btime, durable sequence
      1,    0,    0,    0,    0,    0,    0,    0,    1,    6,    0,  // parent, flags, length
      '.',  '.',  '/',  'a',  ' ',  'b'};
  EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(golden), sizeof golden));
}

TEST(InodeRecord, DamagedBytesAreCorrupt) {
  const std::string bytes = EncodeInodeRecord(Sample());
  for (size_t size = 0; size < bytes.size(); size++) {
    EXPECT_EQ(CodeOf(DecodeInodeRecord(InodeId(1), bytes.substr(0, size))), Errc::kCorrupt);
  }
  EXPECT_EQ(CodeOf(DecodeInodeRecord(InodeId(1), bytes + "x")), Errc::kCorrupt);
  std::string newer = bytes;
  newer[0] = 2;
  auto decoded = DecodeInodeRecord(InodeId(42), newer);
  ASSERT_EQ(CodeOf(decoded), Errc::kCorrupt);
  EXPECT_NE(decoded.error().context.find("inode 42"), std::string::npos);
  InodeRecord huge{.id = InodeId(1), .size_bytes = 1ull << 63};
  EXPECT_EQ(CodeOf(DecodeInodeRecord(InodeId(1), EncodeInodeRecord(huge))), Errc::kCorrupt);
}

TEST(InodeRecord, AttributesShowTheRecord) {
  const InodeRecord record = Sample();
  const Attributes attributes = AttributesOf(record);
  EXPECT_EQ(attributes.inode, record.id);
  EXPECT_EQ(attributes.mode, record.mode);
  EXPECT_EQ(attributes.nlink, record.nlink);
  EXPECT_EQ(attributes.uid, record.uid);
  EXPECT_EQ(attributes.gid, record.gid);
  EXPECT_EQ(attributes.rdev, record.rdev);
  EXPECT_EQ(attributes.size_bytes, record.size_bytes);
  EXPECT_EQ(attributes.allocated_bytes, record.allocated_bytes);
  EXPECT_EQ(attributes.atime_ns, record.atime_ns);
  EXPECT_EQ(attributes.mtime_ns, record.mtime_ns);
  EXPECT_EQ(attributes.ctime_ns, record.ctime_ns);
  EXPECT_EQ(attributes.btime_ns, record.btime_ns);
}

}  // namespace
}  // namespace terrace::fs
