// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/operations/operations.h"

#include <cerrno>

#include "mount/operations/context.h"

namespace terrace::mount {

namespace {

void Init(void* userdata, fuse_conn_info* connection) {
  auto* context = static_cast<Context*>(userdata);
  context->on_init(context->owner, connection);
}

}  // namespace

fuse_lowlevel_ops BuildOperationTable() {
  fuse_lowlevel_ops table{};
  table.init = Init;
  // Never called, but libfuse offers the kernel only what is in the table.
  table.write = [](fuse_req_t request, fuse_ino_t, const char*, size_t, off_t, fuse_file_info*) {
    fuse_reply_err(request, EIO);
  };
  table.read = [](fuse_req_t request, fuse_ino_t, size_t, off_t, fuse_file_info*) {
    fuse_reply_err(request, EIO);
  };
  RegisterLookupOperations(table);
  RegisterAttributeOperations(table);
  RegisterNameOperations(table);
  RegisterDirectoryOperations(table);
  RegisterOpenOperations(table);
  RegisterSyncOperations(table);
  RegisterXattrOperations(table);
  RegisterSpaceOperations(table);
  return table;
}

}  // namespace terrace::mount
