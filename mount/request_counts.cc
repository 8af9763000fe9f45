// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/request_counts.h"

#include <linux/fuse.h>

namespace terrace::mount {

namespace {

// Numbers of the protocol that Debian 12's header does not have yet.
constexpr uint32_t kSyncfs = 50;
constexpr uint32_t kTmpfile = 51;
constexpr uint32_t kStatx = 52;

std::string_view RequestName(uint32_t opcode) {
  switch (opcode) {
    case FUSE_LOOKUP: return "lookup";
    case FUSE_FORGET: return "forget";
    case FUSE_GETATTR: return "getattr";
    case FUSE_SETATTR: return "setattr";
    case FUSE_READLINK: return "readlink";
    case FUSE_SYMLINK: return "symlink";
    case FUSE_MKNOD: return "mknod";
    case FUSE_MKDIR: return "mkdir";
    case FUSE_UNLINK: return "unlink";
    case FUSE_RMDIR: return "rmdir";
    case FUSE_RENAME: return "rename";
    case FUSE_RENAME2: return "rename2";
    case FUSE_LINK: return "link";
    case FUSE_OPEN: return "open";
    case FUSE_READ: return "read";
    case FUSE_WRITE: return "write";
    case FUSE_STATFS: return "statfs";
    case FUSE_RELEASE: return "release";
    case FUSE_FSYNC: return "fsync";
    case FUSE_SETXATTR: return "setxattr";
    case FUSE_GETXATTR: return "getxattr";
    case FUSE_LISTXATTR: return "listxattr";
    case FUSE_REMOVEXATTR: return "removexattr";
    case FUSE_FLUSH: return "flush";
    case FUSE_INIT: return "init";
    case FUSE_OPENDIR: return "opendir";
    case FUSE_READDIR: return "readdir";
    case FUSE_RELEASEDIR: return "releasedir";
    case FUSE_FSYNCDIR: return "fsyncdir";
    case FUSE_ACCESS: return "access";
    case FUSE_CREATE: return "create";
    case FUSE_INTERRUPT: return "interrupt";
    case FUSE_DESTROY: return "destroy";
    case FUSE_IOCTL: return "ioctl";
    case FUSE_POLL: return "poll";
    case FUSE_BATCH_FORGET: return "batch_forget";
    case FUSE_FALLOCATE: return "fallocate";
    case FUSE_READDIRPLUS: return "readdirplus";
    case FUSE_LSEEK: return "lseek";
    case FUSE_COPY_FILE_RANGE: return "copy_file_range";
    case kSyncfs: return "syncfs";
    case kTmpfile: return "tmpfile";
    case kStatx: return "statx";
    default: return "other";
  }
}

}  // namespace

std::vector<std::pair<std::string_view, uint64_t>> RequestCounts::Snapshot() const {
  std::vector<std::pair<std::string_view, uint64_t>> result;
  uint64_t others = 0;
  for (uint32_t opcode = 0; opcode < counts_.size(); opcode++) {
    uint64_t count = counts_[opcode].load(std::memory_order_relaxed);
    if (count == 0) continue;
    std::string_view name = RequestName(opcode);
    if (name == "other") {
      others += count;
    } else {
      result.emplace_back(name, count);
    }
  }
  if (others > 0) result.emplace_back("other", others);
  return result;
}

}  // namespace terrace::mount
