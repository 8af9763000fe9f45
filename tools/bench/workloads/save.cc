// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// save: checkpoints being written.
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr int kShards = 8;
constexpr uint64_t kSeed = 1000;

// One writer, like the zip writer of torch. Every round writes a file of that name anew.
void SaveOne(Bench& bench, std::string_view figure, Durability durability) {
  const uint64_t chunks = bench.options().size_mib;
  CheckpointFile file{bench.Path(figure), chunks, kSeed, true};
  bench.Measure(figure, {.bytes = SizeOf(file)}, [&] { WriteCheckpoint(file, durability); });
  bench.Settle(figure);
  bench.Cold(figure);
  bench.Verify(figure, [&] { ReadCheckpoint(bench, file); });
  Remove(file.path);
}

void RunSave1(Bench& bench) { SaveOne(bench, "save1", Durability::kNone); }
void RunSave2(Bench& bench) { SaveOne(bench, "save2", Durability::kFsync); }

CheckpointFile Shard(Bench& bench, int rank) {
  return {bench.Path("__" + std::to_string(rank) + "_0.distcp"), bench.options().size_mib / kShards,
          kSeed + 1 + static_cast<uint64_t>(rank)};
}

// What torch's distributed checkpoints do last: a small file that makes the others count.
void PublishMetadata(Bench& bench) {
  const std::string temporary = bench.Path(".metadata.tmp");
  Content content(kSeed);
  File metadata = File::Create(temporary);
  metadata.Write(content.Page(0), kPageSize);
  metadata.Sync();
  metadata.Close();
  Rename(temporary, bench.Path(".metadata"));
  File::OpenDirectory(bench.Path("")).Sync();
}

void RunSave4(Bench& bench) {
  const uint64_t bytes = kShards * SizeOf(Shard(bench, 0));
  bench.Measure("save4", {.bytes = bytes}, [&] {
    InThreads(kShards, [&](int i) { WriteCheckpoint(Shard(bench, i), Durability::kFsync); });
    PublishMetadata(bench);
  });
  bench.Settle("save4");
  bench.Cold("save4");
  bench.Verify("save4", [&] {
    for (int i = 0; i < kShards; i++) ReadCheckpoint(bench, Shard(bench, i));
  });
  for (int i = 0; i < kShards; i++) Remove(Shard(bench, i).path);
  Remove(bench.Path(".metadata"));
}

}  // namespace

std::vector<Workload> SaveWorkloads() {
  return {
      {"save1", "save1", "one writer, 1 MiB at odd offsets, until close returned", RunSave1},
      {"save2", "save2", "the same with fsync, until durable", RunSave2},
      {"save4", "save4", "8 writers with fsync, then .metadata by rename", RunSave4},
  };
}

}  // namespace terrace::bench
