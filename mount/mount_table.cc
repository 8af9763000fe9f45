// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/mount_table.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "mount/runtime_directory.h"

namespace terrace::mount {

namespace {

// The kernel writes space, tab, newline and backslash as \ooo.
std::string Unescape(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    bool escape = text[i] == '\\' && i + 3 < text.size();
    for (size_t k = 1; escape && k <= 3; k++) escape = text[i + k] >= '0' && text[i + k] <= '7';
    if (!escape) {
      result += text[i];
      continue;
    }
    int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
    result += static_cast<char>(value);
    i += 3;
  }
  return result;
}

std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

template <typename Int>
bool ParseInt(std::string_view text, Int& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

uid_t OwnerFromOptions(std::string_view options) {
  constexpr std::string_view kKey = "user_id=";
  size_t at = options.find(kKey);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = options.substr(at + kKey.size());
  uid_t owner = 0;
  return ParseInt(rest.substr(0, rest.find(',')), owner) ? owner : 0;
}

// "36 35 98:0 /root /mount/point rw,noatime shared:1 - type source options"
std::optional<MountEntry> ParseLine(std::string_view line) {
  std::vector<std::string_view> words = SplitWords(line);
  size_t dash = 6;
  while (dash < words.size() && words[dash] != "-") dash++;
  if (dash + 3 >= words.size()) return std::nullopt;
  MountEntry entry;
  size_t colon = words[2].find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  if (!ParseInt(words[2].substr(0, colon), entry.device_major)) return std::nullopt;
  if (!ParseInt(words[2].substr(colon + 1), entry.device_minor)) return std::nullopt;
  entry.mount_point = Unescape(words[4]);
  entry.type = words[dash + 1];
  entry.source = Unescape(words[dash + 2]);
  entry.owner = OwnerFromOptions(words[dash + 3]);
  return entry;
}

Result<std::string> RealPath(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real) return FailErrno(errno, path);
  return std::string(real.get());
}

}  // namespace

bool MountEntry::IsFuse() const { return type == "fuse" || type.starts_with("fuse."); }

bool MountEntry::IsTerrace() const {
  if (type == "fuse." + std::string(kMountSubtype)) return true;
  return type == "fuse" && (source == kMountSource || HasControlSocket(*this));
}

std::string MountEntry::DeviceName() const {
  return std::to_string(device_major) + "-" + std::to_string(device_minor);
}

dev_t MountEntry::Device() const { return makedev(device_major, device_minor); }

std::vector<MountEntry> ParseMountTable(std::string_view text) {
  std::vector<MountEntry> table;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (auto entry = ParseLine(text.substr(0, end))) table.push_back(std::move(*entry));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return table;
}

Result<std::vector<MountEntry>> ReadMountTable() {
  std::ifstream file("/proc/self/mountinfo");
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Fail(Errc::kIo, "/proc/self/mountinfo: cannot be read");
  return ParseMountTable(text.str());
}

Result<std::string> CanonicalMountPoint(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const size_t slash = trimmed.rfind('/');
  const std::string name = slash == std::string::npos ? trimmed : trimmed.substr(slash + 1);
  // Such a path has no name of its own.
  if (name.empty() || name == "." || name == "..") return RealPath(trimmed);
  Result<std::string> canonical =
      RealPath(slash == std::string::npos ? "." : trimmed.substr(0, slash + 1));
  if (!canonical) return canonical;
  if (!canonical->ends_with('/')) *canonical += '/';
  *canonical += name;
  TERRACE_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  if (FindMountAt(table, *canonical)) return canonical;
  // A symbolic link, or nothing.
  Result<std::string> whole = RealPath(trimmed);
  return whole ? whole : canonical;
}

std::optional<MountEntry> FindMountAt(const std::vector<MountEntry>& table,
                                      const std::string& canonical_path) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mount_point == canonical_path) return *entry;
  }
  return std::nullopt;
}

Result<MountEntry> FindTerraceMount(const std::string& path) {
  TERRACE_ASSIGN_OR_RETURN(std::string canonical, CanonicalMountPoint(path));
  TERRACE_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  std::optional<MountEntry> entry = FindMountAt(table, canonical);
  if (!entry)
    return Fail(Errc::kNotFound,
                path + ": nothing is mounted there: name the mount point of a TerraceFS");
  if (!entry->IsTerrace()) {
    return Fail(Errc::kInvalid, path + ": a mount of type " + entry->type +
                                    ", not a TerraceFS: name the mount point of one");
  }
  return *entry;
}

Result<FileOnMount> FindFileOnMount(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    // The mount point itself can be found without being looked at.
    int reason = errno;
    Result<MountEntry> mount = FindTerraceMount(path);
    if (mount) return FileOnMount{std::move(*mount), kRootInode.value()};
    return FailErrno(reason, path);
  }
  TERRACE_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->Device() == status.st_dev && entry->IsTerrace()) {
      return FileOnMount{*entry, status.st_ino};
    }
  }
  return Fail(Errc::kInvalid, path + ": not on a TerraceFS: name a path on one");
}

}  // namespace terrace::mount
