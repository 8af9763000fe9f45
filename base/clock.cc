// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <ctime>

namespace terrace {

namespace {

int64_t Now(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

int64_t SystemClock::WallNs() const { return Now(CLOCK_REALTIME); }
int64_t SystemClock::MonotonicNs() const { return Now(CLOCK_MONOTONIC); }

}  // namespace terrace
