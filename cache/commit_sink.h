// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// CommitSink: how a flush publishes what it made durable; declared here, implemented by fs/.
#pragma once

#include <vector>

#include "base/result.h"
#include "cache/extent.h"

namespace terrace::cache {

class CommitSink {
 public:
  virtual ~CommitSink() = default;

  // Every byte of these extents is durable on its device (COMMIT-1). Names them in the metadata
  // together with sizes and times. Returns, for each, whether any file still uses it. On error
  // nothing of it may be used and the call is repeated later.
  virtual Result<std::vector<bool>> CommitExtents(const std::vector<ExtentRef>& extents) = 0;

  // Makes everything that was written to the metadata before the call durable.
  virtual Status SyncMetadata() = 0;

  // Background write-back of these extents failed; they stay dirty and are tried again.
  virtual void NoteWriteError(const std::vector<ExtentRef>& extents, const Error& error) = 0;
};

}  // namespace terrace::cache
