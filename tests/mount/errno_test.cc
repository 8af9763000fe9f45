// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: each code becomes the errno that ext4 gives.
// Method: the whole table.
#include "mount/errno.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace terrace::mount {
namespace {

TEST(ErrnoTest, WholeTable) {
  constexpr std::pair<Errc, int> kTable[] = {
      {Errc::kNotFound, ENOENT},
      {Errc::kExists, EEXIST},
      {Errc::kNotDirectory, ENOTDIR},
      {Errc::kIsDirectory, EISDIR},
      {Errc::kNotEmpty, ENOTEMPTY},
      {Errc::kInvalid, EINVAL},
      {Errc::kNameTooLong, ENAMETOOLONG},
      {Errc::kNoSpace, ENOSPC},
      {Errc::kTooLarge, EFBIG},
      {Errc::kTooManyLinks, EMLINK},
      {Errc::kPermission, EPERM},
      {Errc::kReadOnly, EROFS},
      {Errc::kNoAttribute, ENODATA},
      {Errc::kRange, ERANGE},
      {Errc::kBusy, EBUSY},
      {Errc::kCorrupt, EIO},
      {Errc::kIo, EIO},
      {Errc::kUnsupported, EOPNOTSUPP},
      {Errc::kNoMemory, ENOMEM},
      {Errc::kShutdown, EIO},
  };
  static_assert(std::size(kTable) == static_cast<size_t>(Errc::kShutdown) + 1);
  for (const auto& [code, wanted] : kTable) {
    EXPECT_EQ(ToErrno(code), wanted) << ErrcName(code);
  }
}

}  // namespace
}  // namespace terrace::mount
