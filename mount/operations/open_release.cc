// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>

#include <cerrno>

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

fs::HandleMode ModeOf(int flags) {
  const int access = flags & O_ACCMODE;
  return {.read = access != O_WRONLY, .write = access != O_RDONLY};
}

void Undo(Context& context, const FileHandle& handle) {
  context.open_modes.Close(handle);
  context.volume.files().Release(handle.inode, {.read = handle.read, .write = handle.write});
}

// Opens in fs/, decides the cache mode and fills in the reply. On error nothing stays open.
Result<FileHandle> OpenHandle(Context& context, InodeId inode, fuse_file_info* info) {
  const fs::HandleMode mode = ModeOf(info->flags);
  TERRACE_ASSIGN_OR_RETURN(fs::OpenResult opened, context.volume.files().Open(inode, mode));
  if ((info->flags & O_TRUNC) != 0) {
    auto truncated = context.volume.files().Truncate(inode, 0, info->kill_suidgid);
    if (!truncated) {
      context.volume.files().Release(inode, mode);
      return tl::unexpected<Error>(truncated.error());
    }
    opened.size_bytes = 0;
  }
  CacheMode cache = context.open_modes.Open(inode, {.flags = info->flags,
                                                    .size_bytes = opened.size_bytes,
                                                    .likely_mapped = opened.pages_were_mapped});
  FileHandle handle{
      .inode = inode, .read = mode.read, .write = mode.write, .cached = !cache.direct};
  info->fh = handle.Encode();
  info->direct_io = cache.direct;
  info->parallel_direct_writes = cache.parallel_writes;
  info->keep_cache = cache.keep_cache;
  info->noflush = cache.no_flush;
  return handle;
}

void Open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  Context& context = ContextOf(request);
  Result<FileHandle> handle = OpenHandle(context, InodeId(inode), info);
  if (!handle) return ReplyError(request, handle.error());
  if (fuse_reply_open(request, info) == -ENOENT) Undo(context, *handle);
}

// The new file, or the one that another client made just before.
Result<fs::Attributes> MakeOrFind(fuse_req_t request, InodeId parent, const char* name, mode_t mode,
                                  int flags) {
  fs::Names& names = ContextOf(request).volume.names();
  Result<fs::Attributes> made =
      names.Make(parent, name, {.mode = S_IFREG | (mode & 07777), .rdev = 0, .symlink_target = {}},
                 CallerOf(request));
  if (made || made.error().code != Errc::kExists || (flags & O_EXCL) != 0) return made;
  return names.Lookup(parent, name);
}

// Opens what was made, and answers with both.
void ReplyMade(fuse_req_t request, const Result<fs::Attributes>& made, fuse_file_info* info) {
  if (!made) return ReplyError(request, made.error());
  Context& context = ContextOf(request);
  Result<FileHandle> handle = OpenHandle(context, made->inode, info);
  if (!handle) {
    context.volume.names().Forget(made->inode, 1);
    return ReplyError(request, handle.error());
  }
  fuse_entry_param entry = ToEntry(*made);
  if (fuse_reply_create(request, &entry, info) == -ENOENT) {
    Undo(context, *handle);
    context.volume.names().Forget(made->inode, 1);
  }
}

void Create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* info) {
  ReplyMade(request, MakeOrFind(request, InodeId(parent), name, mode, info->flags), info);
}

void Tmpfile(fuse_req_t request, fuse_ino_t parent, mode_t mode, fuse_file_info* info) {
  fs::Names& names = ContextOf(request).volume.names();
  ReplyMade(request, names.MakeNameless(InodeId(parent), mode, CallerOf(request)), info);
}

void Flush(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  ReplyStatus(request, ContextOf(request).volume.files().Flush(InodeId(inode)));
}

void Release(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  auto handle = FileHandle::Decode(info->fh, InodeId(inode));
  if (!handle) {
    fuse_reply_err(request, EBADF);
    return;
  }
  Undo(ContextOf(request), *handle);
  fuse_reply_err(request, 0);
}

}  // namespace

void RegisterOpenOperations(fuse_lowlevel_ops& table) {
  table.open = Open;
  table.create = Create;
  table.tmpfile = Tmpfile;
  table.flush = Flush;
  table.release = Release;
}

}  // namespace terrace::mount
