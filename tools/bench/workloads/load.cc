// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// load: checkpoints being read, from the device and again from memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr uint64_t kSeed = 2000;

void RunLoad1(Bench& bench) {
  CheckpointFile file{bench.Path("input-load"), bench.options().size_mib, kSeed, true};
  EnsureCheckpoint(file);
  bench.Cold("load1");
  for (const char* figure : {"load1", "load3"}) {
    bench.Measure(figure, {.bytes = SizeOf(file)}, [&] { ReadCheckpoint(bench, file); });
  }
  bench.Verify("load1", [&] { ReadCheckpoint(bench, file); });
}

// As safetensors does: map it all, close it, touch every tensor.
void ReadMapped(Bench& bench, const CheckpointFile& file) {
  File in = File::OpenToRead(file.path);
  void* mapped = mmap(nullptr, SizeOf(file), PROT_READ, MAP_PRIVATE, in.descriptor(), 0);
  if (mapped == MAP_FAILED) Fail("mapping", file.path);
  in.Close();
  Content content(file.seed);
  ChunkBuffer tensor;
  for (uint64_t i = 0; i < file.chunks; i++) {
    std::memcpy(tensor.data(), static_cast<std::byte*>(mapped) + i * kChunkSize, kChunkSize);
    bool right = content.Matches(tensor.data(), i, kChunkSize, bench.whole());
    if (!right) bench.CountWrong();
  }
  munmap(mapped, SizeOf(file));
}

void RunLoad2(Bench& bench) {
  const uint64_t chunks = std::max<uint64_t>(1, bench.options().size_mib / 2);
  CheckpointFile file{bench.Path("input-mapped"), chunks, kSeed + 1};
  EnsureCheckpoint(file);
  bench.Cold("load2");
  for (const char* figure : {"load2", "load2hot"}) {
    bench.Measure(figure, {.bytes = SizeOf(file)}, [&] { ReadMapped(bench, file); });
  }
  bench.Verify("load2", [&] { ReadMapped(bench, file); });
}

// What one core moves in memory: no file at all. The ceiling of everything that copies once.
void RunMemcpy(Bench& bench) {
  const uint64_t chunks = bench.options().size_mib;
  const uint64_t chunks_held = std::min<uint64_t>(chunks, 256);
  std::vector<std::byte> from(chunks_held * kChunkSize, std::byte{1});
  ChunkBuffer to;
  bench.Measure("memcpy", {.bytes = chunks * kChunkSize}, [&] {
    for (uint64_t i = 0; i < chunks; i++) {
      std::memcpy(to.data(), from.data() + i % chunks_held * kChunkSize, kChunkSize);
      if (to.data()[i % kChunkSize] != std::byte{1}) bench.CountWrong();
    }
  });
}

}  // namespace

std::vector<Workload> LoadWorkloads() {
  return {
      {"load1", "load1 load3", "cold: one reader, 1 MiB a call; then the same hot", RunLoad1},
      {"load2", "load2 load2hot", "cold: through mmap, every byte; then the same hot", RunLoad2},
      {"memcpy", "memcpy", "no file: what one core copies in memory", RunMemcpy},
  };
}

}  // namespace terrace::bench
