// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/extent_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/units.h"
#include "io/batch_placement.h"
#include "io/extent_read.h"

namespace terrace::io {

namespace {

// A batch on its way to the devices. The last segment to finish tells the caller and ends it.
class BatchInFlight {
 public:
  BatchInFlight(std::vector<ExtentWrite> batch, std::vector<Segment> segments, ExtentStore& store,
                ExtentStore::WriteDone done)
      : store_(store),
        batch_(std::move(batch)),
        segments_(std::move(segments)),
        done_(std::move(done)),
        open_(segments_.size()) {}

  static void Start(std::unique_ptr<BatchInFlight> owned) {
    BatchInFlight* self = owned.release();  // Finish takes it back
    // The last Write may end *self before it returns: nothing of it is touched after that.
    size_t count = self->segments_.size();
    for (size_t i = 0; i < count; i++) {
      Segment& segment = self->segments_[i];
      segment.device->file().Write(
          segment.run.first * kBlockSize, std::move(segment.pieces),
          [self, i](Status status) { self->Finish(i, std::move(status)); });
    }
  }

 private:
  void Finish(size_t index, Status status) {
    Device& device = *segments_[index].device;
    if (status) {
      device.NoteWritten(segments_[index].run.count * kBlockSize);
    } else {
      device.counters().errors++;
      MutexLock lock(mu_);
      if (failure_) failure_ = std::move(status);
    }
    if (open_.fetch_sub(1) > 1) return;
    std::unique_ptr<BatchInFlight> owned(this);
    Status result;
    {
      MutexLock lock(mu_);
      result = std::move(failure_);
    }
    if (!result) {
      for (ExtentWrite& write : batch_) {
        store_.FreeUncommitted(write.record);
        write.record = ExtentRecord{};  // STORE-1
      }
    }
    done_(std::move(batch_), std::move(result));
  }

