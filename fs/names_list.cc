// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Names: listing. A position is the cookie of the last entry that was taken, so that no state is
// kept between calls and nothing is kept in memory within one.

#include <sys/stat.h>

#include "fs/meta/key_format.h"
#include "fs/name_slots.h"
#include "fs/names.h"

namespace terrace::fs {

namespace {

constexpr uint64_t kDotCookie = 1;
constexpr uint64_t kDotDotCookie = 2;

}  // namespace

Status Names::List(InodeId directory, uint64_t cookie,
                   const std::function<bool(const DirectoryEntry&)>& visit) {
  if (cookie < kDotDotCookie) {
    TERRACE_ASSIGN_OR_RETURN(const InodeRecord record, RecordOf(directory));
    if (!S_ISDIR(record.mode)) return Fail(Errc::kNotDirectory, "list");
    if (record.nlink == 0) return {};
    if (cookie < kDotCookie &&
        !visit({.name = ".", .inode = directory, .type = S_IFDIR, .cookie = kDotCookie})) {
      return {};
    }
    if (!visit({.name = "..", .inode = record.parent, .type = S_IFDIR, .cookie = kDotDotCookie})) {
      return {};
    }
    cookie = kDotDotCookie;
  }
  if (cookie == UINT64_MAX) return {};
  auto cursor = deps_.meta.Scan(Table::kDentry, DentryKey(directory, cookie + 1),
                                InodeKey(InodeId(directory.value() + 1)));
  for (; cursor->Valid(); cursor->Next()) {
    if (cursor->key().size() != 2 * sizeof(uint64_t)) {
      return Fail(Errc::kCorrupt, "key of a directory entry");
    }
    TERRACE_ASSIGN_OR_RETURN(const StoredName stored, DecodeStoredName(cursor->value()));
    if (stored.name.empty()) continue;  // a vacant slot
    const DirectoryEntry entry{.name = stored.name,
                               .inode = stored.inode,
                               .type = stored.type,
                               .cookie = ReadBigEndian64(cursor->key().substr(8))};
    if (!visit(entry)) return {};
  }
  return cursor->status();
}

}  // namespace terrace::fs
