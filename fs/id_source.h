// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// IdSource: inode numbers, extent numbers and sequence numbers, none of them ever used twice.
//
// Role     Reserves ranges durably (synced) in the system table before handing numbers out, so
//          that a power loss can skip numbers but not repeat one. Inode 1 is the root.
// Threads  Thread-safe. A call that crosses into a new reservation waits for one Sync.
// Errors   kIo, kNoSpace from the metadata store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class IdSource {
 public:
  static Result<std::unique_ptr<IdSource>> Open(MetaStore& meta);

  Result<InodeId> NextInode();
  Result<ExtentId> NextExtent();
  Result<Sequence> NextSequence();

 private:
  // One kind of number: hands out [next, reserved_end).
  struct Range {
    std::atomic<uint64_t> next{0};
    std::atomic<uint64_t> reserved_end{0};
    const char* key = nullptr;  // in the system table
    uint64_t step = 0;          // numbers per reservation
  };

  explicit IdSource(MetaStore& meta) : meta_(meta) {}
  Result<uint64_t> Next(Range& range);
  Status Reserve(Range& range, uint64_t wanted) TERRACE_EXCLUDES(mu_);

  MetaStore& meta_;
  Mutex mu_;  // one reservation at a time; held across MetaStore calls and, at times, taken
              // under an inode's lock
  Range inodes_;
  Range extents_;
  Range sequences_;
};

}  // namespace terrace::fs
