// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Extended attributes: the rules, and the part of AttributeEditor that deals with them.
#include "fs/xattrs.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "fs/attribute_editor.h"
#include "fs/meta/key_format.h"
#include "fs/posix_acl.h"

namespace terrace::fs {

namespace {

constexpr std::string_view kUserPrefix = "user.";
constexpr std::array<std::string_view, 3> kPrefixes = {kUserPrefix, "trusted.", "security."};

bool IsAclName(std::string_view name) { return name == kAccessAclName || name == kDefaultAclName; }

std::unique_ptr<MetaCursor> ScanXattrs(MetaStore& meta, InodeId inode) {
  return meta.Scan(Table::kXattr, InodeKey(inode), InodeKey(InodeId(inode.value() + 1)));
}

}  // namespace

Status CheckXattrName(std::string_view name) {
  if (IsAclName(name)) return {};
  const auto prefix = std::find_if(kPrefixes.begin(), kPrefixes.end(),
                                   [&](std::string_view one) { return name.starts_with(one); });
  if (prefix == kPrefixes.end()) return Fail(Errc::kUnsupported, "attribute " + std::string(name));
  if (name.size() > kXattrNameSizeMax) return Fail(Errc::kNameTooLong, "attribute name");
  if (name.size() == prefix->size() || name.find('\0') != std::string_view::npos) {
    return Fail(Errc::kInvalid, "attribute " + std::string(name));
  }
  return {};
}

Status CheckXattrType(std::string_view name, uint32_t mode) {
  if (!name.starts_with(kUserPrefix) || S_ISREG(mode) || S_ISDIR(mode)) return {};
  return Fail(Errc::kPermission, "user attributes are for files and directories");
}

Result<std::vector<std::string>> ListXattrNames(MetaStore& meta, InodeId inode) {
  std::vector<std::string> names;
  auto cursor = ScanXattrs(meta, inode);
  for (; cursor->Valid(); cursor->Next()) names.emplace_back(cursor->key().substr(8));
  TERRACE_TRY(cursor->status());
  return names;
}

Result<bool> DeleteXattrs(MetaStore& meta, MetaBatch& batch, InodeId inode, size_t limit) {
  size_t deleted = 0;
  auto cursor = ScanXattrs(meta, inode);
  for (; cursor->Valid() && deleted < limit; cursor->Next()) {
    batch.Delete(Table::kXattr, std::string(cursor->key()));
    deleted++;
  }
  TERRACE_TRY(cursor->status());
  return cursor->Valid();
}

Result<std::string> AttributeEditor::GetXattr(InodeId inode, std::string_view name) {
  TERRACE_TRY(CheckXattrName(name));
  TERRACE_ASSIGN_OR_RETURN(const bool any, HasXattrs(inode));
  if (!any) return Fail(Errc::kNoAttribute, std::string(name));
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> value,
                           meta_.Get(Table::kXattr, XattrKey(inode, name)));
  if (!value) return Fail(Errc::kNoAttribute, std::string(name));
  return *std::move(value);
}

Status AttributeEditor::SetXattr(InodeId id, std::string_view name, std::string_view value,
                                 XattrFlags flags) {
  TERRACE_TRY(CheckXattrName(name));
  if (flags.create && flags.replace) return Fail(Errc::kInvalid, "create and replace");
  if (IsAclName(name)) return SetAcl(id, name, value, flags);
  if (value.size() > kXattrValueSizeMax) {
    return Fail(Errc::kTooLarge, "attribute of " + std::to_string(value.size()) + " bytes");
  }
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  WriterLock lock(inode->mu);
  TERRACE_TRY(CheckXattrType(name, inode->record.mode));
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> old,
                           meta_.Get(Table::kXattr, XattrKey(id, name)));
  if (old && flags.create) return Fail(Errc::kExists, std::string(name));
  if (!old && flags.replace) return Fail(Errc::kNoAttribute, std::string(name));
  if (!old) {
    TERRACE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListXattrNames(meta_, id));
    size_t list_size = name.size() + 1;
    for (const std::string& one : names) list_size += one.size() + 1;
    if (list_size > kXattrListSizeMax) return Fail(Errc::kNoSpace, "too many attributes");
  }
  MetaBatch batch;
  batch.Put(Table::kXattr, XattrKey(id, name), std::string(value));
  inode->record.has_xattrs = true;  // stays if the batch fails: a look-up finds none then
  return WriteXattrsLocked(*inode, batch);
}

Status AttributeEditor::RemoveXattr(InodeId id, std::string_view name) {
  TERRACE_TRY(CheckXattrName(name));
  if (IsAclName(name)) return RemoveAcl(id, name);
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  WriterLock lock(inode->mu);
  TERRACE_TRY(CheckXattrType(name, inode->record.mode));
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> old,
                           meta_.Get(Table::kXattr, XattrKey(id, name)));
  if (!old) return Fail(Errc::kNoAttribute, std::string(name));
  MetaBatch batch;
  batch.Delete(Table::kXattr, XattrKey(id, name));
  return WriteXattrsLocked(*inode, batch);
}

Result<std::vector<std::string>> AttributeEditor::ListXattrs(InodeId inode) {
  TERRACE_ASSIGN_OR_RETURN(const bool any, HasXattrs(inode));
  if (!any) return std::vector<std::string>{};
  return ListXattrNames(meta_, inode);
}

Result<bool> AttributeEditor::HasXattrs(InodeId id) {
  TERRACE_ASSIGN_OR_RETURN(const InodeRef inode, inodes_.Get(id));
  ReaderLock lock(inode->mu);
  return inode->record.has_xattrs;
}

Status AttributeEditor::WriteXattrsLocked(Inode& inode, MetaBatch& batch) {
  const int64_t ctime_before_ns = inode.record.ctime_ns;
  inode.record.ctime_ns = clock_.WallNs();
  Status written = WriteRecordLocked(inode, batch);
  if (!written) inode.record.ctime_ns = ctime_before_ns;
  return written;
}

}  // namespace terrace::fs
