// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: keys sort as numbers do, and cookies stay what stored directories rely on.
// Method: edge values, golden values, computed collisions.
#include "fs/meta/key_format.h"

#include <gtest/gtest.h>

#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

TEST(KeyFormat, KeysSortAsNumbers) {
  const uint64_t numbers[] = {0, 1, 255, 256, 65535, 1ull << 32, (1ull << 63) - 1, UINT64_MAX};
  for (size_t i = 1; i < std::size(numbers); i++) {
    EXPECT_LT(InodeKey(InodeId(numbers[i - 1])), InodeKey(InodeId(numbers[i])));
    EXPECT_LT(MapKey(InodeId(7), numbers[i - 1]), MapKey(InodeId(7), numbers[i]));
    EXPECT_LT(DentryKey(InodeId(numbers[i - 1]), UINT64_MAX), DentryKey(InodeId(numbers[i]), 0));
  }
  EXPECT_EQ(ReadBigEndian64(ExtentKey(ExtentId(0x0102030405060708))), 0x0102030405060708u);
}

TEST(KeyFormat, XattrKeysOfOneInodeAreTogether) {
  EXPECT_LT(XattrKey(InodeId(5), "user.z"), XattrKey(InodeId(6), "user.a"));
  EXPECT_LT(XattrKey(InodeId(5), "user.a"), XattrKey(InodeId(5), "user.b"));
}

TEST(KeyFormat, CookiesFitSeekdirAndLeaveRoomForSlots) {
  for (std::string_view name : {"a", "model.safetensors", "", "\xff\xfe"}) {
    const uint64_t cookie = NameCookie(name, kTestSeed);
    EXPECT_GE(cookie, 256u);
    EXPECT_EQ(cookie & 0xff, 0u);
    EXPECT_LT(cookie, 1ull << 63);
    EXPECT_NE(cookie, NameCookie(name, kTestSeed + 1));
  }
}

// A store on disk depends on these: they may never change.
TEST(KeyFormat, CookiesAreStable) {
  EXPECT_EQ(NameCookie("checkpoint.pt", 1), 0x5215e7cdef73b800u);
  EXPECT_EQ(NameCookie("a", 0), 0x7363195b0f4b2700u);
}

TEST(KeyFormat, ComputedCollisionsCollide) {
  const auto names = CollidingNames(100);
  ASSERT_EQ(names.size(), 100u);
  for (const std::string& name : names) {
    EXPECT_EQ(NameCookie(name, kTestSeed), NameCookie(names[0], kTestSeed));
  }
}

}  // namespace
}  // namespace terrace::fs
