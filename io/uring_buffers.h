// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// UringBuffers: memory that one io_uring knows, so that its pages are not looked up and pinned
// anew for every transfer.
//
// Role     Registers memory in chunks into a sparse table of the ring, and answers which slot
//          of the table a piece lies in. Where registration is refused (memlock limit, old
//          kernel) it says so once in the log and answers "none" from then on.
// Owner    UringFile; lives as long as the ring.
// Threads  Thread-safe. Add blocks for milliseconds (pages are pinned); Find does not wait for
//          it. Lock order: add_mu_ before mu_.
#pragma once

#include <liburing.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace terrace::io {

class UringBuffers {
 public:
  // Makes the table. Requires: called before the ring carries requests.
  UringBuffers(io_uring& ring, std::string path);

  void Add(std::byte* base, size_t size_bytes);
  // The slot of the registered chunk that holds the whole piece.
  std::optional<uint16_t> Find(const iovec& piece) const;

 private:
  struct Chunk {
    uintptr_t begin;
    uintptr_t end;
    uint16_t slot;
  };

  bool AddChunkLocked(std::byte* base, size_t size_bytes) TERRACE_REQUIRES(add_mu_);
  void GiveUpLocked(int error) TERRACE_REQUIRES(add_mu_);

  // Dependencies.
  io_uring& ring_;
  // Constant after construction.
  const std::string path_;
  // Guarded by add_mu_: one registration at a time.
  Mutex add_mu_;
  bool usable_ TERRACE_GUARDED_BY(add_mu_) = false;
  uint16_t used_slot_count_ TERRACE_GUARDED_BY(add_mu_) = 0;
  // Guarded by mu_.
  mutable Mutex mu_;
  std::vector<Chunk> chunks_ TERRACE_GUARDED_BY(mu_);  // by address
};

}  // namespace terrace::io
