// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Reaper: frees inodes that have no name, no user in the kernel and no condition that needs them.
//
// Role     Deletes map, extents, attributes and record of orphans in bounded batches on its own
//          thread, so that removing a 60 GB file costs the caller one small batch, and removing
//          many small ones costs one batch for several.
// Threads  Enqueue is thread-safe and cheap. One thread works.
// Errors   None to the caller: a failing batch is logged, counted and tried again later.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace terrace::fs {

class Reaper {
 public:
  // Frees a bounded part of the inodes, and returns those of which something is left.
  using FreeSome = std::function<std::vector<InodeId>(std::span<const InodeId> inodes)>;
  // batch_max: how many inodes free_some takes at a time.
  Reaper(FreeSome free_some, size_t batch_max);
  ~Reaper();  // stops; what is left is found in the orphan table at the next mount

  void Enqueue(InodeId inode);
  // Waits until everything enqueued before the call is freed.
  void Drain();

 private:
  struct Orphan {
    InodeId inode;
    uint64_t number = 0;  // in the order of Enqueue
  };
  void Run();
  std::vector<Orphan> FreeSomeOf(const std::vector<Orphan>& batch);

  const FreeSome free_some_;
  const size_t batch_max_;
  Mutex mu_;
  CondVar changed_;
  CondVar hurry_;  // somebody waits in Drain, or the end has come: no more gathering
  // Ascending numbers; the first ones, up to batch_max_, are being freed.
  std::deque<Orphan> queue_ TERRACE_GUARDED_BY(mu_);
  uint64_t enqueued_ TERRACE_GUARDED_BY(mu_) = 0;
  uint32_t drain_waiters_ TERRACE_GUARDED_BY(mu_) = 0;
  bool stopping_ TERRACE_GUARDED_BY(mu_) = false;
  Thread thread_;
};

}  // namespace terrace::fs
