// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for tests of io/ and above: temporary directories, aligned memory, blocking calls,
// stores in memory.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/units.h"
#include "io/device.h"
#include "io/extent_store.h"
#include "io/faulty_file.h"
#include "io/file.h"
#include "io/memory_file.h"
#include "io/uring_file.h"

namespace terrace::io {

// A directory on disk (not in a /tmp that may be memory), removed with its content at the end.
class IoTempDirectory {
 public:
  IoTempDirectory() {
    const char* base = ::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/var/tmp") + "/terrace-io-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << name;
    path_ = name;
  }
  ~IoTempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  IoTempDirectory(const IoTempDirectory&) = delete;
  IoTempDirectory& operator=(const IoTempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Whole blocks on a block boundary, at first zeros.
class IoMemory {
 public:
  explicit IoMemory(size_t size_bytes)
      : size_bytes_(RoundUp(size_bytes, kBlockSize)),
        data_(static_cast<std::byte*>(std::aligned_alloc(kBlockSize, size_bytes_))) {
    std::memset(data_.get(), 0, size_bytes_);
  }
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_bytes_; }
  iovec piece() const { return {data_.get(), size_bytes_}; }
  ByteView view() const { return {data_.get(), size_bytes_}; }

  // Bytes that depend on the seed and on their position.
  void Fill(uint64_t seed) {
    for (size_t i = 0; i < size_bytes_; i += sizeof(uint64_t)) {
      uint64_t word = (seed + i + 1) * 0x9E3779B97F4A7C15ull;
      word ^= word >> 29;
      std::memcpy(data_.get() + i, &word, sizeof word);
    }
  }
  bool operator==(const IoMemory& other) const {
    return size_bytes_ == other.size_bytes_ &&
           std::memcmp(data_.get(), other.data_.get(), size_bytes_) == 0;
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  size_t size_bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

inline Status ReadNow(File& file, uint64_t offset_bytes, std::vector<iovec> pieces) {
  std::latch arrived(1);
  Status result;
  file.Read(offset_bytes, std::move(pieces), [&](Status status) {
    result = std::move(status);
    arrived.count_down();
  });
  arrived.wait();
  return result;
}

inline Status WriteNow(File& file, uint64_t offset_bytes, std::vector<iovec> pieces) {
  std::latch arrived(1);
  Status result;
  file.Write(offset_bytes, std::move(pieces), [&](Status status) {
    result = std::move(status);
    arrived.count_down();
  });
  arrived.wait();
  return result;
}

// A batch that came back from WriteBatch.
struct WrittenBatch {
  std::vector<ExtentWrite> batch;
  Status status;
};

inline WrittenBatch WriteBatchNow(ExtentStore& store, std::vector<ExtentWrite> batch) {
  std::latch arrived(1);
  WrittenBatch written;
  store.WriteBatch(std::move(batch), [&](std::vector<ExtentWrite> back, Status status) {
    written = {std::move(back), std::move(status)};
    arrived.count_down();
  });
  arrived.wait();
  return written;
}

// Reads checksum blocks [first, first + count) of an extent.
inline Status ReadExtentNow(ExtentStore& store, const ExtentRecord& record, uint32_t first,
                            uint32_t count, std::byte* into) {
  std::latch arrived(1);
  Status result;
  store.Read(record, first, count, into, [&](Status status) {
    result = std::move(status);
    arrived.count_down();
  });
  arrived.wait();
  return result;
}

inline Superblock MakeSuperblock(uint32_t index, uint32_t count) {
  Superblock superblock{};
  superblock.device_index = index;
  superblock.device_count = count;
  for (uint8_t i = 0; i < 16; i++) superblock.store_id[i] = i;
  return superblock;
}

inline std::unique_ptr<File> MakeUringFile(const std::string& path, uint64_t size_bytes,
                                           const UringOptions& options = {}) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  Result<std::unique_ptr<File>> file = OpenUringFile(fd, path, options);
  if (!file) {
    ADD_FAILURE() << file.error().context;
    return nullptr;
  }
  Status grown = (*file)->Grow(size_bytes);
  EXPECT_TRUE(grown.has_value()) << grown.error().context;
  return std::move(*file);
}

// A store in memory whose devices can be made to fail.
struct FaultyStore {
  struct Options {
    size_t device_count = 1;
    uint64_t device_size_bytes = 64 * kMiB;
    uint64_t capacity_bytes = 0;  // 0: the devices don't grow
  };

  explicit FaultyStore(const Options& options) {
    std::vector<std::unique_ptr<Device>> devices;
    for (size_t i = 0; i < options.device_count; i++) {
      auto memory =
          std::make_unique<MemoryFile>(options.device_size_bytes, "memory" + std::to_string(i));
      memories.push_back(memory.get());
      auto faulty = std::make_unique<FaultyFile>(std::move(memory));
      faults.push_back(faulty.get());
      auto superblock =
          MakeSuperblock(static_cast<uint32_t>(i), static_cast<uint32_t>(options.device_count));
      devices.push_back(std::make_unique<Device>(DeviceId(static_cast<uint16_t>(i)),
                                                 std::move(faulty), superblock,
                                                 options.capacity_bytes));
    }
    store = std::make_unique<ExtentStore>(std::move(devices));
  }

  std::unique_ptr<ExtentStore> store;
  std::vector<FaultyFile*> faults;    // owned by the store's devices
  std::vector<MemoryFile*> memories;  // owned by faults
};

}  // namespace terrace::io
