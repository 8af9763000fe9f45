// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/barrier.h"

#include <utility>

#include "base/assert.h"

namespace terrace::io {

namespace {

struct DirtyDevice {
  Device* device;
  uint64_t write_count;  // what had arrived when the round began
};

// Waits for several syncs and keeps the first failure.
class SyncJoin {
 public:
  explicit SyncJoin(size_t count) : open_(count) {}

  void Finish(DirtyDevice dirty, Status status) {
    if (status) dirty.device->NoteSynced(dirty.write_count);
    if (!status) dirty.device->counters().errors++;
    MutexLock lock(mu_);
    if (!status && status_) status_ = std::move(status);
    TERRACE_ASSERT(open_ > 0);
    if (--open_ == 0) all_done_.NotifyAll();
  }
  Status Wait() {
    MutexLock lock(mu_);
    while (open_ > 0) all_done_.Wait(mu_);
    return status_;
  }

 private:
  Mutex mu_;
  CondVar all_done_;
  size_t open_ TERRACE_GUARDED_BY(mu_);
  Status status_ TERRACE_GUARDED_BY(mu_);
};

}  // namespace

Status Barrier::Wait() {
  std::shared_ptr<Round> round;
  {
    MutexLock lock(mu_);
    if (!next_) next_ = std::make_shared<Round>();
    round = next_;
    while (running_ && !round->finished) finished_.Wait(mu_);
    if (round->finished) return round->status;
    running_ = true;  // this thread leads the round
    next_ = nullptr;
  }
  Status status = SyncDevices();
  MutexLock lock(mu_);
  running_ = false;
  round_count_++;
  if (!status) failure_count_++;
  round->finished = true;
  round->status = status;
  finished_.NotifyAll();
  return status;
}

// All but the last device sync on their own; the last one on this thread, which waits anyway.
Status Barrier::SyncDevices() {
  std::vector<DirtyDevice> dirty;
  for (Device* device : devices_) {
    if (device->needs_barrier()) dirty.push_back({device, device->write_count()});
  }
  if (dirty.empty()) return {};
  SyncJoin join(dirty.size());
  for (size_t i = 0; i + 1 < dirty.size(); i++) {
    dirty[i].device->file().StartSync(
        [&join, one = &dirty[i]](Status status) { join.Finish(*one, std::move(status)); });
  }
  join.Finish(dirty.back(), dirty.back().device->file().Sync());
  return join.Wait();
}

uint64_t Barrier::failure_count() const {
  MutexLock lock(mu_);
  return failure_count_;
}

uint64_t Barrier::round_count() const {
  MutexLock lock(mu_);
  return round_count_;
}

}  // namespace terrace::io
