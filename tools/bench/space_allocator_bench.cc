// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// io::SpaceAllocator: the cost of one allocation, on a fresh device and on one in a million pieces.

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "base/units.h"
#include "io/space_allocator.h"

namespace terrace::io {
namespace {

constexpr uint64_t kDeviceBlocks = 4 * kTiB / kBlockSize;
constexpr uint64_t kExtentBlocks = kExtentSizeMax / kBlockSize;

// Fills the first `hole_count` * 64 blocks and frees a hole of 1 to 16 blocks in each 64.
void Fragment(SpaceAllocator& space, uint64_t hole_count) {
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < hole_count; i++) {
    uint64_t hole = 1 + random() % 16;
    benchmark::DoNotOptimize(space.MarkAllocated({i * 64, 64 - hole}));
  }
}

// A stream of extents of 1 MiB, each freed 1024 extents later.
void AllocateStream(benchmark::State& state) {
  SpaceAllocator space(kDeviceBlocks, 0);
  Fragment(space, static_cast<uint64_t>(state.range(0)));
  std::vector<BlockRun> ring(1024);
  size_t next = 0;
  for (auto _ : state) {
    BlockRun& slot = ring[next++ % ring.size()];
    if (slot.count > 0) space.FreeUncommitted(slot);
    slot = *space.AllocateRun(kExtentBlocks);
  }
  state.counters["free_runs"] = static_cast<double>(state.range(0));
}
BENCHMARK(AllocateStream)->Arg(0)->Arg(1000)->Arg(1000000)->Arg(4000000);

// Small pieces that live in the holes of a fragmented device.
void AllocateSmall(benchmark::State& state) {
  SpaceAllocator space(kDeviceBlocks, 0);
  Fragment(space, static_cast<uint64_t>(state.range(0)));
  std::mt19937_64 random(2);
  std::vector<BlockRun> ring(4096);
  for (auto _ : state) {
    BlockRun& slot = ring[random() % ring.size()];
    if (slot.count > 0) space.FreeUncommitted(slot);
    slot = *space.AllocateRun(1 + random() % 16);
  }
}
BENCHMARK(AllocateSmall)->Arg(1000)->Arg(1000000);

// Start-up: what the extent records of a million extents cost.
void MarkAMillionExtents(benchmark::State& state) {
  for (auto _ : state) {
    SpaceAllocator space(kDeviceBlocks, 0);
    for (uint64_t i = 0; i < 1000000; i++) {
      benchmark::DoNotOptimize(space.MarkAllocated({i * 300, kExtentBlocks}));
    }
  }
  state.SetItemsProcessed(state.iterations() * 1000000);
}
BENCHMARK(MarkAMillionExtents)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace terrace::io
