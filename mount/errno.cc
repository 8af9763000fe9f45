// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/errno.h"

#include <cerrno>

#include "base/assert.h"

namespace terrace::mount {

int ToErrno(Errc code) {
  switch (code) {
    case Errc::kNotFound: return ENOENT;
    case Errc::kExists: return EEXIST;
    case Errc::kNotDirectory: return ENOTDIR;
    case Errc::kIsDirectory: return EISDIR;
    case Errc::kNotEmpty: return ENOTEMPTY;
    case Errc::kInvalid: return EINVAL;
    case Errc::kNameTooLong: return ENAMETOOLONG;
    case Errc::kNoSpace: return ENOSPC;
    case Errc::kTooLarge: return EFBIG;
    case Errc::kTooManyLinks: return EMLINK;
    case Errc::kPermission: return EPERM;
    case Errc::kReadOnly: return EROFS;
    case Errc::kNoAttribute: return ENODATA;
    case Errc::kRange: return ERANGE;
    case Errc::kBusy: return EBUSY;
    case Errc::kCorrupt: return EIO;
    case Errc::kIo: return EIO;
    case Errc::kUnsupported: return EOPNOTSUPP;
    case Errc::kNoMemory: return ENOMEM;
    case Errc::kShutdown: return EIO;
  }
  TERRACE_ASSERT(false);
}

}  // namespace terrace::mount
