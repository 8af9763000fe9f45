// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// kv: the files of KV caches: chunks of a prefix read in order, small chunks written and found.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr uint64_t kSeed = 3000;
constexpr uint64_t kChunksPerFile = 4;
constexpr uint64_t kFilesMin = 16;
constexpr int kReaders = 16;

constexpr size_t kSmallSize = 256 * kKiB;
constexpr uint64_t kSmallFilesMax = 10'000;
constexpr int kSmallThreads = 4;

// ---- Files of 4 MiB, read in the order in which they were made ----------------------------------

uint64_t FileCount(const Bench& bench) {
  return std::max(kFilesMin, bench.options().size_mib / (2 * kChunksPerFile));
}

// Names as caches give them: hashes, so that no order can be seen in them.
std::string HashedName(uint64_t number, const char* suffix) {
  char name[64];
  std::snprintf(name, sizeof name, "%016llx%s",
                static_cast<unsigned long long>((number + 1) * 0xd1342543de82ef95), suffix);
  return name;
}

CheckpointFile KvFile(const Bench& bench, uint64_t number) {
  return {bench.Path("input-kv/" + HashedName(number, ".safetensors")), kChunksPerFile,
          kSeed + number};
}

void EnsureKvFiles(Bench& bench) {
  MakeDirectory(bench.Path("input-kv"));
  for (uint64_t i = 0; i < FileCount(bench); i++) EnsureCheckpoint(KvFile(bench, i));
}

void ReadKvFiles(Bench& bench, int threads) {
  std::atomic<uint64_t> next{0};
  InThreads(threads, [&](int) {
    for (uint64_t i; (i = next++) < FileCount(bench);) ReadCheckpoint(bench, KvFile(bench, i));
  });
}

void RunKvRead(Bench& bench, const std::string& figure, int threads) {
  EnsureKvFiles(bench);
  const uint64_t bytes = FileCount(bench) * kChunksPerFile * kChunkSize;
  bench.Cold(figure);
  for (const std::string& pass : {figure, figure + "again"}) {
    bench.Measure(pass, {.bytes = bytes, .operations = FileCount(bench)},
                  [&] { ReadKvFiles(bench, threads); });
  }
  bench.Verify(figure, [&] { ReadKvFiles(bench, threads); });
}

void RunKv1(Bench& bench) { RunKvRead(bench, "kv1", 1); }
void RunKv2(Bench& bench) { RunKvRead(bench, "kv2", kReaders); }

// ---- Files of 256 KiB, published by rename, read in random order --------------------------------

std::string SmallPath(const Bench& bench, uint64_t number) {
  return bench.Path("kv3/" + HashedName(number, ".data"));
}

void WriteSmallFiles(Bench& bench, uint64_t count) {
  InThreads(kSmallThreads, [&](int thread) {
    Content content(kSeed - 1);
    for (uint64_t i = static_cast<uint64_t>(thread); i < count; i += kSmallThreads) {
      const std::string path = SmallPath(bench, i);
      File out = File::Create(path + ".tmp");
      out.Write(content.Chunk(i), kSmallSize);
      out.Close();
      Rename(path + ".tmp", path);
    }
  });
}

void ReadSmallFiles(Bench& bench, const std::vector<uint64_t>& order) {
  std::atomic<size_t> next{0};
  InThreads(kSmallThreads, [&](int) {
    Content content(kSeed - 1);
    ChunkBuffer buffer;
    for (size_t i; (i = next++) < order.size();) {
      File in = File::OpenToRead(SmallPath(bench, order[i]));
      bool right = in.Read(buffer.data(), kSmallSize) &&
                   content.Matches(buffer.data(), order[i], kSmallSize, bench.whole());
      if (!right) bench.CountWrong();
    }
  });
}

void RunKv3(Bench& bench) {
  const uint64_t count = std::min(kSmallFilesMax, std::max<uint64_t>(1, bench.options().files / 2));
  const Amount amount{.bytes = count * kSmallSize, .operations = count};
  MakeDirectory(bench.Path("kv3"));
  bench.Measure("kv3w", amount, [&] { WriteSmallFiles(bench, count); });
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(kSeed));
  bench.Measure("kv3r", amount, [&] { ReadSmallFiles(bench, order); });
  bench.Settle("kv3w");
  bench.Cold("kv3");
  bench.Verify("kv3", [&] { ReadSmallFiles(bench, order); });
  for (uint64_t i = 0; i < count; i++) Remove(SmallPath(bench, i));
  RemoveDirectory(bench.Path("kv3"));
}

}  // namespace

std::vector<Workload> KvWorkloads() {
  return {
      {"kv1", "kv1 kv1again", "cold: one thread, files of 4 MiB in creation order", RunKv1},
      {"kv2", "kv2 kv2again", "cold: 16 threads, the same files", RunKv2},
      {"kv3", "kv3w kv3r", "files of 256 KiB by temp + rename, then read; 4 threads", RunKv3},
  };
}

}  // namespace terrace::bench
