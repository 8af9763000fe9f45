// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/runtime_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace terrace::mount {

namespace {

std::string FallbackDirectory(uid_t owner) { return "/tmp/terrace-" + std::to_string(owner); }

Status CheckPrivate(const std::string& path, uid_t owner) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return FailErrno(errno, path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != owner || (status.st_mode & 077) != 0) {
    return Fail(Errc::kPermission, path + ": not a private directory of user " +
                                       std::to_string(owner) + ": remove it");
  }
  return {};
}

std::string OwnPath() {
  if (geteuid() == 0) return "/run/terrace";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && access(runtime, W_OK) == 0) {
    return std::string(runtime) + "/terrace";
  }
  return FallbackDirectory(geteuid());
}

}  // namespace

Result<std::string> OwnRuntimeDirectory() {
  std::string path = OwnPath();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return FailErrno(errno, path);
  TERRACE_TRY(CheckPrivate(path, geteuid()));
  return path;
}

std::vector<std::string> RuntimeDirectoriesOf(uid_t owner) {
  std::vector<std::string> candidates;
  if (owner == geteuid()) candidates.push_back(OwnPath());
  if (owner == 0) {
    candidates.push_back("/run/terrace");
  } else {
    candidates.push_back("/run/user/" + std::to_string(owner) + "/terrace");
    candidates.push_back(FallbackDirectory(owner));
  }
  std::erase_if(candidates,
                [&](const std::string& path) { return !CheckPrivate(path, owner).has_value(); });
  return candidates;
}

bool HasControlSocket(const MountEntry& mount) {
  const std::vector<std::string> directories = RuntimeDirectoriesOf(mount.owner);
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    return access((directory + "/" + SocketName(mount)).c_str(), F_OK) == 0;
  });
}

std::string SocketName(const MountEntry& mount) { return "mount-" + mount.DeviceName() + ".sock"; }

}  // namespace terrace::mount
