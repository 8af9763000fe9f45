// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace_bench: runs workloads on any directory and prints a JSON line per figure.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/content.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

constexpr int kExitWrongBytes = 1;
constexpr int kExitUsage = 2;

constexpr const char* kFooter = R"(
A cold workload first runs the command of --cold, which has to empty every cache on the way.
Seconds are wall time, a GB is 1e9 bytes. "wrong" counts the MiB or files that came back different.
Everything is written to DIR/terrace_bench, which is removed at the end.
Exit codes: 0; 1 wrong bytes; 2 wrong usage, or something failed.

Examples:
  terrace_bench --list
  terrace_bench /mnt/disk --only save1,save2 --size-mib 1024
  terrace_bench /mnt/ckpt --cold 'sync && terrace flush /mnt/ckpt && \
    terrace evict --dram /mnt/ckpt && echo 3 > /proc/sys/vm/drop_caches')";

std::vector<Workload> AllWorkloads() {
  std::vector<Workload> all;
  for (const auto& group :
       {SaveWorkloads(), LoadWorkloads(), KvWorkloads(), MetaWorkloads(), SmallWorkloads(),
        CopyWorkloads(), OverwriteWorkloads(), ManyFilesWorkloads()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

void PrintList() {
  for (const Workload& workload : AllWorkloads()) {
    std::printf("%-10s %s%s\n           figures: %s\n", workload.id.data(), workload.what.data(),
                workload.on_request ? " (only if named)" : "", workload.figures.data());
  }
}

bool IsWanted(const Workload& workload, const std::vector<std::string>& only) {
  if (only.empty()) return !workload.on_request;
  return std::find(only.begin(), only.end(), workload.id) != only.end();
}

bool AllAreKnown(const std::vector<std::string>& ids) {
  const std::vector<Workload> all = AllWorkloads();
  for (const std::string& id : ids) {
    bool known = std::any_of(all.begin(), all.end(),
                             [&](const Workload& workload) { return workload.id == id; });
    if (known) continue;
    std::fprintf(stderr, "terrace_bench: --only: no workload '%s': see --list\n", id.c_str());
    return false;
  }
  return true;
}

int Run(const Options& options) {
  if (!AllAreKnown(options.only)) return kExitUsage;
  Bench bench(options);
  Content::Prepare();
  bench.MakeFolder();
  for (const Workload& workload : AllWorkloads()) {
    if (IsWanted(workload, options.only)) workload.run(bench);
  }
  bench.RemoveFolder();
  return bench.wrong_in_all() == 0 ? 0 : kExitWrongBytes;
}

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("DIR", options.directory, "a directory of the file system to measure")
      ->check(CLI::ExistingDirectory);
  app.add_option("--only", options.only, "these workloads, separated by commas")->delimiter(',');
  app.add_option("--size-mib", options.size_mib, "size of a checkpoint")
      ->check(CLI::Range(uint64_t{8}, uint64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--files", options.files, "files of the workloads on names")
      ->check(CLI::Range(uint64_t{2}, uint64_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--many-files", options.many_files, "files of the workload 'many'")
      ->check(CLI::Range(uint64_t{10}, uint64_t{100'000'000}))
      ->capture_default_str();
  app.add_option("--cold", options.cold_command, "makes everything cold")->capture_default_str();
  app.add_option("--label", options.label, "a name for the directory in the report");
  app.add_flag("--keep-inputs", options.keep_inputs, "leave what cold workloads read");
  app.add_flag("--forgets", options.forgets,
               "DIR forgets what it is given: check, but count nothing as wrong");
  app.add_flag("--driven", options.driven,
               "print an event before each phase and wait for a line on stdin");
}

}  // namespace

}  // namespace terrace::bench

int main(int argc, char** argv) {
  CLI::App app("Workloads of checkpoints and KV caches, on any directory.", "terrace_bench");
  terrace::bench::Options options;
  bool list = false;
  terrace::bench::AddOptions(app, options);
  app.add_flag("--list", list, "print the workloads");
  app.footer(terrace::bench::kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : terrace::bench::kExitUsage;
  }
  if (list) {
    terrace::bench::PrintList();
    return 0;
  }
  if (options.directory.empty()) {
    std::fprintf(stderr, "terrace_bench: no DIR: see --help\n");
    return terrace::bench::kExitUsage;
  }
  return terrace::bench::Run(options);
}
