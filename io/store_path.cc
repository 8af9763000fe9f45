// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/store_path.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

// After the C headers: linux/fs.h defines the ioctl of block devices.
#include <linux/fs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "io/block_signature.h"
#include "io/file_lock.h"

namespace terrace::io {

namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadSize = kReservedBlocks * kBlockSize;
// Superblock, its copy and the use mark.
constexpr size_t kProbeSize = (kUseMarkBlock + 1) * kBlockSize;

std::string DataFilePath(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path + "/" + kDataFileName;
}

// Memory that O_DIRECT takes.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t size_bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(kBlockSize, size_bytes))),
        size_bytes_(size_bytes) {
    std::memset(data_.get(), 0, size_bytes);
  }
  std::byte* data() { return data_.get(); }
  MutableByteView bytes() { return {data_.get(), size_bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_bytes_;
};

// Opens with O_DIRECT, or without where the file system refuses it.
UniqueFd OpenDirect(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC, 0600));
  if (fd.is_open() || errno != EINVAL) return fd;
  fd = UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (fd.is_open()) {
    LogWarning(path + ": its file system refuses O_DIRECT: data goes through the page cache");
  }
  return fd;
}

// Where a block device is mounted; empty: nowhere we know of.
std::string MountPointOf(const std::string& device) {
  std::error_code error;
  fs::path wanted = fs::canonical(device, error);
  FILE* mounts = std::fopen("/proc/self/mounts", "re");
  if (mounts == nullptr) return "";
  std::string found;
  char source[4096];
  char target[4096];
  while (found.empty() && std::fscanf(mounts, "%4095s %4095s %*[^\n]", source, target) == 2) {
    if (source[0] == '/' && fs::canonical(source, error) == wanted && !error) found = target;
  }
  std::fclose(mounts);
  return found;
}

tl::unexpected<Error> DeviceBusy(const std::string& path) {
  std::string user = LockHolder(path);
  if (!user.empty())
    return Fail(Errc::kBusy, path + ": in use by " + user + ": unmount that first");
  user = MountPointOf(path);
  if (!user.empty())
    return Fail(Errc::kBusy, path + ": mounted at " + user + ": unmount that first");
  return Fail(Errc::kBusy, path + ": in use by the system (see lsblk)");
}

// Reads the head of the file as far as it goes; the rest of `into` stays as it is.
Result<size_t> ReadHead(const StorePath& target, MutableByteView into) {
  size_t done = 0;
  while (done < into.size()) {
    ssize_t rc =
        ::pread(target.fd.get(), into.data() + done, into.size() - done, static_cast<off_t>(done));
    if (rc < 0 && errno == EINTR) continue;
    if (rc < 0) return FailErrno(errno, target.file_path + ": reading the superblock");
    done += static_cast<size_t>(rc);
    if (rc == 0 || rc % kBlockSize != 0) break;
  }
  return done;
}

// Judges blocks 0 to 2. Returns: false when neither looks like a superblock of ours.
bool JudgeSuperblock(StorePath& target, ByteView head) {
  if (head.size() < kProbeSize) return false;
  Result<Superblock> first = DecodeSuperblock(head.first(kSuperblockSize));
  if (first) {
    target.content = StoreContent::kStore;
    target.superblock = *first;
    // A mark that is damaged is a mark: the store is not taken for fresh.
    ByteView mark = head.subspan(kUseMarkBlock * kBlockSize, kBlockSize);
    target.is_in_use =
        std::any_of(mark.begin(), mark.end(), [](std::byte b) { return b != std::byte{0}; });
    return true;
  }
  Result<Superblock> copy = DecodeSuperblock(head.subspan(kSuperblockSize, kSuperblockSize));
  Error error = std::move(first).error();
  if (error.code == Errc::kNotFound && !copy) return false;
  target.content = StoreContent::kDamaged;
  if (error.code == Errc::kInvalid) {
    error.context = target.file_path + ": " + error.context + ": use a newer terrace";
  } else {
    error.code = Errc::kCorrupt;
    error.context = target.file_path + ": damaged superblock: " + error.context;
    if (copy) {
      error.context += "; its copy in block 1 is intact: device " +
                       std::to_string(copy->device_index) + " of store " +
                       StoreIdText(copy->store_id);
    }
    error.context += "; `terrace format --force` would lose everything in the store";
  }
  target.error = std::move(error);
  return true;
}

