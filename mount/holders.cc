// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/holders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

namespace terrace::mount {

namespace {

using std::filesystem::directory_iterator;

// Asks no file system: the link may lead to one that does not answer, which then is not ours.
bool LiesOn(const std::string& link, dev_t device) {
  struct statx status {};
  return statx(AT_FDCWD, link.c_str(), AT_STATX_DONT_SYNC, 0, &status) == 0 &&
         makedev(status.stx_dev_major, status.stx_dev_minor) == device;
}

std::string Target(const std::string& link) {
  char target[PATH_MAX];
  ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "a file";
}

std::optional<std::string> FindOpenFile(const std::string& process, dev_t device) {
  std::error_code error;  // a process of another user, or one that has just ended
  directory_iterator links(process + "/fd", error);
  for (; !error && links != directory_iterator(); links.increment(error)) {
    if (LiesOn(links->path(), device)) return Target(links->path());
  }
  return std::nullopt;
}

// Lines of maps: "address permissions offset MAJ:MIN inode path", MAJ:MIN in hexadecimal.
bool HasMapping(const std::string& process, const MountEntry& mount) {
  char device[32];
  std::snprintf(device, sizeof device, " %02x:%02x ", mount.device_major, mount.device_minor);
  std::ifstream maps(process + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    if (line.find(device) != std::string::npos) return true;
  }
  return false;
}

std::optional<std::string> HowHeld(const std::string& process, const MountEntry& mount) {
  const dev_t device = mount.Device();
  if (LiesOn(process + "/cwd", device)) return "works in " + Target(process + "/cwd");
  if (LiesOn(process + "/root", device)) return "has its root in " + Target(process + "/root");
  if (auto file = FindOpenFile(process, device)) return "has " + *file + " open";
  if (HasMapping(process, mount)) return "has a file of it mapped";
  return std::nullopt;
}

}  // namespace

std::vector<Holder> FindHolders(const MountEntry& mount, size_t holders_max) {
  std::vector<Holder> holders;
  std::error_code error;
  directory_iterator processes("/proc", error);
  for (; !error && processes != directory_iterator(); processes.increment(error)) {
    const std::string process = processes->path();
    const std::string name = processes->path().filename();
    Holder holder;
    auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), holder.pid);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    std::optional<std::string> how;
    if (holder.pid != getpid()) how = HowHeld(process, mount);
    if (!how) continue;
    holder.how = std::move(*how);
    std::ifstream comm(process + "/comm");
    std::getline(comm, holder.name);
    holders.push_back(std::move(holder));
    if (holders.size() == holders_max) break;
  }
  return holders;
}

}  // namespace terrace::mount
