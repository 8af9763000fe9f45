// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// How a verb ends: the one line on standard error, and the exit code that fits the error.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/exit_codes.h"

namespace terrace::tools {

// "terrace: what failed: why: what to do".
void PrintError(const std::string& text);
void PrintWarning(const std::string& text);

// Prints the error; returns the exit code for an error about a mount.
int FailVerb(const Error& error);
int FailVerb(const Error& error, ExitCode code);

}  // namespace terrace::tools
