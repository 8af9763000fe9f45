// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// many: a store of very many small files, a tenth of them dirty at once. What it costs in memory is
// measured from outside, by the program that answers our events.
#include <algorithm>
#include <atomic>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr uint64_t kSeed = 8000;
constexpr uint64_t kFilesPerDirectory = 10'000;
constexpr uint64_t kDirtyOneIn = 10;
constexpr int kThreads = 4;

class ManyFiles {
 public:
  explicit ManyFiles(Bench& bench) : bench_(bench), count_(bench.options().many_files) {}

  // The files stay for as long as the folder does: a remount can be looked at too.
  void Run() {
    MakeDirectory(bench_.Path("many"));
    for (uint64_t i = 0; i < count_; i += kFilesPerDirectory) MakeDirectory(DirectoryOf(i));
    bench_.Measure("many.create", {.operations = count_}, [this] { CreateAll(); });
    bench_.Settle("many.create");
    const uint64_t dirty = count_ / kDirtyOneIn;
    bench_.Measure("many.dirty", {.operations = dirty}, [this] { DirtySome(); });
    bench_.Settle("many.dirty");
    bench_.Cold("many");
    bench_.Verify("many", [this] { ReadSome(); });
  }

 private:
  std::string DirectoryOf(uint64_t i) const {
    return bench_.Path("many/" + std::to_string(i / kFilesPerDirectory));
  }
  std::string Name(uint64_t i) const { return DirectoryOf(i) + "/" + std::to_string(i); }

  void CreateAll() {
    std::atomic<uint64_t> next{0};
    InThreads(kThreads, [&](int) {
      Content content(kSeed);
      for (uint64_t i; (i = next++) < count_;) {
        File out = File::Create(Name(i));
        out.Write(content.Page(i), kPageSize);
        out.Close();
      }
    });
  }

  void DirtySome() {
    std::atomic<uint64_t> next{0};
    InThreads(kThreads, [&](int) {
      Content content(kSeed + 1);
      for (uint64_t i; (i = kDirtyOneIn * next++) < count_;) {
        File out = File::OpenToOverwrite(Name(i));
        out.WriteAt(content.Page(i), kPageSize, 0);
        out.Close();
      }
    });
  }

  // One file in five: half of what was made dirty, and others between.
  void ReadSome() {
    Content old_content(kSeed);
    Content new_content(kSeed + 1);
    ChunkBuffer buffer;
    for (uint64_t i = 0; i < count_; i += kDirtyOneIn / 2) {
      const Content& content = i % kDirtyOneIn == 0 ? new_content : old_content;
      File in = File::OpenToRead(Name(i));
      bool right = in.Read(buffer.data(), kPageSize) &&
                   content.MatchesPage(buffer.data(), i, bench_.whole());
      if (!right) bench_.CountWrong();
    }
  }

  Bench& bench_;
  const uint64_t count_;
};

void RunMany(Bench& bench) { ManyFiles(bench).Run(); }

}  // namespace

std::vector<Workload> ManyFilesWorkloads() {
  return {
      {"many", "many.create many.dirty", "--many-files files of 4 KiB, a tenth overwritten",
       RunMany, true},
  };
}

}  // namespace terrace::bench
