// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/block_signature.h"

#include <algorithm>
#include <string_view>

namespace terrace::io {

namespace {

using std::literals::operator""sv;

struct Signature {
  size_t offset;
  std::string_view magic;
  const char* name;
};

// The first that matches wins: what others imitate or contain (the MBR signature) stands last.
constexpr Signature kSignatures[] = {
    {0, "LUKS\xba\xbe"sv, "a LUKS encrypted volume"},
    {0, "XFSB"sv, "an XFS file system"},
    {0, "hsqs"sv, "a squashfs file system"},
    {3, "NTFS    "sv, "an NTFS file system"},
    {3, "EXFAT   "sv, "an exFAT file system"},
    {54, "FAT1"sv, "a FAT file system"},
    {82, "FAT32"sv, "a FAT file system"},
    {512, "EFI PART"sv, "a GPT partition table"},
    {512, "LABELONE"sv, "an LVM physical volume"},
    {0, "LABELONE"sv, "an LVM physical volume"},
    {1024, "\x10\x20\xf5\xf2"sv, "an F2FS file system"},
    {1024, "\xe2\xe1\xf5\xe0"sv, "an EROFS file system"},
    {1024 + 56, "\x53\xef"sv, "an ext2, ext3 or ext4 file system"},
    {4086, "SWAPSPACE2"sv, "swap space"},
    {4086, "SWAP-SPACE"sv, "swap space"},
    {4096, "\xfc\x4e\x2b\xa9"sv, "a member of a software RAID"},
    {0, "\xfc\x4e\x2b\xa9"sv, "a member of a software RAID"},
    {4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca"sv, "a bcache device"},
    {4096, "bcachefs"sv, "a bcachefs file system"},
    {65536 + 64, "_BHRfS_M"sv, "a btrfs file system"},
    {32769, "CD001"sv, "an ISO 9660 file system"},
    {0, "bluestore block device"sv, "a Ceph BlueStore device"},
    {510, "\x55\xaa"sv, "an MBR partition table"},
};

}  // namespace

std::string DescribeContent(ByteView head) {
  std::string_view text = AsText(head);
  for (const Signature& signature : kSignatures) {
    if (text.size() < signature.offset + signature.magic.size()) continue;
    if (text.substr(signature.offset, signature.magic.size()) == signature.magic) {
      return signature.name;
    }
  }
  bool all_zero = std::all_of(text.begin(), text.end(), [](char c) { return c == 0; });
  return all_zero ? "" : "unknown data";
}

}  // namespace terrace::io
