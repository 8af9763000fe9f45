// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/store_layout.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <latch>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "io/store_path.h"
#include "io/uring_file.h"

// Every PATH is first looked at (store_path.h), then the set of them is judged, and only then is
// anything written. A format writes device 0 last: a set without it is an interrupted format.

namespace terrace::io {

namespace {

namespace fs = std::filesystem;

// How long a dead process may hold a store before that is an error (10 s), and one that can't be
// seen, which may have just died or live in another container (1 s).
constexpr int kDeadHolderTries = 200;
constexpr int kUnseenHolderTries = 20;
constexpr std::chrono::milliseconds kHolderPause{50};

// What a data file of default size leaves of its file system: the metadata may lie there too, and
// refuses to grow when less than 64 MiB is left.
constexpr uint64_t kHostReserveBytes = 128 * kMiB;

std::string DeviceName(const Superblock& superblock) {
  return "device " + std::to_string(superblock.device_index) + " of store " +
         StoreIdText(superblock.store_id);
}

std::string DeviceName(size_t index, const StoreId& id) {
  return "device " + std::to_string(index) + " of store " + StoreIdText(id);
}

// Refuses an empty list, and a directory or device that is named twice.
Status CheckPaths(const std::vector<std::string>& paths) {
  if (paths.empty()) return Fail(Errc::kInvalid, "no --store path is given");
  if (paths.size() > kDeviceCountMax) {
    return Fail(Errc::kInvalid, std::to_string(paths.size()) + " --store paths: at most " +
                                    std::to_string(kDeviceCountMax));
  }
  std::vector<fs::path> seen;
  for (const std::string& path : paths) {
    if (path.empty()) return Fail(Errc::kInvalid, "a --store path is empty");
    for (size_t i = 0; i < seen.size(); i++) {
      struct stat a;
      struct stat b;
      bool same = false;
      if (::stat(path.c_str(), &a) == 0 && ::stat(paths[i].c_str(), &b) == 0) {
        same = S_ISBLK(a.st_mode) && S_ISBLK(b.st_mode)
                   ? a.st_rdev == b.st_rdev
                   : a.st_dev == b.st_dev && a.st_ino == b.st_ino;
      }
      std::error_code error;
      if (same || fs::weakly_canonical(path, error) == seen[i]) {
        return Fail(Errc::kInvalid, path + ": given twice (as " + paths[i] + " too)");
      }
    }
    std::error_code error;
    seen.push_back(fs::weakly_canonical(path, error));
  }
  return {};
}

// Probes one path. The lock of a process that was killed stays until the kernel has ended its
// I/O and taken its ring apart; nothing tells when, so that this looks again for some seconds.
Result<StorePath> ProbePatiently(const std::string& path, const StoreOptions& options) {
  Mutex mu;
  CondVar never;
  MutexLock lock(mu);
  for (int tries = 0;; tries++) {
    Result<StorePath> probed = ProbeStorePath(path, {.read_only = options.read_only});
    if (probed || probed.error().code != Errc::kBusy) return probed;
    HolderKind holder = HolderOf(path);
    int tries_max = holder == HolderKind::kDead ? kDeadHolderTries : kUnseenHolderTries;
    if (holder == HolderKind::kAlive || tries >= tries_max) return probed;
    never.WaitFor(mu, kHolderPause);
  }
}

Result<std::vector<StorePath>> ProbeAll(const StoreOptions& options) {
  std::vector<StorePath> probed;
  for (const std::string& path : options.paths) {
    TERRACE_ASSIGN_OR_RETURN(StorePath one, ProbePatiently(path, options));
    probed.push_back(std::move(one));
  }
  return probed;
}

uint64_t DefaultCapacity(uint64_t available) {
  const uint64_t most = available / 10 * 9;
  const uint64_t beside = available - std::min(available, kHostReserveBytes);
  return std::min(most, std::max(beside, kDeviceSizeMin));
}

// What the device may grow to. Errors: kInvalid (--store-size), kNoSpace.
Result<uint64_t> CapacityOf(const StorePath& target, const StoreOptions& options) {
  uint64_t available = target.is_block_device ? target.file_size_bytes
                                              : target.host_free_bytes + target.file_used_bytes;
  const char* what = target.is_block_device ? " holds only " : ": its file system has only ";
  if (options.store_size_bytes) {
    uint64_t wanted = *options.store_size_bytes;
    if (wanted < kDeviceSizeMin) {
      return Fail(Errc::kInvalid, "--store-size " + FormatSize(wanted) + ": at least " +
                                      FormatSize(kDeviceSizeMin) + " are needed");
    }
    if (wanted > std::max(available, target.file_size_bytes)) {
      return Fail(Errc::kInvalid, "--store-size " + FormatSize(wanted) + ": " + target.path + what +
                                      FormatSize(available) + " for it");
    }
  }
  bool is_new = target.content != StoreContent::kStore;
  uint64_t capacity = target.is_block_device
                          ? target.file_size_bytes
                          : options.store_size_bytes.value_or(DefaultCapacity(available));
  if (is_new && capacity < kDeviceSizeMin) {
    return Fail(Errc::kNoSpace, target.path + what + FormatSize(available) + ": a store needs " +
                                    FormatSize(kDeviceSizeMin) + " at least");
  }
  return RoundDown(capacity, kBlockSize);
}

Result<StoreId> FormatProbed(const std::vector<StorePath>& probed, const StoreOptions& options) {
  for (const StorePath& target : probed) TERRACE_TRY(CapacityOf(target, options));
  Superblock superblock{};
  superblock.device_count = static_cast<uint32_t>(probed.size());
  superblock.created_unix_ns = static_cast<uint64_t>(SystemClock().WallNs());
  struct {
    StoreId id;
    uint64_t seed;
  } random;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return FailErrno(errno, "getrandom");
  }
  superblock.store_id = random.id;
  superblock.name_hash_seed = random.seed;
  for (size_t i = probed.size(); i-- > 0;) {
    superblock.device_index = static_cast<uint32_t>(i);
    TERRACE_TRY(FormatStorePath(probed[i], superblock));
    LogInfo(probed[i].path + ": formatted as " + DeviceName(superblock));
  }
  return superblock.store_id;
}

// Refuses what an open can't use: foreign content, damage, a newer format.
Status CheckContent(const StorePath& target) {
  switch (target.content) {
    case StoreContent::kEmpty:
    case StoreContent::kStore: return {};
    case StoreContent::kDamaged: return tl::unexpected<Error>(*target.error);
    case StoreContent::kForeign: break;
  }
  return Fail(Errc::kInvalid, target.path + ": expected a store or nothing, found " + target.holds +
                                  ": choose another path or empty this one");
}

// What the given order should have been; only for paths that are a whole store.
std::string RightOrder(const std::vector<StorePath>& probed) {
  std::vector<const StorePath*> sorted;
  for (const StorePath& target : probed) sorted.push_back(&target);
  std::sort(sorted.begin(), sorted.end(), [](const StorePath* a, const StorePath* b) {
    return a->superblock.device_index < b->superblock.device_index;
  });
  std::string text;
  for (const StorePath* target : sorted) text += " --store " + target->path;
  return text;
}

// Refuses paths of several stores, and empty ones beside those of a store.
Status CheckSameStore(const std::vector<StorePath>& probed) {
  auto reference = std::find_if(probed.begin(), probed.end(), [](const StorePath& target) {
    return target.content == StoreContent::kStore;
  });
  TERRACE_ASSERT(reference != probed.end());
  const StoreId& id = reference->superblock.store_id;
  for (size_t i = 0; i < probed.size(); i++) {
    const StorePath& target = probed[i];
    std::string expected = target.path + ": expected " + DeviceName(i, id) + " (" +
                           reference->path + " belongs to it), found ";
    if (i >= reference->superblock.device_count && target.content != StoreContent::kStore) {
      return Fail(Errc::kInvalid, target.path + ": one path too many: store " + StoreIdText(id) +
                                      " (" + reference->path + " belongs to it) has " +
                                      std::to_string(reference->superblock.device_count) +
                                      " devices: leave this path out");
    }
    if (target.content == StoreContent::kEmpty) {
      std::string reason = i == 0 && probed.size() > 1 ? ", as after an interrupted format" : "";
      return Fail(Errc::kInvalid, expected + "nothing" + reason +
                                      ": give the right device, or start afresh with `terrace "
                                      "format --force`, which loses the store");
    }
    if (target.superblock.store_id != id) {
      return Fail(Errc::kInvalid,
                  expected + DeviceName(target.superblock) + ": give the devices of one store");
    }
  }
  return {};
}

// Refuses a missing, extra, doubled or swapped device. Requires: CheckSameStore.
Status CheckMembers(const std::vector<StorePath>& probed) {
  const Superblock& first = probed.front().superblock;
  std::string counts = "store " + StoreIdText(first.store_id) + " has " +
                       std::to_string(first.device_count) + " devices, " +
                       std::to_string(probed.size()) + " paths are given: ";
  std::vector<const StorePath*> by_index(first.device_count, nullptr);
  for (const StorePath& target : probed) {
    const Superblock& superblock = target.superblock;
    if (superblock.device_count != first.device_count) {
      return Fail(Errc::kInvalid, target.path + ": " + DeviceName(superblock) + " counts " +
                                      std::to_string(superblock.device_count) + " devices, " +
                                      probed.front().path + " counts " +
                                      std::to_string(first.device_count));
    }
    const StorePath*& known = by_index[superblock.device_index];
    if (known != nullptr) {
      return Fail(Errc::kInvalid, target.path + " and " + known->path + ": both are " +
                                      DeviceName(superblock) + ": one must be a copy");
    }
    known = &target;
  }
  for (size_t i = 0; i < by_index.size(); i++) {
    if (by_index[i] != nullptr) continue;
    return Fail(Errc::kInvalid,
                counts + "device " + std::to_string(i) + " is missing: give its --store path too");
  }
  for (size_t i = 0; i < probed.size(); i++) {
    const Superblock& superblock = probed[i].superblock;
    if (superblock.device_index == i) continue;
    return Fail(Errc::kInvalid, probed[i].path + ": expected " + DeviceName(i, first.store_id) +
                                    ", found device " + std::to_string(superblock.device_index) +
                                    " of it, swapped with " + by_index[i]->path + ": the order is" +
                                    RightOrder(probed));
  }
  return {};
}

Result<std::unique_ptr<Device>> OpenDevice(StorePath& target, const StoreOptions& options) {
  TERRACE_ASSIGN_OR_RETURN(uint64_t capacity_bytes, CapacityOf(target, options));
  if (options.store_size_bytes && capacity_bytes < target.file_size_bytes) {
    LogWarning(target.file_path + " has " + FormatSize(target.file_size_bytes) +
               " already, more than --store-size");
  }
  if (target.file_size_bytes < kReservedBlocks * kBlockSize) {
    return Fail(Errc::kCorrupt,
                target.file_path + ": cut off at " + FormatSize(target.file_size_bytes));
  }
  TERRACE_ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                           OpenUringFile(target.fd.Release(), target.file_path, UringOptions{}));
  return std::make_unique<Device>(DeviceId(static_cast<uint16_t>(target.superblock.device_index)),
                                  std::move(file), target.superblock, capacity_bytes);
}

