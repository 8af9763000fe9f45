// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The helper of mount(8): the same binary under the name mount.fuse.terrace or mount.terrace.
//
// Role     `mount -t fuse.terrace SOURCE DIR -o store=PATH` runs
//          `mount.fuse.terrace SOURCE DIR [-fnsv] [-o OPTS] [-N NS] [-t TYPE]` (mount(8), "External
//          helpers"). SOURCE is any name, which the mount table shows. As with other file systems,
//          set-user-ID programs and devices work unless `nosuid` and `nodev` are given.
// Errors   kInvalid: an argument that the protocol does not have.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace terrace::tools {

// True for the names that mount(8) looks for.
bool IsMountHelperName(std::string_view program);

struct MountHelperCall {
  // Of the mount verb, without the program's name.
  std::vector<std::string> arguments;
  bool fake = false;  // -f: say that it worked, and do nothing
  // Set: this mount exists, and the kernel is to change its options. Of mount(8).
  std::optional<std::vector<std::string>> remount;
};

// arguments: those behind the program's name.
Result<MountHelperCall> ParseMountHelperCall(std::span<const std::string> arguments);

}  // namespace terrace::tools
