// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a handle survives its way through the kernel, and a stray number is recognised.
// Method: every combination of modes, and numbers of other inodes.
#include "mount/file_handle.h"

#include <gtest/gtest.h>

namespace terrace::mount {
namespace {

TEST(FileHandleTest, RoundTrip) {
  for (uint64_t inode : {1ull, 2ull, (1ull << 56) - 1}) {
    for (int bits = 0; bits < 8; bits++) {
      const FileHandle handle{.inode = InodeId(inode),
                              .read = (bits & 1) != 0,
                              .write = (bits & 2) != 0,
                              .cached = (bits & 4) != 0};
      const auto decoded = FileHandle::Decode(handle.Encode(), InodeId(inode));
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->inode, handle.inode);
      EXPECT_EQ(decoded->read, handle.read);
      EXPECT_EQ(decoded->write, handle.write);
      EXPECT_EQ(decoded->cached, handle.cached);
    }
  }
}

TEST(FileHandleTest, OfAnotherInode) {
  const FileHandle handle{.inode = InodeId(5), .read = true};
  EXPECT_FALSE(FileHandle::Decode(handle.Encode(), InodeId(6)));
  EXPECT_FALSE(FileHandle::Decode(0, InodeId(5)));
  EXPECT_FALSE(FileHandle::Decode(UINT64_MAX, InodeId(5)));
}

}  // namespace
}  // namespace terrace::mount
