// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "cache/throttle.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace terrace::cache {

void Throttle::Admit(std::function<void()> proceed) {
  {
    MutexLock lock(mu_);
    if (!open_ && (!waiting_.empty() || dirty_bytes_() > high_water_bytes_)) {
      waiting_.push_back(std::move(proceed));
      return;
    }
  }
  proceed();
}

void Throttle::Update() {
  std::vector<std::function<void()>> free_to_go;
  {
    MutexLock lock(mu_);
    uint64_t dirty = dirty_bytes_();
    uint64_t room = high_water_bytes_ > dirty ? high_water_bytes_ - dirty : 0;
    // Each writer let go may bring one more extent; with a mark below that, a part of one.
    uint64_t step = std::min(kExtentSizeMax, std::max<uint64_t>(high_water_bytes_ / 2, 1));
    bool all = open_ || dirty == 0;
    size_t count = all ? waiting_.size() : std::min<size_t>(waiting_.size(), room / step);
    for (size_t i = 0; i < count; i++) {
      free_to_go.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  for (auto& proceed : free_to_go) proceed();
}

void Throttle::OpenGates() {
  {
    MutexLock lock(mu_);
    open_ = true;
  }
  Update();
}

bool Throttle::engaged() const {
  MutexLock lock(mu_);
  return !waiting_.empty();
}

}  // namespace terrace::cache
