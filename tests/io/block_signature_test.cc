// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what a device holds is named; zeros are nothing; anything else is at least "unknown".
// Method: the magic numbers of common contents at their places in a head of zeros.
#include "io/block_signature.h"

#include <gtest/gtest.h>

namespace terrace::io {
namespace {

std::string HeadWith(size_t offset, const std::string& magic) {
  std::string head(kSignatureHeadSize, '\0');
  head.replace(offset, magic.size(), magic);
  return head;
}

TEST(BlockSignature, NamesCommonContents) {
  struct {
    size_t offset;
    std::string magic;
    std::string name;
  } cases[] = {
      {1080, "\x53\xef", "ext4"},
      {0, "XFSB", "XFS"},
      {65600, "_BHRfS_M", "btrfs"},
      {512, "LABELONE", "LVM"},
      {512, "EFI PART", "GPT"},
      {510, "\x55\xaa", "MBR"},
      {4086, "SWAPSPACE2", "swap"},
      {3, "NTFS    ", "NTFS"},
      {82, "FAT32   ", "FAT"},
      {0, "LUKS\xba\xbe", "LUKS"},
      {4096, "\xfc\x4e\x2b\xa9", "RAID"},
      {1024, "\x10\x20\xf5\xf2", "F2FS"},
  };
  for (const auto& one : cases) {
    std::string found = DescribeContent(AsBytes(HeadWith(one.offset, one.magic)));
    EXPECT_NE(found.find(one.name), std::string::npos) << one.name << ": " << found;
  }
}

TEST(BlockSignature, APartitionTableIsNotMistakenForWhatItContains) {
  std::string head = HeadWith(510, "\x55\xaa");
  head.replace(512, 8, "EFI PART");
  EXPECT_EQ(DescribeContent(AsBytes(head)), "a GPT partition table");
}

TEST(BlockSignature, ZerosAreNothingAndTheRestIsUnknown) {
  EXPECT_EQ(DescribeContent(AsBytes(HeadWith(0, ""))), "");
  EXPECT_EQ(DescribeContent(AsBytes(HeadWith(kSignatureHeadSize - 1, "x"))), "unknown data");
  EXPECT_EQ(DescribeContent({}), "");
  EXPECT_EQ(DescribeContent(AsBytes("x")), "unknown data");
}

}  // namespace
}  // namespace terrace::io
