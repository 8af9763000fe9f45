// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

// The kernel's FATTR_KILL_SUIDGID arrives under this name.
constexpr int kKillSuidSgid = FUSE_SET_ATTR_KILL_SUID;

int64_t ToNs(const timespec& time) {
  // Beyond the years 1678 to 2261 the nearest of the two.
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kSecondsMax = INT64_MAX / kSecond - 1;
  int64_t seconds = time.tv_sec;
  if (seconds > kSecondsMax) seconds = kSecondsMax;
  if (seconds < -kSecondsMax) seconds = -kSecondsMax;
  return seconds * kSecond + time.tv_nsec;
}

fs::AttributeChange ToChange(const struct stat& wanted, int what, int64_t now_ns) {
  fs::AttributeChange change;
  if (what & FUSE_SET_ATTR_MODE) change.mode = wanted.st_mode & 07777;
  if (what & FUSE_SET_ATTR_UID) change.uid = wanted.st_uid;
  if (what & FUSE_SET_ATTR_GID) change.gid = wanted.st_gid;
  if (what & FUSE_SET_ATTR_ATIME) change.atime_ns = ToNs(wanted.st_atim);
  if (what & FUSE_SET_ATTR_MTIME) change.mtime_ns = ToNs(wanted.st_mtim);
  if (what & FUSE_SET_ATTR_CTIME) change.ctime_ns = ToNs(wanted.st_ctim);
  if (what & FUSE_SET_ATTR_ATIME_NOW) change.atime_ns = now_ns;
  if (what & FUSE_SET_ATTR_MTIME_NOW) change.mtime_ns = now_ns;
  // A change of owner clears the bits as well, which fs/ knows by itself.
  change.clear_suid_sgid = (what & kKillSuidSgid) != 0;
  return change;
}

bool IsEmpty(const fs::AttributeChange& change) {
  return !change.mode && !change.uid && !change.gid && !change.atime_ns && !change.mtime_ns &&
         !change.ctime_ns && !change.clear_suid_sgid;
}

void Getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  ReplyAttributes(request, ContextOf(request).volume.attributes().Get(InodeId(inode)));
}

void Setattr(fuse_req_t request, fuse_ino_t inode, struct stat* wanted, int what, fuse_file_info*) {
  Context& context = ContextOf(request);
  fs::AttributeChange change = ToChange(*wanted, what, context.clock.WallNs());
  if (what & FUSE_SET_ATTR_SIZE) {
    if (wanted->st_size < 0) {
      fuse_reply_err(request, EINVAL);
      return;
    }
    // Truncate clears the bits itself, in the same step.
    Result<fs::Attributes> truncated = context.volume.files().Truncate(
        InodeId(inode), static_cast<uint64_t>(wanted->st_size), change.clear_suid_sgid);
    change.clear_suid_sgid = false;
    if (!truncated || IsEmpty(change)) {
      ReplyAttributes(request, truncated);
      return;
    }
  }
  ReplyAttributes(request, context.volume.attributes().Set(InodeId(inode), change));
}

statx_timestamp ToStatxTime(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = ns / kSecond;
  int64_t rest = ns % kSecond;
  if (rest < 0) {
    seconds--;
    rest += kSecond;
  }
  statx_timestamp time{};
  time.tv_sec = seconds;
  time.tv_nsec = static_cast<uint32_t>(rest);
  return time;
}

// Sent for the time of birth, which GETATTR has no room for.
void Statx(fuse_req_t request, fuse_ino_t inode, int, int, fuse_file_info*) {
  Result<fs::Attributes> attributes = ContextOf(request).volume.attributes().Get(InodeId(inode));
  if (!attributes) return ReplyError(request, attributes.error());
  struct statx result {};
  result.stx_mask = STATX_BASIC_STATS | STATX_BTIME;
  result.stx_blksize = kPreferredIoSize;
  result.stx_nlink = attributes->nlink;
  result.stx_uid = attributes->uid;
  result.stx_gid = attributes->gid;
  result.stx_mode = static_cast<uint16_t>(attributes->mode);
  result.stx_ino = attributes->inode.value();
  result.stx_size = attributes->size_bytes;
  result.stx_blocks = (attributes->allocated_bytes + 511) / 512;
  result.stx_atime = ToStatxTime(attributes->atime_ns);
  result.stx_btime = ToStatxTime(attributes->btime_ns);
  result.stx_ctime = ToStatxTime(attributes->ctime_ns);
  result.stx_mtime = ToStatxTime(attributes->mtime_ns);
  result.stx_rdev_major = major(attributes->rdev);
  result.stx_rdev_minor = minor(attributes->rdev);
  fuse_reply_statx(request, 0, &result, kAttributeTimeoutSeconds);
}

}  // namespace

void RegisterAttributeOperations(fuse_lowlevel_ops& table) {
  table.getattr = Getattr;
  table.setattr = Setattr;
  table.statx = Statx;
}

}  // namespace terrace::mount
