// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// DataRequests: WRITE and READ, served from and into pool memory without libfuse.
//
// Role     A WRITE's payload lies in the pool buffer it was received into, which goes to fs/ as it
//          is. A READ's reply is one vectored write straight from pool memory.
// Threads  Thread-safe: a reply is one system call, from whatever thread completes it.
// Errors   A malformed request is answered with EINVAL or EIO; it never crashes the daemon.
#pragma once

#include <linux/fuse.h>

#include <cstdint>

#include "base/units.h"
#include "fs/volume.h"
#include "mount/open_modes.h"

namespace terrace::mount {

// The header of a WRITE or of a READ; nothing of a payload lies before its end.
struct RequestHead {
  fuse_in_header header;
  union {
    fuse_write_in write;
    fuse_read_in read;
    char bytes[sizeof(fuse_write_in)];
  };
};
static_assert(sizeof(RequestHead) == 80);
static_assert(sizeof(fuse_write_in) == sizeof(fuse_read_in));

// The most payload one request carries: max_write of INIT.
inline constexpr uint32_t kPayloadSizeMax = kExtentSizeMax;

class DataRequests {
 public:
  // fd: the /dev/fuse descriptor; it stays open until the volume has stopped.
  DataRequests(int fd, fs::Volume& volume, OpenModes& open_modes)
      : fd_(fd), volume_(volume), open_modes_(open_modes) {}

  // request_size: as received, head included. The payload is at the start of `area`.
  void Write(const RequestHead& head, size_t request_size, fs::ReceiveArea& area);
  void Read(const RequestHead& head, size_t request_size);

  void ReplyError(uint64_t unique, int errno_value);

 private:
  void ReplyWritten(uint64_t unique, uint32_t size_bytes);
  void ReplyRead(uint64_t unique, const fs::ReadReply& reply);
  void Send(const iovec* pieces, size_t count);

  const int fd_;
  fs::Volume& volume_;
  OpenModes& open_modes_;
};

}  // namespace terrace::mount
