// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace version: what this binary is, and what it can use of this host.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/version.h"
#include "mount/cache_mode.h"
#include "mount/kernel.h"
#include "mount/session.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

using nlohmann::json;

constexpr const char* kFooter = R"(
Examples:
  terrace version
  terrace version --json)";

std::string DefaultMode() {
  mount::HostAbilities host{
      .privileged = geteuid() == 0,
      .kernel_passthrough = mount::RunningKernel() >= mount::kKernelPassthrough};
  return std::string(
      mount::ConnectionModeName(mount::ChooseConnectionMode(mount::CacheChoice::kAuto, host)));
}

int RunVersion(bool as_json) {
  const auto features = mount::KernelFeatures(mount::RunningKernel());
  if (as_json) {
    json names = json::object();
    for (const auto& feature : features) names[std::string(feature.name)] = feature.available;
    json version = {{"version", std::string(Version())},  {"commit", std::string(Commit())},
                    {"libfuse", mount::LibfuseVersion()}, {"kernel", mount::KernelRelease()},
                    {"kernel_features", names},           {"mode", DefaultMode()}};
    std::printf("%s\n", version.dump(2).c_str());
    return kExitOk;
  }
  std::printf("terrace  %s (commit %s)\n", std::string(Version()).c_str(),
              std::string(Commit()).c_str());
  std::printf("libfuse  %s\n", mount::LibfuseVersion().c_str());
  std::printf("kernel   %s\n", mount::KernelRelease().c_str());
  std::printf("mode     %s, unless -o cache= says otherwise\n", DefaultMode().c_str());
  for (const auto& feature : features) {
    std::printf("  %-3s %s%s%s\n", feature.available ? "yes" : "no",
                std::string(feature.name).c_str(), feature.available ? "" : ": ",
                feature.available ? "" : std::string(feature.without).c_str());
  }
  return kExitOk;
}

}  // namespace

void AddVersionVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("version", "show versions and kernel features");
  auto as_json = std::make_shared<bool>(false);
  verb->add_flag("--json", *as_json, "print JSON");
  verb->footer(kFooter);
  verb->callback([as_json, exit_code] { *exit_code = RunVersion(*as_json); });
}

}  // namespace terrace::tools
