// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// File: the system calls of the workloads; whatever fails ends the program with its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace terrace::bench {

class File {
 public:
  static File Create(const std::string& path);  // empties one that is there
  static File OpenToRead(const std::string& path);
  static File OpenToOverwrite(const std::string& path);
  static File OpenDirectory(const std::string& path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void Write(const void* bytes, size_t size);
  void WriteAt(const void* bytes, size_t size, uint64_t offset);
  // Returns: false if the file ended before.
  bool Read(void* bytes, size_t size);
  void Sync();
  // Every file that was written is closed by this: close reports what went wrong late.
  void Close();
  int descriptor() const { return descriptor_; }

 private:
  File(int descriptor, std::string path);

  int descriptor_;
  std::string path_;
};

// A checkpoint: chunks behind an odd number of bytes, as the zip header of torch makes them, or
// from the start.
struct CheckpointFile {
  std::string path;
  uint64_t chunks = 0;
  uint64_t seed = 0;
  bool odd_offset = false;
};

enum class Durability { kNone, kFsync };

class Bench;

uint64_t SizeOf(const CheckpointFile& file);
void WriteCheckpoint(const CheckpointFile& file, Durability durability);
// Reads in order, one chunk a call, and counts what is wrong.
void ReadCheckpoint(Bench& bench, const CheckpointFile& file);
// Writes it, durably, unless it is there with the right size.
void EnsureCheckpoint(const CheckpointFile& file);

void Rename(const std::string& from, const std::string& to);
void Remove(const std::string& path);
void MakeDirectory(const std::string& path);  // fine if it exists
void RemoveDirectory(const std::string& path);

}  // namespace terrace::bench
