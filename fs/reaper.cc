// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/reaper.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace terrace::fs {

namespace {

// After the first inode the reaper waits this long for more before it works: a burst of removals
// then wakes it once, and does not share the processors with it meanwhile.
constexpr std::chrono::milliseconds kGatherTime{20};

}  // namespace

Reaper::Reaper(FreeSome free_some, size_t batch_max)
    : free_some_(std::move(free_some)), batch_max_(batch_max), thread_("reaper", [this] {
        Run();
      }) {}

Reaper::~Reaper() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  hurry_.NotifyAll();
  thread_.Join();
}

void Reaper::Enqueue(InodeId inode) {
  bool first;
  {
    MutexLock lock(mu_);
    first = queue_.empty();
    queue_.push_back({inode, enqueued_++});
  }
  if (first) changed_.NotifyAll();
}

void Reaper::Drain() {
  MutexLock lock(mu_);
  const uint64_t wanted = enqueued_;
  drain_waiters_++;
  hurry_.NotifyAll();
  while (!queue_.empty() && queue_.front().number < wanted && !stopping_) changed_.Wait(mu_);
  drain_waiters_--;
}

std::vector<Reaper::Orphan> Reaper::FreeSomeOf(const std::vector<Orphan>& batch) {
  std::vector<InodeId> inodes;
  for (const Orphan& orphan : batch) inodes.push_back(orphan.inode);
  const std::vector<InodeId> left = free_some_(inodes);
  std::vector<Orphan> orphans;
  for (const Orphan& orphan : batch) {
    const bool more = std::find(left.begin(), left.end(), orphan.inode) != left.end();
    if (more) orphans.push_back(orphan);
  }
  return orphans;
}

void Reaper::Run() {
  mu_.Lock();
  while (true) {
    if (queue_.empty()) {
      while (queue_.empty() && !stopping_) changed_.Wait(mu_);
      if (!stopping_ && drain_waiters_ == 0) hurry_.WaitFor(mu_, kGatherTime);
    }
    if (stopping_) break;
    const size_t count = std::min(batch_max_, queue_.size());
    const std::vector<Orphan> batch(queue_.begin(), queue_.begin() + count);
    mu_.Unlock();
    const std::vector<Orphan> left = FreeSomeOf(batch);
    mu_.Lock();
    // What is left goes on first: Drain counts on ascending numbers.
    queue_.erase(queue_.begin(), queue_.begin() + count);
    queue_.insert(queue_.begin(), left.begin(), left.end());
    changed_.NotifyAll();
  }
  mu_.Unlock();
}

}  // namespace terrace::fs
