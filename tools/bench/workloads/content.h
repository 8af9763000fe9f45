// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Content: bytes that a reader can check without having kept them.
//
// Role     One MiB of noise is shared by every file; each 4 KiB page of it is stamped at its start
//          with two words made of the file's seed and the page's number. So no two pages that we
//          write are equal, nothing compresses, and a page in the wrong place is found.
// Checks   The quick check compares the stamp and one word of noise per page, which costs a few
//          percent of the reading; the whole check compares every byte.
// Cost     A Content that only checks holds no memory of its own.
// Threads  One Content per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace terrace::bench {

inline constexpr size_t kChunkSize = kMiB;
inline constexpr size_t kPageSize = 4 * kKiB;
inline constexpr size_t kPagesPerChunk = kChunkSize / kPageSize;

// Memory for one chunk that begins 64 bytes behind a page, as the tensors of torch do: a write of
// one MiB from there touches 257 pages, and the kernel cuts it in two.
class ChunkBuffer {
 public:
  ChunkBuffer() : memory_(kChunkSize + 2 * kPageSize) {}

  std::byte* data() {
    uintptr_t start = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (RoundUp(start, kPageSize) - start) + kTensorAlignment;
  }

 private:
  static constexpr size_t kTensorAlignment = 64;
  std::vector<std::byte> memory_;
};

class Content {
 public:
  explicit Content(uint64_t seed) : seed_(seed) {}
  // Makes the noise, so that no clock sees it.
  static void Prepare();

  // Chunk `index` of the file; valid until the next call.
  const std::byte* Chunk(uint64_t index);
  // One page of the file; valid until the next call.
  const std::byte* Page(uint64_t page);

  // Compares the first `size` bytes (whole pages) of chunk `index`.
  bool Matches(const std::byte* got, uint64_t index, size_t size, bool whole) const;
  bool MatchesPage(const std::byte* got, uint64_t page, bool whole) const;

 private:
  // Where the page lies in the buffer, stamped.
  std::byte* Stamped(uint64_t page);

  const uint64_t seed_;
  std::optional<ChunkBuffer> buffer_;  // from the first chunk on
};

}  // namespace terrace::bench
