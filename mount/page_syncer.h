// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// PageSyncer: makes the kernel write out its dirty pages of the mount, every so often.
//
// Role     With the kernel's write-back cache, what a program wrote is the kernel's until close,
//          fsync or the kernel's own write-out, which takes half a minute. Calling syncfs every
//          write_back_delay bounds that. Opens the mount point anew each time: a descriptor that
//          stayed open would keep the mount busy.
// Owner    Engine, in write-back mode only; stopped while the readers still serve.
// Threads  One.
#pragma once

#include <chrono>
#include <string>

#include "base/mutex.h"
#include "base/thread.h"

namespace terrace::mount {

class PageSyncer {
 public:
  PageSyncer(std::string mount_point, std::chrono::milliseconds interval);
  ~PageSyncer();
  PageSyncer(const PageSyncer&) = delete;
  PageSyncer& operator=(const PageSyncer&) = delete;

 private:
  void Main();

  const std::string mount_point_;
  const std::chrono::milliseconds interval_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ TERRACE_GUARDED_BY(mu_) = false;
  Thread thread_;
};

// syncfs on the file system that `path` lies on. False: it could not be opened, or failed.
bool SyncFilesystemOf(const std::string& path);

}  // namespace terrace::mount
