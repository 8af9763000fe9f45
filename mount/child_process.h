// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Running another program (fusermount3) and hearing what it says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace terrace::mount {

// The path of a program of $PATH.
std::optional<std::string> FindProgram(const std::string& name);

struct ChildResult {
  int exit_code = 0;      // 128 and more: ended by a signal
  std::string last_line;  // of what it wrote to standard error
};
// Runs command[0] from $PATH without a shell and waits for it; messages come in English.
Result<ChildResult> RunChild(const std::vector<std::string>& command);

}  // namespace terrace::mount
