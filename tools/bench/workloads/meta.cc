// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// meta: names. As many files as --files says in one directory, by one thread and by four.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "tools/bench/workloads/bench.h"
#include "tools/bench/workloads/files.h"
#include "tools/bench/workloads/workloads.h"

namespace terrace::bench {

namespace {

class Names {
 public:
  Names(Bench& bench, std::string id, int threads)
      : bench_(bench), id_(std::move(id)), threads_(threads), count_(bench.options().files) {}

  void Run() {
    MakeDirectory(bench_.Path(id_));
    Each("create", [this](uint64_t i) { Create(i); });
    Each("stat", [this](uint64_t i) { Stat(i); });
    bench_.Measure(id_ + ".list", {.operations = count_}, [this] { List(); });
    Each("rename", [this](uint64_t i) { Rename(Name(i), NewName(i)); });
    Each("unlink", [this](uint64_t i) { Remove(NewName(i)); });
    RemoveDirectory(bench_.Path(id_));
    bench_.Settle(id_);
  }

 private:
  std::string Name(uint64_t i) const {
    return bench_.Path(id_ + "/layer-" + std::to_string(i) + ".pt");
  }
  std::string NewName(uint64_t i) const { return Name(i) + ".old"; }

  void Each(const std::string& what, const std::function<void(uint64_t)>& operation) {
    const auto step = static_cast<uint64_t>(threads_);
    bench_.Measure(id_ + "." + what, {.operations = count_}, [&] {
      InThreads(threads_, [&](int thread) {
        for (uint64_t i = static_cast<uint64_t>(thread); i < count_; i += step) operation(i);
      });
    });
  }

  void Create(uint64_t i) {
    const std::string name = Name(i);
    int descriptor = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (descriptor < 0) Fail("creating", name);
    if (close(descriptor) != 0) Fail("closing", name);
  }

  void Stat(uint64_t i) {
    struct stat status {};
    bool right = stat(Name(i).c_str(), &status) == 0 && S_ISREG(status.st_mode) != 0;
    if (!right) bench_.CountWrong();
  }

  // As `ls -l` does it.
  void List() {
    const std::string path = bench_.Path(id_);
    DIR* directory = opendir(path.c_str());
    if (directory == nullptr) Fail("opening", path);
    uint64_t seen = 0;
    while (const dirent* entry = readdir(directory)) {
      struct stat status {};
      if (entry->d_name[0] == '.') continue;
      seen++;
      bool right = fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (!right) bench_.CountWrong();
    }
    closedir(directory);
    if (seen != count_) bench_.CountWrong();
  }

  Bench& bench_;
  const std::string id_;
  const int threads_;
  const uint64_t count_;
};

void RunMeta1(Bench& bench) { Names(bench, "meta1", 1).Run(); }
void RunMeta4(Bench& bench) { Names(bench, "meta4", 4).Run(); }

}  // namespace

std::vector<Workload> MetaWorkloads() {
  constexpr const char* kFigures1 = "meta1.create meta1.stat meta1.list meta1.rename meta1.unlink";
  constexpr const char* kFigures4 = "meta4.create meta4.stat meta4.list meta4.rename meta4.unlink";
  return {
      {"meta1", kFigures1, "names in one directory, one thread", RunMeta1},
      {"meta4", kFigures4, "names in one directory, four threads", RunMeta4},
  };
}

}  // namespace terrace::bench
