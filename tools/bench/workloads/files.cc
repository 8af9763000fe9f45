// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/bench/workloads/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"

namespace terrace::bench {

namespace {

constexpr size_t kOddPrefixSize = 107;

int OpenOrFail(const std::string& path, int flags) {
  int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) Fail("opening", path);
  return descriptor;
}

}  // namespace

File::File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

File File::Create(const std::string& path) {
  return File(OpenOrFail(path, O_CREAT | O_WRONLY | O_TRUNC), path);
}
File File::OpenToRead(const std::string& path) { return File(OpenOrFail(path, O_RDONLY), path); }
File File::OpenToOverwrite(const std::string& path) {
  return File(OpenOrFail(path, O_WRONLY), path);
}
File File::OpenDirectory(const std::string& path) {
  return File(OpenOrFail(path, O_RDONLY | O_DIRECTORY), path);
}

void File::Write(const void* bytes, size_t size) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (size > 0) {
    ssize_t written = write(descriptor_, at, size);
    if (written < 0) Fail("writing", path_);
    at += written;
    size -= static_cast<size_t>(written);
  }
}

void File::WriteAt(const void* bytes, size_t size, uint64_t offset) {
  ssize_t written = pwrite(descriptor_, bytes, size, static_cast<off_t>(offset));
  if (written < 0) Fail("writing", path_);
  if (static_cast<size_t>(written) == size) return;
  errno = EIO;
  Fail("writing a part only", path_);
}

bool File::Read(void* bytes, size_t size) {
  auto* at = static_cast<std::byte*>(bytes);
  while (size > 0) {
    ssize_t got = read(descriptor_, at, size);
    if (got < 0) Fail("reading", path_);
    if (got == 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

void File::Sync() {
  if (fsync(descriptor_) != 0) Fail("syncing", path_);
}

void File::Close() {
  if (close(std::exchange(descriptor_, -1)) != 0) Fail("closing", path_);
}

uint64_t SizeOf(const CheckpointFile& file) {
  return file.chunks * kChunkSize + (file.odd_offset ? kOddPrefixSize : 0);
}

void WriteCheckpoint(const CheckpointFile& file, Durability durability) {
  Content content(file.seed);
  File out = File::Create(file.path);
  if (file.odd_offset) out.Write(content.Page(0), kOddPrefixSize);
  for (uint64_t i = 0; i < file.chunks; i++) out.Write(content.Chunk(i), kChunkSize);
  if (durability == Durability::kFsync) out.Sync();
  out.Close();
}

void ReadCheckpoint(Bench& bench, const CheckpointFile& file) {
  const Content content(file.seed);
  thread_local ChunkBuffer buffer;
  File in = File::OpenToRead(file.path);
  if (file.odd_offset && !in.Read(buffer.data(), kOddPrefixSize)) bench.CountWrong();
  for (uint64_t i = 0; i < file.chunks; i++) {
    bool right = in.Read(buffer.data(), kChunkSize) &&
                 content.Matches(buffer.data(), i, kChunkSize, bench.whole());
    if (!right) bench.CountWrong();
  }
}

void EnsureCheckpoint(const CheckpointFile& file) {
  struct stat status {};
  bool there = stat(file.path.c_str(), &status) == 0;
  if (there && static_cast<uint64_t>(status.st_size) == SizeOf(file)) return;
  WriteCheckpoint(file, Durability::kFsync);
}

void Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) Fail("renaming", from);
}
void Remove(const std::string& path) {
  if (unlink(path.c_str()) != 0) Fail("removing", path);
}
void MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) Fail("making", path);
}
void RemoveDirectory(const std::string& path) {
  if (rmdir(path.c_str()) != 0) Fail("removing", path);
}

}  // namespace terrace::bench
