// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/operations/context.h"

#include <cerrno>

#include "base/log.h"
#include "mount/errno.h"

namespace terrace::mount {

namespace {

timespec ToTimespec(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = ns / kSecond;
  int64_t rest = ns % kSecond;
  if (rest < 0) {
    seconds--;
    rest += kSecond;
  }
  return {.tv_sec = seconds, .tv_nsec = rest};
}

}  // namespace

struct stat ToStat(const fs::Attributes& attributes) {
  struct stat result {};
  result.st_ino = attributes.inode.value();
  result.st_mode = attributes.mode;
  result.st_nlink = attributes.nlink;
  result.st_uid = attributes.uid;
  result.st_gid = attributes.gid;
  result.st_rdev = attributes.rdev;
  result.st_size = static_cast<off_t>(attributes.size_bytes);
  result.st_blksize = kPreferredIoSize;
  result.st_blocks = static_cast<blkcnt_t>((attributes.allocated_bytes + 511) / 512);
  result.st_atim = ToTimespec(attributes.atime_ns);
  result.st_mtim = ToTimespec(attributes.mtime_ns);
  result.st_ctim = ToTimespec(attributes.ctime_ns);
  return result;
}

fuse_entry_param ToEntry(const fs::Attributes& attributes) {
  fuse_entry_param entry{};
  entry.ino = attributes.inode.value();
  entry.attr = ToStat(attributes);
  entry.attr_timeout = kAttributeTimeoutSeconds;
  entry.entry_timeout = kEntryTimeoutSeconds;
  return entry;
}

void LogIfServerFault(const Error& error) {
  switch (error.code) {
    case Errc::kIo:
    case Errc::kCorrupt:
    case Errc::kNoMemory:
    case Errc::kShutdown: LogError("request failed: " + Describe(error)); return;
    default: return;
  }
}

void ReplyError(fuse_req_t request, const Error& error) {
  LogIfServerFault(error);
  fuse_reply_err(request, ToErrno(error.code));
}

void ReplyStatus(fuse_req_t request, const Status& status) {
  if (!status) return ReplyError(request, status.error());
  fuse_reply_err(request, 0);
}

void ReplyAttributes(fuse_req_t request, const Result<fs::Attributes>& attributes) {
  if (!attributes) return ReplyError(request, attributes.error());
  struct stat stat = ToStat(*attributes);
  fuse_reply_attr(request, &stat, kAttributeTimeoutSeconds);
}

void ReplyEntry(fuse_req_t request, const Result<fs::Attributes>& attributes) {
  if (!attributes) return ReplyError(request, attributes.error());
  fs::Volume& volume = ContextOf(request).volume;
  fuse_entry_param entry = ToEntry(*attributes);
  if (fuse_reply_entry(request, &entry) == -ENOENT) {
    volume.names().Forget(attributes->inode, 1);
  }
}

}  // namespace terrace::mount
