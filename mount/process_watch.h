// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ProcessWatch: waits for the end of a process that is not a child of ours.
//
// Made while the process certainly lives, so that its number can't mean another one.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "base/result.h"

namespace terrace::mount {

class ProcessWatch {
 public:
  // Errors: kNotFound (no such process), kIo.
  static Result<ProcessWatch> Open(pid_t pid);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch& operator=(ProcessWatch&& other) noexcept;

  // Returns: false when the time is over first. Zero: no limit.
  bool WaitForExit(std::chrono::milliseconds timeout) const;

 private:
  explicit ProcessWatch(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace terrace::mount
