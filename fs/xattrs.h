// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The extended attributes of an inode in the metadata store: names, limits and keys.
//
// Role     What AttributeEditor (under the inode's lock) and the freeing of inodes share.
// Threads  Plain functions.
// Errors   As in fs/attribute_editor.h, and those of MetaStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

inline constexpr size_t kXattrNameSizeMax = 255;         // bytes
inline constexpr size_t kXattrValueSizeMax = 64 * 1024;  // bytes
inline constexpr size_t kXattrListSizeMax = 64 * 1024;   // bytes: names and their final NULs

// Whether names of this prefix are offered, and the name is well formed. Cheap: no look-up.
// Errors: kUnsupported, kNameTooLong, kInvalid (nothing behind the prefix).
Status CheckXattrName(std::string_view name);
// Whether inodes of this type take the attribute. Errors: kPermission.
Status CheckXattrType(std::string_view name, uint32_t mode);

Result<std::vector<std::string>> ListXattrNames(MetaStore& meta, InodeId inode);

// Adds the deletion of up to `limit` attributes to the batch. Returns: whether there are more.
Result<bool> DeleteXattrs(MetaStore& meta, MetaBatch& batch, InodeId inode, size_t limit);

}  // namespace terrace::fs
