// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Engine: a mounted store in this process: volume, session and control socket together.
//
// Role     Start opens the store and mounts it; it returns when the mount answers. Serve waits
//          for the end: an unmount by anybody, or a signal, and then stops all parts in order,
//          with a final flush.
// Order    Start: volume, session, control socket, page syncer; the end: the other way round,
//          the volume before the session, because late completions still reply.
// Threads  One caller; SIGTERM and SIGINT must be blocked in it (BlockEndSignals) before Start.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fs/volume.h"
#include "mount/control_service.h"
#include "mount/control_socket.h"
#include "mount/options.h"
#include "mount/session.h"

namespace terrace::mount {

// Why a mount failed, for the exit code.
struct MountFailure {
  bool in_store = false;  // the store was refused; else the mounting failed
  Error error;
};

class Engine {
 public:
  // Requires: config.session.mount_point came from CheckMountPoint.
  static tl::expected<std::unique_ptr<Engine>, MountFailure> Start(const MountConfig& config);
  ~Engine();

  // Returns when the mount is gone and all parts have stopped. Errors: of the final flush.
  Status Serve();

 private:
  Engine() = default;
  Status StartServices();
  void WaitForEnd(int signal_fd);
  void UnmountOnSignal();
  void RemoveDeadMount();
  void FlushEverything();
  Status Stop();

  std::string mount_point_;
  std::unique_ptr<fs::Volume> volume_;
  std::unique_ptr<Session> session_;
  MountEntry entry_;
  std::unique_ptr<ControlService> service_;
  std::unique_ptr<ControlSocket> control_;
};

// SIGTERM and SIGINT are for Serve, in every thread that starts from here; SIGHUP and SIGPIPE
// end nothing.
void BlockEndSignals();

}  // namespace terrace::mount
