// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Context& context = ContextOf(request);
  Result<fs::Attributes> found = context.volume.names().Lookup(InodeId(parent), name);
  if (!found && found.error().code == Errc::kNotFound) {
    // The kernel remembers that the name is free: clients probe for missing files all the time.
    fuse_entry_param missing{};
    missing.entry_timeout = kEntryTimeoutSeconds;
    fuse_reply_entry(request, &missing);
    return;
  }
  ReplyEntry(request, found);
}

void ForgetOne(Context& context, InodeId inode, uint64_t count) {
  context.open_modes.Forget(inode);
  context.volume.names().Forget(inode, count);
}

void Forget(fuse_req_t request, fuse_ino_t inode, uint64_t count) {
  ForgetOne(ContextOf(request), InodeId(inode), count);
  fuse_reply_none(request);
}

void ForgetMany(fuse_req_t request, size_t count, fuse_forget_data* forgets) {
  Context& context = ContextOf(request);
  for (size_t i = 0; i < count; i++) {
    ForgetOne(context, InodeId(forgets[i].ino), forgets[i].nlookup);
  }
  fuse_reply_none(request);
}

}  // namespace

void RegisterLookupOperations(fuse_lowlevel_ops& table) {
  table.lookup = Lookup;
  table.forget = Forget;
  table.forget_multi = ForgetMany;
}

}  // namespace terrace::mount
