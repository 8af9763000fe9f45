// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The stored description of an extent: where its blocks lie and what their checksums are.
//
// ExtentRecord is the value of the extent table (fs/meta) and the entry of a summary block.
// Bytes, all little-endian: docs/format.md. Decoding is bounds-checked: kCorrupt, never a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "io/block_run.h"

namespace terrace::io {

inline constexpr uint8_t kExtentRecordVersion = 1;

struct ExtentRecord {
  uint32_t size_bytes = 0;       // 1 to kExtentSizeMax; the last block is padded with zeros
  uint32_t reference_count = 0;  // map entries, of any inode, that name the extent
  DeviceId device;
  std::vector<BlockRun> runs;       // in order; they sum up to BlockCount(size_bytes)
  std::vector<uint64_t> checksums;  // XXH3-64 of each 64 KiB (the last one of what is left)
  bool operator==(const ExtentRecord&) const = default;
};

// How many checksums an extent of that size has.
uint32_t ChecksumCount(uint64_t size_bytes);
// XXH3-64 of each 64 KiB; the last one of what is left.
std::vector<uint64_t> ComputeChecksums(ByteView bytes);

std::string EncodeExtentRecord(const ExtentRecord& record);
// Checks sizes, that the runs sum up and that there is one checksum per 64 KiB.
Result<ExtentRecord> DecodeExtentRecord(std::string_view bytes);

}  // namespace terrace::io
