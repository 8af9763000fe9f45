// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// overwrite: a file of 1 GiB overwritten at random in 4 KiB pieces, each piece once, which is the
// worst that can happen to its map; then read in order. Beside it: the same file as first written.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr uint64_t kSeed = 7000;
constexpr uint64_t kChunksMax = 1024;

void OverwriteAtRandom(const CheckpointFile& file, const std::vector<uint64_t>& order) {
  Content content(file.seed);
  File out = File::OpenToOverwrite(file.path);
  for (uint64_t page : order) out.WriteAt(content.Page(page), kPageSize, page * kPageSize);
  out.Close();
}

// Four figures: the file read cold as it was written in order; the overwriting; the file read
// cold right after everything is durable; the same once background rewriting is done.
void RunOverwrite(Bench& bench) {
  const uint64_t chunks = std::min(kChunksMax, bench.options().size_mib);
  const CheckpointFile before{bench.Path("overwrite"), chunks, kSeed};
  CheckpointFile after = before;
  after.seed++;
  const Amount read{.bytes = SizeOf(before)};

  WriteCheckpoint(before, Durability::kFsync);
  bench.Settle("overwrite.in_order");
  bench.Cold("overwrite.in_order");
  bench.Measure("overwrite.in_order", read, [&] { ReadCheckpoint(bench, before); });

  std::vector<uint64_t> order(chunks * kPagesPerChunk);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(kSeed));
  bench.Measure("overwrite.write", {.bytes = read.bytes, .operations = order.size()},
                [&] { OverwriteAtRandom(after, order); });
  bench.Settle("overwrite.write");
  bench.Cold("overwrite.scattered");
  bench.Measure("overwrite.scattered", read, [&] { ReadCheckpoint(bench, after); });

  bench.AwaitRewriting("overwrite.rewritten");
  bench.Cold("overwrite.rewritten");
  bench.Measure("overwrite.rewritten", read, [&] { ReadCheckpoint(bench, after); });
  bench.Verify("overwrite", [&] { ReadCheckpoint(bench, after); });
  Remove(before.path);
}

}  // namespace

std::vector<Workload> OverwriteWorkloads() {
  constexpr const char* kFigures =
      "overwrite.in_order overwrite.write overwrite.scattered overwrite.rewritten";
  return {
      {"overwrite", kFigures, "1 GiB overwritten in 4 KiB pieces at random, then read in order",
       RunOverwrite},
  };
}

}  // namespace terrace::bench
