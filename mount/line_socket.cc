// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/line_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace terrace::mount {

namespace {

using Clock = std::chrono::steady_clock;

// Waits until the socket is ready or the time is over.
Status WaitReady(int fd, short events, Clock::time_point deadline, bool for_ever) {
  for (;;) {
    int timeout_ms = -1;
    if (!for_ever) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() < 0) return Fail(Errc::kIo, "timed out");
      timeout_ms = static_cast<int>(left.count()) + 1;
    }
    pollfd wanted{.fd = fd, .events = events, .revents = 0};
    int rc = poll(&wanted, 1, timeout_ms);
    if (rc > 0) return {};
    if (rc == 0) return Fail(Errc::kIo, "timed out");
    if (errno != EINTR) return FailErrno(errno, "waiting for the other side");
  }
}

}  // namespace

LineSocket::~LineSocket() {
  if (fd_ >= 0) close(fd_);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

Result<std::string> LineSocket::ReadLine(std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  size_t searched = 0;
  for (;;) {
    size_t end = received_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    searched = received_.size();
    if (searched > kLineSizeMax) return Fail(Errc::kTooLarge, "the line is too long");
    TERRACE_TRY(WaitReady(fd_, POLLIN, deadline, timeout.count() == 0));
    char part[4096];
    ssize_t size = recv(fd_, part, sizeof part, MSG_DONTWAIT);
    if (size == 0) return Fail(Errc::kIo, "the other side closed the connection");
    if (size < 0 && errno != EINTR && errno != EAGAIN) return FailErrno(errno, "receiving");
    if (size > 0) received_.append(part, static_cast<size_t>(size));
  }
}

Status LineSocket::WriteLine(const std::string& line, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string rest = line + "\n";
  while (!rest.empty()) {
    TERRACE_TRY(WaitReady(fd_, POLLOUT, deadline, timeout.count() == 0));
    ssize_t size = send(fd_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR && errno != EAGAIN) return FailErrno(errno, "sending");
    if (size > 0) rest.erase(0, static_cast<size_t>(size));
  }
  return {};
}

void LineSocket::Shutdown() { shutdown(fd_, SHUT_RDWR); }

Result<LineSocket::Peer> LineSocket::GetPeer() const {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return FailErrno(errno, "asking who is on the other side");
  }
  return Peer{.pid = credentials.pid, .uid = credentials.uid};
}

}  // namespace terrace::mount
