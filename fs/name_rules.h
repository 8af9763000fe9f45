// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The rules that several operations of Names share: which names and directories are acceptable,
// and what a change does to a directory. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "fs/inode_record.h"

namespace terrace::fs {

// Size that a directory shows, as on ext4; its entries live in the metadata store.
inline constexpr uint64_t kDirectorySizeBytes = 4096;

bool IsDot(std::string_view name);
bool IsDotDot(std::string_view name);

// Errors: kNotFound (empty), kNameTooLong, kInvalid ('/' or NUL).
Status CheckName(std::string_view name);
// Whether names may be added to the directory. adds_directory: a subdirectory's ".." counts as a
// link. Errors: kNotDirectory, kNotFound (removed), kTooManyLinks.
Status CheckTakesName(const InodeRecord& directory, bool adds_directory);
// A subdirectory's ".." goes. Errors: kCorrupt when the count has no such link.
Status DropSubdirectory(InodeRecord& directory);
// An entry came or went.
void TouchDirectory(InodeRecord& directory, int64_t now_ns);

}  // namespace terrace::fs
