// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// FileData: what an inode's bytes need in memory while they are in use.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cache/extent.h"
#include "cache/sequence_model.h"
#include "fs/extent_map.h"

namespace terrace::fs {

// Guarded by the inode's lock, but for `sequence`.
struct FileData {
  ExtentMap map;
  cache::ExtentRef tail;  // the open extent that small appends go to
  // Every extent of this file that was not durable when it was last looked at, in the order of
  // their sequences. Weak: an extent that was overwritten before it was written just goes away.
  std::deque<std::weak_ptr<cache::Extent>> undurable;
  uint32_t reader_count = 0;
  uint32_t writer_count = 0;
  bool pages_were_mapped = false;
  std::optional<Error> write_error;  // of background write-back, reported once by close or fsync

  Mutex sequence_mu;  // leaf
  cache::SequenceModel sequence TERRACE_GUARDED_BY(sequence_mu);

  // Drops what is durable or gone from the front of `undurable`.
  void PruneUndurable();
  // All that is not durable.
  std::vector<cache::ExtentRef> CollectUndurable();
};

}  // namespace terrace::fs
