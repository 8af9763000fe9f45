// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Barrier: makes what was written to the devices of a store durable, for many callers at once.
//
// Role     One round syncs, in parallel, every device that received data since the last round.
//          A caller takes part in the first round that begins after its call, so that N callers
//          beside each other cost at most two rounds.
// Owner    ExtentStore.
// Threads  Thread-safe. mu_ is a leaf lock and is not held while devices sync.
// Errors   kIo, kNoSpace. After a failed round nobody knows what the devices kept of what was
//          written since the last good one, and the host reports it once: who wrote in that time
//          must write again (failure_count tells).
//
// Invariants (tests/io/barrier_test.cc)
//   BARRIER-1  Wait returns success only if a sync that began after the call succeeded on every
//              device whose data had arrived before the call.
//   BARRIER-2  All who take part in a round that fails learn it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "io/device.h"

namespace terrace::io {

class Barrier {
 public:
  // The devices must outlive the barrier.
  explicit Barrier(std::vector<Device*> devices) : devices_(std::move(devices)) {}

  Status Wait() TERRACE_EXCLUDES(mu_);
  // How many rounds have failed.
  uint64_t failure_count() const TERRACE_EXCLUDES(mu_);
  // How many rounds there were.
  uint64_t round_count() const TERRACE_EXCLUDES(mu_);

 private:
  struct Round {
    bool finished = false;
    Status status;
  };

  Status SyncDevices();

  // Dependencies.
  const std::vector<Device*> devices_;
  // Guarded by mu_.
  mutable Mutex mu_;
  CondVar finished_;
  bool running_ TERRACE_GUARDED_BY(mu_) = false;
  // The round that begins next; shared by those who wait for it.
  std::shared_ptr<Round> next_ TERRACE_GUARDED_BY(mu_);
  uint64_t failure_count_ TERRACE_GUARDED_BY(mu_) = 0;
  uint64_t round_count_ TERRACE_GUARDED_BY(mu_) = 0;
};

}  // namespace terrace::io
