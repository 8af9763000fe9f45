// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace umount: makes everything durable, then unmounts, and returns when the daemon is gone.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "mount/control_client.h"
#include "mount/holders.h"
#include "mount/mount_point.h"
#include "mount/page_syncer.h"
#include "mount/process_watch.h"
#include "tools/progress_bar.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

constexpr size_t kHoldersShown = 10;
constexpr std::chrono::milliseconds kForEver(0);

constexpr const char* kFooter = R"(
Waits until everything written is durable, unmounts, and waits for the daemon's end, so that the
store can be mounted again at once. If the mount is in use, says by whom.

Example:
  terrace umount /mnt/ckpt)";

Status FlushWithProgress(mount::ControlClient& client, const mount::MountEntry& entry) {
  // What the kernel holds in its cache comes to the daemon first.
  mount::SyncFilesystemOf(entry.mount_point);
  ProgressBar bar("writing to the devices");
  return client.Flush(kRootInode.value(), [&](uint64_t left) { bar.Update(left); });
}

int FailBusy(const mount::MountEntry& entry) {
  std::string who;
  for (const mount::Holder& holder : mount::FindHolders(entry, kHoldersShown)) {
    if (!who.empty()) who += "; ";
    who += holder.name + " (pid " + std::to_string(holder.pid) + ") " + holder.how;
  }
  if (who.empty()) who = "a process that only root may look at, or another mount below it";
  PrintError("unmounting " + entry.mount_point + ": in use: " + who +
             ": end that, then try again (everything written is durable)");
  return kExitBusy;
}

int RunUmount(const std::string& mount_point) {
  Result<mount::MountEntry> entry = mount::FindTerraceMount(mount_point);
  if (!entry) return FailVerb(entry.error(), kExitNotMounted);
  std::optional<mount::ProcessWatch> daemon;
  Result<mount::ControlClient> client = mount::ControlClient::Connect(*entry);
  if (client) {
    Result<mount::ProcessWatch> watch = mount::ProcessWatch::Open(client->engine_pid());
    if (watch) daemon.emplace(std::move(*watch));
    Status flushed = FlushWithProgress(*client, *entry);
    if (!flushed) {
      return FailVerb(Wrap(flushed.error(), "flushing " + entry->mount_point).value());
    }
  } else if (client.error().code == Errc::kPermission) {
    return FailVerb(client.error());
  } else {
    PrintWarning(client.error().context + "; unmounting without it");
  }
  Status unmounted = mount::Unmount(entry->mount_point, {});
  if (!unmounted && unmounted.error().code == Errc::kBusy) return FailBusy(*entry);
  if (!unmounted) return FailVerb(Wrap(unmounted.error(), "unmounting").value());
  if (daemon) daemon->WaitForExit(kForEver);
  return kExitOk;
}

}  // namespace

void AddUmountVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("umount", "make everything durable and unmount");
  auto mount_point = std::make_shared<std::string>();
  verb->add_option("MOUNTPOINT", *mount_point, "the mounted directory")->required();
  verb->footer(kFooter);
  verb->callback([mount_point, exit_code] { *exit_code = RunUmount(*mount_point); });
}

}  // namespace terrace::tools
