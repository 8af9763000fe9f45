// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: extent records have the bytes of docs/format.md; damaged ones are refused, never read.
// Method: golden bytes, edge sizes, every prefix, single wrong fields, random bytes.
#include "io/extent_format.h"

#include <gtest/gtest.h>

#include <random>

#include "base/checksum.h"
#include "base/units.h"

namespace terrace::io {
namespace {

ExtentRecord RecordOfSize(uint32_t size_bytes) {
  ExtentRecord record;
  record.size_bytes = size_bytes;
  record.reference_count = 2;
  record.device = DeviceId(3);
  record.runs = {{1000, BlockCount(size_bytes)}};
  for (uint32_t i = 0; i < ChecksumCount(size_bytes); i++) record.checksums.push_back(i * 77 + 1);
  return record;
}

TEST(ExtentFormat, GoldenBytes) {
  ExtentRecord record = RecordOfSize(4097);
  record.runs = {{0x0102030405, 1}, {0x200, 1}};
  record.checksums = {0x8899aabbccddeeff};
  const std::string golden(
      "\x01"                               // version
      "\x01\x10\x00\x00"                   // size
      "\x02\x00\x00\x00"                   // reference count
      "\x03\x00"                           // device
      "\x02\x00"                           // runs
      "\x05\x04\x03\x02\x01\x00\x00\x00"   // first block
      "\x01\x00\x00\x00"                   // blocks
      "\x00\x02\x00\x00\x00\x00\x00\x00"   //
      "\x01\x00\x00\x00"                   //
      "\xff\xee\xdd\xcc\xbb\xaa\x99\x88",  // checksum
      45);
  EXPECT_EQ(EncodeExtentRecord(record), golden);
}

class ExtentRecordOfSize : public ::testing::TestWithParam<uint32_t> {};

TEST_P(ExtentRecordOfSize, SurvivesARoundTrip) {
  ExtentRecord record = RecordOfSize(GetParam());
  Result<ExtentRecord> decoded = DecodeExtentRecord(EncodeExtentRecord(record));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().context;
  EXPECT_EQ(*decoded, record);
}

TEST_P(ExtentRecordOfSize, EveryCutIsRefused) {
  std::string bytes = EncodeExtentRecord(RecordOfSize(GetParam()));
  for (size_t size = 0; size < bytes.size(); size++) {
    Result<ExtentRecord> decoded = DecodeExtentRecord(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(decoded.has_value()) << size;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  }
  EXPECT_FALSE(DecodeExtentRecord(bytes + '\0').has_value());
}

INSTANTIATE_TEST_SUITE_P(EdgeSizes, ExtentRecordOfSize,
                         ::testing::Values(1, 4095, 4096, 4097, 65535, 65536, 65537,
                                           kExtentSizeMax - 1, kExtentSizeMax));

TEST(ExtentFormat, RefusesFieldsThatMakeNoSense) {
  const std::string good = EncodeExtentRecord(RecordOfSize(8192));
  struct {
    size_t offset;
    std::string bytes;
  } cases[] = {
      {0, std::string("\x02", 1)},                               // unknown version
      {1, std::string("\x00\x00\x00\x00", 4)},                   // empty
      {1, std::string("\x01\x00\x10\x00", 4)},                   // larger than an extent
      {1, std::string("\x01\x20\x00\x00", 4)},                   // needs three blocks
      {11, std::string("\x00\x00", 2)},                          // no run
      {11, std::string("\xff\xff", 2)},                          // too many runs
      {13, std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)},  // block number overflows
      {21, std::string("\x00\x00\x00\x00", 4)},                  // an empty run
  };
  for (const auto& change : cases) {
    std::string bytes = good;
    bytes.replace(change.offset, change.bytes.size(), change.bytes);
    Result<ExtentRecord> decoded = DecodeExtentRecord(bytes);
    ASSERT_FALSE(decoded.has_value()) << "offset " << change.offset;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  }
}

TEST(ExtentFormat, RandomBytesNeverCrash) {
  std::mt19937_64 random(20260101);
  for (int i = 0; i < 20000; i++) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    Result<ExtentRecord> decoded = DecodeExtentRecord(bytes);
    if (decoded) {
      EXPECT_EQ(EncodeExtentRecord(*decoded), bytes);
    }
  }
}

TEST(ExtentFormat, ChecksumsCoverEachBlockOf64KiB) {
  std::vector<std::byte> bytes(kChecksumBlockSize + 5, std::byte{9});
  std::vector<uint64_t> checksums = ComputeChecksums(bytes);
  ASSERT_EQ(checksums.size(), 2u);
  EXPECT_EQ(checksums[0], Checksum64(ByteView(bytes).first(kChecksumBlockSize)));
  EXPECT_EQ(checksums[1], Checksum64(ByteView(bytes).subspan(kChecksumBlockSize)));
  EXPECT_EQ(ChecksumCount(0), 0u);
  EXPECT_EQ(ChecksumCount(1), 1u);
  EXPECT_EQ(ChecksumCount(kChecksumBlockSize), 1u);
  EXPECT_EQ(ChecksumCount(kExtentSizeMax), 16u);
}

}  // namespace
}  // namespace terrace::io
