// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace evict: drops what the tiers hold twice.

#include <memory>
#include <string>

#include "mount/control_client.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

constexpr const char* kFooter = R"(
Drops the clean extents of the DRAM tier and the kernel's cached pages of the mount: the next
reads come from the devices. Nothing that is not yet durable is dropped.

Example:
  terrace flush /mnt/ckpt && terrace evict --dram /mnt/ckpt)";

struct Arguments {
  std::string mount_point;
  bool dram = false;
};

int RunEvict(const Arguments& arguments) {
  Result<mount::MountEntry> entry = mount::FindTerraceMount(arguments.mount_point);
  if (!entry) return FailVerb(entry.error(), kExitNotMounted);
  Result<mount::ControlClient> client = mount::ControlClient::Connect(*entry);
  if (!client) {
    return FailVerb(client.error(),
                    client.error().code == Errc::kPermission ? kExitFailed : kExitNotMounted);
  }
  Status evicted = client->EvictDram();
  if (!evicted) return FailVerb(Wrap(evicted.error(), entry->mount_point).value());
  return kExitOk;
}

}  // namespace

void AddEvictVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("evict", "drop cached data");
  auto arguments = std::make_shared<Arguments>();
  verb->add_flag("--dram", arguments->dram, "the DRAM tier and the kernel's pages")->required();
  verb->add_option("MOUNTPOINT", arguments->mount_point, "the mounted directory")->required();
  verb->footer(kFooter);
  verb->callback([arguments, exit_code] { *exit_code = RunEvict(*arguments); });
}

}  // namespace terrace::tools
