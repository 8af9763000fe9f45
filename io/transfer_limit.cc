// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/transfer_limit.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <string>

#include "base/units.h"

namespace terrace::io {

uint64_t TransferLimit(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return UINT64_MAX;
  dev_t device = S_ISBLK(info.st_mode) ? info.st_rdev : info.st_dev;
  std::string folder =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  // A partition's queue is that of the disk above it.
  for (const char* queue : {"/queue/max_segments", "/../queue/max_segments"}) {
    std::ifstream file(folder + queue);
    uint64_t segments = 0;
    if (file >> segments && segments > 0) {
      return std::max(kChecksumBlockSize, std::bit_floor(segments * kBlockSize));
    }
  }
  return UINT64_MAX;
}

}  // namespace terrace::io
