// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// FileHandle: what the kernel keeps of an open file for us: the inode and how it was opened.
//
// It is a plain number, never a pointer, so that an engine that starts anew understands the
// handles that the one before it gave out.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace terrace::mount {

struct FileHandle {
  InodeId inode;
  bool read = false;
  bool write = false;
  bool cached = false;  // through the kernel's page cache; else direct I/O

  // Inode numbers are handed out one after another: 56 bits never run out.
  uint64_t Encode() const {
    uint64_t bits = (read ? 1u : 0u) | (write ? 2u : 0u) | (cached ? 4u : 0u);
    return inode.value() << 8 | bits;
  }
  // Returns: nothing when the number is not a handle of `inode`.
  static std::optional<FileHandle> Decode(uint64_t number, InodeId inode) {
    if (number >> 8 != inode.value()) return std::nullopt;
    return FileHandle{inode, (number & 1) != 0, (number & 2) != 0, (number & 4) != 0};
  }
};

}  // namespace terrace::mount
