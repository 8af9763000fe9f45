// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/mount_point.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "mount/child_process.h"

namespace terrace::mount {

namespace {

// More than 8 MiB makes mmap slower (measured: docs/benchmarks.md).
constexpr uint64_t kReadaheadKiB = 4096;

Status CheckDirectory(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return {};
    return Fail(Errc::kNotDirectory,
                path + ": not a directory: mount on a directory, for instance a new one");
  }
  switch (errno) {
    case ENOENT:
      return Fail(Errc::kNotFound, path + ": does not exist: make it with mkdir -p " + path);
    case ENOTCONN:
      return Fail(Errc::kBusy, path + ": a mount is left there whose daemon is gone: run " +
                                   (geteuid() == 0 ? "umount " : "fusermount3 -u ") + path);
    case EACCES: {
      Result<MountEntry> mount = FindTerraceMount(path);
      if (mount) return {};  // the mount of another user; the caller sees it in the table
      return Fail(Errc::kPermission,
                  path + ": no permission to look at it: choose a directory of your own");
    }
    default: return FailErrno(errno, path);
  }
}

Status CheckNotMounted(const std::string& canonical) {
  TERRACE_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  std::optional<MountEntry> entry = FindMountAt(table, canonical);
  if (!entry || !entry->IsTerrace()) return {};
  return Fail(Errc::kBusy, canonical +
                               ": a TerraceFS is mounted there already: run terrace umount " +
                               canonical + " first, or choose another directory");
}

Status CheckDevice() {
  int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return {};
  }
  if (errno == ENOENT || errno == ENODEV || errno == ENXIO) {
    return Fail(Errc::kNotFound,
                "/dev/fuse: not there: run modprobe fuse as root, or give the container "
                "--device /dev/fuse");
  }
  return Fail(Errc::kPermission, std::string("/dev/fuse: ") + std::strerror(errno) +
                                     ": make it readable and writable for this user");
}

Status CheckUserMayMount(const std::string& canonical) {
  if (geteuid() == 0) return {};
  if (access(canonical.c_str(), W_OK) != 0) {
    return Fail(Errc::kPermission, canonical +
                                       ": not writable for this user: mount on a directory "
                                       "of your own, or run as root");
  }
  if (!FindProgram("fusermount3")) {
    return Fail(Errc::kPermission,
                "fusermount3: not installed, and only root mounts without it: "
                "install the package fuse3, or run as root");
  }
  return {};
}

std::string BdiFile(const MountEntry& mount) {
  return "/sys/class/bdi/" + std::to_string(mount.device_major) + ":" +
         std::to_string(mount.device_minor) + "/read_ahead_kb";
}

}  // namespace

Status CheckHidesNothing(const std::string& canonical, const std::vector<std::string>& paths) {
  const std::string below = canonical.ends_with('/') ? canonical : canonical + "/";
  for (const std::string& path : paths) {
    std::error_code error;
    const std::string place = std::filesystem::weakly_canonical(path, error).string();
    if (error || (place != canonical && !place.starts_with(below))) continue;
    return Fail(Errc::kInvalid, path + ": the mount point " + canonical +
                                    " would hide it: mount on a directory outside of the store "
                                    "and not above it");
  }
  return {};
}

Result<std::string> CheckMountPoint(const std::string& path) {
  TERRACE_TRY(CheckDirectory(path));
  TERRACE_ASSIGN_OR_RETURN(std::string canonical, CanonicalMountPoint(path));
  TERRACE_TRY(CheckNotMounted(canonical));
  TERRACE_TRY(CheckDevice());
  TERRACE_TRY(CheckUserMayMount(canonical));
  return canonical;
}

Status Unmount(const std::string& mount_point, UnmountFlags flags) {
  if (geteuid() == 0) {
    int detach = flags.lazy ? MNT_DETACH : 0;
    if (umount2(mount_point.c_str(), UMOUNT_NOFOLLOW | detach) == 0) return {};
    if (errno == EBUSY) return Fail(Errc::kBusy, mount_point + ": in use");
    return FailErrno(errno, mount_point);
  }
  std::vector<std::string> command = {"fusermount3", "-u"};
  if (flags.lazy) command.push_back("-z");
  command.insert(command.end(), {"--", mount_point});
  TERRACE_ASSIGN_OR_RETURN(ChildResult child, RunChild(command));
  if (child.exit_code == 0) return {};
  if (child.last_line.find(std::strerror(EBUSY)) != std::string::npos) {
    return Fail(Errc::kBusy, mount_point + ": in use");
  }
  return Fail(Errc::kIo, mount_point + ": " + child.last_line);
}

Status RaiseReadahead(const MountEntry& mount) {
  std::ofstream file(BdiFile(mount));
  file << kReadaheadKiB << std::flush;
  if (!file) return Fail(Errc::kPermission, BdiFile(mount) + ": cannot be written");
  return {};
}

uint64_t ReadaheadKiB(const MountEntry& mount) {
  std::ifstream file(BdiFile(mount));
  uint64_t kib = 0;
  file >> kib;
  return file ? kib : 0;
}

}  // namespace terrace::mount
