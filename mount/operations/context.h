// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// What the request handlers share: the context of a session, and the building of replies.
//
// Role     A handler translates one kind of request into calls of fs/ and the answer into a
//          reply. It keeps nothing: whatever outlives the request is in fs/ or in OpenModes.
// Threads  Handlers run on all reader threads at once. A reply may be sent from any thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "fs/volume.h"
#include "mount/fuse.h"
#include "mount/open_modes.h"
#include "mount/page_syncer.h"

namespace terrace::mount {

// All changes go through this kernel, so that what it caches stays right; the times only bound
// what a bug could do.
inline constexpr double kEntryTimeoutSeconds = 3600;
inline constexpr double kAttributeTimeoutSeconds = 3600;
// st_blksize: libc's and Python's buffers follow it (docs/semantics.md).
inline constexpr uint32_t kPreferredIoSize = 256 * kKiB;

// Constant after INIT.
struct Context {
  fs::Volume& volume;
  OpenModes& open_modes;
  PageSyncer* page_syncer;  // write-back mode only
  SystemClock clock;
  // Called for INIT: chooses what the connection offers.
  void (*on_init)(void* owner, fuse_conn_info* connection);
  void* owner;
};

inline Context& ContextOf(fuse_req_t request) {
  return *static_cast<Context*>(fuse_req_userdata(request));
}
inline fs::Caller CallerOf(fuse_req_t request) {
  const fuse_ctx* caller = fuse_req_ctx(request);
  return {.uid = caller->uid, .gid = caller->gid, .umask = static_cast<uint32_t>(caller->umask)};
}

struct stat ToStat(const fs::Attributes& attributes);
fuse_entry_param ToEntry(const fs::Attributes& attributes);

// Logs what the host must know of: the error stops travelling here.
void LogIfServerFault(const Error& error);

void ReplyError(fuse_req_t request, const Error& error);
void ReplyStatus(fuse_req_t request, const Status& status);
void ReplyAttributes(fuse_req_t request, const Result<fs::Attributes>& attributes);
// Requires: one kernel look-up was counted if there is an entry; it is taken back when the kernel
// no longer waits for the reply.
void ReplyEntry(fuse_req_t request, const Result<fs::Attributes>& attributes);

}  // namespace terrace::mount
