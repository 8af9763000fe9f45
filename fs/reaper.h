// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Reaper: frees inodes that have no name, no user in the kernel and no condition that needs them.
//
// Role     Deletes map, extents, attributes and record of an orphan in bounded batches on its
//          own thread, so that removing a 60 GB file costs the caller one small batch.
// Threads  Enqueue is thread-safe and cheap. One thread works.
// Errors   None to the caller: a failing batch is logged, counted and tried again later.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace terrace::fs {

class Reaper {
 public:
  // free_some frees a bounded part of the inode and says whether anything is left.
  using FreeSome = std::function<bool(InodeId inode)>;
  explicit Reaper(FreeSome free_some);
  ~Reaper();  // stops; what is left is found in the orphan table at the next mount

  void Enqueue(InodeId inode);
  // Waits until everything enqueued before the call is freed.
  void Drain();

 private:
  void Run();

  const FreeSome free_some_;
  Mutex mu_;
  CondVar changed_;
  CondVar hurry_;  // somebody waits in Drain, or the end has come: no more gathering
  std::deque<InodeId> queue_ TERRACE_GUARDED_BY(mu_);  // the first is being freed
  uint64_t enqueued_ TERRACE_GUARDED_BY(mu_) = 0;
  uint64_t finished_ TERRACE_GUARDED_BY(mu_) = 0;
  uint32_t drain_waiters_ TERRACE_GUARDED_BY(mu_) = 0;
  bool stopping_ TERRACE_GUARDED_BY(mu_) = false;
  Thread thread_;
};

}  // namespace terrace::fs
