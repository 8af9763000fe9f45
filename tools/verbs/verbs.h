// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The verbs of `terrace`: each Add function gives the program one subcommand.
//
// A verb's callback runs when the command line named it, and leaves the exit code in *exit_code.
#pragma once

#include <CLI/CLI.hpp>

namespace terrace::tools {

void AddMountVerb(CLI::App& app, int* exit_code);
void AddFormatVerb(CLI::App& app, int* exit_code);
void AddUmountVerb(CLI::App& app, int* exit_code);
void AddStatusVerb(CLI::App& app, int* exit_code);
void AddFlushVerb(CLI::App& app, int* exit_code);
void AddEvictVerb(CLI::App& app, int* exit_code);
void AddVersionVerb(CLI::App& app, int* exit_code);

}  // namespace terrace::tools
