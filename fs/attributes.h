// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The plain types that cross the boundary between fs/ and mount/: attributes and callers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace terrace::fs {

struct Attributes {
  InodeId inode;
  uint32_t mode = 0;  // type and permission bits, as in stat
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t rdev = 0;
  uint64_t size_bytes = 0;
  uint64_t allocated_bytes = 0;
  int64_t atime_ns = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t btime_ns = 0;
};

// Who asks, as the kernel says. The kernel has already checked permissions.
struct Caller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t umask = 0;  // applied where the directory has no default access control list
};

// What a SETATTR changes; absent fields stay.
struct AttributeChange {
  std::optional<uint32_t> mode{};  // permission bits, S_ISUID, S_ISGID, S_ISVTX
  std::optional<uint32_t> uid{};
  std::optional<uint32_t> gid{};
  std::optional<uint64_t> size_bytes{};
  std::optional<int64_t> atime_ns{};
  std::optional<int64_t> mtime_ns{};
  std::optional<int64_t> ctime_ns{};  // write-back mode: the kernel owns the times
  bool clear_suid_sgid = false;       // FUSE_HANDLE_KILLPRIV_V2
};

// What a write, truncate or chown by an unprivileged process does to the mode: S_ISUID goes, and
// S_ISGID where the group may execute (elsewhere it marks mandatory locking).
inline void ClearSuidSgid(uint32_t& mode) {
  mode &= ~uint32_t{04000};
  if ((mode & 010) != 0) mode &= ~uint32_t{02000};
}

}  // namespace terrace::fs
