// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/uring_buffers.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/units.h"

namespace terrace::io {

namespace {

// The kernel holds submissions back while it pins one chunk: small chunks keep that short.
constexpr size_t kChunkSizeMax = 64 * kMiB;
// 256 GiB of chunks; what lies beyond is used without registration.
constexpr uint16_t kSlotCount = 4096;

}  // namespace

UringBuffers::UringBuffers(io_uring& ring, std::string path) : ring_(ring), path_(std::move(path)) {
  int rc = ::io_uring_register_buffers_sparse(&ring_, kSlotCount);
  if (rc < 0) {
    // Before Linux 5.19 a table of empty entries does the same.
    std::vector<iovec> empty(kSlotCount);
    rc = ::io_uring_register_buffers(&ring_, empty.data(), kSlotCount);
  }
  MutexLock lock(add_mu_);
  if (rc < 0) {
    GiveUpLocked(-rc);
  } else {
    usable_ = true;
  }
}

void UringBuffers::Add(std::byte* base, size_t size_bytes) {
  MutexLock lock(add_mu_);
  while (usable_ && size_bytes > 0 && used_slot_count_ < kSlotCount) {
    size_t chunk_bytes = std::min(size_bytes, kChunkSizeMax);
    if (!AddChunkLocked(base, chunk_bytes)) return;
    base += chunk_bytes;
    size_bytes -= chunk_bytes;
  }
}

bool UringBuffers::AddChunkLocked(std::byte* base, size_t size_bytes) {
  iovec memory{base, size_bytes};
  uint64_t tag = 0;
  uint16_t slot = used_slot_count_;
  int rc = ::io_uring_register_buffers_update_tag(&ring_, slot, &memory,
                                                  reinterpret_cast<__u64*>(&tag), 1);
  if (rc < 0) {
    GiveUpLocked(-rc);
    return false;
  }
  used_slot_count_++;
  auto begin = reinterpret_cast<uintptr_t>(base);
  Chunk chunk{begin, begin + size_bytes, slot};
  MutexLock lock(mu_);
  auto after = std::upper_bound(chunks_.begin(), chunks_.end(), chunk,
                                [](const Chunk& a, const Chunk& b) { return a.begin < b.begin; });
  chunks_.insert(after, chunk);
  return true;
}

void UringBuffers::GiveUpLocked(int error) {
  usable_ = false;
  std::string why = std::generic_category().message(error);
  if (error == ENOMEM) why += " (see ulimit -l)";
  LogWarning(path_ + ": memory beyond " + FormatSize(used_slot_count_ * kChunkSizeMax) +
             " is used without registering it with io_uring: " + why);
}

std::optional<uint16_t> UringBuffers::Find(const iovec& piece) const {
  auto begin = reinterpret_cast<uintptr_t>(piece.iov_base);
  MutexLock lock(mu_);
  auto after =
      std::upper_bound(chunks_.begin(), chunks_.end(), begin,
                       [](uintptr_t address, const Chunk& c) { return address < c.begin; });
  if (after == chunks_.begin()) return std::nullopt;
  const Chunk& chunk = *(after - 1);
  if (begin + piece.iov_len > chunk.end) return std::nullopt;
  return chunk.slot;
}

}  // namespace terrace::io
