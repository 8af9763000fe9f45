// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// SequenceModel: recognises sequential reading of one inode and says what to fetch next.
//
// Role     Watches READs of one inode, whatever handle they come from, and follows several
//          streams at once. A stream that goes on earns a window that doubles up to a limit;
//          the answer is the range to have in DRAM beyond what was already asked for, in
//          pieces of a megabyte and more however small the reads are. Pure arithmetic: no I/O,
//          no memory of bytes.
// Owner    One per inode that is read; small (a few dozen bytes per stream).
// Threads  Not thread-safe; the inode's lock guards it.
//
// Invariants (tests/cache/sequence_model_test.cc)
//   SEQ-1  No range is advised twice to one stream. (A read of byte 0 after the stream reached
//          the end of the file begins a new one.)
//   SEQ-2  A window never exceeds window_bytes_max and never reaches beyond the file's size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace terrace::cache {

struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;  // bytes
  uint64_t end() const { return offset + size; }
  bool operator==(const ByteRange&) const = default;
};

class SequenceModel {
 public:
  static constexpr int kStreams = 4;

  struct Advice {
    bool sequential = false;            // the read continues a stream (or starts at byte 0)
    std::optional<ByteRange> prefetch;  // fetch this in the background
  };

  // Reports a READ of [offset, offset + size). Small gaps and repeats (up to 1 MiB, as readahead
  // and several threads cause) still count as the same stream. A read that belongs to no stream
  // begins one; unless it reads byte 0, a second read has to go on from it, at most one read of
  // that size further on, before it counts as sequential. window_bytes_max = 0: no prefetch.
  Advice OnRead(uint64_t offset, uint64_t size, uint64_t file_size, uint64_t window_bytes_max);

 private:
  struct Stream {
    uint64_t next = 0;      // where the reader is expected to go on
    uint64_t advised = 0;   // everything below was advised
    uint64_t window = 0;    // bytes ahead of the reader; 0: not yet sequential
    uint64_t last_use = 0;  // for replacing the least recently used stream; 0: unused slot
  };
  Stream* Find(uint64_t offset, uint64_t size);
  Stream& LeastRecentlyUsed();
  static std::optional<ByteRange> Advise(Stream& stream, uint64_t window, uint64_t file_size);

  std::array<Stream, kStreams> streams_;
  uint64_t tick_ = 0;
};

}  // namespace terrace::cache
