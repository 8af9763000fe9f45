// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// A stream is the place where its reader is expected next, how far ahead was advised, and the
// window:
//
//        next                    advised
//   ------|-------------------------|---------------> offset
//         |<------ window --------->|
//
// When at most half of the window is left between the two, the window doubles (up to the limit)
// and everything from `advised` to its new end is the advice. So advice comes once per half
// window, not once per read, and the queue of the devices never runs dry in between.
#include "cache/sequence_model.h"

#include <algorithm>

#include "base/assert.h"
#include "base/units.h"

namespace terrace::cache {
namespace {

// How far from the expected place a read may lie and still belong to a stream.
constexpr uint64_t kSlackBytes = kMiB;
constexpr uint64_t kWindowBytesMin = 2 * kMiB;
constexpr uint64_t kPieceBytesMin = kMiB;

// How many bytes lie between the read and the place where the stream's reader is expected.
uint64_t Distance(uint64_t next, uint64_t offset, uint64_t end) {
  if (offset > next) return offset - next;
  return end < next ? next - end : 0;
}

}  // namespace

SequenceModel::Advice SequenceModel::OnRead(uint64_t offset, uint64_t size, uint64_t file_size,
                                            uint64_t window_bytes_max) {
  TERRACE_ASSERT(size > 0);
  TERRACE_ASSERT(offset <= kFileSizeMax);
  TERRACE_ASSERT(size <= kFileSizeMax);
  const uint64_t end = offset + size;
  Stream* found = Find(offset, size);
  const bool restarts = found != nullptr && offset == 0 && found->next >= file_size;
  const bool begins = found == nullptr || restarts;
  Stream& stream = found != nullptr ? *found : LeastRecentlyUsed();
  if (begins) stream = Stream{.next = offset};

  const bool sequential = begins ? offset == 0 : stream.window > 0 || end > stream.next;
  stream.next = std::max(stream.next, end);
  stream.last_use = ++tick_;
  if (!sequential) return {};
  if (stream.window == 0) {
    uint64_t first = std::min(std::max(2 * size, kWindowBytesMin), window_bytes_max);
    return {.sequential = true, .prefetch = Advise(stream, first, file_size)};
  }
  stream.window = std::min(stream.window, window_bytes_max);
  const bool enough = stream.advised > stream.next + stream.window / 2;
  if (enough) return {.sequential = true, .prefetch = std::nullopt};
  uint64_t doubled = std::min(2 * stream.window, window_bytes_max);
  return {.sequential = true, .prefetch = Advise(stream, doubled, file_size)};
}

// The most recently used stream that the read may belong to; so two readers close behind each
// other are one. A stream that is not yet sequential must be continued within one read's size:
// small random reads seldom do.
SequenceModel::Stream* SequenceModel::Find(uint64_t offset, uint64_t size) {
  Stream* best = nullptr;
  for (Stream& stream : streams_) {
    if (stream.last_use == 0) continue;
    uint64_t slack = stream.window > 0 ? kSlackBytes : std::min(kSlackBytes, size);
    if (Distance(stream.next, offset, offset + size) > slack) continue;
    if (best == nullptr || stream.last_use > best->last_use) best = &stream;
  }
  return best;
}

SequenceModel::Stream& SequenceModel::LeastRecentlyUsed() {
  return *std::min_element(streams_.begin(), streams_.end(), [](const Stream& a, const Stream& b) {
    return a.last_use < b.last_use;
  });
}

// Extends what was advised to `window` bytes ahead of the reader, or to the end of the file; the
// stream keeps the window only if there is something to fetch. A last piece of less than
// kPieceBytesMin is never left over, and waits for the reader where the file grew meanwhile.
std::optional<ByteRange> SequenceModel::Advise(Stream& stream, uint64_t window,
                                               uint64_t file_size) {
  const uint64_t begin = std::max(stream.advised, stream.next);
  uint64_t end = std::min(stream.next + window, file_size);
  if (end <= begin) return std::nullopt;
  const uint64_t rest = file_size - end;
  if (rest > 0 && rest < kPieceBytesMin && end - begin >= 2 * kPieceBytesMin) {
    end = file_size - kPieceBytesMin;
  }
  const bool reader_waits = begin == stream.next;
  if (!reader_waits && end - begin < std::min(kPieceBytesMin, window / 2)) return std::nullopt;
  stream.window = window;
  stream.advised = end;
  return ByteRange{.offset = begin, .size = end - begin};
}

}  // namespace terrace::cache
