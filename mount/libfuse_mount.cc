// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/libfuse_mount.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/log.h"
#include "mount/mount_table.h"
#include "mount/session.h"
#include "mount/settings.h"

namespace terrace::mount {

namespace {

void LogMessage(fuse_log_level level, const char* format, va_list arguments) {
  char text[512];
  int length = std::vsnprintf(text, sizeof text, format, arguments);
  if (length <= 0) return;
  std::string line(text);
  while (line.ends_with('\n')) line.pop_back();
  Log(level <= FUSE_LOG_ERR ? LogLevel::kError : LogLevel::kInfo, "libfuse: " + line);
}

void PrintMessage(fuse_log_level, const char* format, va_list arguments) {
  std::vfprintf(stderr, format, arguments);
}

std::string OptionText(const SessionOptions& options) {
  std::string text = "default_permissions,fsname=" + EscapeOption(options.source);
  if (!options.plain_type) text += ",subtype=" + std::string(kMountSubtype);
  if (options.allow_other) text += ",allow_other";
  if (options.read_only) text += ",ro";
  for (const std::string& option : options.kernel_options) text += "," + option;
  return text;
}

// Catches standard error for as long as it lives: fusermount3 explains itself there.
class StderrCapture {
 public:
  StderrCapture() {
    std::fflush(stderr);
    saved_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    file_ = memfd_create("terrace-stderr", MFD_CLOEXEC);
    if (saved_ >= 0 && file_ >= 0) dup2(file_, STDERR_FILENO);
  }
  ~StderrCapture() { Restore(); }
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;

  // The last line that was written, without its end.
  std::string Finish() {
    std::fflush(stderr);
    std::string text(4096, '\0');
    ssize_t size = file_ >= 0 ? pread(file_, text.data(), text.size(), 0) : 0;
    text.resize(size > 0 ? static_cast<size_t>(size) : 0);
    Restore();
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

 private:
  void Restore() {
    if (saved_ >= 0) {
      dup2(saved_, STDERR_FILENO);
      close(std::exchange(saved_, -1));
    }
    if (file_ >= 0) close(std::exchange(file_, -1));
  }

  int saved_ = -1;
  int file_ = -1;
};

}  // namespace

Result<fuse_session*> MountLibfuseSession(const SessionOptions& options,
                                          const fuse_lowlevel_ops& table, void* userdata) {
  // Requests on an io_uring would die with this process; libfuse's debugging can turn it on.
  unsetenv("FUSE_URING_ENABLE");
  unsetenv("FUSE_URING_QUEUE_DEPTH");
  std::string text = OptionText(options);
  std::string program = "terrace";
  std::string flag = "-o";
  char* arguments[] = {program.data(), flag.data(), text.data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, arguments);
  // While libfuse mounts, its words go to the error; afterwards to the log.
  fuse_set_log_func(PrintMessage);
  StderrCapture capture;
  fuse_session* session = fuse_session_new(&args, &table, sizeof table, userdata);
  fuse_opt_free_args(&args);
  const bool mounted =
      session != nullptr && fuse_session_mount(session, options.mount_point.c_str()) == 0;
  std::string words = capture.Finish();
  SendLibfuseMessagesToLog();
  if (mounted) return session;
  if (session != nullptr) fuse_session_destroy(session);
  if (words.empty()) words = "libfuse gives no reason";
  // The one refusal that the caller can do something about.
  if (words.find("user_allow_other") != std::string::npos) {
    words += ": have root add that line, or leave out allow_other";
  }
  return Fail(Errc::kPermission, words);
}

void SendLibfuseMessagesToLog() { fuse_set_log_func(LogMessage); }

}  // namespace terrace::mount
