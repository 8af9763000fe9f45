// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// RequestCounts: how many requests of each kind the kernel sent, for `terrace status`.
//
// Threads  Thread-safe; counting is one relaxed addition.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace terrace::mount {

class RequestCounts {
 public:
  void Count(uint32_t opcode) {
    counts_[opcode < counts_.size() ? opcode : 0].fetch_add(1, std::memory_order_relaxed);
  }
  // Name and count of every request that came at least once.
  std::vector<std::pair<std::string_view, uint64_t>> Snapshot() const;

 private:
  std::array<std::atomic<uint64_t>, 64> counts_{};  // by opcode; 0: all others
};

}  // namespace terrace::mount
