// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/cache_mode.h"

#include <fcntl.h>

namespace terrace::mount {

std::string_view ConnectionModeName(ConnectionMode mode) {
  switch (mode) {
    case ConnectionMode::kPassthrough: return "passthrough";
    case ConnectionMode::kWriteback: return "writeback";
  }
  return "";
}

Result<CacheChoice> ParseCacheChoice(std::string_view text) {
  if (text == "auto") return CacheChoice::kAuto;
  if (text == "passthrough") return CacheChoice::kPassthrough;
  if (text == "writeback") return CacheChoice::kWriteback;
  return Fail(Errc::kInvalid,
              "'" + std::string(text) + "' is not one of auto, passthrough, writeback");
}

ConnectionMode ChooseConnectionMode(CacheChoice choice, const HostAbilities& host) {
  switch (choice) {
    case CacheChoice::kPassthrough: return ConnectionMode::kPassthrough;
    case CacheChoice::kWriteback: return ConnectionMode::kWriteback;
    case CacheChoice::kAuto: break;
  }
  return host.privileged && host.kernel_passthrough ? ConnectionMode::kPassthrough
                                                    : ConnectionMode::kWriteback;
}

namespace {

bool WantsDirect(const Connection& connection, const OpenFacts& facts, const OpenCounts& others) {
  // Coherence first. O_DIRECT works on a page-cache handle too: the kernel then writes dirty
  // pages out and drops them before it asks us.
  if (others.cached > 0) return false;
  const int access = facts.flags & O_ACCMODE;
  // With the write-back cache the kernel alone keeps the times of a file, and a direct write does
  // not move them (measured on Linux 6.18): whoever writes takes the cache. O_DIRECT works there.
  if (connection.mode == ConnectionMode::kWriteback && access != O_RDONLY) return false;
  // Write-only: a stream. Nobody can map it.
  if (access == O_WRONLY) return true;
  // Whoever may read may map; before Linux 6.6 that takes the page cache.
  if (!connection.direct_mmap) return false;
  if (others.direct_writers > 0) return true;
  if ((facts.flags & O_DIRECT) != 0) return true;
  if (access == O_RDWR) return false;
  return facts.size_bytes > kSmallFileSizeMax && !facts.likely_mapped;
}

}  // namespace

CacheMode ChooseCacheMode(const Connection& connection, const OpenFacts& facts,
                          const OpenCounts& others) {
  CacheMode mode;
  mode.direct = WantsDirect(connection, facts, others);
  mode.parallel_writes = mode.direct;
  // All changes go through this kernel, which keeps its pages right or drops them.
  mode.keep_cache = !mode.direct;
  // A handle that can't write has no deferred error to report.
  mode.no_flush = (facts.flags & O_ACCMODE) == O_RDONLY;
  return mode;
}

}  // namespace terrace::mount
