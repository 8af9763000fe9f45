// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: requests are counted under their names.
// Method: known, unknown and wild opcodes.
#include "mount/request_counts.h"

#include <gtest/gtest.h>
#include <linux/fuse.h>

#include <map>

namespace terrace::mount {
namespace {

TEST(RequestCountsTest, CountsByName) {
  RequestCounts counts;
  EXPECT_TRUE(counts.Snapshot().empty());
  for (int i = 0; i < 3; i++) counts.Count(FUSE_LOOKUP);
  counts.Count(FUSE_CREATE);
  counts.Count(52);  // STATX
  counts.Count(63);
  counts.Count(4096);
  counts.Count(UINT32_MAX);
  std::map<std::string_view, uint64_t> found;
  for (const auto& [name, count] : counts.Snapshot()) found[name] = count;
  EXPECT_EQ(found, (std::map<std::string_view, uint64_t>{
                       {"lookup", 3}, {"create", 1}, {"statx", 1}, {"other", 3}}));
}

}  // namespace
}  // namespace terrace::mount
