// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// PosixAcl: a POSIX access control list, as the attributes system.posix_acl_* carry it.
//
// Role     What chmod, the creation of files and the attributes' own changes do to a list. The
//          kernel checks permissions by it (FUSE_POSIX_ACL) and keeps who may change it.
// Source   acl(5); the bytes: linux/posix_acl_xattr.h, version 2, little-endian.
// Threads  A value.
// Errors   Parse: kInvalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace terrace::fs {

inline constexpr std::string_view kAccessAclName = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAclName = "system.posix_acl_default";

class PosixAcl {
 public:
  // In the order of acl(5), with a mask where there are named users or groups.
  static Result<PosixAcl> Parse(std::string_view bytes);
  std::string Encode() const;

  // Only owner, group and others: the mode says it all, and no list is kept.
  bool EqualsMode() const { return entries_.size() == kModeEntries; }
  // The permission bits (0777) that stat shows: the group's are the mask's, if there is one.
  uint32_t ModeBits() const;
  // What chmod does to the list.
  void SetModeBits(uint32_t mode);

 private:
  enum class Tag : uint16_t {
    kOwner = 0x01,
    kUser = 0x02,
    kGroup = 0x04,
    kNamedGroup = 0x08,
    kMask = 0x10,
    kOther = 0x20,
  };
  struct Entry {
    Tag tag = Tag::kOwner;
    uint16_t permissions = 0;  // 0 to 7
    uint32_t id = 0;           // of kUser and kNamedGroup
  };
  static constexpr size_t kModeEntries = 3;

  Status Check() const;
  // Which entry stat shows as the group's.
  size_t ShownAsGroup() const;

  std::vector<Entry> entries_;
};

}  // namespace terrace::fs
