// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/bench/workloads/bench.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/thread.h"

namespace terrace::bench {

namespace {

constexpr int kExitUnableToMeasure = 2;

void EndBecause(const std::string& why) {
  std::fprintf(stderr, "terrace_bench: %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(kExitUnableToMeasure);
}

}  // namespace

void Fail(std::string_view what, std::string_view path) {
  EndBecause(std::string(what) + ": " + std::string(path) + ": " + std::strerror(errno));
  std::abort();
}

void InThreads(int count, const std::function<void(int)>& work) {
  std::vector<Thread> threads;
  for (int i = 0; i < count; i++) {
    threads.emplace_back("bench-" + std::to_string(i), [&work, i] { work(i); });
  }
}

double SecondsOf(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Bench::Bench(Options options)
    : options_(std::move(options)), folder_(options_.directory + "/terrace_bench") {}

std::string Bench::Path(std::string_view name) const { return folder_ + "/" + std::string(name); }

void Bench::MakeFolder() {
  if (mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST) Fail("making", folder_);
}

void Bench::RemoveFolder() {
  if (options_.keep_inputs) return;
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  if (error) EndBecause("removing " + folder_ + ": " + error.message());
}

void Bench::Event(const char* name, std::string_view figure) {
  if (!options_.driven) return;
  std::printf("{\"event\":\"%s\",\"figure\":\"%.*s\"}\n", name, static_cast<int>(figure.size()),
              figure.data());
  std::fflush(stdout);
  char answer[64];
  if (std::fgets(answer, sizeof answer, stdin) == nullptr) {
    EndBecause(std::string("nobody answered the event ") + name);
  }
}

void Bench::Cold(std::string_view figure) {
  if (options_.driven) return Event("cold", figure);
  if (std::system(options_.cold_command.c_str()) != 0) {
    EndBecause("the command for a cold start failed: " + options_.cold_command);
  }
}

void Bench::Measure(std::string_view figure, Amount amount, const std::function<void()>& work) {
  Begin(figure);
  double seconds = SecondsOf(work);
  End(figure);
  Report(figure, amount, seconds);
}

uint64_t Bench::TakeWrong() {
  uint64_t wrong = wrong_.exchange(0);
  if (options_.forgets) return 0;
  wrong_in_all_ += wrong;
  return wrong;
}

void Bench::Report(std::string_view figure, Amount amount, double seconds) {
  std::printf("{\"label\":\"%s\",\"figure\":\"%.*s\",\"seconds\":%.6f", options_.label.c_str(),
              static_cast<int>(figure.size()), figure.data(), seconds);
  if (amount.bytes != 0) {
    std::printf(",\"bytes\":%llu,\"gb_per_s\":%.4f", static_cast<unsigned long long>(amount.bytes),
                static_cast<double>(amount.bytes) / seconds / 1e9);
  }
  if (amount.operations != 0) {
    std::printf(",\"operations\":%llu,\"ops_per_s\":%.1f",
                static_cast<unsigned long long>(amount.operations),
                static_cast<double>(amount.operations) / seconds);
  }
  std::printf(",\"wrong\":%llu}\n", static_cast<unsigned long long>(TakeWrong()));
  std::fflush(stdout);
}

void Bench::Verify(std::string_view figure, const std::function<void()>& read) {
  if (options_.forgets) return;
  whole_ = true;
  read();
  whole_ = false;
  std::printf("{\"label\":\"%s\",\"verified\":\"%.*s\",\"wrong\":%llu}\n", options_.label.c_str(),
              static_cast<int>(figure.size()), figure.data(),
              static_cast<unsigned long long>(TakeWrong()));
  std::fflush(stdout);
}

}  // namespace terrace::bench
