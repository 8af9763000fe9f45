// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/settings.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/units.h"
#include "mount/options.h"

namespace terrace::mount {

namespace {

constexpr double kDirtyHighWaterMin = 0.05;
constexpr double kDirtyHighWaterMax = 0.95;
constexpr uint64_t kWriteBackDelayMsMax = 3'600'000;
constexpr uint64_t kReaderSpinUsMax = 10'000;

Result<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "no" || text == "0") return false;
  return Fail(Errc::kInvalid, "'" + std::string(text) + "' is neither true nor false");
}

Result<uint64_t> ParseCount(std::string_view text, uint64_t count_max) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > count_max) {
    return Fail(Errc::kInvalid, "'" + std::string(text) + "' is not a number from 0 to " +
                                    std::to_string(count_max));
  }
  return value;
}

Result<double> ParseShare(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= kDirtyHighWaterMin) ||
      !(value <= kDirtyHighWaterMax)) {
    return Fail(Errc::kInvalid,
                "'" + std::string(text) + "' is not a share from 0.05 to 0.95 of the DRAM tier");
  }
  return value;
}

std::string Absolute(std::string_view path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? std::string(path) : absolute.lexically_normal().string();
}

Result<std::string> ParsePath(std::string_view text) {
  if (text.empty()) return Fail(Errc::kInvalid, "an empty path");
  return Absolute(text);
}

Status SetStore(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(std::string path, ParsePath(value));
  config.volume.store_paths.push_back(std::move(path));
  return {};
}

Status SetMeta(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.volume.metadata_directory, ParsePath(value));
  return {};
}

Status SetLog(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.log_path, ParsePath(value));
  return {};
}

Status SetDram(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.volume.dram_bytes, ParseSize(value));
  return CheckDramSize(config.volume.dram_bytes);
}

Status SetStoreSize(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.volume.store_size_bytes, ParseSize(value));
  return CheckStoreSize(*config.volume.store_size_bytes);
}

Status SetCache(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.cache, ParseCacheChoice(value));
  return {};
}

Status SetWriteBackDelay(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(uint64_t delay_ms, ParseDurationMs(value));
  if (delay_ms == 0 || delay_ms > kWriteBackDelayMsMax) {
    return Fail(Errc::kInvalid, "'" + std::string(value) + "' is not between 1ms and 1h");
  }
  config.volume.write_back_delay_ms = delay_ms;
  config.session.page_sync_interval = std::chrono::milliseconds(delay_ms);
  return {};
}

Status SetDirtyHighWater(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.volume.dirty_high_water, ParseShare(value));
  return {};
}

Status SetPlainType(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.session.plain_type, ParseBool(value));
  return {};
}

Status SetSource(std::string_view value, MountConfig& config) {
  constexpr size_t kSizeMax = 255;
  auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < 0x20; };
  const bool has_control = std::any_of(value.begin(), value.end(), is_control);
  if (value.empty() || value.size() > kSizeMax || has_control) {
    return Fail(Errc::kInvalid, "a source is a name of 1 to 255 bytes without control characters");
  }
  config.session.source = value;
  return {};
}

Status SetAllowOther(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.session.allow_other, ParseBool(value));
  return {};
}

Status SetReadOnly(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(config.session.read_only, ParseBool(value));
  config.volume.read_only = config.session.read_only;
  return {};
}

Status SetReaderThreads(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(uint64_t count, ParseCount(value, Session::kReaderThreadsMax));
  config.session.reader_threads = static_cast<uint32_t>(count);
  return {};
}

Status SetReaderSpin(std::string_view value, MountConfig& config) {
  TERRACE_ASSIGN_OR_RETURN(uint64_t spin_us, ParseCount(value, kReaderSpinUsMax));
  config.session.reader_spin_us = static_cast<uint32_t>(spin_us);
  return {};
}

struct Setting {
  std::string_view name;
  Status (*apply)(std::string_view value, MountConfig& config);
};

