// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// CacheMode: the one place that decides how the kernel serves an open file.
//
// Role     Which of page cache (written through, or written back where the connection has the
//          write-back cache) and direct I/O an open gets, from the connection, the flags, the
//          size and who else has the file open. The table and its reasons: docs/operations.md.
//          The kernel keeps the page cache and direct writes of one inode coherent only when
//          they do not run at the same moment (a read that races with a direct write could leave
//          old bytes in the cache before Linux 6.14), so one open inode is in one mode: whoever
//          comes second joins the first.
// Threads  Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace terrace::mount {

// Larger files that are only read get direct I/O: the DRAM tier serves them, one copy in memory.
inline constexpr uint64_t kSmallFileSizeMax = kMiB;

// What -o cache= asks for.
enum class CacheChoice { kAuto, kPassthrough, kWriteback };

// What the connection has; fixed at INIT. Passthrough and the write-back cache exclude each other.
enum class ConnectionMode { kPassthrough, kWriteback };

std::string_view ConnectionModeName(ConnectionMode mode);  // as in `terrace status`
Result<CacheChoice> ParseCacheChoice(std::string_view text);

struct HostAbilities {
  bool privileged = false;          // may open backing files: CAP_SYS_ADMIN
  bool kernel_passthrough = false;  // Linux 6.9
};
ConnectionMode ChooseConnectionMode(CacheChoice choice, const HostAbilities& host);

struct OpenFacts {
  int flags = 0;  // of open(2)
  uint64_t size_bytes = 0;
  bool likely_mapped = false;  // its pages were faulted before
};

// The handles of the inode that are open already.
struct OpenCounts {
  uint32_t cached = 0;          // through the page cache
  uint32_t cached_writers = 0;  // those of them that may write
  uint32_t direct_writers = 0;
};

struct Connection {
  ConnectionMode mode = ConnectionMode::kPassthrough;
  bool direct_mmap = false;  // shared mappings beside direct I/O: Linux 6.6
};

struct CacheMode {
  bool direct = false;  // FOPEN_DIRECT_IO
  bool parallel_writes = false;
  bool keep_cache = false;  // pages survive from one open to the next
  bool no_flush = false;    // close sends no FLUSH

  bool operator==(const CacheMode&) const = default;
};

CacheMode ChooseCacheMode(const Connection& connection, const OpenFacts& facts,
                          const OpenCounts& others);

}  // namespace terrace::mount
