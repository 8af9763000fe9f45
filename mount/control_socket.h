// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ControlSocket: the Unix socket through which operators' verbs talk to a mount's daemon.
//
// Role     Accepts connections from the same user and from root, reads one request line from
//          each and hands it to a handler, which answers with any number of lines. What the
//          requests mean is mount/control_service.h's business.
// Owner    Engine. The socket's file is removed first when it stops: no file, no mount.
// Threads  One thread accepts, one serves each connection (8 at most; more are told that it is
//          busy). The handler runs on several threads.
// Errors   Garbage, slow and vanished clients cost a connection for 5 seconds, nothing more.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread.h"
#include "mount/line_socket.h"

namespace terrace::mount {

class ControlSocket {
 public:
  // Returns: false when the client is gone; the handler then stops early.
  using Send = std::function<bool(const std::string& line)>;
  using Handler = std::function<void(const std::string& request, const Send& send)>;

  static Result<std::unique_ptr<ControlSocket>> Listen(const std::string& path, Handler handler);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  static constexpr size_t kConnectionsMax = 8;
  struct Slot {
    std::optional<LineSocket> socket;
    bool busy = false;
    Thread thread;
  };

  ControlSocket(std::string path, int listen_fd, int stop_fd, Handler handler);
  void AcceptMain();
  void Admit(LineSocket socket);
  void Serve(Slot& slot);
  void ServeOneRequest(LineSocket& socket);

  // Constant after construction.
  const std::string path_;
  const int listen_fd_;
  const int stop_fd_;
  const Handler handler_;

  Mutex mu_;
  std::array<Slot, kConnectionsMax> slots_ TERRACE_GUARDED_BY(mu_);
  Thread accept_thread_;
};

}  // namespace terrace::mount
