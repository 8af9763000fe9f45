// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// AttributeEditor: reads and changes attributes and extended attributes of an inode.
//
// Role     GETATTR, SETATTR (but for the size, which Files::Truncate changes) and xattrs.
//          Each change is one atomic batch, written at once.
// Threads  Thread-safe; works under the inode's lock.
// Errors   kNotFound, kNoAttribute, kExists, kRange, kTooLarge (value over 64 KiB),
//          kNameTooLong, kUnsupported (a prefix this file system does not offer), kPermission.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "fs/attributes.h"
#include "fs/inode_table.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

struct XattrFlags {
  bool create = false;   // XATTR_CREATE: kExists when it is there
  bool replace = false;  // XATTR_REPLACE: kNoAttribute when it is not
  // Of an access control list: the caller is not in the file's group, so that S_ISGID goes.
  bool clear_setgid = false;
};

// A new inode's access control list and mode, by the directory's default list, else by the umask.
// Adds to the batch, which is to write the record too.
Status InheritAcl(MetaStore& meta, const InodeRecord& directory, uint32_t umask, InodeRecord& made,
                  MetaBatch& batch);

class AttributeEditor {
 public:
  AttributeEditor(MetaStore& meta, InodeTable& inodes, const Clock& clock);

  Result<Attributes> Get(InodeId inode);
  // Requires: change.size_bytes is empty. ctime becomes now.
  Result<Attributes> Set(InodeId inode, const AttributeChange& change);

  Result<std::string> GetXattr(InodeId inode, std::string_view name);
  Status SetXattr(InodeId inode, std::string_view name, std::string_view value, XattrFlags flags);
  Status RemoveXattr(InodeId inode, std::string_view name);
  Result<std::vector<std::string>> ListXattrs(InodeId inode);

 private:
  // Programs ask for attributes far more often than they set any.
  Result<bool> HasXattrs(InodeId inode);
  Status SetAcl(InodeId id, std::string_view name, std::string_view value, XattrFlags flags);
  // Also where there is none, as other file systems do.
  Status RemoveAcl(InodeId id, std::string_view name);
  // After a chmod: the list says what the mode says.
  Status FollowModeLocked(const Inode& inode, MetaBatch& batch) TERRACE_REQUIRES(inode.mu);
  // Writes the batch with the inode's record added.
  Status WriteRecordLocked(Inode& inode, MetaBatch& batch) TERRACE_REQUIRES(inode.mu);
  // The same with a new ctime, which is taken back if that fails.
  Status WriteXattrsLocked(Inode& inode, MetaBatch& batch) TERRACE_REQUIRES(inode.mu);

  MetaStore& meta_;
  InodeTable& inodes_;
  const Clock& clock_;
};

}  // namespace terrace::fs