Status ProbeBlockDevice(StorePath& target, const ProbeOptions& options) {
  target.is_block_device = true;
  target.file_path = target.path;
  int flags = (options.read_only ? O_RDONLY : O_RDWR) | O_EXCL;
  target.fd = OpenDirect(target.path, flags);
  if (!target.fd.is_open() && errno == EBUSY) return DeviceBusy(target.path);
  if (!target.fd.is_open()) return FailErrno(errno, target.path);
  TERRACE_TRY(LockFile(target.fd.get(), target.path));
  int is_read_only = 0;
  if (!options.read_only && ::ioctl(target.fd.get(), BLKROGET, &is_read_only) == 0 &&
      is_read_only != 0) {  // the kernel lets it be opened for writing nevertheless
    return Fail(Errc::kReadOnly, target.path +
                                     ": the device is read-only, and every mount writes to it: "
                                     "make it writable (blockdev --setrw)");
  }
  if (::ioctl(target.fd.get(), BLKGETSIZE64, &target.file_size_bytes) != 0) {
    return FailErrno(errno, target.path + ": its size");
  }
  int sector_bytes = 0;
  if (::ioctl(target.fd.get(), BLKSSZGET, &sector_bytes) == 0 &&
      static_cast<uint64_t>(sector_bytes) > kBlockSize) {
    return Fail(Errc::kUnsupported, target.path + ": sectors of " + std::to_string(sector_bytes) +
                                        " bytes; at most 4096 are supported");
  }
  AlignedBuffer head(kSignatureHeadSize);
  TERRACE_ASSIGN_OR_RETURN(size_t size_bytes, ReadHead(target, head.bytes()));
  if (JudgeSuperblock(target, head.bytes().first(size_bytes))) return {};
  target.holds = DescribeContent(head.bytes().first(size_bytes));
  if (!target.holds.empty()) target.content = StoreContent::kForeign;
  return {};
}

// Looks for anything in a directory without a data file that is not ours.
Status ProbeEntries(StorePath& target) {
  TERRACE_ASSIGN_OR_RETURN(target.holds, ForeignEntry(target.path));
  if (!target.holds.empty()) target.content = StoreContent::kForeign;
  return {};
}

Status ProbeDirectory(StorePath& target, const ProbeOptions& options) {
  struct statvfs host;
  if (::statvfs(target.path.c_str(), &host) != 0) return FailErrno(errno, target.path);
  target.host_free_bytes = host.f_bavail * host.f_frsize;
  target.fd = OpenDirect(target.file_path, options.read_only ? O_RDONLY : O_RDWR);
  if (!target.fd.is_open() && errno == ENOENT) return ProbeEntries(target);
  if (!target.fd.is_open()) return FailErrno(errno, target.file_path);
  TERRACE_TRY(LockFile(target.fd.get(), target.file_path));
  struct stat info;
  if (::fstat(target.fd.get(), &info) != 0) return FailErrno(errno, target.file_path);
  target.file_size_bytes = static_cast<uint64_t>(info.st_size);
  target.file_used_bytes = static_cast<uint64_t>(info.st_blocks) * 512;
  AlignedBuffer head(kProbeSize);
  TERRACE_ASSIGN_OR_RETURN(size_t size_bytes, ReadHead(target, head.bytes()));
  if (JudgeSuperblock(target, head.bytes().first(size_bytes))) return {};
  target.content = StoreContent::kForeign;
  target.holds = "a terrace.data of " + FormatSize(target.file_size_bytes) +
                 " that has no superblock of TerraceFS";
  return {};
}

// The free space of the file system in which a missing directory would be made.
uint64_t FreeSpaceAbove(const std::string& path) {
  std::error_code error;
  for (fs::path above = fs::absolute(path, error); !error; above = above.parent_path()) {
    struct statvfs host;
    if (::statvfs(above.c_str(), &host) == 0) return host.f_bavail * host.f_frsize;
    if (above == above.parent_path()) break;
  }
  return 0;
}

Status WriteHead(int fd, const std::string& path, const Superblock& superblock) {
  AlignedBuffer head(kHeadSize);
  std::string block = EncodeSuperblock(superblock);
  std::memcpy(head.data(), block.data(), block.size());
  std::memcpy(head.data() + kSuperblockSize, block.data(), block.size());
  for (size_t done = 0; done < kHeadSize;) {
    ssize_t rc = ::pwrite(fd, head.data() + done, kHeadSize - done, static_cast<off_t>(done));
    if (rc < 0 && errno == EINTR) continue;
    if (rc < 0) return FailErrno(errno, path + ": writing the superblock");
    done += static_cast<size_t>(rc);
  }
  if (::fsync(fd) != 0) return FailErrno(errno, path + ": fsync");
  return {};
}

