// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Rewriter: turns regions of many small map entries into few large extents, in the background.
//
// Role     A file that was overwritten at random has a map of thousands of small entries: it reads
//          slowly and costs metadata. Once it is quiet, each run of durable bytes inside a 1 MiB
//          window of it that more than two entries share is copied into one new extent, which
//          then goes the way of every write. What programs see does not change, nor do the times.
// Owner    Volume. Told by commits of files whose maps look fragmented.
// Threads  Note is thread-safe and cheap. One thread works, one run at a time; it gives way to
//          foreground work: without memory or space to spare it tries again later.
// Errors   None to a caller: a run that cannot be read stays as it is (the error was logged and
//          counted where it happened).
//
// Invariants (tests/fs/rewriter_test.cc)
//   REWRITE-1  A run is replaced only if its entries are still those that were copied.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "cache/extent_cache.h"
#include "cache/write_back.h"
#include "fs/extent_map.h"
#include "fs/id_source.h"
#include "fs/inode_table.h"

namespace terrace::fs {

class Rewriter {
 public:
  struct Dependencies {
    InodeTable& inodes;
    IdSource& ids;
    cache::ExtentCache& cache;
    cache::WriteBack& write_back;
    const Clock& clock;
  };
  // quiet_ns: how long a file must not have been noted before it is worked on.
  Rewriter(Dependencies dependencies, int64_t quiet_ns);
  ~Rewriter();  // stops

  // More entries than a file of so many bytes should have.
  static bool IsFragmented(const ExtentMap& map);

  void Start();
  void Stop();
  // The inode's map looks fragmented now.
  void Note(InodeId inode);
  // Waits until no noted file is left to work on (tests).
  void Drain();

  uint64_t rewritten_extents() const { return rewritten_extents_.load(); }

 private:
  struct Run;

  void Main();
  void RewriteFile(InodeId inode);
  bool Stopping();
  Run FindRun(Inode& inode, uint64_t offset, uint64_t window_end);
  Status ReadRun(Run& run);
  Status ReplaceRun(Inode& inode, Run& run);

  Dependencies deps_;
  const int64_t quiet_ns_;
  std::atomic<uint64_t> rewritten_extents_{0};

  Mutex mu_;
  CondVar changed_;
  std::map<InodeId, int64_t> noted_ TERRACE_GUARDED_BY(mu_);  // when it was noted last
  bool busy_ TERRACE_GUARDED_BY(mu_) = false;
  bool stopping_ TERRACE_GUARDED_BY(mu_) = false;
  Thread thread_;
};

}  // namespace terrace::fs
