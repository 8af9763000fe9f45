// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/receive_area.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace terrace::fs {

void ReceiveArea::Refill(const std::function<cache::Buffer(uint64_t)>& allocate) {
  if (!block_) block_ = allocate(kExtentSizeMax);
  Arrange();
}

void ReceiveArea::Arrange() {
  if (rest_ && rest_.size_bytes() < std::max<uint64_t>(last_size_, kAdoptSizeMin)) rest_.Reset();
  piece_count_ = 0;
  for (cache::Buffer* buffer : {&rest_, &block_}) {
    if (*buffer) pieces_[piece_count_++] = {buffer->data(), buffer->size_bytes()};
  }
}

void ReceiveArea::CopyTo(std::byte* into, size_t size) const {
  for (const iovec& piece : pieces()) {
    size_t part = std::min(size, piece.iov_len);
    std::memcpy(into, piece.iov_base, part);
    into += part;
    size -= part;
  }
  TERRACE_ASSERT(size == 0);
}

std::vector<ReceiveArea::Piece> ReceiveArea::Take(uint32_t size) {
  TERRACE_ASSERT(size > 0);
  TERRACE_ASSERT(size <= kExtentSizeMax);
  last_size_ = size;
  std::vector<Piece> taken;
  if (rest_) {
    auto part = static_cast<uint32_t>(std::min<uint64_t>(size, rest_.size_bytes()));
    taken.push_back({rest_.SplitFront(part), part});
    size -= part;
  }
  if (size > 0) {
    taken.push_back({block_.SplitFront(size), size});
    rest_ = std::exchange(block_, cache::Buffer());
  }
  return taken;
}

}  // namespace terrace::fs
