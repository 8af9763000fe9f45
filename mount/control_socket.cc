// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/control_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace terrace::mount {

namespace {

constexpr std::chrono::milliseconds kClientTimeout(5000);
constexpr int kBacklog = 16;

Result<int> ListenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Fail(Errc::kNameTooLong, path + ": too long for a socket");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return FailErrno(errno, "making a socket");
  // The device number is ours now: a file of that name is what a dead daemon left.
  unlink(path.c_str());
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (bind(fd, name, sizeof address) != 0 || chmod(path.c_str(), 0600) != 0 ||
      listen(fd, kBacklog) != 0) {
    int reason = errno;
    close(fd);
    return FailErrno(reason, path);
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<ControlSocket>> ControlSocket::Listen(const std::string& path,
                                                             Handler handler) {
  TERRACE_ASSIGN_OR_RETURN(int listen_fd, ListenAt(path));
  int stop_fd = eventfd(0, EFD_CLOEXEC);
  if (stop_fd < 0) {
    int reason = errno;
    close(listen_fd);
    return FailErrno(reason, "making an event descriptor");
  }
  std::unique_ptr<ControlSocket> control(
      new ControlSocket(path, listen_fd, stop_fd, std::move(handler)));
  control->accept_thread_ = Thread("control", [self = control.get()] { self->AcceptMain(); });
  return control;
}

ControlSocket::ControlSocket(std::string path, int listen_fd, int stop_fd, Handler handler)
    : path_(std::move(path)),
      listen_fd_(listen_fd),
      stop_fd_(stop_fd),
      handler_(std::move(handler)) {}

ControlSocket::~ControlSocket() {
  unlink(path_.c_str());
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(stop_fd_, &one, sizeof one);
  accept_thread_.Join();
  std::array<Thread, kConnectionsMax> threads;
  {
    MutexLock lock(mu_);
    for (size_t i = 0; i < slots_.size(); i++) {
      if (slots_[i].socket) slots_[i].socket->Shutdown();
      threads[i] = std::move(slots_[i].thread);
    }
  }
  for (Thread& thread : threads) thread.Join();
  close(listen_fd_);
  close(stop_fd_);
}

void ControlSocket::AcceptMain() {
  for (;;) {
    pollfd wanted[2] = {{.fd = listen_fd_, .events = POLLIN, .revents = 0},
                        {.fd = stop_fd_, .events = POLLIN, .revents = 0}};
    if (poll(wanted, 2, -1) < 0 && errno != EINTR) {
      LogError(std::string("control socket: waiting failed: ") + std::strerror(errno));
      return;
    }
    if (wanted[1].revents != 0) return;
    if (wanted[0].revents == 0) continue;
    int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) Admit(LineSocket(fd));
  }
}

void ControlSocket::Admit(LineSocket socket) {
  Result<LineSocket::Peer> peer = socket.GetPeer();
  if (!peer || (peer->uid != 0 && peer->uid != geteuid())) {
    LogWarning("control socket: refused a client of user " +
               (peer ? std::to_string(peer->uid) : "unknown"));
    return;
  }
  MutexLock lock(mu_);
  for (Slot& slot : slots_) {
    if (slot.busy) continue;
    slot.socket.emplace(std::move(socket));
    slot.busy = true;
    // The thread before has left the slot and only returns: joining it does not wait.
    slot.thread = Thread("control-client", [this, &slot] { Serve(slot); });
    return;
  }
  [[maybe_unused]] Status sent =
      socket.WriteLine(R"({"ok":false,"code":"busy","error":"too many clients: try again"})",
                       std::chrono::milliseconds(100));
}

void ControlSocket::Serve(Slot& slot) TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  // Only this thread uses the slot's socket while it is busy, but for Shutdown.
  ServeOneRequest(*slot.socket);
  MutexLock lock(mu_);
  slot.socket.reset();
  slot.busy = false;
}

void ControlSocket::ServeOneRequest(LineSocket& socket) {
  Result<std::string> request = socket.ReadLine(kClientTimeout);
  if (!request) return;
  handler_(*request, [&](const std::string& line) {
    return socket.WriteLine(line, kClientTimeout).has_value();
  });
}

}  // namespace terrace::mount
