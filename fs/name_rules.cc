// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/name_rules.h"

#include <sys/stat.h>

#include "fs/names.h"

namespace terrace::fs {

bool IsDot(std::string_view name) { return name == "."; }
bool IsDotDot(std::string_view name) { return name == ".."; }

Status CheckName(std::string_view name) {
  if (name.empty()) return Fail(Errc::kNotFound, "empty name");
  if (name.size() > kNameSizeMax) {
    return Fail(Errc::kNameTooLong, "name of " + std::to_string(name.size()) + " bytes");
  }
  if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos) {
    return Fail(Errc::kInvalid, "name with '/' or NUL");
  }
  return {};
}

Status CheckTakesName(const InodeRecord& directory, bool adds_directory) {
  const std::string inode = "inode " + std::to_string(directory.id.value());
  if (!S_ISDIR(directory.mode)) return Fail(Errc::kNotDirectory, inode);
  if (directory.nlink == 0) return Fail(Errc::kNotFound, inode + ": removed directory");
  if (adds_directory && directory.nlink == UINT32_MAX) return Fail(Errc::kTooManyLinks, inode);
  return {};
}

Status DropSubdirectory(InodeRecord& directory) {
  if (directory.nlink <= 2) {
    return Fail(Errc::kCorrupt, "link count of inode " + std::to_string(directory.id.value()));
  }
  directory.nlink--;
  return {};
}

void TouchDirectory(InodeRecord& directory, int64_t now_ns) {
  directory.mtime_ns = now_ns;
  directory.ctime_ns = now_ns;
}

}  // namespace terrace::fs
