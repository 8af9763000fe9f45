// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The one place that includes libfuse's low-level interface, with the version we are written for.
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)
#include <fuse_lowlevel.h>
