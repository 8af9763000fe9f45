// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;

namespace terrace::mount {

namespace {

constexpr size_t kOutputSizeMax = 64 * 1024;

std::vector<char*> EnglishEnvironment(std::string& locale) {
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; entry++) {
    if (!std::string_view(*entry).starts_with("LC_ALL=")) environment.push_back(*entry);
  }
  environment.push_back(locale.data());
  environment.push_back(nullptr);
  return environment;
}

Result<pid_t> Spawn(const std::vector<std::string>& command, int error_fd) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string locale = "LC_ALL=C";
  std::vector<char*> environment = EnglishEnvironment(locale);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, error_fd, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  int rc =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return FailErrno(rc, "running " + command[0]);
  return pid;
}

std::string ReadAll(int fd) {
  std::string text;
  char part[1024];
  ssize_t size;
  while ((size = read(fd, part, sizeof part)) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0 && text.size() < kOutputSizeMax) text.append(part, static_cast<size_t>(size));
  }
  return text;
}

}  // namespace

std::optional<std::string> FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    std::string candidate = std::string(rest.substr(0, end)) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

Result<ChildResult> RunChild(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FailErrno(errno, "making a pipe");
  Result<pid_t> pid = Spawn(command, ends[1]);
  close(ends[1]);
  ChildResult result;
  if (pid) result.last_line = ReadAll(ends[0]);
  close(ends[0]);
  if (!pid) return tl::unexpected<Error>(pid.error());
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  while (result.last_line.ends_with('\n')) result.last_line.pop_back();
  result.last_line.erase(0, result.last_line.rfind('\n') + 1);
  return result;
}

}  // namespace terrace::mount
