// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace terrace::mount {

Result<ProcessWatch> ProcessWatch::Open(pid_t pid) {
  long fd = syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) return ProcessWatch(static_cast<int>(fd));
  if (errno == ESRCH) return Fail(Errc::kNotFound, "process " + std::to_string(pid) + " is gone");
  return FailErrno(errno, "watching process " + std::to_string(pid));
}

ProcessWatch::~ProcessWatch() {
  if (fd_ >= 0) close(fd_);
}

ProcessWatch::ProcessWatch(ProcessWatch&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

ProcessWatch& ProcessWatch::operator=(ProcessWatch&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

bool ProcessWatch::WaitForExit(std::chrono::milliseconds timeout) const {
  pollfd ended{.fd = fd_, .events = POLLIN, .revents = 0};
  int timeout_ms = timeout.count() == 0 ? -1 : static_cast<int>(timeout.count());
  int rc;
  do {
    rc = poll(&ended, 1, timeout_ms);
  } while (rc < 0 && errno == EINTR);
  return rc > 0;
}

}  // namespace terrace::mount
