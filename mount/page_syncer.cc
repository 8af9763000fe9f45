// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/page_syncer.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace terrace::mount {

PageSyncer::PageSyncer(std::string mount_point, std::chrono::milliseconds interval,
                       TakePages take_pages)
    : mount_point_(std::move(mount_point)),
      interval_(interval),
      take_pages_(std::move(take_pages)) {
  thread_ = Thread("page-syncer", [this] { Main(); });
}

void PageSyncer::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.Join();
}

void PageSyncer::SyncThen(InodeId inode, Done done) {
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      waiting_.emplace_back(inode, std::move(done));
      changed_.NotifyAll();
      return;
    }
  }
  done(false);
}

void PageSyncer::Main() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point next = Clock::now() + interval_;
  for (;;) {
    std::vector<std::pair<InodeId, Done>> waiting;
    bool stopping = false;
    {
      MutexLock lock(mu_);
      while (!stopping_ && waiting_.empty() && Clock::now() < next) {
        changed_.WaitFor(mu_, next - Clock::now());
      }
      stopping = stopping_;
      waiting.swap(waiting_);
    }
    for (const auto& [inode, done] : waiting) done(!stopping && take_pages_(inode));
    if (stopping) return;
    if (Clock::now() < next) continue;
    SyncFilesystemOf(mount_point_);
    next = Clock::now() + interval_;
  }
}

bool SyncFilesystemOf(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return false;
  bool synced = syncfs(fd) == 0;
  close(fd);
  return synced;
}

}  // namespace terrace::mount
