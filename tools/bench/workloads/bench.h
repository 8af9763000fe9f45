// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Bench: one run of workloads on one directory: its options, its clock and its report.
//
// Role     A workload prepares what it needs, calls Cold() if it wants to find nothing in a cache,
//          does its work inside Measure(), and calls Verify() to read everything once more and
//          compare it whole. Each figure is one JSON line on stdout.
// Driven   With --driven, what surrounds the clock is left to the program that started us: we print
//          {"event":NAME,"figure":ID} and wait for a line on stdin. Events: cold, begin, end,
//          settle (write everything out), rewrite (let background rewriting finish).
// Threads  CountWrong and whole() from any; the rest from the main thread.
// Errors   What fails ends the program with exit code 2: a benchmark has no other way out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::bench {

struct Options {
  std::string directory;
  std::string label = "directory";
  std::string cold_command = "sync; echo 3 > /proc/sys/vm/drop_caches";
  std::vector<std::string> only;
  uint64_t size_mib = 4096;
  uint64_t files = 20'000;
  uint64_t many_files = 1'000'000;
  bool driven = false;
  bool forgets = false;  // the directory forgets what it is given: wrong bytes are not counted
  bool keep_inputs = false;
};

// What a figure counts; zero: not this.
struct Amount {
  uint64_t bytes = 0;
  uint64_t operations = 0;
};

// "what: path: why" by errno, and the end.
[[noreturn]] void Fail(std::string_view what, std::string_view path);

// Runs `work(i)` in `count` threads, and waits for all.
void InThreads(int count, const std::function<void(int)>& work);

double SecondsOf(const std::function<void()>& work);

class Bench {
 public:
  explicit Bench(Options options);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const Options& options() const { return options_; }
  // A path in the folder that holds everything we write.
  std::string Path(std::string_view name) const;
  // Makes that folder, and removes it (unless the inputs are to be kept).
  void MakeFolder();
  void RemoveFolder();

  void Cold(std::string_view figure);
  void Settle(std::string_view figure) { Event("settle", figure); }
  void AwaitRewriting(std::string_view figure) { Event("rewrite", figure); }
  void Measure(std::string_view figure, Amount amount, const std::function<void()>& work);
  // For work with clocks of its own: the events around it, and its lines.
  void Begin(std::string_view figure) { Event("begin", figure); }
  void End(std::string_view figure) { Event("end", figure); }
  void Report(std::string_view figure, Amount amount, double seconds);
  // Runs the reads of a workload again with whole() set.
  void Verify(std::string_view figure, const std::function<void()>& read);

  // True while every byte is to be compared, not two words of each page.
  bool whole() const { return whole_.load(std::memory_order_relaxed); }
  void CountWrong() { wrong_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t wrong_in_all() const { return wrong_in_all_; }

 private:
  void Event(const char* name, std::string_view figure);
  uint64_t TakeWrong();

  // Constant after construction
  const Options options_;
  const std::string folder_;

  std::atomic<uint64_t> wrong_{0};  // MiB or files since the last line
  std::atomic<bool> whole_{false};
  uint64_t wrong_in_all_ = 0;
};

}  // namespace terrace::bench
