// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The version of this build: release number and commit.
#pragma once

#include <string_view>

namespace terrace {

std::string_view Version();  // "0.1.0"
std::string_view Commit();   // abbreviated, "unknown" outside a checkout

}  // namespace terrace
