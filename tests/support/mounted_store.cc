// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/mounted_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

namespace terrace::testing {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience(60);

int ExitCodeOf(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::string MakeBaseDirectory() {
  const char* parent = getenv("TERRACE_TEST_DIR");
  std::string path = std::string(parent != nullptr ? parent : "/var/tmp") + "/terrace-mount.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path;
  chmod(path.c_str(), 0755);  // other users look at the mount in some tests
  return std::filesystem::canonical(path).string();
}

void AddDefault(std::vector<std::string>& command, const char* flag, const char* value) {
  if (std::find(command.begin(), command.end(), flag) != command.end()) return;
  command.insert(command.end(), {flag, value});
}

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {127, "pipe2 failed"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  ProgramResult result;
  char part[4096];
  // A daemon lets go of the pipe when it answers.
  for (ssize_t size; (size = read(ends[0], part, sizeof part)) > 0;) {
    result.output.append(part, static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = ExitCodeOf(status);
  return result;
}

std::optional<std::string> MountedStore::WhyNotHere() {
  io::UniqueFd fuse(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!fuse.is_open()) return "/dev/fuse is not there or may not be used";
  if (geteuid() != 0 && RunProgram({"fusermount3", "--version"}).exit_code != 0) {
    return "fusermount3 is not installed";
  }
  return std::nullopt;
}

MountedStore::MountedStore(std::vector<std::string> flags)
    : flags_(std::move(flags)),
      base_(MakeBaseDirectory()),
      store_path_(base_ + "/store"),
      mount_point_(base_ + "/mount") {
  std::filesystem::create_directory(mount_point_);
  Mount();
}

MountedStore::~MountedStore() {
  if (engine_.is_open() || IsMounted()) {
    const bool ended = RunProgram({TERRACE_BINARY, "umount", mount_point_}).exit_code == 0;
    if (!ended) {
      if (engine_pid_ != 0 && engine_.is_open()) {
        syscall(SYS_pidfd_send_signal, engine_.get(), SIGKILL, nullptr, 0);
      }
      PlainUnmount(/*lazy=*/true);
    }
    WaitForEngine();
  }
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
}

void MountedStore::Mount() {
  std::vector<std::string> command = {TERRACE_BINARY, "mount", "--store", store_path_};
  command.insert(command.end(), flags_.begin(), flags_.end());
  AddDefault(command, "--dram", "128M");
  AddDefault(command, "--store-size", "2G");
  command.push_back(mount_point_);
  const ProgramResult mounted = RunProgram(command);
  ASSERT_EQ(mounted.exit_code, 0) << mounted.output;
  engine_pid_ = Status().value("engine_pid", 0);
  ASSERT_GT(engine_pid_, 0);
  engine_ = io::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, engine_pid_, 0)));
  ASSERT_TRUE(engine_.is_open());
}

void MountedStore::Unmount() {
  const ProgramResult unmounted = RunProgram({TERRACE_BINARY, "umount", mount_point_});
  ASSERT_EQ(unmounted.exit_code, 0) << unmounted.output;
  ASSERT_FALSE(IsMounted());
  ASSERT_TRUE(WaitForEngine()) << "the daemon still runs";
}

void MountedStore::Remount(std::vector<std::string> flags) {
  Unmount();
  flags_ = std::move(flags);
  Mount();
}

void MountedStore::EndEngine(int signal) {
  ASSERT_EQ(syscall(SYS_pidfd_send_signal, engine_.get(), signal, nullptr, 0), 0);
  ASSERT_TRUE(WaitForEngine()) << "the daemon still runs";
}

void MountedStore::KillAndMountAgain() {
  EndEngine(SIGKILL);
  PlainUnmount(/*lazy=*/true);
  Mount();
}

void MountedStore::PlainUnmount(bool lazy) {
  std::vector<std::string> command = geteuid() == 0 ? std::vector<std::string>{"umount"}
                                                    : std::vector<std::string>{"fusermount3", "-u"};
  if (lazy) command.push_back(geteuid() == 0 ? "-l" : "-z");
  command.push_back(mount_point_);
  const ProgramResult unmounted = RunProgram(command);
  EXPECT_EQ(unmounted.exit_code, 0) << unmounted.output;
}

nlohmann::json MountedStore::Status() {
  const ProgramResult status = RunProgram({TERRACE_BINARY, "status", "--json", mount_point_});
  EXPECT_EQ(status.exit_code, 0) << status.output;
  nlohmann::json parsed = nlohmann::json::parse(status.output, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << status.output;
  return parsed.is_object() ? parsed : nlohmann::json::object();
}

uint64_t MountedStore::DirtyBytes() {
  const nlohmann::json status = Status();
  return status.value("dram", nlohmann::json::object()).value("dirty_bytes", UINT64_MAX);
}

bool MountedStore::WaitUntilClean() {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (DirtyBytes() != 0) {
    if (Clock::now() > deadline) return false;
  }
  return true;
}

bool MountedStore::IsMounted() const {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (line.find(" " + mount_point_ + " ") != std::string::npos) return true;
  }
  return false;
}

bool MountedStore::WaitForEngine() {
  if (!engine_.is_open()) return true;
  pollfd ended{.fd = engine_.get(), .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
  if (poll(&ended, 1, static_cast<int>(patience.count())) != 1) return false;
  engine_.Reset();
  engine_pid_ = 0;
  return true;
}

}  // namespace terrace::testing
