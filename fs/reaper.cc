// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/reaper.h"

#include <utility>

namespace terrace::fs {

Reaper::Reaper(FreeSome free_some)
    : free_some_(std::move(free_some)), thread_("reaper", [this] { Run(); }) {}

Reaper::~Reaper() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.Join();
}

void Reaper::Enqueue(InodeId inode) {
  {
    MutexLock lock(mu_);
    queue_.push_back(inode);
    enqueued_++;
  }
  changed_.NotifyAll();
}

void Reaper::Drain() {
  MutexLock lock(mu_);
  const uint64_t wanted = enqueued_;
  while (finished_ < wanted && !stopping_) changed_.Wait(mu_);
}

void Reaper::Run() {
  mu_.Lock();
  while (true) {
    while (queue_.empty() && !stopping_) changed_.Wait(mu_);
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
