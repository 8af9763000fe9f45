// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace terrace {

namespace {

struct Number {
  double value;
  std::string_view suffix;
};

// Splits "1.5GiB" into 1.5 and "GiB"; only plain decimal numbers count.
Result<Number> SplitNumber(std::string_view text, std::string_view kind) {
  size_t digits = 0;
  bool dot = false;
  while (digits < text.size() && (std::isdigit(static_cast<unsigned char>(text[digits])) ||
                                  (text[digits] == '.' && !dot))) {
    dot = dot || text[digits] == '.';
    digits++;
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (digits == 0 || error != std::errc() || end != text.data() + digits) {
    return Fail(Errc::kInvalid, "'" + std::string(text) + "' is not a " + std::string(kind));
  }
  return Number{value, text.substr(digits)};
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  TERRACE_ASSIGN_OR_RETURN(Number number, SplitNumber(text, "size (try 512M, 4G, 1.5T)"));
  std::string_view unit = number.suffix;
  if (unit.size() > 2 && unit.ends_with("iB")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with("B")) {
    unit.remove_suffix(1);
  }
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "K" || unit == "k") scale = static_cast<double>(kKiB);
  if (unit == "M" || unit == "m") scale = static_cast<double>(kMiB);
  if (unit == "G" || unit == "g") scale = static_cast<double>(kGiB);
  if (unit == "T" || unit == "t") scale = static_cast<double>(kTiB);
  if (scale == 0) {
    return Fail(Errc::kInvalid, "'" + std::string(text) + "' has an unknown unit (K, M, G or T)");
  }
  double bytes = number.value * scale;
  if (bytes >= 9.2e18) return Fail(Errc::kInvalid, "'" + std::string(text) + "' is too large");
  return static_cast<uint64_t>(std::llround(bytes));
}

Result<uint64_t> ParseDurationMs(std::string_view text) {
  TERRACE_ASSIGN_OR_RETURN(Number number, SplitNumber(text, "duration (try 5s, 250ms, 1m)"));
  double scale = 0;
  if (number.suffix.empty() || number.suffix == "s") scale = 1000;
  if (number.suffix == "ms") scale = 1;
  if (number.suffix == "m") scale = 60e3;
  if (number.suffix == "h") scale = 3600e3;
  if (scale == 0) {
    return Fail(Errc::kInvalid, "'" + std::string(text) + "' has an unknown unit (ms, s, m or h)");
  }
  double ms = number.value * scale;
  if (ms > 1e12) return Fail(Errc::kInvalid, "'" + std::string(text) + "' is too long");
  return static_cast<uint64_t>(std::llround(ms));
}

std::string FormatSize(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    unit++;
  }
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace terrace
