// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/memory_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "base/assert.h"
#include "base/units.h"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14; older headers lack the name
#define MADV_POPULATE_WRITE 23
#endif

namespace terrace::io {

namespace {

constexpr uint64_t kHugePageSize = 2 * kMiB;

// Whether shared memory gets huge pages when it asks for them: the word in brackets.
bool SystemGrantsHugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string line;
  std::getline(file, line);
  for (const char* mode : {"[always]", "[within_size]", "[advise]", "[force]"}) {
    if (line.find(mode) != std::string::npos) return true;
  }
  return false;
}

// Maps the file at a multiple of 2 MiB: reserves more address space than needed, maps over the
// aligned part of it and gives the rest back. Returns nullptr, errno set, on failure.
std::byte* MapAligned(int fd, uint64_t size_bytes) {
  uint64_t reserve_bytes = size_bytes + kHugePageSize;
  void* reserved =
      ::mmap(nullptr, reserve_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<uintptr_t>(reserved);
  uintptr_t aligned = RoundUp(start, kHugePageSize);
  void* mapped = ::mmap(reinterpret_cast<void*>(aligned), size_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    int error = errno;
    ::munmap(reserved, reserve_bytes);
    errno = error;
    return nullptr;
  }
  if (aligned > start) ::munmap(reserved, aligned - start);
  uintptr_t end = aligned + size_bytes;
  if (start + reserve_bytes > end) {
    ::munmap(reinterpret_cast<void*>(end), start + reserve_bytes - end);
  }
  return static_cast<std::byte*>(mapped);
}

// Before Linux 5.14: an atomic no-op on each page, harmless beside other writers.
void TouchPages(std::byte* data, uint64_t size_bytes) {
  for (uint64_t offset = 0; offset < size_bytes; offset += kBlockSize) {
    auto* word = reinterpret_cast<uint8_t*>(data + offset);
    std::atomic_ref<uint8_t>(*word).fetch_or(0, std::memory_order_relaxed);
  }
}

}  // namespace

Result<std::unique_ptr<MemoryRegion>> MemoryRegion::Create(const std::string& name,
                                                           uint64_t size_bytes) {
  TERRACE_ASSERT(size_bytes > 0);
  TERRACE_ASSERT(size_bytes % kMiB == 0);
  std::string what = "memory region " + name + " of " + FormatSize(size_bytes);
  int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0) return FailErrno(errno, what + ": memfd_create");
  if (::ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) {
    int error = errno;
    ::close(fd);
    return FailErrno(error, what + ": ftruncate");
  }
  std::byte* data = MapAligned(fd, size_bytes);
  if (data == nullptr) {
    int error = errno;
    ::close(fd);
    return FailErrno(error, what + ": mmap");
  }
  // File contents have no place in a core dump. Best effort: old kernels may refuse.
  ::madvise(data, size_bytes, MADV_DONTDUMP);
  bool huge_pages = ::madvise(data, size_bytes, MADV_HUGEPAGE) == 0 && SystemGrantsHugePages();
  return std::unique_ptr<MemoryRegion>(new MemoryRegion(fd, data, size_bytes, huge_pages));
}

MemoryRegion::~MemoryRegion() {
  ::munmap(data_, size_bytes_);
  ::close(fd_);
}

Status MemoryRegion::Populate(uint64_t offset_bytes, uint64_t size_bytes) {
  TERRACE_ASSERT(offset_bytes % kBlockSize == 0);
  TERRACE_ASSERT(offset_bytes <= size_bytes_);
  TERRACE_ASSERT(size_bytes <= size_bytes_ - offset_bytes);
  // Finding and clearing the pages is most of the work. fallocate does it without this process's
  // map lock, for which every growing heap would wait behind madvise; what it leaves to madvise
  // is quick. Huge pages come only through the mapping that asks for them. A refusal is madvise's
  // to report.
  while (!huge_pages_ &&
         ::fallocate(fd_, 0, static_cast<off_t>(offset_bytes), static_cast<off_t>(size_bytes)) !=
             0 &&
         errno == EINTR) {
  }
  while (::madvise(data_ + offset_bytes, size_bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL || errno == ENOSYS) {
      TouchPages(data_ + offset_bytes, size_bytes);
      return {};
    }
    std::string what = "populating " + FormatSize(size_bytes) + " of memory";
    if (errno == EFAULT) return Fail(Errc::kNoMemory, what + ": the host has no page left");
    return FailErrno(errno, what);
  }
  return {};
}

}  // namespace terrace::io
