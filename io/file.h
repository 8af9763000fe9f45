// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// File: one open data file or block device; the seam below which bytes become durable.
//
// Role     Asynchronous reads and writes of whole blocks, and the barrier (Sync). UringFile is
//          the real one, MemoryFile lives in memory, FaultyFile decorates another with faults.
// Idiom    Completion callbacks, the only asynchronous idiom of the tree. A callback runs
//          exactly once, on the file's completion thread or, when the request is refused at
//          once, on the caller's; it must not block and must not destroy the file.
// Threads  All methods are thread-safe.
// Errors   kIo, kNoSpace, kInvalid (not whole blocks). Transfers are whole or an error: short
//          completions are continued inside.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace terrace::io {

using IoDone = std::function<void(Status)>;

class File {
 public:
  virtual ~File() = default;

  // Requires: offset and every piece's size are multiples of kBlockSize, every piece begins on
  // a kBlockSize boundary in memory, and the memory stays valid until done runs.
  virtual void Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) = 0;
  virtual void Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) = 0;

  // Returns when everything whose Write completed before the call is durable (fdatasync).
  // Blocks; never called on a completion thread.
  virtual Status Sync() = 0;
  // The same barrier without blocking, where the file can; else Sync on the caller's thread.
  virtual void StartSync(IoDone done) { done(Sync()); }

  // Bytes that exist now. A block device has its whole size from the start.
  virtual uint64_t size_bytes() const = 0;
  // Makes the file at least this large, preallocated. Errors: kNoSpace, kUnsupported (device).
  virtual Status Grow(uint64_t size_bytes) = 0;
  // By how much the host would let the file grow at this moment.
  virtual uint64_t room_bytes() const { return UINT64_MAX; }

  // The first byte in [begin, end) that the host keeps as reserved but never written, so that
  // the first write to it costs a conversion; `end` if there is none.
  virtual uint64_t FirstUnwritten(uint64_t begin_bytes, uint64_t end_bytes) const {
    (void)begin_bytes;
    return end_bytes;
  }

  virtual const std::string& path() const = 0;

  // A hint: I/O to and from [base, base + size) will be frequent. Thread-safe; may do nothing.
  virtual void RegisterMemory(std::byte* base, size_t size_bytes) {
    (void)base;
    (void)size_bytes;
  }
};

}  // namespace terrace::io
