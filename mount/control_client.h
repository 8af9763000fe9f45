// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ControlClient: the side of an operator's verb that asks a mount's daemon.
//
// Errors   kNotFound (no daemon answers for this mount), kPermission (the mount of another
//          user), kIo; what the daemon answers comes back with the daemon's code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "mount/line_socket.h"
#include "mount/mount_table.h"

namespace terrace::mount {

class ControlClient {
 public:
  static Result<ControlClient> Connect(const MountEntry& mount);

  pid_t engine_pid() const { return engine_pid_; }

  // Each asks one question; a client asks once.
  Result<std::string> Status();  // JSON: docs/operations.md
  // inode 1 is everything. progress gets the dirty bytes that are left, now and then.
  terrace::Status Flush(uint64_t inode, const std::function<void(uint64_t)>& progress);
  terrace::Status EvictDram();

 private:
  ControlClient(LineSocket socket, pid_t engine_pid)
      : socket_(std::move(socket)), engine_pid_(engine_pid) {}

  LineSocket socket_;
  pid_t engine_pid_;
};

// True if the process answers on the control socket of a mount in the table: it is not about to
// end.
bool ServesAMount(pid_t pid);

}  // namespace terrace::mount
