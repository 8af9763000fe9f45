// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace status: tiers, devices and figures of a mount, for people or as JSON.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/units.h"
#include "mount/control_client.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

using nlohmann::json;

constexpr const char* kFooter = R"(
The names of --json are stable; docs/operations.md explains each.

Examples:
  terrace status /mnt/ckpt
  terrace status --json /mnt/ckpt)";

uint64_t Number(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::string Text(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string Seconds(uint64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ms) / 1000);
  return text;
}

void PrintTiers(const json& status) {
  const json dram = status.value("dram", json::object());
  const json devices = status.value("devices", json::array());
  const uint64_t hits = Number(dram, "hits");
  size_t width = 6;
  for (const json& device : devices) width = std::max(width, Text(device, "path").size());
  const int column = static_cast<int>(width);
  std::printf("\n%-*s  %10s  %10s  %10s  %10s\n", column, "tier", "size", "used", "dirty", "hits");
  std::printf("%-*s  %10s  %10s  %10s  %10s\n", column, "DRAM",
              FormatSize(Number(dram, "size_bytes")).c_str(),
              FormatSize(Number(dram, "used_bytes")).c_str(),
              FormatSize(Number(dram, "dirty_bytes")).c_str(),
              Percent(hits, hits + Number(dram, "misses")).c_str());
  std::printf("\n%-*s  %10s  %10s  %10s  %10s  %6s\n", column, "device", "size", "used", "read",
              "written", "errors");
  for (const json& device : devices) {
    std::printf("%-*s  %10s  %10s  %10s  %10s  %6llu\n", column, Text(device, "path").c_str(),
                FormatSize(Number(device, "size_bytes")).c_str(),
                FormatSize(Number(device, "used_bytes")).c_str(),
                FormatSize(Number(device, "read_bytes")).c_str(),
                FormatSize(Number(device, "written_bytes")).c_str(),
                static_cast<unsigned long long>(Number(device, "errors")));
  }
}

void PrintRequests(const json& status) {
  const json requests = status.value("requests", json::object());
  std::printf("\nrequests");
  int column = 0;
  for (const auto& [name, count] : requests.items()) {
    if (!count.is_number_unsigned()) continue;
    const char* lead = column % 4 != 0 ? "" : column == 0 ? "  " : "\n          ";
    std::printf("%s%-12s %-10llu", lead, name.c_str(),
                static_cast<unsigned long long>(count.get<uint64_t>()));
    column++;
  }
  std::printf("\n");
}

void PrintStatus(const json& status) {
  std::printf("mount        %s\n", Text(status, "mount_point").c_str());
  std::printf("mode         %s\n", Text(status, "mode").c_str());
  std::printf("daemon       pid %llu, version %s, kernel %s\n",
              static_cast<unsigned long long>(Number(status, "engine_pid")),
              Text(status, "version").c_str(), Text(status, "kernel").c_str());
  std::printf("oldest dirty %s\n", Seconds(Number(status, "oldest_dirty_ms")).c_str());
  std::printf("copied       %s of %s written\n", FormatSize(Number(status, "copied_bytes")).c_str(),
              FormatSize(Number(status, "accepted_bytes")).c_str());
  std::printf("readahead    %llu KiB\n",
              static_cast<unsigned long long>(Number(status, "readahead_kib")));
  PrintTiers(status);
  PrintRequests(status);
}

struct Arguments {
  std::string mount_point;
  bool as_json = false;
};

int RunStatus(const Arguments& arguments) {
  Result<mount::MountEntry> entry = mount::FindTerraceMount(arguments.mount_point);
  if (!entry) return FailVerb(entry.error(), kExitNotMounted);
  Result<mount::ControlClient> client = mount::ControlClient::Connect(*entry);
  if (!client) {
    return FailVerb(client.error(),
                    client.error().code == Errc::kPermission ? kExitFailed : kExitNotMounted);
  }
  Result<std::string> answer = client->Status();
  if (!answer) return FailVerb(Wrap(answer.error(), entry->mount_point).value());
  json status = json::parse(*answer, nullptr, false);
  if (!status.is_object()) {
    PrintError(entry->mount_point +
               ": the daemon's answer makes no sense: is it of another version?");
    return kExitFailed;
  }
  if (arguments.as_json) {
    std::printf("%s\n", status.dump(2).c_str());
  } else {
    PrintStatus(status);
  }
  return kExitOk;
}

}  // namespace

void AddStatusVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("status", "show tiers, devices and figures of a mount");
  auto arguments = std::make_shared<Arguments>();
  verb->add_flag("--json", arguments->as_json, "print JSON with stable names");
  verb->add_option("MOUNTPOINT", arguments->mount_point, "the mounted directory")->required();
  verb->footer(kFooter);
  verb->callback([arguments, exit_code] { *exit_code = RunStatus(*arguments); });
}

}  // namespace terrace::tools
