// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Keys of the metadata tables: big-endian integers, so that keys sort as numbers do.
//
// Directory entries are kept in the order of a keyed hash of their names; the position in that
// order is the readdir cookie, so that a listing goes on at a stored position whatever comes
// and goes meanwhile, and after a restart. Cookie = hash (55 bits, at least 1) << 8 | slot;
// slots tell names of equal hash apart. Cookies 1 and 2 are "." and "..". While a higher slot
// of a hash is used, slot 0 exists (an empty name marks it as vacant), so that one Get answers
// a look-up of a missing name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"

namespace terrace::fs {

inline std::string InodeKey(InodeId inode) {
  std::string key;
  AppendBigEndian64(key, inode.value());
  return key;
}
inline std::string ExtentKey(ExtentId extent) {
  std::string key;
  AppendBigEndian64(key, extent.value());
  return key;
}
inline std::string MapKey(InodeId inode, uint64_t file_offset) {
  std::string key = InodeKey(inode);
  AppendBigEndian64(key, file_offset);
  return key;
}
inline std::string DentryKey(InodeId parent, uint64_t cookie) {
  std::string key = InodeKey(parent);
  AppendBigEndian64(key, cookie);
  return key;
}
inline std::string XattrKey(InodeId inode, std::string_view name) {
  std::string key = InodeKey(inode);
  key += name;
  return key;
}

// The first cookie (slot 0) of a name; never below 256.
uint64_t NameCookie(std::string_view name, uint64_t name_hash_seed);

}  // namespace terrace::fs
