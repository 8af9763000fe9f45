// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// PageSyncer: makes the kernel write out its dirty pages of the mount, every so often.
//
// Role     With the kernel's write-back cache, what a program wrote is the kernel's until close,
//          fsync or the kernel's own write-out, which takes half a minute. Calling syncfs every
//          write_back_delay bounds that. Opens the mount point anew each time: a descriptor that
//          stayed open would keep the mount busy. A request that must see all bytes of one inode
//          has its pages taken from the kernel: since Linux 6.17 syncfs on FUSE begins the
//          writing and does not wait for it.
// Owner    Session, in write-back mode only; stopped while the readers still serve.
// Threads  One, which serves no requests: readers must not wait for it. SyncThen is thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace terrace::mount {

class PageSyncer {
 public:
  using Done = std::function<void(bool synced)>;
  // Returns when the kernel has written out and dropped its pages of the inode.
  using TakePages = std::function<bool(InodeId)>;

  PageSyncer(std::string mount_point, std::chrono::milliseconds interval, TakePages take_pages);
  ~PageSyncer() { Stop(); }
  PageSyncer(const PageSyncer&) = delete;
  PageSyncer& operator=(const PageSyncer&) = delete;

  // Has all that programs wrote to the inode before the call reach us; then done runs on this
  // thread. As many wait as the kernel has requests in flight. After Stop: done(false), at once.
  void SyncThen(InodeId inode, Done done);
  void Stop();

 private:
  void Main();

  const std::string mount_point_;
  const std::chrono::milliseconds interval_;
  const TakePages take_pages_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ TERRACE_GUARDED_BY(mu_) = false;
  std::vector<std::pair<InodeId, Done>> waiting_ TERRACE_GUARDED_BY(mu_);
  Thread thread_;
};

// syncfs on the file system that `path` lies on. False: it could not be opened, or failed.
bool SyncFilesystemOf(const std::string& path);

}  // namespace terrace::mount