constexpr Setting kSettings[] = {
    {"store", SetStore},
    {"meta", SetMeta},
    {"log", SetLog},
    {"dram", SetDram},
    {"store_size", SetStoreSize},
    {"cache", SetCache},
    {"write_back_delay", SetWriteBackDelay},
    {"dirty_high_water", SetDirtyHighWater},
    {"plain_type", SetPlainType},
    {"source", SetSource},
    {"allow_other", SetAllowOther},
    {"ro", SetReadOnly},
    {"reader_threads", SetReaderThreads},
    {"reader_spin_us", SetReaderSpin},
};

// Options of mount(8) that the kernel keeps; they are names alone and come from -o only.
constexpr std::string_view kKernelOptions[] = {"exec",  "noexec",  "suid", "nosuid",  "dev",
                                               "nodev", "noatime", "sync", "dirsync", "nodiratime"};
// What fstab and mount(8) add for others to read.
constexpr std::string_view kIgnoredOptions[] = {"rw",     "defaults", "auto",  "noauto",
                                                "nofail", "_netdev",  "async", "relatime"};

template <typename Range>
bool Contains(const Range& range, std::string_view name) {
  return std::find(std::begin(range), std::end(range), name) != std::end(range);
}

const Setting* FindSetting(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

// How many letters must be added, removed or changed.
size_t EditDistance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= from.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= to.size(); j++) {
      size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[to.size()];
}

std::string Where(const RawSetting& setting) {
  if (setting.origin.starts_with("--")) return setting.origin + " " + setting.value;
  std::string where = setting.origin;
  where += setting.origin == "-o" ? " " : ": ";
  where += setting.name;
  if (setting.origin == "-o") where += "=" + setting.value;
  return where;
}

Status ApplyOne(const RawSetting& raw, MountConfig& config) {
  if (raw.origin == "-o" && raw.value == "true") {
    if (Contains(kKernelOptions, raw.name)) {
      config.session.kernel_options.push_back(raw.name);
      return {};
    }
    if (Contains(kIgnoredOptions, raw.name) || raw.name.starts_with("x-")) return {};
  }
  const Setting* setting = FindSetting(raw.name);
  if (setting == nullptr) {
    std::string nearest = NearestSettingName(raw.name);
    std::string where = raw.origin + (raw.origin == "-o" ? " " : ": ") + raw.name;
    return Fail(Errc::kInvalid, where + ": no such setting" +
                                    (nearest.empty() ? ": see terrace mount --help"
                                                     : ": did you mean " + nearest + "?"));
  }
  Status applied = setting->apply(raw.value, config);
  if (!applied) return Fail(applied.error().code, Where(raw) + ": " + applied.error().context);
  return {};
}

}  // namespace

std::vector<std::string> SplitOptionList(std::string_view text) {
  std::vector<std::string> items(1);
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      items.back() += text[++i];
    } else if (text[i] == ',') {
      items.emplace_back();
    } else {
      items.back() += text[i];
    }
  }
  std::erase(items, "");
  return items;
}

std::string EscapeOption(std::string_view item) {
  std::string escaped;
  for (char letter : item) {
    if (letter == ',' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::vector<RawSetting> ParseOptionList(std::string_view text) {
  std::vector<RawSetting> settings;
  for (const std::string& item : SplitOptionList(text)) {
    const size_t equals = item.find('=');
    const bool alone = equals == std::string::npos;
    settings.push_back({.name = item.substr(0, equals),
                        .value = alone ? "true" : item.substr(equals + 1),
                        .origin = "-o"});
  }
  return settings;
}

Status ApplySettings(const std::vector<RawSetting>& settings, MountConfig& config) {
  auto names_store = [](const RawSetting& setting) { return setting.name == "store"; };
  if (std::any_of(settings.begin(), settings.end(), names_store)) {
    config.volume.store_paths.clear();
  }
  for (const RawSetting& setting : settings) TERRACE_TRY(ApplyOne(setting, config));
  return {};
}

std::string NearestSettingName(std::string_view name) {
  constexpr size_t kDistanceMax = 3;
  std::string nearest;
  size_t best = kDistanceMax + 1;
  for (const Setting& setting : kSettings) {
    size_t distance = EditDistance(name, setting.name);
    // A short name is near to anything: at most half of it may differ.
    if (distance < best && distance * 2 <= setting.name.size()) {
      best = distance;
      nearest = setting.name;
    }
  }
  return nearest;
}

}  // namespace terrace::mount