Status SyncDirectory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open() || ::fsync(fd.get()) != 0) return FailErrno(errno, path + ": fsync");
  return {};
}

// Makes a missing directory (0700), durably. The one above it must be there: where it is missing, a
// drive is probably not mounted, and the store would come to lie on another.
Status MakeDirectory(const std::string& path) {
  std::error_code error;
  fs::path parent = fs::absolute(path, error).lexically_normal();
  if (!parent.has_filename()) parent = parent.parent_path();
  parent = parent.parent_path();
  if (!fs::is_directory(parent, error)) {
    return Fail(Errc::kNotFound, path + ": there is no directory " + parent.string() +
                                     ": mount the drive, or make it");
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailErrno(errno, path + ": making the directory");
  }
  return SyncDirectory(parent.string());
}

// The new data file takes its name only when it is whole.
Status FormatDirectory(const StorePath& target, const Superblock& superblock) {
  if (!target.exists) TERRACE_TRY(MakeDirectory(target.path));
  std::string new_path = target.path + "/" + kNewDataFileName;
  UniqueFd fd = OpenDirect(new_path, O_RDWR | O_CREAT);
  if (!fd.is_open()) return FailErrno(errno, new_path);
  TERRACE_TRY(LockFile(fd.get(), new_path));
  bool appeared = !target.fd.is_open() && ::access(target.file_path.c_str(), F_OK) == 0;
  if (appeared) {
    return Fail(Errc::kBusy, target.file_path + ": another process is formatting this store");
  }
  if (::ftruncate(fd.get(), 0) != 0) return FailErrno(errno, new_path);
  TERRACE_TRY(WriteHead(fd.get(), new_path, superblock));
  std::error_code error;
  fs::remove_all(target.path + "/" + kMetadataName, error);
  if (error) return FailErrno(error.value(), target.path + "/" + kMetadataName + ": removing");
  if (::rename(new_path.c_str(), target.file_path.c_str()) != 0) {
    return FailErrno(errno, target.file_path + ": rename");
  }
  return SyncDirectory(target.path);
}

}  // namespace

Result<StorePath> ProbeStorePath(const std::string& path, const ProbeOptions& options) {
  StorePath target;
  target.path = path;
  target.file_path = DataFilePath(path);
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return FailErrno(errno, path);
    target.host_free_bytes = FreeSpaceAbove(path);
    return target;
  }
  target.exists = true;
  if (S_ISDIR(info.st_mode)) {
    TERRACE_TRY(ProbeDirectory(target, options));
  } else if (S_ISBLK(info.st_mode)) {
    TERRACE_TRY(ProbeBlockDevice(target, options));
  } else {
    return Fail(Errc::kInvalid, path + ": neither a directory nor a block device");
  }
  return target;
}

Result<std::string> ForeignEntry(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) return FailErrno(error.value(), directory);
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) return FailErrno(error.value(), directory);
    std::string name = entries->path().filename().string();
    if (name == kMetadataName) {
      return "terrace.meta, the metadata of a store, but not its data file";
    }
    if (name == "lost+found" || name.starts_with(kOwnNamePrefix)) continue;
    return (entries->is_directory(error) ? "the directory " : "the file ") + name;
  }
  return "";
}

HolderKind HolderOf(const std::string& path) {
  struct stat info;
  bool is_device = ::stat(path.c_str(), &info) == 0 && S_ISBLK(info.st_mode);
  std::string file_path = is_device ? path : DataFilePath(path);
  if (LockHolderIsDead(file_path)) return HolderKind::kDead;
  bool is_seen = !LockHolder(file_path).empty() || (is_device && !MountPointOf(path).empty());
  return is_seen ? HolderKind::kAlive : HolderKind::kNobody;
}

Status FormatStorePath(const StorePath& store_path, const Superblock& superblock) {
  if (!store_path.is_block_device) return FormatDirectory(store_path, superblock);
  return WriteHead(store_path.fd.get(), store_path.path, superblock);
}

}  // namespace terrace::io
