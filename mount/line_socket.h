// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// LineSocket: a connected Unix stream socket that carries lines of bounded length.
//
// Threads  One thread at a time, but for Shutdown.
// Errors   kIo (closed, timed out), kTooLarge (a longer line), kInvalid.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/result.h"

namespace terrace::mount {

class LineSocket {
 public:
  static constexpr size_t kLineSizeMax = 1024 * 1024;

  explicit LineSocket(int fd) : fd_(fd) {}
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&&) = delete;

  // Waits for a whole line at most so long; zero: for ever. Returns: without its end.
  Result<std::string> ReadLine(std::chrono::milliseconds timeout);
  // Requires: no newline in `line`.
  Status WriteLine(const std::string& line, std::chrono::milliseconds timeout);
  // Wakes whoever reads or writes; from any thread.
  void Shutdown();

  struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
  };
  Result<Peer> GetPeer() const;

 private:
  int fd_;
  std::string received_;
};

}  // namespace terrace::mount
