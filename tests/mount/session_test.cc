// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the connection to the kernel: what it agrees on, how many requests an operation takes,
// how it behaves under load, and its ends.
// Method: the built program on a store of its own; requests are counted by `terrace status`.
#include "mount/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "mount/mount_point.h"
#include "tests/mount/semantics_support.h"

namespace terrace::mount {
namespace {

using terrace::testing::MountedStore;
using terrace::testing::RunProgram;

// The numbers of requests are those without the write-back cache, whoever runs this.
const std::vector<std::string> kWriteThrough = {"-o", "cache=passthrough,write_back_delay=1h"};

class SessionTest : public SemanticsTest {
 protected:
  using Counts = std::map<std::string, uint64_t>;

  // RELEASE comes after close has returned: waits for those that are due.
  Counts Requests() {
    for (int attempt = 0;; attempt++) {
      Counts counts = store_->Status()["requests"].get<Counts>();
      if (counts["release"] == counts["open"] + counts["create"] - held_) return counts;
      if (attempt == 1000) ADD_FAILURE() << "a RELEASE is missing";
      if (attempt == 1000) return counts;
    }
  }
  // What the kernel asked while `act` ran, without FORGETs, which come when it likes, and without
  // one GETATTR: after a directory has changed the kernel asks for its mode before it checks
  // permissions in it again (default_permissions; nothing that we could answer avoids it).
  template <typename Act>
  Counts RequestsOf(Act act) {
    Counts before = Requests();
    act();
    Counts after = Requests();
    Counts difference;
    for (const auto& [name, count] : after) {
      if (name == "forget" || name == "batch_forget") continue;
      if (count > before[name]) difference[name] = count - before[name];
    }
    if (difference.contains("getattr") && --difference["getattr"] == 0) difference.erase("getattr");
    return difference;
  }

