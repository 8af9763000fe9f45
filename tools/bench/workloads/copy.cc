// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// copy: a checkpoint copied by `cp`, and a save while a KV cache is read.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr uint64_t kSeed = 6000;
constexpr int kReaders = 16;
constexpr uint64_t kChunksPerFile = 4;

void CopyByCp(std::string from, std::string to) {
  std::string program = "cp";
  char* arguments[] = {program.data(), from.data(), to.data(), nullptr};
  pid_t child = 0;
  errno = posix_spawnp(&child, "cp", nullptr, nullptr, arguments, environ);
  if (errno != 0) Fail("starting", "cp");
  int status = 0;
  if (waitpid(child, &status, 0) != child) Fail("waiting for", "cp");
  errno = EIO;
  if (status != 0) Fail("copying by cp", from);
}

void RunCopy1(Bench& bench) {
  CheckpointFile file{bench.Path("input-copy"), bench.options().size_mib, kSeed, true};
  CheckpointFile copy = file;
  copy.path = bench.Path("copy1");
  EnsureCheckpoint(file);
  bench.Measure("copy1", {.bytes = SizeOf(file)}, [&] { CopyByCp(file.path, copy.path); });
  bench.Settle("copy1");
  bench.Cold("copy1");
  bench.Verify("copy1", [&] { ReadCheckpoint(bench, copy); });
  Remove(copy.path);
}

CheckpointFile MixFile(const Bench& bench, uint64_t number) {
  return {bench.Path("input-mix/" + std::to_string(number)), kChunksPerFile, kSeed + number};
}

// One clock for each side: what a side loses is seen against save1 and kv2 alone.
void RunMix1(Bench& bench) {
  const uint64_t files = std::max<uint64_t>(kReaders, bench.options().size_mib / 8);
  MakeDirectory(bench.Path("input-mix"));
  for (uint64_t i = 0; i < files; i++) EnsureCheckpoint(MixFile(bench, i));
  CheckpointFile saved{bench.Path("mix1"), bench.options().size_mib, kSeed, true};
  bench.Cold("mix1");
  std::atomic<uint64_t> next{0};
  double save_seconds = 0;
  double read_seconds = 0;
  bench.Begin("mix1");
  InThreads(2, [&](int side) {
    if (side == 0) {
      save_seconds = SecondsOf([&] { WriteCheckpoint(saved, Durability::kNone); });
      return;
    }
    read_seconds = SecondsOf([&] {
      InThreads(kReaders, [&](int) {
        for (uint64_t i; (i = next++) < files;) ReadCheckpoint(bench, MixFile(bench, i));
      });
    });
  });
  bench.End("mix1");
  bench.Report("mix1.save1", {.bytes = SizeOf(saved)}, save_seconds);
  bench.Report("mix1.kv2", {.bytes = files * SizeOf(MixFile(bench, 0))}, read_seconds);
  bench.Settle("mix1");
  bench.Cold("mix1");
  bench.Verify("mix1", [&] { ReadCheckpoint(bench, saved); });
  Remove(saved.path);
}

}  // namespace

std::vector<Workload> CopyWorkloads() {
  return {
      {"copy1", "copy1", "cp of a checkpoint inside the directory", RunCopy1},
      {"mix1", "mix1.save1 mix1.kv2", "save1 while 16 threads read cold files", RunMix1},
  };
}

}  // namespace terrace::bench
