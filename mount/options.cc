// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/options.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "mount/kernel.h"
#include "mount/settings.h"

namespace terrace::mount {

namespace {

std::string DataHome() {
  if (geteuid() == 0) return "/var/lib/terrace";
  const char* data_home = std::getenv("XDG_DATA_HOME");
  if (data_home != nullptr && data_home[0] == '/') return std::string(data_home) + "/terrace";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    const passwd* user = getpwuid(geteuid());
    home = user != nullptr ? user->pw_dir : "/tmp";
  }
  return std::string(home) + "/.local/share/terrace";
}

uint64_t MemoryBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void AddFlag(const char* name, const std::optional<std::string>& value,
             std::vector<RawSetting>& settings) {
  if (!value) return;
  std::string flag = std::string("--") + name;
  std::string setting = name;
  for (char& c : setting) c = c == '-' ? '_' : c;
  settings.push_back({.name = setting, .value = *value, .origin = flag});
}

std::vector<RawSetting> FlagSettings(const MountFlags& flags) {
  std::vector<RawSetting> settings;
  for (const std::string& store : flags.stores) {
    settings.push_back({.name = "store", .value = store, .origin = "--store"});
  }
  AddFlag("meta", flags.meta, settings);
  AddFlag("dram", flags.dram, settings);
  AddFlag("store-size", flags.store_size, settings);
  AddFlag("log", flags.log, settings);
  return settings;
}

// What a reader thread may hold of the DRAM tier before it has received anything, with a margin.
constexpr uint64_t kDramPerReader = 4 * kMiB;

Status CheckReaders(const MountConfig& config) {
  const uint64_t needed = config.session.reader_threads * kDramPerReader;
  if (needed <= config.volume.dram_bytes) return {};
  return Fail(Errc::kInvalid, "reader_threads=" + std::to_string(config.session.reader_threads) +
                                  ": too many for a DRAM tier of " +
                                  FormatSize(config.volume.dram_bytes) +
                                  ": each needs 4 MiB: give more --dram or fewer threads");
}

Status FillDefaults(MountConfig& config) {
  if (config.volume.store_paths.empty()) {
    std::error_code error;
    std::filesystem::create_directories(DataHome(), error);
    if (error) {
      return Fail(Errc::kPermission,
                  DataHome() + ": " + error.message() + ": name a store of your own with --store");
    }
    config.volume.store_paths.push_back(DefaultStorePath());
  }
  if (config.volume.dram_bytes == 0) config.volume.dram_bytes = fs::DefaultDramBytes();
  TERRACE_TRY(CheckReaders(config));
  config.volume.metadata_parent = DefaultMetadataParent();
  config.volume.root_uid = geteuid();
  config.volume.root_gid = getegid();
  config.session.mode = ChooseConnectionMode(
      config.cache,
      {.privileged = geteuid() == 0, .kernel_passthrough = RunningKernel() >= kKernelPassthrough});
  return {};
}

}  // namespace

Result<MountConfig> BuildMountConfig(const MountFlags& flags) {
  MountConfig config;
  if (flags.config_file) {
    TERRACE_ASSIGN_OR_RETURN(std::vector<RawSetting> from_file,
                             ReadSettingsFile(*flags.config_file));
    TERRACE_TRY(ApplySettings(from_file, config));
  }
  std::vector<RawSetting> from_options;
  for (const std::string& list : flags.options) {
    for (RawSetting& setting : ParseOptionList(list)) from_options.push_back(std::move(setting));
  }
  TERRACE_TRY(ApplySettings(from_options, config));
  TERRACE_TRY(ApplySettings(FlagSettings(flags), config));
  config.session.mount_point = flags.mount_point;
  TERRACE_TRY(FillDefaults(config));
  return config;
}

Status CheckDramSize(uint64_t size_bytes) {
  if (size_bytes < kDramSizeMin) {
    return Fail(Errc::kInvalid, "too little: give at least " + FormatSize(kDramSizeMin));
  }
  if (size_bytes > MemoryBytes()) {
    return Fail(Errc::kInvalid, "larger than this machine's memory of " +
                                    FormatSize(MemoryBytes()) + ": give less, or leave it out");
  }
  return {};
}

Status CheckStoreSize(uint64_t size_bytes) {
  if (size_bytes < kStoreSizeMin) {
    return Fail(Errc::kInvalid, "too little: give at least " + FormatSize(kStoreSizeMin));
  }
  return {};
}

std::string DefaultStorePath() { return DataHome() + "/default"; }

std::string DefaultMetadataParent() { return DataHome(); }

std::string DefaultLogPath(const fs::VolumeConfig& volume) {
  for (const std::string& path : volume.store_paths) {
    // What does not exist yet becomes a directory.
    struct stat status {};
    const bool found = stat(path.c_str(), &status) == 0;
    if (!found || S_ISDIR(status.st_mode)) return path + "/terrace.log";
  }
  return volume.metadata_directory.value_or(volume.metadata_parent) + "/terrace.log";
}

}  // namespace terrace::mount