// Refuses a directory in which the metadata of a new store would lie beside something else.
Status CheckRoomFor(const std::string& metadata_directory) {
  std::error_code error;
  if (fs::status(metadata_directory, error).type() == fs::file_type::not_found) return {};
  TERRACE_ASSIGN_OR_RETURN(std::string found, ForeignEntry(metadata_directory));
  if (found.empty()) return {};
  return Fail(Errc::kInvalid, "metadata directory " + metadata_directory +
                                  ": expected an empty one, since the devices hold no store yet, "
                                  "found " +
                                  found + ": give another --meta, or the devices it belongs to");
}

std::string WhatItHolds(const StorePath& target) {
  switch (target.content) {
    case StoreContent::kEmpty: return "";
    case StoreContent::kStore: return DeviceName(target.superblock);
    case StoreContent::kDamaged:
      return "a store that can't be read (" + target.error->context + ")";
    case StoreContent::kForeign: return target.holds;
  }
  return "";
}

}  // namespace

Result<OpenedStore> OpenStore(const StoreOptions& options) {
  TERRACE_TRY(CheckPaths(options.paths));
  TERRACE_ASSIGN_OR_RETURN(std::vector<StorePath> probed, ProbeAll(options));
  for (const StorePath& target : probed) TERRACE_TRY(CheckContent(target));
  bool all_empty = std::all_of(probed.begin(), probed.end(), [](const StorePath& target) {
    return target.content == StoreContent::kEmpty;
  });
  if (all_empty && (options.read_only || !options.make)) {
    return Fail(Errc::kNotFound, probed.front().path + ": no store here, and `ro` makes none");
  }
  if (all_empty) {
    if (options.metadata_directory) TERRACE_TRY(CheckRoomFor(*options.metadata_directory));
    TERRACE_TRY(FormatProbed(probed, options));
    probed.clear();  // closes block devices, which open exclusively
    TERRACE_ASSIGN_OR_RETURN(probed, ProbeAll(options));
    for (const StorePath& target : probed) TERRACE_TRY(CheckContent(target));
  }
  TERRACE_TRY(CheckSameStore(probed));
  TERRACE_TRY(CheckMembers(probed));

  OpenedStore store{.store_id = probed.front().superblock.store_id,
                    .name_hash_seed = probed.front().superblock.name_hash_seed,
                    .freshly_formatted = !probed.front().is_in_use,
                    .metadata_directory = std::nullopt,
                    .devices = {}};
  for (StorePath& target : probed) {
    if (!target.is_block_device && !store.metadata_directory) {
      store.metadata_directory = target.path + "/" + kMetadataName;
    }
    TERRACE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, OpenDevice(target, options));
    store.devices.push_back(std::move(device));
  }
  return store;
}

Result<StoreId> FormatStore(const StoreOptions& options) {
  TERRACE_TRY(CheckPaths(options.paths));
  TERRACE_ASSIGN_OR_RETURN(std::vector<StorePath> probed, ProbeAll(options));
  for (const StorePath& target : probed) {
    if (options.force || target.content == StoreContent::kEmpty) continue;
    return Fail(Errc::kInvalid, target.path + ": holds " + WhatItHolds(target) +
                                    ": --force overwrites it, and what it holds is lost");
  }
  return FormatProbed(probed, options);
}

Status MarkStoreInUse(Device& first_device) {
  TERRACE_ASSERT(first_device.id().value() == 0);
  alignas(kBlockSize) std::array<char, kBlockSize> block;
  std::string mark = EncodeUseMark(first_device.superblock().store_id);
  std::copy(mark.begin(), mark.end(), block.begin());
  std::latch arrived(1);
  Status written;
  first_device.file().Write(kUseMarkBlock * kBlockSize, {{block.data(), block.size()}},
                            [&](Status status) {
                              written = std::move(status);
                              arrived.count_down();
                            });
  arrived.wait();
  TERRACE_TRY(written);
  return first_device.file().Sync();
}

}  // namespace terrace::io
