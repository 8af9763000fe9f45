// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ReceiveArea: the pool memory that one reader thread receives its next request into.
//
// Role     A payload lands in pool pages and becomes an extent there, without a copy. Its size is
//          known only after it is received, so that room for 1 MiB must be at hand; what a
//          smaller payload leaves of its block receives the next ones, else a stream of 256 KiB
//          writes would use up all blocks with three quarters of the pool free. A payload that
//          turns out larger than that rest goes on in a fresh block and becomes two extents.
// Owner    A reader thread; made and refilled by Files.
// Threads  Not thread-safe.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/units.h"
#include "cache/buffer_pool.h"

namespace terrace::fs {

class ReceiveArea {
 public:
  // A part of a payload that was taken over.
  struct Piece {
    cache::Buffer buffer;
    uint32_t size_bytes = 0;
  };

  // Makes room for 1 MiB; allocate may wait.
  void Refill(const std::function<cache::Buffer(uint64_t size_bytes)>& allocate);

  // Gives back what a smaller payload left. For Refill's allocate, before it waits.
  void DropRest() { rest_.Reset(); }

  // Where to receive to, in order; 1 MiB or more in all. Valid until the next Take or Refill.
  std::span<const iovec> pieces() const { return {pieces_.data(), piece_count_}; }
  // The start of the payload; the first kAdoptSizeMin bytes lie there in one piece.
  const std::byte* data() const { return static_cast<const std::byte*>(pieces_[0].iov_base); }
  // Copies the first `size` bytes received.
  void CopyTo(std::byte* into, size_t size) const;

  // Takes the payload of `size` bytes over: one piece, seldom two. Refill before the next use.
  // Requires: 0 < size <= 1 MiB.
  std::vector<Piece> Take(uint32_t size);

 private:
  void Arrange();

  cache::Buffer rest_;                   // of a block that smaller payloads have begun; or empty
  cache::Buffer block_;                  // 1 MiB
  uint32_t last_size_ = kExtentSizeMax;  // of the last payload taken: the next is probably alike
  std::array<iovec, 2> pieces_{};
  size_t piece_count_ = 0;
};

}  // namespace terrace::fs
