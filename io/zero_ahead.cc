// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/zero_ahead.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"

// The allocator is a bystander: zeros go into blocks that this class took out of the free ones
// like an extent would, so that nobody else writes there, and gave back when they were written.
// There is no sync: an error of the host's cache must be reported to a barrier, not to us.

namespace terrace::io {

namespace {

constexpr uint64_t kPieceBlocks = kMiB / kBlockSize;
constexpr uint64_t kSpareBytesMin = 256 * kMiB;
// The most free runs that one step looks at.
constexpr int kRunsMax = 256;
// How long the thread rests when there was nothing to do.
constexpr std::chrono::milliseconds kRest{2000};

uint64_t ActivityOf(const Device& device) {
  const DeviceCounters& counters = device.counters();
  return counters.read_bytes + counters.written_bytes + counters.errors;
}

std::byte* NewZeros() {
  void* zeros = std::aligned_alloc(kBlockSize, kPieceBlocks * kBlockSize);
  std::memset(zeros, 0, kPieceBlocks * kBlockSize);
  return static_cast<std::byte*>(zeros);
}

}  // namespace

ZeroAhead::ZeroAhead(ExtentStore& store, const Options& options)
    : store_(store), options_(options), zeros_(NewZeros()) {
  for (uint16_t i = 0; i < store.device_count(); i++) {
    work_.push_back({.device = &store.device(DeviceId(i)), .activity = 0, .failed = false});
  }
  if (options.run_thread) thread_ = Thread("terrace-zeros", [this] { Run(); });
}

ZeroAhead::~ZeroAhead() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    stop_.NotifyAll();
  }
  thread_.Join();
}

void ZeroAhead::Run() {
  std::chrono::milliseconds pause = options_.idle;
  for (;;) {
    {
      MutexLock lock(mu_);
      if (!stopping_) stop_.WaitFor(mu_, pause);
      if (stopping_) return;
    }
    bool worked = false;
    for (DeviceWork& work : work_) worked = WorkWhileIdle(work) || worked;
    pause = worked ? options_.idle : std::max(kRest, options_.idle);
  }
}

// Returns: true when there is more to do, now or when the device is idle.
bool ZeroAhead::WorkWhileIdle(DeviceWork& work) {
  if (work.failed) return false;
  uint64_t activity = ActivityOf(*work.device);
  if (activity != std::exchange(work.activity, activity)) return true;
  uint64_t errors = work.device->counters().errors;
  bool worked = false;
  while (!stopping_ && ActivityOf(*work.device) == activity && Step(*work.device)) worked = true;
  work.failed = work.device->counters().errors != errors;
  return worked;
}

bool ZeroAhead::Step(Device& device) {
  uint64_t free_bytes = device.space().counts().free_blocks * kBlockSize;
  uint64_t size_blocks = device.space().counts().capacity_blocks;
  if (free_bytes < options_.ahead_bytes && device.growable_bytes() > 0) {
    if (device.Grow(1, size_blocks)) return true;
  }
  if (!MayTakeSpace()) return false;
  uint64_t ahead_blocks = options_.ahead_bytes / kBlockSize;
  uint64_t seen_blocks = 0;
  std::optional<BlockRun> run = device.space().NextFree(device.space().cursor());
  for (int i = 0; i < kRunsMax && run && seen_blocks < ahead_blocks; i++) {
    uint64_t end = std::min(run->end(), run->first + ahead_blocks - seen_blocks);
    uint64_t first =
        device.file().FirstUnwritten(run->first * kBlockSize, end * kBlockSize) / kBlockSize;
    if (first < end) return WriteZeros(device, {first, std::min(kPieceBlocks, end - first)});
    seen_blocks += end - run->first;
    run = device.space().NextFree(run->end());
  }
  return false;
}

bool ZeroAhead::MayTakeSpace() {
  uint64_t free_bytes = 0;
  for (const DeviceWork& work : work_) {
    free_bytes += work.device->space().counts().free_blocks * kBlockSize;
  }
  return free_bytes >= store_.reserved_bytes() + kSpareBytesMin;
}

bool ZeroAhead::WriteZeros(Device& device, BlockRun run) {
  if (!device.space().Hold(run)) return true;  // taken meanwhile: look again
  Mutex mu;
  CondVar written;
  bool done = false;
  Status result;
  device.file().Write(run.first * kBlockSize, {{zeros_.get(), run.count * kBlockSize}},
                      [&](Status status) {
                        MutexLock lock(mu);
                        result = std::move(status);
                        done = true;
                        written.NotifyAll();
                      });
  {
    MutexLock lock(mu);
    while (!done) written.Wait(mu);
  }
  device.space().EndHold(run);
  if (!result) {
    device.counters().errors++;
    LogWarning(Describe(result.error()) + ": no more zeros are written ahead there");
    return false;
  }
  zeroed_bytes_ += run.count * kBlockSize;
  return true;
}

}  // namespace terrace::io
