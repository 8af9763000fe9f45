// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace terrace {

void AssertFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "terrace: assertion failed: %s at %s:%d\n", expression, file, line);
  LogFatalLine(expression, file, line);
  std::abort();
}

}  // namespace terrace
