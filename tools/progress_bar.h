// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ProgressBar: bytes, rate and time left of a long wait, redrawn in place on a terminal.
//
// Shows nothing unless standard error is a terminal, and nothing in the first half second.
// Threads  One.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace terrace::tools {

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressBar(std::string what);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // What is left; more may come than there was at first.
  void Update(uint64_t left_bytes);

 private:
  const std::string what_;
  const bool visible_;
  const Clock::time_point start_;
  uint64_t most_bytes_ = 0;
  bool drawn_ = false;
};

// "flushing  [######----]  1.2 GiB of 2.0 GiB  850 MiB/s  1 s left".
struct ProgressFigures {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  double seconds = 0;
};
std::string ProgressLine(const std::string& what, const ProgressFigures& figures);

}  // namespace terrace::tools
