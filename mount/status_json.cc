// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/status_json.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/version.h"
#include "mount/kernel.h"
#include "mount/mount_point.h"

namespace terrace::mount {

namespace {

using nlohmann::json;

json DramJson(const fs::DramStatus& dram) {
  return {{"size_bytes", dram.size_bytes},
          {"used_bytes", dram.used_bytes},
          {"dirty_bytes", dram.dirty_bytes},
          {"prefaulted_bytes", dram.prefaulted_bytes},
          {"hits", dram.hits},
          {"misses", dram.misses},
          {"huge_pages", dram.huge_pages}};
}

json DevicesJson(const std::vector<io::DeviceStatus>& devices) {
  json list = json::array();
  for (const io::DeviceStatus& device : devices) {
    list.push_back({{"path", device.path},
                    {"size_bytes", device.size_bytes},
                    {"used_bytes", device.used_bytes},
                    {"read_bytes", device.read_bytes},
                    {"written_bytes", device.written_bytes},
                    {"errors", device.errors}});
  }
  return list;
}

json RequestsJson(const RequestCounts& counts) {
  json requests = json::object();
  for (const auto& [name, count] : counts.Snapshot()) requests[std::string(name)] = count;
  return requests;
}

}  // namespace

json StatusJson(fs::Volume& volume, Session& session, const MountEntry& mount) {
  fs::VolumeStatus status = volume.GetStatus();
  return {{"engine_pid", getpid()},
          {"mount_point", mount.mount_point},
          {"mode", std::string(ConnectionModeName(session.options().mode))},
          {"dram", DramJson(status.dram)},
          {"devices", DevicesJson(status.devices)},
          {"copied_bytes", status.copied_bytes},
          {"accepted_bytes", status.accepted_bytes},
          {"requests", RequestsJson(session.request_counts())},
          {"oldest_dirty_ms", status.oldest_dirty_ms},
          {"open_conditions", status.open_conditions},
          {"inodes_in_memory", status.inodes_in_memory},
          {"rewritten_extents", status.rewritten_extents},
          {"store_id", status.store_id},
          {"version", std::string(Version())},
          {"readahead_kib", ReadaheadKiB(mount)},
          {"kernel", KernelRelease()},
          {"features", session.features()}};
}

}  // namespace terrace::mount
