// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// ControlService: what the requests on the control socket mean.
//
// Role     A request is one line of JSON: {"verb":"status"}, {"verb":"flush","inode":1},
//          {"verb":"evict_dram"}. The last line of an answer has "ok"; a flush sends lines
//          with "dirty_bytes" before it. Anything else is answered with an error.
// Threads  Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/volume.h"
#include "mount/control_socket.h"
#include "mount/mount_table.h"
#include "mount/session.h"

namespace terrace::mount {

class ControlService {
 public:
  // Both outlive the service.
  ControlService(fs::Volume& volume, Session& session, MountEntry mount)
      : volume_(volume), session_(session), mount_(std::move(mount)) {}

  void Handle(const std::string& request, const ControlSocket::Send& send);

 private:
  Status FlushAll(const ControlSocket::Send& send);

  fs::Volume& volume_;
  Session& session_;
  const MountEntry mount_;
};

// The code whose ErrcName this is; kIo for an unknown one.
Errc ErrcFromName(std::string_view name);

}  // namespace terrace::mount
