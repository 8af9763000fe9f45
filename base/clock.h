// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Clock: the seam through which the tree sees time.
//
// Real: SystemClock. In tests: ManualClock, which moves only when told.
#pragma once

#include <atomic>
#include <cstdint>

namespace terrace {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since 1970-01-01 UTC, for timestamps of inodes.
  virtual int64_t WallNs() const = 0;
  // Nanoseconds that never go back, for ages and delays.
  virtual int64_t MonotonicNs() const = 0;
};

class SystemClock final : public Clock {
 public:
  int64_t WallNs() const override;
  int64_t MonotonicNs() const override;
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t start_ns) : now_ns_(start_ns) {}
  int64_t WallNs() const override { return now_ns_.load(); }
  int64_t MonotonicNs() const override { return now_ns_.load(); }
  void AdvanceNs(int64_t delta_ns) { now_ns_ += delta_ns; }

 private:
  std::atomic<int64_t> now_ns_;
};

}  // namespace terrace
