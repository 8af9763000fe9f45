// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/daemon.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/log.h"
#include "mount/control_service.h"

namespace terrace::mount {

namespace {

// What the child writes into the pipe: "ok", or three lines.
constexpr std::string_view kOk = "ok";

std::string EncodeReport(const std::optional<MountFailure>& failure) {
  if (!failure) return std::string(kOk);
  std::string report = failure->in_store ? "store\n" : "mount\n";
  report += ErrcName(failure->error.code);
  return report + "\n" + failure->error.context;
}

std::optional<MountFailure> DecodeReport(const std::string& report) {
  if (report == kOk) return std::nullopt;
  size_t first = report.find('\n');
  size_t second = first == std::string::npos ? first : report.find('\n', first + 1);
  if (second == std::string::npos) {
    return MountFailure{false, {Errc::kIo, "the daemon ended without a word: look into its log"}};
  }
  return MountFailure{
      report.substr(0, first) == "store",
      {ErrcFromName(report.substr(first + 1, second - first - 1)), report.substr(second + 1)}};
}

std::string ReadToEnd(int fd) {
  std::string text;
  char part[512];
  ssize_t size;
  while ((size = read(fd, part, sizeof part)) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0) text.append(part, static_cast<size_t>(size));
  }
  return text;
}

void WriteReport(int fd, const std::string& report) {
  size_t done = 0;
  while (done < report.size()) {
    ssize_t size = write(fd, report.data() + done, report.size() - done);
    if (size < 0 && errno != EINTR) return;
    if (size > 0) done += static_cast<size_t>(size);
  }
}

// Standard error goes to the log: what libraries and sanitizers say last is not lost.
void LetGoOfTerminal(const std::string& log_path) {
  int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0) return;
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null_fd, fd);
  close(null_fd);
  int log_fd = open(log_path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log_fd < 0) return;
  dup2(log_fd, STDERR_FILENO);
  close(log_fd);
}

// An absolute path keeps no directory busy.
void LeaveWorkingDirectory() {
  if (chdir("/") != 0) LogWarning(std::string("chdir /: ") + std::strerror(errno));
}

[[noreturn]] void DaemonMain(const MountConfig& config, int report_fd) {
  setsid();
  umask(077);  // of the store's own files; what clients make has the mode the kernel says
  LeaveWorkingDirectory();
  BlockEndSignals();
  // Until the log is open, what matters goes to the terminal of whoever mounts.
  LogToStderr();
  SetLogLevel(LogLevel::kWarning);
  MountConfig with_log = config;
  if (!with_log.log_path) with_log.log_path = DefaultLogPath(config.volume);
  auto engine = Engine::Start(with_log);
  if (!engine) {
    WriteReport(report_fd, EncodeReport(engine.error()));
    std::_Exit(1);
  }
  LetGoOfTerminal(*with_log.log_path);
  WriteReport(report_fd, EncodeReport(std::nullopt));
  close(report_fd);
  Status served = (*engine)->Serve();
  if (!served) LogError("the final flush failed: " + Describe(served.error()));
  engine->reset();
  std::exit(served ? 0 : 1);
}

}  // namespace

std::optional<MountFailure> MountInBackground(const MountConfig& config) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return MountFailure{false, FailErrno(errno, "making a pipe").value()};
  }
  pid_t child = fork();
  if (child < 0) return MountFailure{false, FailErrno(errno, "starting the daemon").value()};
  if (child == 0) {
    close(ends[0]);
    DaemonMain(config, ends[1]);
  }
  close(ends[1]);
  std::string report = ReadToEnd(ends[0]);
  close(ends[0]);
  std::optional<MountFailure> failure = DecodeReport(report);
  // A daemon that failed is gone when its error is told; one that serves lives on.
  if (failure) waitpid(child, nullptr, 0);
  return failure;
}

std::optional<MountFailure> MountInForeground(const MountConfig& config) {
  umask(077);
  BlockEndSignals();
  LogToStderr();
  auto engine = Engine::Start(config);
  if (!engine) return engine.error();
  Status served = (*engine)->Serve();
  if (!served) return MountFailure{false, Wrap(served.error(), "the final flush").value()};
  return std::nullopt;
}

}  // namespace terrace::mount
