// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/extent_format.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/units.h"

namespace terrace::io {

namespace {

// No device has that many blocks; block numbers below it add up without overflow.
constexpr uint64_t kBlockNumberMax = uint64_t{1} << 48;

tl::unexpected<Error> Damaged(std::string_view what) {
  return Fail(Errc::kCorrupt, "extent record: " + std::string(what));
}

}  // namespace

uint32_t ChecksumCount(uint64_t size_bytes) {
  return static_cast<uint32_t>((size_bytes + kChecksumBlockSize - 1) / kChecksumBlockSize);
}

std::vector<uint64_t> ComputeChecksums(ByteView bytes) {
  std::vector<uint64_t> checksums;
  checksums.reserve(ChecksumCount(bytes.size()));
  while (!bytes.empty()) {
    ByteView block = bytes.first(std::min<size_t>(bytes.size(), kChecksumBlockSize));
    checksums.push_back(Checksum64(block));
    bytes = bytes.subspan(block.size());
  }
  return checksums;
}

std::string EncodeExtentRecord(const ExtentRecord& record) {
  TERRACE_ASSERT(record.size_bytes > 0);
  TERRACE_ASSERT(record.size_bytes <= kExtentSizeMax);
  TERRACE_ASSERT(!record.runs.empty());
  TERRACE_ASSERT(record.runs.size() <= BlockCount(record.size_bytes));
  TERRACE_ASSERT(record.checksums.size() == ChecksumCount(record.size_bytes));
  std::string out;
  out.reserve(13 + record.runs.size() * 12 + record.checksums.size() * 8);
  AppendLittleEndian<uint8_t>(out, kExtentRecordVersion);
  AppendLittleEndian<uint32_t>(out, record.size_bytes);
  AppendLittleEndian<uint32_t>(out, record.reference_count);
  AppendLittleEndian<uint16_t>(out, record.device.value());
  AppendLittleEndian<uint16_t>(out, static_cast<uint16_t>(record.runs.size()));
  for (const BlockRun& run : record.runs) {
    AppendLittleEndian<uint64_t>(out, run.first);
    AppendLittleEndian<uint32_t>(out, static_cast<uint32_t>(run.count));
  }
  for (uint64_t checksum : record.checksums) AppendLittleEndian<uint64_t>(out, checksum);
  return out;
}

Result<ExtentRecord> DecodeExtentRecord(std::string_view bytes) {
  ByteReader reader(bytes);
  ExtentRecord record;
  auto version = reader.Take<uint8_t>();
  auto size_bytes = reader.Take<uint32_t>();
  auto reference_count = reader.Take<uint32_t>();
  auto device = reader.Take<uint16_t>();
  auto run_count = reader.Take<uint16_t>();
  if (!run_count) return Damaged("too short");
  if (*version != kExtentRecordVersion) {
    return Damaged("version " + std::to_string(*version) + " is unknown");
  }
  if (*size_bytes == 0 || *size_bytes > kExtentSizeMax) {
    return Damaged("a size of " + std::to_string(*size_bytes) + " bytes");
  }
  record.size_bytes = *size_bytes;
  record.reference_count = *reference_count;
  record.device = DeviceId(*device);
  if (*run_count > BlockCount(*size_bytes)) return Damaged("more runs than blocks");
  uint64_t block_sum = 0;
  record.runs.reserve(*run_count);
  for (uint16_t i = 0; i < *run_count; i++) {
    auto first = reader.Take<uint64_t>();
    auto count = reader.Take<uint32_t>();
    if (!count) return Damaged("too short for its runs");
    if (*count == 0 || *first >= kBlockNumberMax) return Damaged("a run that makes no sense");
    record.runs.push_back({*first, *count});
    block_sum += *count;
  }
  if (block_sum != BlockCount(*size_bytes)) return Damaged("runs that do not fit the size");
  uint32_t checksum_count = ChecksumCount(*size_bytes);
  record.checksums.reserve(checksum_count);
  for (uint32_t i = 0; i < checksum_count; i++) {
    auto checksum = reader.Take<uint64_t>();
    if (!checksum) return Damaged("too short for its checksums");
    record.checksums.push_back(*checksum);
  }
  if (!reader.empty()) return Damaged("too long");
  return record;
}

}  // namespace terrace::io
