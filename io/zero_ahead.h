// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ZeroAhead: writes zeros where the next extents will go, while the devices have nothing to do.
//
// Role     The first write into space that was only preallocated makes the host's file system
//          convert it, which halves the rate of durable writes. A background thread grows data
//          files early and writes zeros into free space ahead of the allocator's cursor, up to
//          ahead_bytes per device. Block devices need none of it.
// Owner    fs/open, beside the ExtentStore, which must outlive it.
// Threads  One of its own, "terrace-zeros". Step is public for tests.
// Bounds   Works only after a device was idle for `idle`, in single writes of 1 MiB, and stops
//          at the first sign of other work. Holds 1 MiB of space while it writes, and none
//          while less than 256 MiB beyond what is reserved are free.
// Errors   A failed write ends the work on that device for good; it is logged.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"
#include "base/units.h"
#include "io/extent_store.h"

namespace terrace::io {

class ZeroAhead {
 public:
  struct Options {
    uint64_t ahead_bytes = kGiB;          // per device
    std::chrono::milliseconds idle{100};  // how long a device must have been idle
    bool run_thread = true;               // false: the test calls Step
  };

  ZeroAhead(ExtentStore& store, const Options& options);
  ~ZeroAhead();  // waits for the write underway
  ZeroAhead(const ZeroAhead&) = delete;
  ZeroAhead& operator=(const ZeroAhead&) = delete;

  // Grows the device or writes one piece of zeros. Returns: false when there is nothing to do.
  bool Step(Device& device);

  uint64_t zeroed_bytes() const { return zeroed_bytes_.load(); }

 private:
  struct DeviceWork {
    Device* device;
    uint64_t activity = 0;  // as it was at the last look
    bool failed = false;
  };

  void Run() TERRACE_EXCLUDES(mu_);
  bool WorkWhileIdle(DeviceWork& work);
  bool MayTakeSpace();
  bool WriteZeros(Device& device, BlockRun run);

  // Dependencies.
  ExtentStore& store_;
  // Constant after construction.
  const Options options_;
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  const std::unique_ptr<std::byte, Free> zeros_;
  // Touched by any thread.
  std::atomic<uint64_t> zeroed_bytes_{0};
  std::atomic<bool> stopping_{false};
  // The thread's alone.
  std::vector<DeviceWork> work_;
  // Guarded by mu_: nothing but the wish to stop, which the thread waits for.
  Mutex mu_;
  CondVar stop_;
  Thread thread_;
};

}  // namespace terrace::io
