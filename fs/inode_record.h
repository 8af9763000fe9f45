// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// InodeRecord: what the metadata store keeps of an inode. Bytes: docs/format.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "fs/attributes.h"

namespace terrace::fs {

inline constexpr uint8_t kInodeRecordVersion = 1;

struct InodeRecord {
  InodeId id;
  uint32_t mode = 0;  // type and permission bits, as in stat
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t rdev = 0;
  uint64_t size_bytes = 0;
  uint64_t allocated_bytes = 0;  // what st_blocks shows
  int64_t atime_ns = 0;          // since 1970, signed; range of stat
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t btime_ns = 0;
  Sequence durable_sequence{};   // every change of the data up to here is committed
  InodeId parent{};              // directories: the one that holds it
  bool has_xattrs = false;       // false: it never had an extended attribute
  std::string symlink_target{};  // symbolic links
  bool operator==(const InodeRecord&) const = default;
};

// The id is the key, not part of the value.
std::string EncodeInodeRecord(const InodeRecord& record);
Result<InodeRecord> DecodeInodeRecord(InodeId id, std::string_view bytes);

// What stat shows of it.
Attributes AttributesOf(const InodeRecord& record);

}  // namespace terrace::fs
