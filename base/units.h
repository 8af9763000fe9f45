// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Sizes that the whole tree agrees on, and the reading and printing of sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace terrace {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;
inline constexpr uint64_t kTiB = 1024 * kGiB;

// The page of memory and the block of a device; an extent begins on one of each.
inline constexpr uint64_t kBlockSize = 4 * kKiB;
// The most bytes one extent holds, and the most one FUSE request carries.
inline constexpr uint64_t kExtentSizeMax = kMiB;
// The unit of a checksum inside an extent.
inline constexpr uint64_t kChecksumBlockSize = 64 * kKiB;
// Writes of at least this many bytes are adopted without a copy.
inline constexpr uint64_t kAdoptSizeMin = 64 * kKiB;
// The largest file: what the kernel allows, 2^63 - 1 bytes.
inline constexpr uint64_t kFileSizeMax = INT64_MAX;

constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr uint64_t RoundDown(uint64_t value, uint64_t unit) { return value / unit * unit; }
constexpr uint64_t BlockCount(uint64_t bytes) { return (bytes + kBlockSize - 1) / kBlockSize; }

// "4G", "512MiB", "1048576", "1.5T": binary units, K M G T with or without "iB" or "B".
// Errors: kInvalid for anything else, negative values and overflow.
Result<uint64_t> ParseSize(std::string_view text);
// "5s", "250ms", "1m", "2h"; a bare number is seconds. Returns milliseconds. Errors: kInvalid.
Result<uint64_t> ParseDurationMs(std::string_view text);
// "1.5 GiB" for people.
std::string FormatSize(uint64_t bytes);

}  // namespace terrace
