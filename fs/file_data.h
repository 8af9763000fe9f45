// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// FileData: what an inode's bytes need in memory while they are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cache/extent.h"
#include "cache/sequence_model.h"
#include "fs/extent_map.h"

namespace terrace::fs {

// ReplacedBytes: bytes of undurable extents that newer undurable ones have replaced in the live
// map, although somebody counts on them: an fsync under way, or an open condition. Until the newer
// ones are committed, a commit of the older ones shows these (COMMIT-2, COMMIT-3).
class ReplacedBytes {
 public:
  struct Piece {
    uint64_t offset = 0;  // in the file
    ExtentMap::Entry entry;
  };

  // Newer than everything that was added for these bytes before.
  void Add(uint64_t offset, ExtentMap::Entry entry) {
    pieces_.push_back({offset, std::move(entry)});
  }
  // A commit shows bytes of `extent`: what is older there is no longer needed, nor what is its own.
  void Committed(const cache::ExtentRef& extent);
  // [offset, end) is committed in its newest version, or is a hole.
  void Clear(uint64_t offset, uint64_t end) { ClearBefore(pieces_.size(), offset, end); }

  bool empty() const { return pieces_.empty(); }
  const std::vector<Piece>& pieces() const { return pieces_; }  // older before newer

 private:
  // Only of the first `count` pieces.
  void ClearBefore(size_t count, uint64_t offset, uint64_t end);

  std::vector<Piece> pieces_;
};

// The extents of one file that were not durable when they were last looked at, in the order of
// their sequences. Weak: an extent that was overwritten before it was written just goes away. A
// vector with a moving front, because most files have one extent.
class UndurableExtents {
 public:
  using Weak = std::weak_ptr<cache::Extent>;
  void push_back(const cache::ExtentRef& extent) { extents_.push_back(extent); }
  // Drops what is durable or gone from the front.
  void Prune();
  // The rest. Some may be durable or gone.
  std::vector<Weak>::const_iterator begin() const { return extents_.begin() + front_; }
  std::vector<Weak>::const_iterator end() const { return extents_.end(); }

 private:
  std::vector<Weak> extents_;
  std::ptrdiff_t front_ = 0;  // what is before it was dropped
};

// Guarded by the inode's lock, but for `sequence`.
struct FileData {
  ExtentMap map;
  cache::ExtentRef tail;  // the open extent that small appends go to
  UndurableExtents undurable;
  ReplacedBytes replaced;
  Sequence promised;  // the last change that an fsync, done or under way, covers
  uint32_t reader_count = 0;
  uint32_t writer_count = 0;
  bool pages_were_mapped = false;
  std::optional<Error> write_error;  // of background write-back, reported once by close or fsync

  Mutex sequence_mu;  // leaf
  std::unique_ptr<cache::SequenceModel> sequence TERRACE_GUARDED_BY(sequence_mu);  // from a read on

  // All that is not durable.
  std::vector<cache::ExtentRef> CollectUndurable();
};

}  // namespace terrace::fs
