// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// What a buffer costs: every WRITE takes one and gives one back (cache/buffer_pool.h).
#include "cache/buffer_pool.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace terrace::cache {
namespace {

constexpr uint64_t kPoolBytes = 256 * kMiB;

std::unique_ptr<BufferPool> MakePool() {
  auto pool = BufferPool::Create({.size_bytes = kPoolBytes});
  TERRACE_ASSERT(pool.has_value());
  return std::move(*pool);
}

void PrefaultAll(BufferPool& pool) {
  const uint64_t size = pool.counts().size_bytes;
  std::latch done(1);
  uint64_t reported = 0;
  pool.StartPrefault([&](std::byte*, size_t chunk_bytes) {
    reported += chunk_bytes;
    if (reported == size) done.count_down();
  });
  done.wait();
}

BufferPool& SharedPool() {
  static const std::unique_ptr<BufferPool> pool = MakePool();
  return *pool;
}

// The smallest class splits a whole block and merges it again: the longest way.
void AllocateAndFree(benchmark::State& state) {
  BufferPool& pool = SharedPool();
  const auto size = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    std::optional<Buffer> buffer = pool.TryAllocate(size);
    benchmark::DoNotOptimize(buffer);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(AllocateAndFree)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20)->ThreadRange(1, 4);

// A stream in steady state: the oldest of many buffers goes as a new one comes.
void ReplaceOldest(benchmark::State& state) {
  auto pool = MakePool();
  const auto size = static_cast<uint64_t>(state.range(0));
  std::vector<Buffer> live(kPoolBytes / 2 / size);
  size_t oldest = 0;
  for (auto _ : state) {
    live[oldest].Reset();
    live[oldest] = std::move(*pool->TryAllocate(size));
    oldest = oldest + 1 == live.size() ? 0 : oldest + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ReplaceOldest)->Arg(4 << 10)->Arg(1 << 20);

// A request of any size received into a whole block and trimmed to what it needs.
void ReceiveAndTrim(benchmark::State& state) {
  auto pool = MakePool();
  std::mt19937 random(1);
  std::vector<Buffer> live(64);
  size_t oldest = 0;
  for (auto _ : state) {
    Buffer buffer = std::move(*pool->TryAllocate(kMiB));
    buffer.Trim(64 * kKiB + random() % (kMiB - 64 * kKiB));
    live[oldest] = std::move(buffer);
    oldest = (oldest + 1) % live.size();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ReceiveAndTrim);

void FillPool(BufferPool& pool, std::vector<Buffer>& live) {
  while (std::optional<Buffer> buffer = pool.TryAllocate(kMiB)) {
    std::memset(buffer->data(), 1, kMiB);
    live.push_back(std::move(*buffer));
  }
}

// Why there is a prefaulter: filling the whole pool for the first time, without and with it.
void FillForTheFirstTime(benchmark::State& state) {
  const bool prefaulted = state.range(0) != 0;
  uint64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto pool = MakePool();
    if (prefaulted) PrefaultAll(*pool);
    std::vector<Buffer> live;
    state.ResumeTiming();
    FillPool(*pool, live);
    state.PauseTiming();
    bytes += pool->counts().used_bytes;
    live.clear();
    pool.reset();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(FillForTheFirstTime)->ArgName("prefaulted")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace terrace::cache
