// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// StorePath: one --store PATH, looked at without changing anything, and its formatting.
//
// Role     Finds out whether PATH is a directory or a block device and what it holds; opens and
//          locks what is there. Formatting writes the superblock and its copy.
// Owner    store_layout.
// Threads  Start-up only.
// Errors   kPermission, kIo, kBusy, kInvalid (neither a directory nor a block device).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "io/superblock_format.h"
#include "io/unique_fd.h"

namespace terrace::io {

inline constexpr char kDataFileName[] = "terrace.data";
inline constexpr char kNewDataFileName[] = "terrace.data.new";  // while a format is underway
inline constexpr char kMetadataName[] = "terrace.meta";
// What is ours begins like this: the log and the like may be there before the store.
inline constexpr char kOwnNamePrefix[] = "terrace.";

enum class StoreContent {
  kEmpty,    // a missing or empty directory, a device of zeros
  kStore,    // a superblock of this program
  kDamaged,  // a damaged superblock, or one of a newer format: `error`
  kForeign,  // anything else: `holds`
};

struct StorePath {
  std::string path;       // as given
  std::string file_path;  // PATH/terrace.data, or the device
  bool is_block_device = false;
  bool exists = false;  // false: a directory to be made
  UniqueFd fd;          // open and locked if there is a data file or device
  StoreContent content = StoreContent::kEmpty;
  Superblock superblock{};     // of kStore
  bool is_in_use = false;      // of kStore: the block of the use mark is not all zeros
  std::optional<Error> error;  // of kDamaged
  std::string holds;           // of kForeign, for instance "the file notes.txt"
  uint64_t file_size_bytes = 0;
  uint64_t file_used_bytes = 0;  // what a data file takes of its file system
  uint64_t host_free_bytes = 0;  // of the directory's file system
};

struct ProbeOptions {
  bool read_only = false;
};

Result<StorePath> ProbeStorePath(const std::string& path, const ProbeOptions& options);

// The first thing in the directory that is not ours, for instance "the file notes.txt"; empty:
// there is none.
Result<std::string> ForeignEntry(const std::string& directory);

// Who is the reason that probing a path found it busy. Nobody: it is gone by now, or not to be
// seen.
enum class HolderKind { kAlive, kDead, kNobody };
HolderKind HolderOf(const std::string& path);

// Makes the directory if it is missing, removes an older data file and metadata, and writes the
// superblock durably. An interruption leaves no data file, or the whole new one.
Status FormatStorePath(const StorePath& store_path, const Superblock& superblock);

}  // namespace terrace::io
