// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"

#include "generated/build_info.h"

namespace terrace {

std::string_view Version() { return TERRACE_VERSION; }
std::string_view Commit() { return TERRACE_COMMIT; }

}  // namespace terrace
