// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/file_lock.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>

namespace terrace::io {

namespace {

std::string NameOfProcess(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  if (name.empty()) name = "a process";
  return name + " (pid " + std::to_string(pid) + ")";
}

// The process that took the flock; 0: unknown. Lines of /proc/locks look like
// "3: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF". Some file systems show another device there
// than stat does, so that a match of the inode alone counts where no line matches both.
int LockHolderPid(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return 0;
  std::ifstream locks("/proc/locks");
  std::string line;
  int pid_by_inode = 0;
  while (std::getline(locks, line)) {
    int pid = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    unsigned long long inode = 0;
    int taken = std::sscanf(line.c_str(), "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &device_major,
                            &device_minor, &inode);
    if (taken != 4 || pid <= 0 || inode != info.st_ino) continue;
    if (device_major == major(info.st_dev) && device_minor == minor(info.st_dev)) return pid;
    pid_by_inode = pid;
  }
  return pid_by_inode;
}

// A process that was killed goes on holding its locks while the kernel takes it apart, which
// takes a while for one with gigabytes of memory: it has SIGKILL pending, is exiting or a zombie.
bool IsEnding(int pid) {
  constexpr uint64_t kFlagExiting = 0x4;  // PF_EXITING of include/linux/sched.h
  constexpr uint64_t kSigKillBit = uint64_t{1} << (SIGKILL - 1);
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream stat_file(folder + "/stat");
  std::string line;
  std::getline(stat_file, line);
  size_t name_end = line.rfind(')');
  char state = 0;
  unsigned long long flags = 0;
  if (name_end == std::string::npos ||
      std::sscanf(&line[name_end + 1], " %c %*d %*d %*d %*d %*d %llu", &state, &flags) != 2) {
    return true;  // gone meanwhile
  }
  if (state == 'Z' || state == 'X' || (flags & kFlagExiting) != 0) return true;
  std::ifstream status_file(folder + "/status");
  while (std::getline(status_file, line)) {
    unsigned long long pending = 0;
    bool is_mask = std::sscanf(line.c_str(), "SigPnd: %llx", &pending) == 1 ||
                   std::sscanf(line.c_str(), "ShdPnd: %llx", &pending) == 1;
    if (is_mask && (pending & kSigKillBit) != 0) return true;
  }
  return false;
}

}  // namespace

Status LockFile(int fd, const std::string& path) {
  int rc;
  do {
    rc = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return {};
  if (errno != EWOULDBLOCK) return FailErrno(errno, path + ": flock");
  std::string holder = LockHolder(path);
  if (holder.empty()) holder = "another process";
  return Fail(Errc::kBusy, path + ": in use by " + holder + ": unmount that first");
}

std::string LockHolder(const std::string& path) {
  int pid = LockHolderPid(path);
  return pid > 0 ? NameOfProcess(pid) : "";
}

bool LockHolderIsDead(const std::string& path) {
  int pid = LockHolderPid(path);
  if (pid <= 0) return false;
  bool gone = ::kill(pid, 0) != 0 && errno == ESRCH;
  return gone || IsEnding(pid);
}

}  // namespace terrace::io
