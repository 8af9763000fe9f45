// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// small: 4 KiB a call, in order: logs, tar, programs with small buffers.
#include <algorithm>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr uint64_t kSeed = 5000;

void ReadPages(Bench& bench, const std::string& path, uint64_t pages) {
  Content content(kSeed);
  ChunkBuffer buffer;
  File in = File::OpenToRead(path);
  for (uint64_t i = 0; i < pages; i++) {
    bool right =
        in.Read(buffer.data(), kPageSize) && content.MatchesPage(buffer.data(), i, bench.whole());
    if (!right) bench.CountWrong();
  }
}

void RunSmall1(Bench& bench) {
  const uint64_t pages = std::max<uint64_t>(1, bench.options().size_mib / 16) * kPagesPerChunk;
  const Amount amount{.bytes = pages * kPageSize, .operations = pages};
  const std::string path = bench.Path("small1");
  bench.Measure("small1w", amount, [&] {
    Content content(kSeed);
    File out = File::Create(path);
    for (uint64_t i = 0; i < pages; i++) out.Write(content.Page(i), kPageSize);
    out.Close();
  });
  bench.Measure("small1r", amount, [&] { ReadPages(bench, path, pages); });
  bench.Settle("small1w");
  bench.Cold("small1");
  bench.Verify("small1", [&] { ReadPages(bench, path, pages); });
  Remove(path);
}

}  // namespace

std::vector<Workload> SmallWorkloads() {
  return {
      {"small1", "small1w small1r", "4 KiB a call in order, written and read again", RunSmall1},
  };
}

}  // namespace terrace::bench
