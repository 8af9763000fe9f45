// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// What the live map costs: each WRITE puts an entry, each READ looks one up (fs/extent_map.h).
#include "fs/extent_map.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "cache/extent_cache.h"
#include "io/memory_file.h"

namespace terrace::fs {
namespace {

constexpr uint64_t kPoolBytes = 16 * kMiB;

// One dirty extent of 1 MiB that all entries name: the map does not look inside.
class Bench {
 public:
  Bench() : pool_(*cache::BufferPool::Create({.size_bytes = kPoolBytes, .prefault = false})) {
    std::vector<std::unique_ptr<io::Device>> devices;
    devices.push_back(std::make_unique<io::Device>(
        DeviceId(0), std::make_unique<io::MemoryFile>(64 * kMiB), io::Superblock{}, 0));
    store_ = std::make_unique<io::ExtentStore>(std::move(devices));
    cache_ = std::make_unique<cache::ExtentCache>(*pool_, *store_, clock_);
    cache::ExtentCache::NewExtent what;
    what.birth = {ExtentId(1), InodeId(2), 0, Sequence(1)};
    what.size_bytes = kExtentSizeMax;
    extent_ = cache_->AddDirty(what, cache_->AllocateBuffer(kExtentSizeMax));
  }
  const cache::ExtentRef& extent() const { return extent_; }

 private:
  SystemClock clock_;
  std::unique_ptr<cache::BufferPool> pool_;
  std::unique_ptr<io::ExtentStore> store_;
  std::unique_ptr<cache::ExtentCache> cache_;
  cache::ExtentRef extent_;
};

// A file written in order, in requests of 1 MiB.
void AppendInOrder(benchmark::State& state) {
  Bench bench;
  const auto entries = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    ExtentMap map;
    for (uint64_t i = 0; i < entries; i++) {
      map.Put(i * kExtentSizeMax, {kExtentSizeMax, 0, bench.extent()});
    }
    benchmark::DoNotOptimize(map);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(AppendInOrder)->Arg(1 << 10)->Arg(1 << 16);

// 4 KiB pieces anywhere in a file of 1 GiB: entries are split, then replaced.
void OverwriteAtRandom(benchmark::State& state) {
  Bench bench;
  ExtentMap map;
  for (uint64_t i = 0; i < 1024; i++) {
    map.Put(i * kExtentSizeMax, {kExtentSizeMax, 0, bench.extent()});
  }
  std::mt19937 random(1);
  for (auto _ : state) {
    map.Put(random() % (kGiB / kBlockSize) * kBlockSize, {kBlockSize, 0, bench.extent()});
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["entries"] = static_cast<double>(map.size());
}
BENCHMARK(OverwriteAtRandom);

// Where a READ begins, in a map of so many entries.
void LookUp(benchmark::State& state) {
  Bench bench;
  ExtentMap map;
  const auto entries = static_cast<uint64_t>(state.range(0));
  for (uint64_t i = 0; i < entries; i++) map.Put(i * kBlockSize, {kBlockSize, 0, bench.extent()});
  std::mt19937_64 random(1);
  for (auto _ : state) {
    auto found = map.FirstBehind(random() % (entries * kBlockSize));
    benchmark::DoNotOptimize(found);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(LookUp)->Arg(1 << 4)->Arg(1 << 10)->Arg(1 << 18);

}  // namespace
}  // namespace terrace::fs
