// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/file_data.h"

namespace terrace::fs {

void FileData::PruneUndurable() {
  while (!undurable.empty()) {
    cache::ExtentRef extent = undurable.front().lock();
    if (extent != nullptr && !extent->durable()) return;
    undurable.pop_front();
  }
}

std::vector<cache::ExtentRef> FileData::CollectUndurable() {
  PruneUndurable();
  std::vector<cache::ExtentRef> extents;
  for (const auto& weak : undurable) {
    cache::ExtentRef extent = weak.lock();
    if (extent != nullptr && !extent->durable()) extents.push_back(std::move(extent));
  }
  return extents;
}

}  // namespace terrace::fs
