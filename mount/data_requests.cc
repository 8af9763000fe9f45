// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/data_requests.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "mount/errno.h"
#include "mount/operations/context.h"

namespace terrace::mount {

namespace {

// The kernel takes up to IOV_MAX pieces in one writev, and a reply must be one.
constexpr size_t kReplyPiecesMax = 1000;
static_assert(kReplyPiecesMax < IOV_MAX);

// A read through the page cache has no lock owner; on a direct handle only a mapping reads so.
bool IsFaultOfDirectHandle(const fuse_read_in& read, InodeId inode) {
  if ((read.read_flags & FUSE_READ_LOCKOWNER) != 0) return false;
  auto handle = FileHandle::Decode(read.fh, inode);
  return handle && !handle->cached;
}

}  // namespace

void DataRequests::Write(const RequestHead& head, size_t request_size, fs::ReceiveArea& area) {
  const uint64_t unique = head.header.unique;
  const uint32_t size_bytes = head.write.size;
  if (request_size < sizeof head || size_bytes != request_size - sizeof head ||
      size_bytes > kPayloadSizeMax) {
    LogWarning("WRITE of " + std::to_string(request_size) + " bytes says it carries " +
               std::to_string(size_bytes) + ": refused");
    return ReplyError(unique, EIO);
  }
  if (head.write.offset > kFileSizeMax - size_bytes) return ReplyError(unique, EFBIG);
  fs::WriteRequest request{
      .inode = InodeId(head.header.nodeid),
      .offset = head.write.offset,
      .size_bytes = size_bytes,
      .clear_suid_sgid = (head.write.write_flags & FUSE_WRITE_KILL_SUIDGID) != 0,
      .keep_times = open_modes_.connection().mode == ConnectionMode::kWriteback &&
                    (head.write.write_flags & FUSE_WRITE_CACHE) != 0};
  auto reply = [this, unique, size_bytes](Status status) {
    if (status) return ReplyWritten(unique, size_bytes);
    LogIfServerFault(status.error());
    ReplyError(unique, ToErrno(status.error().code));
  };
  // O_SYNC and O_DSYNC of a direct handle: the kernel sends no FSYNC behind such a write.
  if ((head.write.flags & (O_SYNC | O_DSYNC)) == 0) {
    return volume_.files().Write(request, area, reply);
  }
  volume_.files().Write(request, area, [this, reply, inode = request.inode](Status status) {
    if (!status) return reply(std::move(status));
    volume_.files().Sync(inode, reply);
  });
}

void DataRequests::Read(const RequestHead& head, size_t request_size) {
  const uint64_t unique = head.header.unique;
  if (request_size != sizeof head || head.read.size > kPayloadSizeMax) {
    return ReplyError(unique, EIO);
  }
  if (head.read.offset > kFileSizeMax) return ReplyError(unique, EINVAL);
  const InodeId inode(head.header.nodeid);
  const bool mapped = IsFaultOfDirectHandle(head.read, inode);
  if (mapped) open_modes_.NotePages(inode);
  fs::ReadRequest request{
      .inode = inode, .offset = head.read.offset, .size_bytes = head.read.size, .mapped = mapped};
  volume_.files().Read(request, [this, unique](Result<fs::ReadReply> reply) {
    if (reply) return ReplyRead(unique, *reply);
    LogIfServerFault(reply.error());
    ReplyError(unique, ToErrno(reply.error().code));
  });
}

void DataRequests::ReplyError(uint64_t unique, int errno_value) {
  fuse_out_header header{.len = sizeof header, .error = -errno_value, .unique = unique};
  iovec piece{&header, sizeof header};
  Send(&piece, 1);
}

void DataRequests::ReplyWritten(uint64_t unique, uint32_t size_bytes) {
  struct {
    fuse_out_header header;
    fuse_write_out written;
  } reply{{.len = sizeof reply, .error = 0, .unique = unique}, {.size = size_bytes, .padding = 0}};
  iovec piece{&reply, sizeof reply};
  Send(&piece, 1);
}

void DataRequests::ReplyRead(uint64_t unique, const fs::ReadReply& reply) {
  size_t payload = 0;
  for (const iovec& piece : reply.pieces) payload += piece.iov_len;
  fuse_out_header header{
      .len = static_cast<uint32_t>(sizeof header + payload), .error = 0, .unique = unique};
  if (reply.pieces.size() <= kReplyPiecesMax) {
    iovec pieces[kReplyPiecesMax + 1];
    pieces[0] = {&header, sizeof header};
    std::copy(reply.pieces.begin(), reply.pieces.end(), pieces + 1);
    return Send(pieces, reply.pieces.size() + 1);
  }
  // A badly fragmented range: one copy is the price.
  std::vector<char> joined(payload);
  size_t used = 0;
  for (const iovec& piece : reply.pieces) {
    std::memcpy(joined.data() + used, piece.iov_base, piece.iov_len);
    used += piece.iov_len;
  }
  iovec pieces[2] = {{&header, sizeof header}, {joined.data(), payload}};
  Send(pieces, 2);
}

void DataRequests::Send(const iovec* pieces, size_t count) {
  // ENOENT: nobody waits for this reply any more. ENODEV and the like: the mount is gone.
  if (writev(fd_, pieces, static_cast<int>(count)) >= 0) return;
  if (errno == ENOENT || errno == ENODEV || errno == ECONNABORTED || errno == ENOTCONN) return;
  // Each request has one reply: without it the program would wait for ever.
  const auto* failed = static_cast<const fuse_out_header*>(pieces[0].iov_base);
  const int reason = errno;
  LogError("reply to request " + std::to_string(failed->unique) +
           " failed: " + std::strerror(reason));
  if (failed->error == 0) ReplyError(failed->unique, EIO);
}

}  // namespace terrace::mount
