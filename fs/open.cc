// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/open.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/units.h"
#include "fs/condition_recovery.h"
#include "fs/meta/rocks_meta_store.h"
#include "fs/recovery.h"
#include "io/store_layout.h"

namespace terrace::fs {

namespace {

// Where the metadata of this store lives: beside the data of the first directory store, or where
// the caller said.
Result<std::string> MetadataDirectory(const VolumeConfig& config, const io::OpenedStore& opened) {
  if (config.metadata_directory) return *config.metadata_directory;
  if (opened.metadata_directory) return *opened.metadata_directory;
  if (config.metadata_parent.empty()) {
    return Fail(Errc::kInvalid,
                "a store of block devices alone needs a metadata directory (--meta)");
  }
  return config.metadata_parent + "/" + io::StoreIdText(opened.store_id);
}

Result<std::unique_ptr<MetaStore>> OpenMetadata(const std::string& directory, bool fresh) {
  std::error_code error;
  if (fresh) {
    std::filesystem::create_directories(directory, error);
    if (error) return Fail(Errc::kIo, "metadata directory " + directory + ": " + error.message());
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  } else if (!std::filesystem::is_directory(directory, error)) {
    return Fail(Errc::kCorrupt, "metadata directory " + directory +
                                    " is missing although the devices are formatted: give the "
                                    "right --meta, or format anew (terrace format --force), which "
                                    "loses everything in the store");
  }
  RocksMetaOptions options;
  options.create_if_missing = fresh;
  TERRACE_ASSIGN_OR_RETURN(auto store, RocksMetaStore::Open(directory, options));
  return std::unique_ptr<MetaStore>(std::move(store));
}

// A number from a one-line file such as a cgroup's limit; UINT64_MAX when there is none.
uint64_t NumberInFile(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : UINT64_MAX;
}

// The memory limit of this process's cgroup, version 2 or 1; UINT64_MAX: none.
uint64_t CgroupMemoryLimit() {
  uint64_t limit = UINT64_MAX;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = std::min(limit, NumberInFile("/sys/fs/cgroup" + path + "/memory.max"));
    } else if (controllers == "memory") {
      limit =
          std::min(limit, NumberInFile("/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes"));
    }
  }
  return limit;
}

uint64_t MachineMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    if (name == "MemTotal:") return kilobytes * kKiB;
    file.ignore(64, '\n');
  }
  return 4 * kGiB;
}

}  // namespace

uint64_t DefaultDramBytes() {
  return std::min(MachineMemory(), CgroupMemoryLimit()) / 4 / kMiB * kMiB;
}

Result<std::unique_ptr<Volume>> OpenVolume(const VolumeConfig& config) {
  io::StoreOptions store_options;
  store_options.paths = config.store_paths;
  store_options.store_size_bytes = config.store_size_bytes;
  store_options.make = !config.read_only;
  store_options.metadata_directory = config.metadata_directory;
  TERRACE_ASSIGN_OR_RETURN(io::OpenedStore opened, io::OpenStore(store_options));
  std::string store_id = io::StoreIdText(opened.store_id);
  TERRACE_ASSIGN_OR_RETURN(std::string directory, MetadataDirectory(config, opened));
  // A store whose formatting was cut short before its metadata was made is still fresh.
  bool fresh = opened.freshly_formatted;
  Volume::Parts parts;
  parts.clock = std::make_unique<SystemClock>();
  TERRACE_ASSIGN_OR_RETURN(parts.meta, OpenMetadata(directory, fresh));
  TERRACE_TRY(CheckStoreIdentity(*parts.meta, store_id, directory, fresh));
  parts.store = std::make_unique<io::ExtentStore>(std::move(opened.devices));
  if (fresh) TERRACE_TRY(io::MarkStoreInUse(parts.store->device(DeviceId(0))));
  parts.conditions = std::make_unique<Conditions>();
  TERRACE_TRY(RecoverConditions(*parts.meta));
  TERRACE_TRY(RebuildFreeSpace(*parts.meta, *parts.store));
  TERRACE_ASSIGN_OR_RETURN(std::vector<InodeId> orphans, ListOrphans(*parts.meta));
  TERRACE_ASSIGN_OR_RETURN(parts.ids, IdSource::Open(*parts.meta));
  cache::BufferPool::Options pool_options;
  pool_options.size_bytes = config.dram_bytes;
  TERRACE_ASSIGN_OR_RETURN(parts.pool, cache::BufferPool::Create(pool_options));
  parts.store_id = store_id;
  parts.name_hash_seed = opened.name_hash_seed;
  parts.write_back_delay_ms = config.write_back_delay_ms;
  parts.dirty_high_water = config.dirty_high_water;
  auto volume = std::make_unique<Volume>(std::move(parts));
  TERRACE_TRY(volume->names().EnsureRoot({config.root_uid, config.root_gid}));
  volume->Start(orphans);
  LogInfo("store " + store_id + " is open: " + FormatSize(config.dram_bytes) + " of DRAM, " +
          std::to_string(orphans.size()) + " orphans to free");
  return volume;
}

}  // namespace terrace::fs
