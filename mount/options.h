// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// MountConfig: everything a mount needs to know, validated, from flags, -o and the TOML file.
//
// Errors   kInvalid: names the flag, or the file and line, and the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fs/open.h"
#include "mount/cache_mode.h"
#include "mount/session.h"

namespace terrace::mount {

// Room for the reader threads' buffers and some data beside them.
inline constexpr uint64_t kDramSizeMin = 64 * kMiB;
inline constexpr uint64_t kStoreSizeMin = 64 * kMiB;

struct MountConfig {
  fs::VolumeConfig volume;
  SessionOptions session;
  CacheChoice cache = CacheChoice::kAuto;
  std::optional<std::string> log_path;
};

// What the command line says, as it says it.
struct MountFlags {
  std::string mount_point{};
  std::vector<std::string> stores{};
  std::optional<std::string> meta{};
  std::optional<std::string> dram{};
  std::optional<std::string> store_size{};
  std::optional<std::string> config_file{};
  std::optional<std::string> log{};
  std::vector<std::string> options{};  // -o, each a list
};

// Paths become absolute; what is not given gets its default. The mount point is left to
// CheckMountPoint.
Result<MountConfig> BuildMountConfig(const MountFlags& flags);

Status CheckDramSize(uint64_t size_bytes);
Status CheckStoreSize(uint64_t size_bytes);

// Where a store lies when none is named: /var/lib/terrace/default for root, else
// $XDG_DATA_HOME/terrace/default.
std::string DefaultStorePath();
// Where metadata lies for stores of block devices alone, in a folder by store id.
std::string DefaultMetadataParent();
// The log of a mount without --log: beside the metadata.
std::string DefaultLogPath(const fs::VolumeConfig& volume);

}  // namespace terrace::mount