  uint64_t held_ = 0;  // files that stay open meanwhile
};

TEST_F(SessionTest, AgreesOnWhatTheDesignNeeds) {
  MountStore({});
  const std::vector<std::string> features = store_->Status()["features"];
  auto has = [&](const char* name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  for (const char* name :
       {"async_read", "async_dio", "atomic_o_trunc", "parallel_dirops", "readdirplus",
        "readdirplus_auto", "handle_killpriv_v2", "cache_symlinks", "explicit_inval_data"}) {
    EXPECT_TRUE(has(name)) << name;
  }
  EXPECT_EQ(has("writeback_cache"), store_->Status()["mode"] == "writeback");
}

TEST_F(SessionTest, CreatingASmallFileTakesFourRequests) {
  MountStore(kWriteThrough);
  const Counts counts = RequestsOf([&] { WriteFile("new", ""); });
  EXPECT_EQ(counts, (Counts{{"lookup", 1}, {"create", 1}, {"flush", 1}, {"release", 1}}));
}

TEST_F(SessionTest, KnownNamesCostOneOrNothing) {
  MountStore(kWriteThrough);
  WriteFile("a", "x");
  StatOf("a");
  EXPECT_EQ(RequestsOf([&] { StatOf("a"); }), Counts{});
  EXPECT_EQ(RequestsOf([&] { Rename("a", "b"); }), (Counts{{"lookup", 1}, {"rename", 1}}));
  EXPECT_EQ(RequestsOf([&] { unlink(Path("b").c_str()); }), (Counts{{"unlink", 1}}));
  // The kernel asks once after an unlink, then it knows that the name is free.
  RequestsOf([&] { EXPECT_FALSE(Exists("b")); });
  EXPECT_EQ(RequestsOf([&] { EXPECT_FALSE(Exists("b")); }), Counts{});
  RequestsOf([&] { EXPECT_FALSE(Exists("never")); });
  EXPECT_EQ(RequestsOf([&] { EXPECT_FALSE(Exists("never")); }), Counts{});
}

TEST_F(SessionTest, ReadersCloseWithoutFlush) {
  MountStore(kWriteThrough);
  WriteFile("a", "x");
  const Counts counts = RequestsOf([&] { EXPECT_EQ(ReadAt(Open("a", O_RDONLY), 0, 10), "x"); });
  EXPECT_EQ(counts.count("flush"), 0u);
  EXPECT_EQ(counts.at("open"), 1u);
}

TEST_F(SessionTest, ALargeReadIsFewRequests) {
  MountStore(kWriteThrough);
  const std::string bytes = Pattern(8 * kMiB, 1);
  WriteFile("large", bytes);
  io::UniqueFd fd = Open("large", O_RDONLY);
  held_ = 1;
  const Counts counts = RequestsOf([&] { EXPECT_TRUE(ReadAt(fd, 0, bytes.size()) == bytes); });
  EXPECT_LE(counts.at("read"), 9u) << "1 MiB each";
}

TEST_F(SessionTest, ListingWithAttributesAsksForEachOnlyOnce) {
  MountStore(kWriteThrough);
  std::filesystem::create_directory(Path("d"));
  for (int i = 0; i < 1000; i++) WriteFile("d/" + std::to_string(i), "");
  store_->Remount();
  const Counts counts = RequestsOf([&] {
    int seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator(Path("d"))) {
      struct stat status {};
      EXPECT_EQ(lstat(entry.path().c_str(), &status), 0);
      seen++;
    }
    EXPECT_EQ(seen, 1000);
  });
  EXPECT_GE(counts.at("readdirplus"), 1u);
  const uint64_t looked_up = counts.contains("lookup") ? counts.at("lookup") : 0;
  EXPECT_LE(looked_up, 300u) << "attributes come with the names";
}

TEST_F(SessionTest, TheFiguresThatProgramsGoBy) {
  MountStore({});
  WriteFile("a", "x");
  EXPECT_EQ(StatOf("a").st_blksize, 256 * 1024);
  struct statfs space {};
  ASSERT_EQ(statfs(store_->mount_point().c_str(), &space), 0);
  EXPECT_EQ(space.f_bsize, 4096);
  EXPECT_EQ(space.f_frsize, 4096);
  EXPECT_EQ(space.f_namelen, 255);
}

TEST_F(SessionTest, ReadaheadIsRaisedForRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may";
  MountStore({});
  EXPECT_EQ(store_->Status()["readahead_kib"], 4096u);
}

// 40 writers and readers of the same few files through all kinds of handles: nobody hangs, and
// whoever reads sees whole records.
TEST_F(SessionTest, MixedHandlesUnderLoad) {
  for (const char* mode : {"passthrough", "writeback"}) {
    MountStore({"-o", std::string("cache=") + mode});
    constexpr size_t kRecord = 4096;
    for (int file = 0; file < 4; file++) {
      WriteFile(std::to_string(file), std::string(64 * kRecord, 'a'));
    }
    std::vector<std::thread> threads;
    std::atomic<int> torn{0};
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([&, t] {
        std::string record(kRecord, static_cast<char>('b' + t));
        std::string seen(kRecord, '?');
        for (int round = 0; round < 60; round++) {
          const std::string path = Path(std::to_string((t + round) % 4));
          const int flags = t % 4 == 0 ? O_WRONLY : t % 4 == 1 ? O_RDWR : O_RDONLY;
          const int fd = open(path.c_str(), flags | O_CLOEXEC);
          if (fd < 0) continue;
          const auto offset = static_cast<off_t>(round * kRecord);
          if (flags != O_RDONLY) {
            EXPECT_EQ(pwrite(fd, record.data(), kRecord, offset), static_cast<ssize_t>(kRecord));
          } else if (pread(fd, seen.data(), kRecord, offset) == static_cast<ssize_t>(kRecord)) {
            torn += seen != std::string(kRecord, seen[0]) ? 1 : 0;
          }
          close(fd);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(torn, 0) << mode;
    store_.reset();
  }
}

TEST_F(SessionTest, WriterIsSeenThroughTheCacheOfAReader) {
  MountStore({});
  WriteFile("small", std::string(1000, 'a'));
  io::UniqueFd reader = Open("small", O_RDONLY);
  EXPECT_EQ(ReadAt(reader, 0, 3), "aaa");
  io::UniqueFd writer = Open("small", O_WRONLY);
  WriteAt(writer, 1, "B");
  EXPECT_EQ(ReadAt(reader, 0, 3), "aBa");
  io::UniqueFd direct = Open("small", O_RDONLY | O_DIRECT);
  EXPECT_EQ(ReadAt(direct, 0, 3), "aBa");
}

TEST_F(SessionTest, MappingOfALargeFileSeesItsBytes) {
  MountStore({});
  const std::string bytes = Pattern(5 * kMiB, 3);
  WriteFile("model", bytes);
  for (int pass = 0; pass < 3; pass++) {
    io::UniqueFd fd = Open("model", O_RDONLY);
    void* mapped = mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED) << std::strerror(errno);
    EXPECT_EQ(std::memcmp(mapped, bytes.data(), bytes.size()), 0);
    munmap(mapped, bytes.size());
  }
}

TEST_F(SessionTest, LocksExcludeBetweenDescriptors) {
  MountStore({});
  WriteFile("lock", "");
  io::UniqueFd first = Open("lock", O_RDWR);
  io::UniqueFd second = Open("lock", O_RDWR);
  ASSERT_EQ(flock(first.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_ERRNO(EWOULDBLOCK, flock(second.get(), LOCK_EX | LOCK_NB));
  ASSERT_EQ(flock(first.get(), LOCK_UN), 0);
  EXPECT_EQ(flock(second.get(), LOCK_EX | LOCK_NB), 0);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 10;
  ASSERT_EQ(fcntl(first.get(), F_OFD_SETLK, &range), 0);
  EXPECT_ERRNO(EAGAIN, fcntl(second.get(), F_OFD_SETLK, &range));
}

TEST_F(SessionTest, WriteBackTimesStay) {
  MountStore(kWritebackCache);
  io::UniqueFd fd = Open("a", O_WRONLY | O_CREAT);
  const struct stat before = StatOf("a");
  // The clock of file times moves in steps of some milliseconds.
  do {
    WriteAt(fd, 0, "x");
  } while (StatOf("a").st_mtim.tv_nsec == before.st_mtim.tv_nsec &&
           StatOf("a").st_mtim.tv_sec == before.st_mtim.tv_sec);
  fd.Reset();
  const struct stat after = StatOf("a");
  store_->Remount();
  EXPECT_EQ(StatOf("a").st_mtim.tv_sec, after.st_mtim.tv_sec);
  EXPECT_EQ(StatOf("a").st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

TEST_F(SessionTest, SigtermFlushesAndUnmounts) {
  MountStore(kNeverByAge);
  WriteFile("a", "kept");
  store_->EndEngine(SIGTERM);
  EXPECT_FALSE(Exists("a")) << "the directory below";
  store_->Mount();
  EXPECT_EQ(ReadFile("a"), "kept");
}

TEST_F(SessionTest, SigtermWithUsersDetachesAndLosesNothing) {
  MountStore(kWriteThrough);
  io::UniqueFd held = Open("a", O_RDWR | O_CREAT);
  WriteAt(held, 0, "kept");
  store_->EndEngine(SIGTERM);
  EXPECT_ERRNO(ENOTCONN, pwrite(held.get(), "x", 1, 0));
  held.Reset();
  store_->Mount();
  EXPECT_EQ(ReadFile("a"), "kept");
}

TEST_F(SessionTest, AbortedConnectionIsCleanedUp) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  MountStore(kNeverByAge);
  WriteFile("a", "kept");
  struct stat status = StatOf("a");
  const std::string control = "/sys/fs/fuse/connections";
  const std::string abort_file = control + "/" + std::to_string(minor(status.st_dev)) + "/abort";
  const bool mounted = access(abort_file.c_str(), F_OK) != 0 &&
                       RunProgram({"mount", "-t", "fusectl", "none", control}).exit_code == 0;
  std::ofstream abort(abort_file);
  abort << "1" << std::flush;
  const bool aborted = abort.good();
  abort.close();
  if (mounted) RunProgram({"umount", control});
  if (!aborted) GTEST_SKIP() << abort_file << " can't be written";
  store_->WaitForEngine();
  store_->Mount();
  EXPECT_EQ(ReadFile("a"), "kept") << "accepted bytes are flushed whatever happens";
}

TEST_F(SessionTest, LazyUnmountServesUntilTheLastUserIsGone) {
  MountStore(kNeverByAge);
  io::UniqueFd held = Open("a", O_RDWR | O_CREAT);
  WriteAt(held, 0, "before");
  store_->PlainUnmount(/*lazy=*/true);
  WriteAt(held, 0, "AFTER!");
  EXPECT_EQ(ReadAt(held, 0, 6), "AFTER!");
  held.Reset();
  EXPECT_TRUE(store_->WaitForEngine());
  store_->Mount();
  EXPECT_EQ(ReadFile("a"), "AFTER!");
}

TEST_F(SessionTest, SpinningReadersServeToo) {
  MountStore({"-o", "reader_threads=2,reader_spin_us=50"});
  WriteFile("a", "x");
  EXPECT_EQ(ReadFile("a"), "x");
}

}  // namespace
}  // namespace terrace::mount
