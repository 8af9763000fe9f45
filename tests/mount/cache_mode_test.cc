// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: every open gets the cache mode of the table in docs/operations.md.
// Method: the decision is a pure function; each row of the table, and each way an inode can be
// open.
#include "mount/cache_mode.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace terrace::mount {
namespace {

constexpr Connection kPassthrough{.mode = ConnectionMode::kPassthrough, .direct_mmap = true};
constexpr Connection kWriteback{.mode = ConnectionMode::kWriteback, .direct_mmap = true};
constexpr Connection kOldKernel{.mode = ConnectionMode::kPassthrough, .direct_mmap = false};
constexpr uint64_t kLarge = kSmallFileSizeMax + 1;

bool IsDirect(const Connection& connection, int flags, uint64_t size_bytes = 0,
              const OpenCounts& others = {}) {
  return ChooseCacheMode(connection, {.flags = flags, .size_bytes = size_bytes}, others).direct;
}

TEST(CacheModeTest, StreamsAreDirect) {
  EXPECT_TRUE(IsDirect(kPassthrough, O_WRONLY));
  EXPECT_TRUE(IsDirect(kPassthrough, O_WRONLY | O_APPEND));
  EXPECT_TRUE(IsDirect(kOldKernel, O_WRONLY));
}

TEST(CacheModeTest, OdirectIsDirect) {
  for (int access : {O_RDONLY, O_WRONLY, O_RDWR}) {
    EXPECT_TRUE(IsDirect(kPassthrough, access | O_DIRECT)) << access;
  }
}

TEST(CacheModeTest, ReadWriteTakesThePageCache) {
  EXPECT_FALSE(IsDirect(kPassthrough, O_RDWR));
  EXPECT_FALSE(IsDirect(kPassthrough, O_RDWR, kLarge));
}

TEST(CacheModeTest, SmallFilesAreCachedLargeOnesAreNot) {
  EXPECT_FALSE(IsDirect(kPassthrough, O_RDONLY, 0));
  EXPECT_FALSE(IsDirect(kPassthrough, O_RDONLY, kSmallFileSizeMax));
  EXPECT_TRUE(IsDirect(kPassthrough, O_RDONLY, kLarge));
  EXPECT_TRUE(IsDirect(kWriteback, O_RDONLY, kLarge));
}

TEST(CacheModeTest, WhatGetsMappedIsCached) {
  CacheMode mode = ChooseCacheMode(
      kPassthrough, {.flags = O_RDONLY, .size_bytes = kLarge, .likely_mapped = true}, {});
  EXPECT_FALSE(mode.direct);
  EXPECT_TRUE(mode.keep_cache);
}

TEST(CacheModeTest, WritersOfAWriteBackMountTakeTheCache) {
  for (int flags : {O_WRONLY, O_RDWR, O_WRONLY | O_DIRECT, O_RDWR | O_DIRECT}) {
    EXPECT_FALSE(IsDirect(kWriteback, flags)) << flags;
  }
}

TEST(CacheModeTest, WithoutMmapBesideDirectIoReadersAreCached) {
  EXPECT_FALSE(IsDirect(kOldKernel, O_RDONLY, kLarge));
  EXPECT_FALSE(IsDirect(kOldKernel, O_RDONLY | O_DIRECT, kLarge));
}

TEST(CacheModeTest, WhoComesSecondJoinsTheFirst) {
  const OpenCounts cached{.cached = 1};
  const OpenCounts written{.direct_writers = 1};
  for (int flags : {O_RDONLY, O_WRONLY, O_RDWR, O_RDONLY | O_DIRECT, O_WRONLY | O_DIRECT}) {
    EXPECT_FALSE(IsDirect(kPassthrough, flags, kLarge, cached)) << flags;
    EXPECT_TRUE(IsDirect(kPassthrough, flags, 0, written)) << flags;
  }
}

TEST(CacheModeTest, FlagsFollowFromTheMode) {
  const CacheMode stream = ChooseCacheMode(kPassthrough, {.flags = O_WRONLY}, {});
  EXPECT_EQ(stream, (CacheMode{.direct = true, .parallel_writes = true}));
  const CacheMode small = ChooseCacheMode(kPassthrough, {.flags = O_RDONLY}, {});
  EXPECT_EQ(small, (CacheMode{.keep_cache = true, .no_flush = true}));
  const CacheMode database = ChooseCacheMode(kPassthrough, {.flags = O_RDWR}, {});
  EXPECT_EQ(database, (CacheMode{.keep_cache = true}));
}

TEST(CacheModeTest, AutoGoesByPrivilegeAndKernel) {
  auto choose = [](bool privileged, bool kernel) {
    return ChooseConnectionMode(CacheChoice::kAuto,
                                {.privileged = privileged, .kernel_passthrough = kernel});
  };
  EXPECT_EQ(choose(true, true), ConnectionMode::kPassthrough);
  EXPECT_EQ(choose(false, true), ConnectionMode::kWriteback);
  EXPECT_EQ(choose(true, false), ConnectionMode::kWriteback);
  EXPECT_EQ(ChooseConnectionMode(CacheChoice::kPassthrough, {}), ConnectionMode::kPassthrough);
  EXPECT_EQ(ChooseConnectionMode(CacheChoice::kWriteback,
                                 {.privileged = true, .kernel_passthrough = true}),
            ConnectionMode::kWriteback);
}

TEST(CacheModeTest, ChoicesHaveNames) {
  EXPECT_EQ(ParseCacheChoice("auto").value(), CacheChoice::kAuto);
  EXPECT_EQ(ParseCacheChoice("passthrough").value(), CacheChoice::kPassthrough);
  EXPECT_EQ(ParseCacheChoice("writeback").value(), CacheChoice::kWriteback);
  EXPECT_FALSE(ParseCacheChoice("Writeback"));
  EXPECT_FALSE(ParseCacheChoice(""));
  EXPECT_EQ(ConnectionModeName(ConnectionMode::kWriteback), "writeback");
}

}  // namespace
}  // namespace terrace::mount
