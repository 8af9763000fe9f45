// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/report.h"

#include <cstdio>

namespace terrace::tools {

void PrintError(const std::string& text) { std::fprintf(stderr, "terrace: %s\n", text.c_str()); }

void PrintWarning(const std::string& text) {
  std::fprintf(stderr, "terrace: warning: %s\n", text.c_str());
}

int FailVerb(const Error& error) {
  return FailVerb(error, error.code == Errc::kBusy ? kExitBusy : kExitFailed);
}

int FailVerb(const Error& error, ExitCode code) {
  PrintError(error.context.empty() ? std::string(ErrcName(error.code)) : error.context);
  return code;
}

}  // namespace terrace::tools
