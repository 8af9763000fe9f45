// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// MemoryRegion: a memfd mapped into this process; the memory of the DRAM tier.
//
// Role     Bytes in DRAM are named by (memfd, offset), so that another process or the kernel
//          can serve them; this class makes the memfd and maps it. Asks for transparent huge
//          pages where the system gives them to shared memory.
// Owner    Whoever created it; unmapped and closed with it.
// Threads  Immutable after Create; Populate may run beside any use.
// Errors   kNoMemory, kIo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace terrace::io {

class MemoryRegion {
 public:
  // Requires: size_bytes is a positive multiple of 1 MiB. The mapping begins on a 2 MiB boundary.
  static Result<std::unique_ptr<MemoryRegion>> Create(const std::string& name, uint64_t size_bytes);
  ~MemoryRegion();
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return size_bytes_; }
  int fd() const { return fd_; }
  // True when the system grants huge pages to this region (shmem_enabled and madvise).
  bool huge_pages() const { return huge_pages_; }

  // Gives [offset, offset + size) real pages now (MADV_POPULATE_WRITE); contents are kept.
  Status Populate(uint64_t offset_bytes, uint64_t size_bytes);

 private:
  MemoryRegion(int fd, std::byte* data, uint64_t size_bytes, bool huge_pages)
      : fd_(fd), data_(data), size_bytes_(size_bytes), huge_pages_(huge_pages) {}

  const int fd_;
  std::byte* const data_;
  const uint64_t size_bytes_;
  const bool huge_pages_;
};

}  // namespace terrace::io
