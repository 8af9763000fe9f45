// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// StatusLatch: lets one thread wait for the callback of an asynchronous call.
#pragma once

#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace terrace {

class StatusLatch {
 public:
  void Set(Status status) {
    MutexLock lock(mu_);
    status_ = std::move(status);
    set_.NotifyAll();  // under the lock: the waiter may destroy the latch as soon as it wakes
  }
  Status Wait() {
    MutexLock lock(mu_);
    while (!status_) set_.Wait(mu_);
    return std::move(*status_);
  }

 private:
  Mutex mu_;
  CondVar set_;
  std::optional<Status> status_ TERRACE_GUARDED_BY(mu_);
};

}  // namespace terrace
