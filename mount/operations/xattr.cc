// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "fs/posix_acl.h"
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

// Whether setting an access control list takes S_ISGID from the file: the caller is neither root
// nor in the file's group.
bool ClearsSetgid(fuse_req_t request, fuse_ino_t inode, std::string_view name) {
  const fuse_ctx* caller = fuse_req_ctx(request);
  if (name != fs::kAccessAclName || caller->uid == 0) return false;
  Result<fs::Attributes> attributes = ContextOf(request).volume.attributes().Get(InodeId(inode));
  if (!attributes || (attributes->mode & S_ISGID) == 0) return false;
  std::vector<gid_t> groups(NGROUPS_MAX);
  const int count = fuse_req_getgroups(request, static_cast<int>(groups.size()), groups.data());
  groups.resize(count > 0 ? static_cast<size_t>(count) : 0);
  groups.push_back(caller->gid);
  return std::find(groups.begin(), groups.end(), attributes->gid) == groups.end();
}

void Setxattr(fuse_req_t request, fuse_ino_t inode, const char* name, const char* value,
              size_t size, int flags) {
  if ((flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  Status set = ContextOf(request).volume.attributes().SetXattr(
      InodeId(inode), name, std::string_view(value, size),
      {.create = (flags & XATTR_CREATE) != 0,
       .replace = (flags & XATTR_REPLACE) != 0,
       .clear_setgid = ClearsSetgid(request, inode, name)});
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
