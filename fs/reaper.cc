// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/reaper.h"

#include <chrono>
#include <utility>

namespace terrace::fs {

namespace {

// After the first inode the reaper waits this long for more before it works: a burst of removals
// then wakes it once, and does not share the processors with it meanwhile.
constexpr std::chrono::milliseconds kGatherTime{20};

}  // namespace

Reaper::Reaper(FreeSome free_some)
    : free_some_(std::move(free_some)), thread_("reaper", [this] { Run(); }) {}

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
    queue_.push_back(inode);
    enqueued_++;
  }
  if (first) changed_.NotifyAll();
}

void Reaper::Drain() {
  MutexLock lock(mu_);
  const uint64_t wanted = enqueued_;
  drain_waiters_++;
  hurry_.NotifyAll();
  while (finished_ < wanted && !stopping_) changed_.Wait(mu_);
  drain_waiters_--;
}

void Reaper::Run() {
  mu_.Lock();
  while (true) {
    if (queue_.empty()) {
      while (queue_.empty() && !stopping_) changed_.Wait(mu_);
      if (!stopping_ && drain_waiters_ == 0) hurry_.WaitFor(mu_, kGatherTime);
    }
    if (stopping_) break;
    const InodeId inode = queue_.front();
    mu_.Unlock();
    const bool more = free_some_(inode);
    mu_.Lock();
    // First in, first out to the end of each: that is what Drain counts on.
    if (more) continue;
    queue_.pop_front();
    finished_++;
    changed_.NotifyAll();
  }
  mu_.Unlock();
}

}  // namespace terrace::fs
