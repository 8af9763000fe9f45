// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The only file that includes toml++.

#include <toml++/toml.h>

#include <fstream>
#include <sstream>

#include "mount/settings.h"

namespace terrace::mount {

namespace {

std::string At(const std::string& path, const toml::source_region& source) {
  return path + ":" + std::to_string(source.begin.line);
}

// The text of a value, as a flag would have it.
Result<std::string> ValueText(const toml::node& node, const std::string& where) {
  if (auto text = node.value_exact<std::string>()) return *text;
  if (auto flag = node.value_exact<bool>()) return std::string(*flag ? "true" : "false");
  if (auto number = node.value_exact<int64_t>()) return std::to_string(*number);
  if (auto number = node.value_exact<double>()) {
    std::ostringstream text;
    text << *number;
    return text.str();
  }
  return Fail(Errc::kInvalid, where + ": neither a text, a number nor true or false");
}

Status AddValue(const std::string& name, const toml::node& node, const std::string& path,
                std::vector<RawSetting>& settings) {
  const std::string origin = At(path, node.source());
  TERRACE_ASSIGN_OR_RETURN(std::string value, ValueText(node, origin + ": " + name));
  settings.push_back({.name = name, .value = std::move(value), .origin = origin});
  return {};
}

// Only stores come as a list.
Status AddSetting(const std::string& name, const toml::node& node, const std::string& path,
                  std::vector<RawSetting>& settings) {
  const toml::array* items = node.as_array();
  if (items == nullptr || name != "store") return AddValue(name, node, path, settings);
  for (const toml::node& item : *items) TERRACE_TRY(AddValue(name, item, path, settings));
  return {};
}

Result<std::vector<RawSetting>> Collect(const toml::table& table, const std::string& path) {
  std::vector<RawSetting> settings;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (node.is_table()) {
      return Fail(Errc::kInvalid, At(path, node.source()) + ": [" + name +
                                      "]: no such section: settings stand without sections");
    }
    TERRACE_TRY(AddSetting(name, node, path, settings));
  }
  return settings;
}

}  // namespace

Result<std::vector<RawSetting>> ReadSettingsFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  // Copying nothing would count as a failure, and an empty file is none.
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text) {
    return Fail(Errc::kNotFound, "--config " + path + ": cannot be read: give an existing file");
  }
  try {
    return Collect(toml::parse(text.str(), path), path);
  } catch (const toml::parse_error& error) {
    return Fail(Errc::kInvalid, At(path, error.source()) + ": " + std::string(error.description()));
  }
}

}  // namespace terrace::mount
