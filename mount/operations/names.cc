// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>

#include <cerrno>

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

// Of renameat2(2); linux/fs.h has them, but also clashes with libc's headers.
constexpr unsigned kRenameNoReplace = 1;
constexpr unsigned kRenameExchange = 2;

void Make(fuse_req_t request, fuse_ino_t parent, const char* name, const fs::NodeSpec& spec) {
  ReplyEntry(request, ContextOf(request).volume.names().Make(InodeId(parent), name, spec,
                                                             CallerOf(request)));
}

void Mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev) {
  Make(request, parent, name, {.mode = mode, .rdev = rdev, .symlink_target = {}});
}

void Mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  Make(request, parent, name, {.mode = S_IFDIR | (mode & 07777), .rdev = 0, .symlink_target = {}});
}

void Symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  Make(request, parent, name, {.mode = S_IFLNK | 0777, .rdev = 0, .symlink_target = target});
}

void Link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t new_parent, const char* new_name) {
  ReplyEntry(request,
             ContextOf(request).volume.names().Link(InodeId(inode), InodeId(new_parent), new_name));
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  ReplyStatus(request, ContextOf(request).volume.names().Unlink(InodeId(parent), name));
}

void Rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  ReplyStatus(request, ContextOf(request).volume.names().RemoveDirectory(InodeId(parent), name));
}

void Rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  if ((flags & ~(kRenameNoReplace | kRenameExchange)) != 0 ||
      flags == (kRenameNoReplace | kRenameExchange)) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  fs::RenameFlags rename_flags{.no_replace = (flags & kRenameNoReplace) != 0,
                               .exchange = (flags & kRenameExchange) != 0};
  ReplyStatus(request, ContextOf(request).volume.names().Rename(
                           InodeId(parent), name, InodeId(new_parent), new_name, rename_flags));
}

void Readlink(fuse_req_t request, fuse_ino_t inode) {
  Result<std::string> target = ContextOf(request).volume.names().ReadLink(InodeId(inode));
  if (!target) return ReplyError(request, target.error());
  fuse_reply_readlink(request, target->c_str());
}

}  // namespace

void RegisterNameOperations(fuse_lowlevel_ops& table) {
  table.mknod = Mknod;
  table.mkdir = Mkdir;
  table.symlink = Symlink;
  table.link = Link;
  table.unlink = Unlink;
  table.rmdir = Rmdir;
  table.rename = Rename;
  table.readlink = Readlink;
}

}  // namespace terrace::mount
