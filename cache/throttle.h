// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Throttle: holds back the replies to writers while too much of DRAM is dirty.
//
// Role     Below the high-water mark an admission is immediate. Above it the reply waits, first
//          come first served, and one is let go for each 1 MiB that becomes durable: writers
//          run at the rate of the devices, without bursts and without an error.
// Owner    WriteBack.
// Threads  Thread-safe; callbacks run without mu_.
//
// Invariants (tests/cache/throttle_test.cc)
//   THROTTLE-1  Every admitted callback runs exactly once, in order.
//   THROTTLE-2  While dirty bytes are above the mark no waiting callback runs, but at OpenGates.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "base/mutex.h"

namespace terrace::cache {

class Throttle {
 public:
  Throttle(uint64_t high_water_bytes, std::function<uint64_t()> dirty_bytes)
      : high_water_bytes_(high_water_bytes), dirty_bytes_(std::move(dirty_bytes)) {}

  // Runs proceed now or later.
  void Admit(std::function<void()> proceed);
  // Dirty bytes may have fallen: lets go who may.
  void Update();
  // Shutdown: lets everybody go, now and from now on.
  void OpenGates();

  bool engaged() const;
  uint64_t high_water_bytes() const { return high_water_bytes_; }

 private:
  const uint64_t high_water_bytes_;
  const std::function<uint64_t()> dirty_bytes_;

  mutable Mutex mu_;
  std::deque<std::function<void()>> waiting_ TERRACE_GUARDED_BY(mu_);
  bool open_ TERRACE_GUARDED_BY(mu_) = false;
};

}  // namespace terrace::cache
