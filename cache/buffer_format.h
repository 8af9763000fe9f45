// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The header that describes one buffer of the DRAM pool, in shared memory beside the pool.
//
// Role     One header per 4 KiB page of the pool, used by the page a buffer begins on. It says
//          which bytes of which inode the buffer holds, so that an engine that starts anew can
//          take over what the one before it had accepted (DESIGN section 8). Publishing is one
//          release store of `sequence`, after the other fields and the payload are in place;
//          sequence 0 means: nothing of value.
// Bytes    docs/format.md.
#pragma once

#include <atomic>
#include <cstdint>

namespace terrace::cache {

struct BufferHeader {
  uint64_t inode;
  uint64_t file_offset;
  uint64_t extent;
  uint32_t length_bytes;
  uint32_t page_count;
  std::atomic<uint64_t> sequence;
  uint64_t reserved[3];
};
static_assert(sizeof(BufferHeader) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace terrace::cache
