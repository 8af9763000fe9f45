// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <linux/limits.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string>
#include <vector>

#include "mount/errno.h"
#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

// Size 0 asks how much there is.
void ReplySized(fuse_req_t request, const std::string& value, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request, value.size());
  } else if (value.size() > size) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, value.data(), value.size());
  }
}

void Setxattr(fuse_req_t request, fuse_ino_t inode, const char* name, const char* value,
              size_t size, int flags) {
  if ((flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  Status set = ContextOf(request).volume.attributes().SetXattr(
      InodeId(inode), name, std::string_view(value, size),
      {.create = (flags & XATTR_CREATE) != 0, .replace = (flags & XATTR_REPLACE) != 0});
  // A value that is too large is not a file that is too large; a name too long is ERANGE here.
  if (!set && set.error().code == Errc::kTooLarge) {
    fuse_reply_err(request, E2BIG);
  } else if (!set && set.error().code == Errc::kNameTooLong) {
    fuse_reply_err(request, ERANGE);
  } else {
    ReplyStatus(request, set);
  }
}

void Getxattr(fuse_req_t request, fuse_ino_t inode, const char* name, size_t size) {
  Result<std::string> value = ContextOf(request).volume.attributes().GetXattr(InodeId(inode), name);
  if (!value) return ReplyError(request, value.error());
  ReplySized(request, *value, size);
}

void Listxattr(fuse_req_t request, fuse_ino_t inode, size_t size) {
  Result<std::vector<std::string>> names =
      ContextOf(request).volume.attributes().ListXattrs(InodeId(inode));
  if (!names) return ReplyError(request, names.error());
  std::string joined;
  for (const std::string& name : *names) {
    joined += name;
    joined += '\0';
  }
  // The kernel carries lists of up to 64 KiB.
  if (joined.size() > XATTR_LIST_MAX) {
    fuse_reply_err(request, E2BIG);
    return;
  }
  ReplySized(request, joined, size);
}

void Removexattr(fuse_req_t request, fuse_ino_t inode, const char* name) {
  ReplyStatus(request, ContextOf(request).volume.attributes().RemoveXattr(InodeId(inode), name));
}

}  // namespace

void RegisterXattrOperations(fuse_lowlevel_ops& table) {
  table.setxattr = Setxattr;
  table.getxattr = Getxattr;
  table.listxattr = Listxattr;
  table.removexattr = Removexattr;
}

}  // namespace terrace::mount