  // Dependencies.
  ExtentStore& store_;
  // Constant after construction, until the last segment finished.
  std::vector<ExtentWrite> batch_;
  std::vector<Segment> segments_;
  ExtentStore::WriteDone done_;
  // Segments that did not finish yet.
  std::atomic<size_t> open_;
  // Guarded by mu_.
  Mutex mu_;
  Status failure_ TERRACE_GUARDED_BY(mu_);  // the first one
};

// Zeroes the padding of the last block and fills in what is known before placement.
void Seal(ExtentWrite& write) {
  TERRACE_ASSERT(write.size_bytes > 0);
  TERRACE_ASSERT(write.size_bytes <= kExtentSizeMax);
  TERRACE_ASSERT(reinterpret_cast<uintptr_t>(write.data) % kBlockSize == 0);
  std::memset(write.data + write.size_bytes, 0,
              BlockCount(write.size_bytes) * kBlockSize - write.size_bytes);
  write.record = ExtentRecord{};
  write.record.size_bytes = write.size_bytes;
  write.record.checksums = ComputeChecksums({write.data, write.size_bytes});
}

std::vector<Device*> Borrow(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<Device*> borrowed;
  for (size_t i = 0; i < devices.size(); i++) {
    TERRACE_ASSERT(devices[i]->id().value() == i);
    borrowed.push_back(devices[i].get());
  }
  return borrowed;
}

}  // namespace

ExtentStore::ExtentStore(std::vector<std::unique_ptr<Device>> devices)
    : devices_(std::move(devices)), barrier_(Borrow(devices_)) {
  TERRACE_ASSERT(!devices_.empty());
}

ExtentStore::~ExtentStore() = default;

Status ExtentStore::Reserve(uint64_t block_count) {
  // An extent lies on one device. That no device has room for the last one though all together
  // would have is ruled out by keeping most of an extent free per further device.
  uint64_t slack_blocks = (devices_.size() - 1) * (BlockCount(kExtentSizeMax) - 1);
  uint64_t wanted = reserved_blocks_.fetch_add(block_count) + block_count + slack_blocks;
  for (;;) {
    uint64_t free_blocks = FreeBlocksNow();
    if (free_blocks >= wanted) return {};
    if (!GrowSomeDevice(wanted - free_blocks)) break;
  }
  Unreserve(block_count);
  return Fail(Errc::kNoSpace, "the store is full: " + FormatSize(block_count * kBlockSize) +
                                  " wanted, " + FormatSize(free_bytes()) + " free of " +
                                  FormatSize(capacity_bytes()));
}

void ExtentStore::Unreserve(uint64_t block_count) {
  uint64_t before = reserved_blocks_.fetch_sub(block_count);
  TERRACE_ASSERT(before >= block_count);
}

uint64_t ExtentStore::FreeBlocksNow() const {
  uint64_t sum = 0;
  for (const auto& device : devices_) sum += device->space().counts().free_blocks;
  return sum;
}

// Grows the smallest device that still can. Returns: false when none can.
bool ExtentStore::GrowSomeDevice(uint64_t block_count) {
  std::vector<std::pair<uint64_t, Device*>> by_size;
  for (const auto& device : devices_) {
    if (device->growable_bytes() == 0) continue;
    by_size.emplace_back(device->space().counts().capacity_blocks, device.get());
  }
  std::sort(by_size.begin(), by_size.end());
  for (auto [seen_blocks, device] : by_size) {
    if (device->Grow(block_count, seen_blocks)) return true;
  }
  return false;
}

void ExtentStore::WriteBatch(std::vector<ExtentWrite> batch, WriteDone done) {
  if (batch.empty()) return done(std::move(batch), {});
  for (ExtentWrite& write : batch) Seal(write);
  Result<std::vector<Segment>> segments = PlaceBatch(devices_, stripe_cursor_, batch);
  if (!segments) {
    for (ExtentWrite& write : batch) write.record = ExtentRecord{};
    done(std::move(batch), tl::unexpected<Error>(std::move(segments).error()));
    return;
  }
  BatchInFlight::Start(std::make_unique<BatchInFlight>(std::move(batch), *std::move(segments),
                                                       *this, std::move(done)));
}

void ExtentStore::Read(const ExtentRecord& record, uint32_t first_checksum_block,
                       uint32_t checksum_block_count, std::byte* into, IoDone done) {
  if (record.device.value() >= devices_.size()) {
    return done(Fail(Errc::kCorrupt, "the extent names device " +
                                         std::to_string(record.device.value()) + " of " +
                                         std::to_string(devices_.size())));
  }
  StartExtentRead(*devices_[record.device.value()], record,
                  {.first = first_checksum_block, .count = checksum_block_count}, into,
                  std::move(done));
}

Status ExtentStore::Sync() { return barrier_.Wait(); }

Status ExtentStore::MarkAllocated(const ExtentRecord& record) {
  if (record.device.value() >= devices_.size()) {
    return Fail(Errc::kCorrupt, "an extent names device " + std::to_string(record.device.value()) +
                                    " of " + std::to_string(devices_.size()));
  }
  Device& device = *devices_[record.device.value()];
  for (BlockRun run : record.runs) {
    Status marked = device.space().MarkAllocated(run);
    if (!marked) return Wrap(std::move(marked).error(), device.path());
  }
  return {};
}

void ExtentStore::FreeUncommitted(const ExtentRecord& record) {
  for (BlockRun run : record.runs) device(record.device).space().FreeUncommitted(run);
}

void ExtentStore::FreeForRewrite(const ExtentRecord& record) {
  // Reserved first, so that nobody is promised the blocks in between.
  reserved_blocks_ += BlockCount(record.size_bytes);
  FreeUncommitted(record);
}

void ExtentStore::FreeAwaiting(const ExtentRecord& record) {
  for (BlockRun run : record.runs) device(record.device).space().FreeAwaiting(run);
}

uint64_t ExtentStore::SealAwaiting() {
  MutexLock lock(seal_mu_);
  uint64_t ticket = devices_.front()->space().SealAwaiting();
  for (size_t i = 1; i < devices_.size(); i++) {
    uint64_t same = devices_[i]->space().SealAwaiting();
    TERRACE_ASSERT(same == ticket);
  }
  return ticket;
}

void ExtentStore::Release(uint64_t ticket) {
  for (const auto& device : devices_) device->space().Release(ticket);
}

void ExtentStore::RegisterMemory(std::byte* base, size_t size_bytes) {
  for (const auto& device : devices_) device->file().RegisterMemory(base, size_bytes);
}

std::vector<DeviceStatus> ExtentStore::Statuses() const {
  std::vector<DeviceStatus> statuses;
  for (const auto& device : devices_) {
    SpaceAllocator::Counts counts = device->space().counts();
    const DeviceCounters& counters = device->counters();
    statuses.push_back({.path = device->path(),
                        .size_bytes = device->capacity_bytes(),
                        .used_bytes = (counts.capacity_blocks - counts.free_blocks) * kBlockSize,
                        .read_bytes = counters.read_bytes,
                        .written_bytes = counters.written_bytes,
                        .errors = counters.errors});
  }
  return statuses;
}

uint64_t ExtentStore::capacity_bytes() const {
  uint64_t sum = 0;
  for (const auto& device : devices_) sum += device->capacity_bytes();
  return sum;
}

uint64_t ExtentStore::free_bytes() const {
  uint64_t sum = FreeBlocksNow() * kBlockSize;
  for (const auto& device : devices_) sum += device->growable_bytes();
  return sum;
}

uint64_t ExtentStore::reserved_bytes() const { return reserved_blocks_.load() * kBlockSize; }

}  // namespace terrace::io
