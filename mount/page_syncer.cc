// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/page_syncer.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace terrace::mount {

PageSyncer::PageSyncer(std::string mount_point, std::chrono::milliseconds interval)
    : mount_point_(std::move(mount_point)), interval_(interval) {
  thread_ = Thread("page-syncer", [this] { Main(); });
}

PageSyncer::~PageSyncer() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.Join();
}

void PageSyncer::Main() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point next = Clock::now() + interval_;
  for (;;) {
    {
      MutexLock lock(mu_);
      while (!stopping_ && Clock::now() < next) changed_.WaitFor(mu_, next - Clock::now());
      if (stopping_) return;
    }
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
