// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace mount: mounts a store.

#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "io/file_lock.h"
#include "io/store_path.h"
#include "mount/control_client.h"
#include "mount/daemon.h"
#include "mount/mount_point.h"
#include "mount/options.h"
#include "mount/process_watch.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

constexpr std::chrono::seconds kStoppingDaemonTimeout(10);

constexpr const char* kFooter = R"(
SIZE is a number with K, M, G or T. Settings for -o and the TOML file:
  cache=auto|passthrough|writeback  which cache of the kernel the mount uses (auto)
  write_back_delay=5s               dirty data is written out at the latest after this
  dirty_high_water=0.8              share of the DRAM tier that may be dirty
  source=NAME                       what the mount table shows as the source (terrace)
  allow_other                       other users may use the mount
  ro                                read-only
  plain_type                        the mount shows type fuse, not fuse.terrace
  reader_threads=N                  threads that take requests (twice the processors, 4 to 16)
  reader_spin_us=N                  a thread looks for the next request that long first (0)
  store, store_size, dram, meta, log  as the flags

Examples:
  terrace mount /mnt/ckpt
  terrace mount --store /nvme0/terrace --store /nvme1/terrace --dram 16G /mnt/ckpt
  terrace mount --store /dev/nvme1n1 -o allow_other /mnt/ckpt
  terrace mount --config /etc/terrace.toml /mnt/ckpt)";

struct Arguments {
  mount::MountFlags flags;
  bool foreground = false;
};

// "terrace (pid 4711)" is 4711; 0: not a process of ours.
pid_t PidOfTerrace(const std::string& holder) {
  pid_t pid = 0;
  return std::sscanf(holder.c_str(), "terrace (pid %d)", &pid) == 1 ? pid : 0;
}

// After a plain umount the daemon is still writing when the next mount comes: a holder of the
// store's lock that serves no mount any more is waited for.
void WaitForStoppingDaemon(const std::string& store_path) {
  struct stat status {};
  if (stat(store_path.c_str(), &status) != 0) return;
  const bool directory = S_ISDIR(status.st_mode);
  const pid_t pid =
      PidOfTerrace(io::LockHolder(directory ? store_path + "/" + io::kDataFileName : store_path));
  if (pid == 0) return;
  Result<mount::ProcessWatch> watch = mount::ProcessWatch::Open(pid);
  if (!watch || mount::ServesAMount(pid)) return;
  watch->WaitForExit(kStoppingDaemonTimeout);
}

int ExitCodeOf(const mount::MountFailure& failure) {
  if (failure.error.code == Errc::kBusy) return kExitBusy;
  return failure.in_store ? kExitStoreRefused : kExitFailed;
}

// Where the engine reads and writes by name while it serves.
std::vector<std::string> PathsOf(const mount::MountConfig& config) {
  std::vector<std::string> paths = config.volume.store_paths;
  if (config.volume.metadata_directory) paths.push_back(*config.volume.metadata_directory);
  paths.push_back(config.log_path.value_or(mount::DefaultLogPath(config.volume)));
  return paths;
}

int RunMount(const Arguments& arguments) {
  Result<mount::MountConfig> config = mount::BuildMountConfig(arguments.flags);
  if (!config) return FailVerb(config.error(), kExitUsage);
  Result<std::string> mount_point = mount::CheckMountPoint(config->session.mount_point);
  if (!mount_point) return FailVerb(mount_point.error());
  config->session.mount_point = *mount_point;
  Status hides = mount::CheckHidesNothing(*mount_point, PathsOf(*config));
  if (!hides) return FailVerb(hides.error());
  for (const std::string& path : config->volume.store_paths) WaitForStoppingDaemon(path);
  std::optional<mount::MountFailure> failure =
      arguments.foreground ? mount::MountInForeground(*config) : mount::MountInBackground(*config);
  if (!failure) return kExitOk;
  PrintError(failure->error.context);
  return ExitCodeOf(*failure);
}

}  // namespace

void AddMountVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("mount", "mount a store; returns when the mount answers");
  auto arguments = std::make_shared<Arguments>();
  mount::MountFlags& flags = arguments->flags;
  verb->add_option("--store", flags.stores,
                   "a directory or block device that holds the data; give it once per device")
      ->type_name("PATH")
      ->allow_extra_args(false);
  verb->add_option("--meta", flags.meta, "where metadata lies without any directory store")
      ->type_name("DIR");
  verb->add_option("--dram", flags.dram, "size of the DRAM tier (a quarter of memory)")
      ->type_name("SIZE");
  verb->add_option("--store-size", flags.store_size,
                   "the most each directory store may grow to (90 % of the free space)")
      ->type_name("SIZE");
  verb->add_option("--config", flags.config_file, "a TOML file with settings")->type_name("FILE");
  verb->add_option("--log", flags.log, "the daemon's log (terrace.log in the first directory)")
      ->type_name("FILE");
  verb->add_option("-o", flags.options, "settings, separated by commas")
      ->type_name("OPTS")
      ->allow_extra_args(false);
  verb->add_flag("--foreground", arguments->foreground,
                 "stay, and end when the mount is unmounted");
  verb->add_option("MOUNTPOINT", flags.mount_point, "the directory to mount on")->required();
  verb->footer(kFooter);
  verb->callback([arguments, exit_code] { *exit_code = RunMount(*arguments); });
}

}  // namespace terrace::tools
