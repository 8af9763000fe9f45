// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The mount table: finding TerraceFS mounts in /proc/self/mountinfo.
//
// Threads  Plain functions; each reads the table anew.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace terrace::mount {

// A mount of ours is of type fuse.terrace, or with plain_type of type fuse: then it has this
// source, or a control socket of ours.
inline constexpr std::string_view kMountSource = "terrace";
inline constexpr std::string_view kMountSubtype = "terrace";

struct MountEntry {
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  std::string mount_point;
  std::string type;
  std::string source;
  uid_t owner = 0;  // user_id=: who mounted it

  bool IsFuse() const;  // of any kind
  bool IsTerrace() const;
  // "0-57": names the control socket.
  std::string DeviceName() const;
  dev_t Device() const;
};

// Parses the text of a mountinfo file; lines that make no sense are skipped.
std::vector<MountEntry> ParseMountTable(std::string_view text);
Result<std::vector<MountEntry>> ReadMountTable();

// The path without symbolic links, "." and "..". A mount point itself is not looked at: the
// mount of another user refuses even root, and one whose daemon hangs does not answer.
Result<std::string> CanonicalMountPoint(const std::string& path);

// The topmost mount whose mount point is exactly this path (canonical).
std::optional<MountEntry> FindMountAt(const std::vector<MountEntry>& table,
                                      const std::string& canonical_path);

// The TerraceFS mount with this mount point. Errors: kNotFound, kInvalid (not ours); each says
// what is there.
Result<MountEntry> FindTerraceMount(const std::string& path);

// The TerraceFS mount that a file or directory lies on, and its inode number there.
struct FileOnMount {
  MountEntry mount;
  uint64_t inode = 0;
};
Result<FileOnMount> FindFileOnMount(const std::string& path);

}  // namespace terrace::mount
