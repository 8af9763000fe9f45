// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// XXH3-64 as the data path uses it: per 64 KiB block of an extent, in cache and out of it.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/checksum.h"
#include "base/units.h"
#include "io/extent_format.h"

namespace terrace::io {
namespace {

// The working set is 64 MiB, so that most of it comes from memory, as in write-back.
void ChecksumsOfAnExtent(benchmark::State& state) {
  auto size_bytes = static_cast<size_t>(state.range(0));
  std::vector<std::byte> memory(64 * kMiB, std::byte{7});
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ComputeChecksums({memory.data() + at, size_bytes}));
    at = at + 2 * size_bytes <= memory.size() ? at + size_bytes : 0;
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ChecksumsOfAnExtent)->Arg(4 * kKiB)->Arg(64 * kKiB)->Arg(kMiB);

void ChecksumOfABlockInCache(benchmark::State& state) {
  std::vector<std::byte> memory(kChecksumBlockSize, std::byte{7});
  for (auto _ : state) benchmark::DoNotOptimize(Checksum64(memory));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kChecksumBlockSize));
}
BENCHMARK(ChecksumOfABlockInCache);

}  // namespace
}  // namespace terrace::io
