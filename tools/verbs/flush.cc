// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace flush: returns when everything written below a path is durable.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "mount/control_client.h"
#include "mount/page_syncer.h"
#include "tools/progress_bar.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

constexpr const char* kFooter = R"(
PATH is a file, a directory or the mount point. Everything written below it before the call is
durable afterwards. What a program stored through a shared mapping needs its msync first.

Examples:
  terrace flush /mnt/ckpt
  terrace flush /mnt/ckpt/step-1000)";

// The kernel's own dirty pages come to the daemon first. A regular file is synced by the kernel
// in order; of a whole mount the write-out is started, and the answer to statvfs shows that the
// requests before it were taken.
void PushKernelPages(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  struct stat status {};
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    // An error comes up again below, from the daemon.
    [[maybe_unused]] int rc = fsync(fd);
  }
  if (fd >= 0) close(fd);
  mount::SyncFilesystemOf(path);
  struct statvfs space {};
  [[maybe_unused]] int rc = statvfs(path.c_str(), &space);
}

int RunFlush(const std::string& path) {
  Result<mount::FileOnMount> file = mount::FindFileOnMount(path);
  if (!file) return FailVerb(file.error(), kExitNotMounted);
  Result<mount::ControlClient> client = mount::ControlClient::Connect(file->mount);
  if (!client) {
    return FailVerb(client.error(),
                    client.error().code == Errc::kPermission ? kExitFailed : kExitNotMounted);
  }
  PushKernelPages(path);
  ProgressBar bar("writing to the devices");
  Status flushed = client->Flush(file->inode, [&](uint64_t left) { bar.Update(left); });
  if (!flushed) return FailVerb(Wrap(flushed.error(), "flushing " + path).value());
  return kExitOk;
}

}  // namespace

void AddFlushVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("flush", "make everything written below a path durable");
  auto path = std::make_shared<std::string>();
  verb->add_option("PATH", *path, "a file, a directory or the mount point")->required();
  verb->footer(kFooter);
  verb->callback([path, exit_code] { *exit_code = RunFlush(*path); });
}

}  // namespace terrace::tools
