// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/mount_helper.h"

#include <algorithm>

#include "mount/settings.h"

namespace terrace::tools {

namespace {

// What mount(8) puts into the list for itself and for fstab.
bool IsForMountItself(std::string_view option) {
  constexpr std::string_view kNames[] = {"user", "nouser", "users", "nousers", "owner", "group"};
  return std::find(std::begin(kNames), std::end(kNames), option) != std::end(kNames) ||
         option.starts_with("user=") || option.starts_with("comment=") || option.starts_with("X-");
}

// The list without those, and whether it asks for a remount.
std::string FilterOptions(std::string_view list, bool& remount) {
  std::string kept;
  for (const std::string& option : mount::SplitOptionList(list)) {
    if (option == "remount") remount = true;
    if (option == "remount" || IsForMountItself(option)) continue;
    if (!kept.empty()) kept += ',';
    kept += mount::EscapeOption(option);
  }
  return kept;
}

}  // namespace

bool IsMountHelperName(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "mount.fuse.terrace" || name == "mount.terrace";
}

Result<MountHelperCall> ParseMountHelperCall(std::span<const std::string> arguments) {
  MountHelperCall call;
  std::vector<std::string> names;
  std::string options;
  bool remount = false;
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-') || argument.size() < 2) {
      names.push_back(argument);
    } else if (argument == "-o" || argument == "-t" || argument == "-N") {
      if (++i == arguments.size()) return Fail(Errc::kInvalid, argument + " without a value");
      if (argument != "-o") continue;
      const std::string kept = FilterOptions(arguments[i], remount);
      if (!options.empty() && !kept.empty()) options += ',';
      options += kept;
    } else if (argument.find_first_not_of("fnsv", 1) == std::string::npos) {
      call.fake = call.fake || argument.find('f') != std::string::npos;
    } else {
      return Fail(Errc::kInvalid, argument + ": mount(8) gives no such argument");
    }
  }
  if (names.size() != 2) {
    return Fail(Errc::kInvalid, "not a source and a directory: mount -t fuse.terrace SOURCE DIR");
  }
  if (remount) {
    if (options.empty()) options = "rw";
    call.remount = {"mount", "-i", "-o", "remount," + options, names[1]};
    return call;
  }
  call.arguments = {"mount", "-o", "suid,dev"};
  if (!names[0].empty() && names[0] != "none") {
    call.arguments.insert(call.arguments.end(), {"-o", "source=" + mount::EscapeOption(names[0])});
  }
  if (!options.empty()) call.arguments.insert(call.arguments.end(), {"-o", options});
  call.arguments.push_back(names[1]);
  return call;
}

}  // namespace terrace::tools
