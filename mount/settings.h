// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Settings: the named values of a mount, from the command line, -o and the TOML file alike.
//
// Role     One table of names; each source yields raw pairs of name and text with their origin,
//          which this file parses and checks. Later sources win: file, -o, flags.
// Errors   kInvalid: "ORIGIN: name: why", with the nearest known name for an unknown one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace terrace::mount {

struct MountConfig;

struct RawSetting {
  std::string name;
  std::string value;
  std::string origin;  // "--dram", "-o" or "FILE:LINE"
};

// Splits "cache=auto,ro,log=a\,b"; a name alone means "true".
std::vector<RawSetting> ParseOptionList(std::string_view text);
// The items of a list: "a=1,b\\,c" is "a=1" and "b,c". Empty ones are left out.
std::vector<std::string> SplitOptionList(std::string_view text);
// The way back: an item as it stands in a list.
std::string EscapeOption(std::string_view item);

// The TOML file at `path`. Errors: kNotFound, kInvalid with file and line.
Result<std::vector<RawSetting>> ReadSettingsFile(const std::string& path);

// Applies the settings of one source. Its --store paths replace those of sources before.
Status ApplySettings(const std::vector<RawSetting>& settings, MountConfig& config);

// The known name that is nearest to `name`, or nothing that is near.
std::string NearestSettingName(std::string_view name);

}  // namespace terrace::mount
