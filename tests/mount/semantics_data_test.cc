// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal    docs/semantics.md, "Reading and writing": one test per paragraph.
// Method  A mount of the built program, used through plain system calls.
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/mount/semantics_support.h"

namespace terrace::mount {

namespace {

// A shared mapping of a whole file.
class Mapping {
 public:
  Mapping(const io::UniqueFd& fd, size_t size, int protection) : size_(size) {
    void* at = mmap(nullptr, size, protection, MAP_SHARED, fd.get(), 0);
    EXPECT_NE(at, MAP_FAILED) << std::strerror(errno);
    if (at != MAP_FAILED) bytes_ = static_cast<char*>(at);
  }
  ~Mapping() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* bytes() const { return bytes_; }
  std::string_view text() const { return {bytes_, bytes_ == nullptr ? 0 : size_}; }

 private:
  const size_t size_;
  char* bytes_ = nullptr;
};

}  // namespace

using DataSemanticsTest = SemanticsTest;

TEST_F(DataSemanticsTest, WholeReadsAndWrites) {
  Paragraph("Whole reads and writes");
  auto& store = MountStore({});
  const std::string bytes = Pattern(40 * kMiB + 7, 1);
  for (int direct : {0, O_DIRECT}) {
    WriteAt(Open("file", O_WRONLY | O_CREAT | direct), 0, bytes);
    for (bool cold : {false, true}) {
      if (cold) store.Remount();
      io::UniqueFd fd = Open("file", O_RDONLY | direct);
      EXPECT_TRUE(ReadAt(fd, 0, bytes.size() + 1000) == bytes);
      for (uint64_t at : {uint64_t{1}, kMiB - 1, 7 * kMiB + 123, bytes.size() - 5}) {
        EXPECT_TRUE(ReadAt(fd, at, 3 * kMiB + 11) == bytes.substr(at, 3 * kMiB + 11)) << at;
      }
      EXPECT_EQ(ReadAt(fd, bytes.size(), 10), "");
    }
  }
}

TEST_F(DataSemanticsTest, ReadersSeeWritesAtOnce) {
  Paragraph("Readers see writes at once");
  MountStore({});
  std::string expected = Pattern(3 * kMiB, 1);
  WriteFile("file", expected);
  // Small and large files, and descriptors opened before and after each other, differ in the
  // cache that the kernel uses.
  for (int writer_flags : {O_WRONLY, O_RDWR, O_WRONLY | O_DIRECT}) {
    io::UniqueFd reader = Open("file", O_RDONLY);
    io::UniqueFd direct_reader = Open("file", O_RDONLY | O_DIRECT);
    Mapping mapping(reader, expected.size(), PROT_READ);
    EXPECT_TRUE(mapping.text() == expected);
    io::UniqueFd writer = Open("file", writer_flags);
    for (uint64_t at : {uint64_t{0}, kMiB - 3, 2 * kMiB + 4097}) {
      const std::string change =
          Pattern(at == 0 ? 200'000 : 10, at + static_cast<uint64_t>(writer_flags));
      WriteAt(writer, at, change);
      expected.replace(at, change.size(), change);
      EXPECT_TRUE(ReadAt(reader, 0, expected.size()) == expected) << at;
      EXPECT_TRUE(ReadAt(direct_reader, 0, expected.size()) == expected) << at;
      EXPECT_TRUE(mapping.text() == expected) << at;
    }
    WriteAt(writer, expected.size(), "longer");
    expected += "longer";
    EXPECT_EQ(StatOf("file").st_size, static_cast<off_t>(expected.size()));
    EXPECT_TRUE(ReadAt(reader, 0, expected.size()) == expected);
  }
}

TEST_F(DataSemanticsTest, ODirectOfAnyAlignment) {
  Paragraph("O_DIRECT of any alignment");
  auto& store = MountStore({});
  std::string expected(300'000, '\0');
  io::UniqueFd fd = Open("file", O_RDWR | O_CREAT | O_DIRECT);
  for (uint64_t at : {uint64_t{3}, uint64_t{4097}, uint64_t{131'071}, uint64_t{299'000}}) {
    const std::string change = Pattern(at == 299'000 ? 1000 : at % 1000 + 500, at);
    // An odd address in memory, too.
    std::string shifted = "x" + change;
    WriteAt(fd, at, std::string_view(shifted).substr(1));
    expected.replace(at, change.size(), change);
  }
  WriteAt(Open("file", O_RDWR), 10'000, "through the page cache");
  expected.replace(10'000, 22, "through the page cache");
  EXPECT_TRUE(ReadAt(fd, 0, expected.size() + 1) == expected);
  EXPECT_TRUE(ReadAt(fd, 12'345, 54'321) == expected.substr(12'345, 54'321));
  fd.Reset();
  store.Remount();
  fd = Open("file", O_RDONLY | O_DIRECT);
  EXPECT_TRUE(ReadAt(fd, 777, 200'001) == expected.substr(777, 200'001));
  EXPECT_TRUE(ReadFile("file") == expected);
}

TEST_F(DataSemanticsTest, SharedMappings) {
  Paragraph("Shared mappings");
  auto& store = MountStore({"-o", "write_back_delay=1h"});
  const std::string bytes = Pattern(2 * kMiB, 1);
  for (const char* name : {"synced", "closed"}) {
    io::UniqueFd fd = Open(name, O_RDWR | O_CREAT);
    ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes.size())), 0);
    Mapping mapping(fd, bytes.size(), PROT_READ | PROT_WRITE);
    ASSERT_NE(mapping.bytes(), nullptr);
    std::memcpy(mapping.bytes(), bytes.data(), bytes.size());
    if (name == std::string("synced")) {
      ASSERT_EQ(msync(mapping.bytes(), bytes.size(), MS_SYNC), 0) << std::strerror(errno);
    }
  }
  EXPECT_TRUE(ReadFile("closed") == bytes);
  store.Remount();
  EXPECT_TRUE(ReadFile("closed") == bytes);
  EXPECT_TRUE(ReadFile("synced") == bytes);

  // A direct reader, and a store through a mapping that is still there.
  io::UniqueFd fd = Open("synced", O_RDWR);
  Mapping mapping(fd, bytes.size(), PROT_READ | PROT_WRITE);
  ASSERT_NE(mapping.bytes(), nullptr);
  std::memcpy(mapping.bytes() + kMiB, "stored", 6);
  EXPECT_EQ(ReadAt(Open("synced", O_RDONLY | O_DIRECT), kMiB, 6), "stored");
  ASSERT_EQ(msync(mapping.bytes(), bytes.size(), MS_SYNC), 0) << std::strerror(errno);
  store.KillAndMountAgain();
  EXPECT_EQ(ReadAt(Open("synced", O_RDONLY), kMiB, 6), "stored");
}

TEST_F(DataSemanticsTest, TheWriteBackCache) {
  Paragraph("The write-back cache");
  auto& store = MountStore(kWritebackCache);
  EXPECT_EQ(store.Status()["mode"], "writeback");
  io::UniqueFd fd = Open("file", O_RDWR | O_CREAT);
  for (uint64_t at = 0; at < 1000; at += 10) WriteAt(fd, at, "0123456789");
  EXPECT_EQ(ReadFile("file").size(), 1000u);
  // The descriptor stays open and nobody syncs.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store.Status()["requests"].value("write", 0) == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the kernel kept the bytes";
  }
  ASSERT_TRUE(store.WaitUntilClean());
  EXPECT_LT(store.Status()["requests"].value("write", 0), 100) << "small writes did not gather";
  WriteFile("closed", "bytes");
  ASSERT_TRUE(store.WaitUntilClean());
  store.KillAndMountAgain();
  EXPECT_EQ(ReadFile("file").size(), 1000u);
  EXPECT_EQ(ReadAt(Open("file", O_RDONLY), 990, 10), "0123456789");
  EXPECT_EQ(ReadFile("closed"), "bytes");
}

TEST_F(DataSemanticsTest, FilesThatAreReplacedOrRemovedWhileInUse) {
  Paragraph("Files that are replaced or removed while in use");
  auto& store = MountStore({});
  const std::string older = Pattern(2 * kMiB, 1);
  const std::string newer = Pattern(2 * kMiB, 2);
  WriteFile("file", older);
  struct statvfs before {};
  ASSERT_EQ(statvfs(Path("").c_str(), &before), 0);
  {
    io::UniqueFd fd = Open("file", O_RDWR);
    Mapping mapping(fd, older.size(), PROT_READ);
    WriteFile("temporary", newer);
    Rename("temporary", "file");
    EXPECT_TRUE(mapping.text() == older);
    WriteAt(fd, 5, "changed");
    EXPECT_EQ(ReadAt(fd, 5, 7), "changed");
    EXPECT_TRUE(ReadFile("file") == newer);

    io::UniqueFd second = Open("file", O_RDWR);
    ASSERT_EQ(unlink(Path("file").c_str()), 0);
    EXPECT_TRUE(ReadAt(second, 0, newer.size()) == newer);
    struct stat status {};
    ASSERT_EQ(fstat(second.get(), &status), 0);
    EXPECT_EQ(status.st_nlink, 0u);
    ASSERT_EQ(fsync(second.get()), 0);
  }
  EXPECT_FALSE(Exists("file"));
  store.Remount();
  struct statvfs after {};
  ASSERT_EQ(statvfs(Path("").c_str(), &after), 0);
  EXPECT_GT(after.f_bfree, before.f_bfree) << "the removed files still take space";
}

TEST_F(DataSemanticsTest, SparseFiles) {
  Paragraph("Sparse files");
  auto& store = MountStore({});
  const std::string bytes = Pattern(100'000, 1);
  const uint64_t place = 10 * kMiB + 5;
  const off_t size = 100 * static_cast<off_t>(kMiB);
  io::UniqueFd fd = Open("file", O_WRONLY | O_CREAT);
  WriteAt(fd, place, bytes);
  ASSERT_EQ(ftruncate(fd.get(), size), 0);
  fd.Reset();
  for (int pass = 0; pass < 2; pass++) {
    fd = Open("file", O_RDONLY);
    const off_t end = static_cast<off_t>(place + bytes.size());
    EXPECT_EQ(lseek(fd.get(), 0, SEEK_DATA), static_cast<off_t>(place));
    EXPECT_EQ(lseek(fd.get(), static_cast<off_t>(place), SEEK_HOLE), end);
    EXPECT_EQ(lseek(fd.get(), 0, SEEK_HOLE), 0);
    EXPECT_ERRNO(ENXIO, lseek(fd.get(), end, SEEK_DATA));
    EXPECT_ERRNO(ENXIO, lseek(fd.get(), size, SEEK_HOLE));
    EXPECT_TRUE(ReadAt(fd, place - 100, 100) == std::string(100, '\0'));
    EXPECT_TRUE(ReadAt(fd, place, bytes.size()) == bytes);
    EXPECT_LE(StatOf("file").st_blocks * 512, 2 * 100'000);
    fd.Reset();
    store.Remount();
  }
}

// SEEK_DATA in write-back mode called dirty pages of the kernel a hole, or refused to answer.
TEST_F(DataSemanticsTest, SparseFilesInWritebackMode) {
  Paragraph("Sparse files");
  MountStore({"-o", "cache=writeback,write_back_delay=1h"});
  const std::string bytes = Pattern(3 * kBlockSize, 1);  // the kernel's pages
  const off_t end = static_cast<off_t>(bytes.size());
  // More at once than there are readers: none of them may wait for what the kernel writes out.
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 24; thread++) {
    threads.emplace_back([&, thread] {
      const std::string name = "file" + std::to_string(thread);
      io::UniqueFd fd = Open(name, O_RDWR | O_CREAT);
      WriteAt(fd, 0, bytes);
      EXPECT_EQ(lseek(fd.get(), 0, SEEK_DATA), 0) << std::strerror(errno);
      EXPECT_EQ(lseek(fd.get(), 0, SEEK_HOLE), end);
      ASSERT_EQ(ftruncate(fd.get(), 5 * end), 0);
      WriteAt(fd, 3 * static_cast<uint64_t>(end), bytes);
      EXPECT_EQ(lseek(fd.get(), end, SEEK_DATA), 3 * end);
      EXPECT_ERRNO(ENXIO, lseek(fd.get(), 4 * end, SEEK_DATA));
      EXPECT_TRUE(ReadAt(fd, 0, bytes.size()) == bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DataSemanticsTest, Fallocate) {
  Paragraph("fallocate");
  auto& store = MountStore({});
  io::UniqueFd fd = Open("file", O_RDWR | O_CREAT);
  ASSERT_EQ(fallocate(fd.get(), 0, 0, 5 * kMiB), 0) << std::strerror(errno);
  EXPECT_EQ(StatOf("file").st_size, static_cast<off_t>(5 * kMiB));
  ASSERT_EQ(fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, 9 * kMiB), 0);
  EXPECT_EQ(StatOf("file").st_size, static_cast<off_t>(5 * kMiB));
  EXPECT_ERRNO(ENOSPC, fallocate(fd.get(), 0, 0, static_cast<off_t>(kTiB)));
  EXPECT_ERRNO(EOPNOTSUPP, fallocate(fd.get(), FALLOC_FL_COLLAPSE_RANGE, 0, kBlockSize));
  EXPECT_ERRNO(EOPNOTSUPP, fallocate(fd.get(), FALLOC_FL_INSERT_RANGE, 0, kBlockSize));

  std::string expected = Pattern(5 * kMiB, 1);
  WriteAt(fd, 0, expected);
  ASSERT_EQ(fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1000, kMiB), 0);
  expected.replace(1000, kMiB, std::string(kMiB, '\0'));
  ASSERT_EQ(fallocate(fd.get(), FALLOC_FL_ZERO_RANGE, 3 * kMiB, 3 * kMiB), 0);
  expected.resize(3 * kMiB);
  expected.resize(6 * kMiB, '\0');
  EXPECT_TRUE(ReadAt(fd, 0, expected.size() + 1) == expected);
  EXPECT_EQ(lseek(fd.get(), 500, SEEK_HOLE), 1000);
  fd.Reset();
  store.Remount();
  EXPECT_TRUE(ReadFile("file") == expected);
}

TEST_F(DataSemanticsTest, TheLargestFile) {
  Paragraph("The largest file");
  auto& store = MountStore({});
  const off_t last = INT64_MAX - 1;
  io::UniqueFd fd = Open("file", O_RDWR | O_CREAT);
  ASSERT_EQ(pwrite(fd.get(), "z", 1, last), 1) << std::strerror(errno);
  EXPECT_EQ(StatOf("file").st_size, INT64_MAX);
  EXPECT_ERRNO(EINVAL, pwrite(fd.get(), "z", 1, INT64_MAX));
  EXPECT_ERRNO(EFBIG, fallocate(fd.get(), 0, last, 10));
  fd.Reset();
  store.Remount();
  EXPECT_EQ(StatOf("file").st_size, INT64_MAX);
  EXPECT_EQ(ReadAt(Open("file", O_RDONLY), static_cast<uint64_t>(last) - 3, 3),
            std::string(3, '\0'));
  char byte = 0;
  fd = Open("file", O_RDONLY);
  EXPECT_EQ(pread(fd.get(), &byte, 1, last), 1) << std::strerror(errno);
  EXPECT_EQ(byte, 'z');
}

TEST_F(DataSemanticsTest, CopiesInsideTheMount) {
  Paragraph("Copies inside the mount");
  MountStore({});
  const std::string bytes = Pattern(5 * kMiB + 3, 1);
  WriteFile("source", bytes);
  io::UniqueFd source = Open("source", O_RDONLY);
  io::UniqueFd copy = Open("copy", O_WRONLY | O_CREAT);
  ssize_t copied = 0;
  while ((copied = copy_file_range(source.get(), nullptr, copy.get(), nullptr, 1 << 30, 0)) > 0) {
  }
  EXPECT_EQ(copied, 0) << std::strerror(errno);
  EXPECT_TRUE(ReadFile("copy") == bytes);
  // Shared: no space is taken for it. Either side goes its own way.
  struct statvfs before {};
  struct statvfs after {};
  ASSERT_EQ(fsync(source.get()), 0);
  ASSERT_EQ(fsync(copy.get()), 0);
  ASSERT_EQ(statvfs(Path("").c_str(), &before), 0);
  io::UniqueFd shared = Open("shared", O_RDWR | O_CREAT);
  off_t at = 1;
  EXPECT_EQ(copy_file_range(source.get(), &at, shared.get(), nullptr, 1 << 30, 0),
            static_cast<ssize_t>(bytes.size() - 1));
  ASSERT_EQ(statvfs(Path("").c_str(), &after), 0);
  EXPECT_EQ(after.f_bfree, before.f_bfree);
  EXPECT_TRUE(ReadFile("shared") == bytes.substr(1));
  WriteAt(shared, 100, "x");
  EXPECT_TRUE(ReadFile("source") == bytes);

  io::UniqueFd sent = Open("sent", O_WRONLY | O_CREAT);
  off_t from = 0;
  while (sendfile(sent.get(), source.get(), &from, 1 << 30) > 0) {
  }
  EXPECT_TRUE(ReadFile("sent") == bytes);
  EXPECT_ERRNO(EOPNOTSUPP, ioctl(copy.get(), FICLONE, source.get()));
}

}  // namespace terrace::mount
