// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// MountedStore: the built program with a store and a mount of its own, seen from outside.
//
// Role     Formats and mounts a store in a temporary directory under $TERRACE_TEST_DIR (default
//          /var/tmp), and does with it what an operator or an accident does. Failures are test
//          failures. The destructor leaves no mount, process or file behind.
// Threads  One thread.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/unique_fd.h"

namespace terrace::testing {

struct ProgramResult {
  int exit_code = 0;   // 128 + signal if one ended it
  std::string output;  // standard output and standard error
};
// Runs command[0] from $PATH without a shell and waits for it.
ProgramResult RunProgram(const std::vector<std::string>& command);

class MountedStore {
 public:
  // Why nothing can be mounted here; nothing if it can.
  static std::optional<std::string> WhyNotHere();

  // Mounts with `terrace mount --store … FLAGS… MOUNTPOINT`.
  explicit MountedStore(std::vector<std::string> flags);
  ~MountedStore();
  MountedStore(const MountedStore&) = delete;
  MountedStore& operator=(const MountedStore&) = delete;

  const std::string& mount_point() const { return mount_point_; }
  std::string Path(std::string_view name) const { return mount_point_ + "/" + std::string(name); }
  // The directory that holds the data file, the metadata and the log.
  const std::string& store_path() const { return store_path_; }

  void Mount();
  // With `terrace umount`.
  void Unmount();
  // Other flags from now on.
  void Remount(std::vector<std::string> flags);
  void Remount() { Remount(flags_); }

  // Sends the signal to the daemon and waits for its end.
  void EndEngine(int signal);
  // Waits for the end of a daemon that has a reason to end. Returns: false if that takes too long.
  bool WaitForEngine();
  // SIGKILL, then the dead mount is taken away and the store mounted again.
  void KillAndMountAgain();
  // With umount or fusermount3, as people do; does not wait for the daemon.
  void PlainUnmount(bool lazy = false);

  nlohmann::json Status();
  uint64_t DirtyBytes();
  // Waits until nothing is dirty, without asking for it. Returns: false if that takes too long.
  bool WaitUntilClean();
  pid_t engine_pid() const { return engine_pid_; }

 private:
  bool IsMounted() const;

  std::vector<std::string> flags_;
  std::string base_;
  std::string store_path_;
  std::string mount_point_;
  pid_t engine_pid_ = 0;
  io::UniqueFd engine_;  // a pidfd: it can't come to mean another process
};

}  // namespace terrace::testing
