// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/extent_read.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/units.h"

namespace terrace::io {

namespace {

constexpr uint64_t kBlocksPerChecksum = kChecksumBlockSize / kBlockSize;

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// One read on its way. The last run to arrive verifies, tells the caller and ends it.
class ExtentRead {
 public:
  ExtentRead(Device& device, const ExtentRecord& record, ChecksumBlockRange range, std::byte* into,
             IoDone done)
      : device_(device), into_(into), done_(std::move(done)) {
    uint64_t begin = range.first * kChecksumBlockSize;
    uint64_t end = std::min<uint64_t>(begin + range.count * kChecksumBlockSize, record.size_bytes);
    size_bytes_ = end - begin;
    auto first = record.checksums.begin() + range.first;
    checksums_.assign(first, first + range.count);
    Map(record, {begin / kBlockSize, BlockCount(size_bytes_)});
    open_ = runs_.size();
  }

  static void Start(std::unique_ptr<ExtentRead> owned) {
    ExtentRead* self = owned.release();  // Finish takes it back
    // The last Read may end *self before it returns: nothing of it is touched after that.
    size_t count = self->runs_.size();
    std::byte* into = self->into_;
    for (size_t i = 0; i < count; i++) {
      BlockRun run = self->runs_[i];
      size_t size_bytes = run.count * kBlockSize;
      self->device_.file().Read(run.first * kBlockSize, {{into, size_bytes}},
                                [self](Status status) { self->Finish(std::move(status)); });
      into += size_bytes;
    }
  }

 private:
  // Notes the parts of the record's runs that hold the wanted blocks of the extent.
  void Map(const ExtentRecord& record, BlockRun wanted) {
    uint64_t run_begin = 0;  // in blocks of the extent
    for (const BlockRun& run : record.runs) {
      uint64_t begin = std::max(wanted.first, run_begin);
      uint64_t end = std::min(wanted.end(), run_begin + run.count);
      if (begin < end) runs_.push_back({run.first + (begin - run_begin), end - begin});
      run_begin += run.count;
    }
    TERRACE_ASSERT(run_begin >= wanted.end());
  }

  void Finish(Status status) {
    if (!status) {
      device_.counters().errors++;
      MutexLock lock(mu_);
      if (failure_) failure_ = std::move(status);
    }
    if (open_.fetch_sub(1) > 1) return;
    std::unique_ptr<ExtentRead> owned(this);
    Status result;
    {
      MutexLock lock(mu_);
      result = std::move(failure_);
    }
    if (result) {
      device_.counters().read_bytes += BlockCount(size_bytes_) * kBlockSize;
      result = Verify();  // STORE-2
    }
    done_(std::move(result));
  }

  Status Verify() {
    for (size_t i = 0; i < checksums_.size(); i++) {
      uint64_t offset = i * kChecksumBlockSize;
      ByteView bytes{into_ + offset, std::min(kChecksumBlockSize, size_bytes_ - offset)};
      uint64_t found = Checksum64(bytes);
      if (found == checksums_[i]) continue;
      device_.counters().errors++;
      std::string what =
          device_.path() + ": block " + std::to_string(DeviceBlock(i * kBlocksPerChecksum)) +
          ": checksum mismatch: expected " + Hex(checksums_[i]) + ", found " + Hex(found);
      LogError(what);
      return Fail(Errc::kCorrupt, std::move(what));
    }
    return {};
  }

  // The device's block that holds the given block of what was read.
  uint64_t DeviceBlock(uint64_t block) const {
    for (const BlockRun& run : runs_) {
      if (block < run.count) return run.first + block;
      block -= run.count;
    }
    return 0;
  }

  // Dependencies.
  Device& device_;
  // Constant after construction.
  std::byte* const into_;
  const IoDone done_;
  uint64_t size_bytes_ = 0;
  std::vector<uint64_t> checksums_;
  std::vector<BlockRun> runs_;
  // Runs that did not arrive yet.
  std::atomic<size_t> open_{0};
  // Guarded by mu_.
  Mutex mu_;
  Status failure_ TERRACE_GUARDED_BY(mu_);  // the first one
};

}  // namespace

void StartExtentRead(Device& device, const ExtentRecord& record, ChecksumBlockRange range,
                     std::byte* into, IoDone done) {
  TERRACE_ASSERT(range.count > 0);
  TERRACE_ASSERT(range.first < record.checksums.size());
  TERRACE_ASSERT(range.count <= record.checksums.size() - range.first);
  TERRACE_ASSERT(reinterpret_cast<uintptr_t>(into) % kBlockSize == 0);
  ExtentRead::Start(std::make_unique<ExtentRead>(device, record, range, into, std::move(done)));
}

}  // namespace terrace::io
