// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal    docs/semantics.md, "Durability": one test per paragraph.
// Method  A mount of the built program. The engine is killed, which loses its memory: what is there
//         after the next mount was on the devices. (Lost writes of the devices themselves are
//         tests/crash.)
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "tests/mount/semantics_support.h"

namespace terrace::mount {

namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The errno of reading a file that must hold `bytes` or fail.
int ReadError(const std::string& path, const std::string& bytes) {
  const io::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return errno;
  std::string found(bytes.size() + 1, '?');
  const ssize_t size = pread(fd.get(), found.data(), found.size(), 0);
  if (size < 0) return errno;
  found.resize(static_cast<size_t>(size));
  EXPECT_TRUE(found == bytes) << path;
  return 0;
}

// The data file of the store, changed at the first place that holds `bytes`.
void DamageStored(const std::string& data_file, const std::string& bytes) {
  std::fstream file(data_file, std::ios::binary | std::ios::in | std::ios::out);
  std::string window(8 * kMiB, '\0');
  for (uint64_t at = 0; file.read(window.data(), static_cast<std::streamsize>(window.size()));
       at += window.size() - bytes.size()) {
    const size_t place = window.find(bytes);
    if (place != std::string::npos) {
      file.seekp(static_cast<std::streamoff>(at + place));
      file.put(static_cast<char>(bytes[0] ^ 1));
      return;
    }
    file.seekg(static_cast<std::streamoff>(at + window.size() - bytes.size()));
  }
  ADD_FAILURE() << data_file << " does not hold the bytes";
}

}  // namespace

using DurabilitySemanticsTest = SemanticsTest;
using terrace::testing::ProgramResult;
using terrace::testing::RunProgram;

TEST(SemanticsDocumentTest, EveryParagraphHasATest) {
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(TERRACE_SOURCE_DIR "/tests/mount")) {
    if (entry.path().filename().string().starts_with("semantics_")) tests += Contents(entry.path());
  }
  std::istringstream document(Contents(TERRACE_SOURCE_DIR "/docs/semantics.md"));
  int paragraphs = 0;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("### ")) continue;
    paragraphs++;
    EXPECT_NE(tests.find("Paragraph(\"" + line.substr(4) + "\")"), std::string::npos) << line;
  }
  EXPECT_GT(paragraphs, 30);
}

TEST_F(DurabilitySemanticsTest, AWriteThatReturned) {
  Paragraph("A write that returned");
  auto& store = MountStore(kSoonByAge);
  const std::string large = Pattern(3 * kMiB + 77, 1);
  const std::string small = Pattern(1000, 2);
  io::UniqueFd large_file = Open("large", O_WRONLY | O_CREAT);
  io::UniqueFd small_file = Open("small", O_WRONLY | O_CREAT);
  WriteAt(large_file, 0, large);
  WriteAt(small_file, 0, small);
  EXPECT_TRUE(ReadFile("large") == large);
  EXPECT_TRUE(ReadFile("small") == small);
  // Nobody closes or syncs; it becomes durable all the same.
  ASSERT_TRUE(store.WaitUntilClean());
  store.KillAndMountAgain();
  EXPECT_TRUE(ReadFile("large") == large);
  EXPECT_TRUE(ReadFile("small") == small);
}

TEST_F(DurabilitySemanticsTest, FsyncAndFdatasync) {
  Paragraph("fsync and fdatasync");
  auto& store = MountStore(kNeverByAge);
  const std::string bytes = Pattern(2 * kMiB + 100, 1);
  ASSERT_TRUE(std::filesystem::create_directories(Path("new/deep")));
  struct {
    const char* name;
    int flags;
    int (*sync)(int fd);
  } const ways[] = {{"new/deep/fsync", 0, ::fsync},
                    {"new/deep/fdatasync", 0, ::fdatasync},
                    {"o_sync", O_SYNC, nullptr},
                    {"o_dsync", O_DSYNC, nullptr},
                    {"o_sync through the page cache", O_RDWR | O_SYNC, nullptr}};
  for (const auto& way : ways) {
    io::UniqueFd fd = Open(way.name, way.flags | O_CREAT | ((way.flags & O_RDWR) ? 0 : O_WRONLY));
    WriteAt(fd, 0, bytes);
    WriteAt(fd, bytes.size(), "tail");
    if (way.sync != nullptr) {
      EXPECT_EQ(way.sync(fd.get()), 0) << way.name;
    }
  }
  store.KillAndMountAgain();
  for (const auto& way : ways) EXPECT_TRUE(ReadFile(way.name) == bytes + "tail") << way.name;
}

TEST_F(DurabilitySemanticsTest, FsyncOfADirectory) {
  Paragraph("fsync of a directory");
  auto& store = MountStore(kNeverByAge);
  const std::string bytes = Pattern(5000, 1);
  ASSERT_TRUE(std::filesystem::create_directory(Path("directory")));
  WriteFile("temporary", bytes);
  Rename("temporary", "directory/final");
  io::UniqueFd directory = Open("directory", O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(fsync(directory.get()), 0) << std::strerror(errno);
  directory.Reset();
  store.KillAndMountAgain();
  EXPECT_TRUE(ReadFile("directory/final") == bytes);
  EXPECT_FALSE(Exists("temporary"));
}

TEST_F(DurabilitySemanticsTest, Close) {
  Paragraph("close");
  auto& store = MountStore(kNeverByAge);
  const std::string bytes = Pattern(5000, 1);
  WriteFile("file", bytes);
  EXPECT_GT(store.DirtyBytes(), 0u) << "close waited for the devices";
  store.Remount(kSoonByAge);
  WriteFile("another", bytes);
  ASSERT_TRUE(store.WaitUntilClean());
  store.KillAndMountAgain();
  EXPECT_TRUE(ReadFile("file") == bytes);
  EXPECT_TRUE(ReadFile("another") == bytes);
}

TEST_F(DurabilitySemanticsTest, RenameWithoutFsync) {
  Paragraph("Rename without fsync");
  auto& store = MountStore(kNeverByAge);
  // Small files wait for their age, large ones may be on their way already.
  for (size_t size : {size_t{5000}, size_t{6 * kMiB + 5}}) {
    const std::string older = Pattern(size, 1);
    const std::string newer = Pattern(size + 3, 2);
    WriteFileAndSync("final", older);
    WriteFile("temporary", newer);
    Rename("temporary", "final");
    WriteFile("temporary", newer);
    Rename("temporary", "first of its name");
    WriteFile("source", newer);
    ASSERT_EQ(link(Path("source").c_str(), Path("linked").c_str()), 0);
    EXPECT_TRUE(ReadFile("final") == newer);

    store.KillAndMountAgain();
    const std::string found = ReadFile("final");
    EXPECT_TRUE(found == older || found == newer) << found.size();
    for (const char* name : {"first of its name", "linked"}) {
      if (Exists(name)) {
        EXPECT_TRUE(ReadFile(name) == newer) << name;
      }
    }
    for (const char* name : {"final", "first of its name", "linked", "source"}) {
      unlink(Path(name).c_str());
    }
  }
}

TEST_F(DurabilitySemanticsTest, TruncateAndRewriteInPlace) {
  Paragraph("Truncate and rewrite in place");
  auto& store = MountStore(kNeverByAge);
  const std::string older = Pattern(4 * kMiB, 1);
  const std::string newer = Pattern(2 * kMiB + 5000, 2);
  WriteFileAndSync("file", older);
  WriteFile("file", newer);
  EXPECT_TRUE(ReadFile("file") == newer);
  store.KillAndMountAgain();
  const std::string found = ReadFile("file");
  const std::string zeros(kBlockSize, '\0');
  for (size_t at = 0; at < found.size(); at += kBlockSize) {
    const std::string block = found.substr(at, kBlockSize);
    const bool is_known = block == older.substr(at, block.size()) ||
                          (at < newer.size() && block == newer.substr(at, block.size())) ||
                          block == zeros.substr(0, block.size());
    ASSERT_TRUE(is_known) << "block at " << at << " of " << found.size();
  }
}

TEST_F(DurabilitySemanticsTest, ChangesOfNames) {
  Paragraph("Changes of names");
  auto& store = MountStore(kNeverByAge);
  ASSERT_TRUE(std::filesystem::create_directories(Path("a/b/c")));
  WriteFile("empty", "");
  Rename("empty", "a/b/moved");
  std::filesystem::create_symlink("target", Path("link"));
  WriteFile("removed", "");
  ASSERT_EQ(unlink(Path("removed").c_str()), 0);
  ASSERT_EQ(chmod(Path("a").c_str(), 0700), 0);
  store.KillAndMountAgain();
  EXPECT_TRUE(std::filesystem::is_directory(Path("a/b/c")));
  EXPECT_TRUE(Exists("a/b/moved"));
  EXPECT_EQ(std::filesystem::read_symlink(Path("link")), "target");
  EXPECT_FALSE(Exists("removed"));
  EXPECT_FALSE(Exists("empty"));
  EXPECT_EQ(StatOf("a").st_mode & 07777, 0700u);
}

TEST_F(DurabilitySemanticsTest, Unmounting) {
  Paragraph("Unmounting");
  auto& store = MountStore(kNeverByAge);
  const std::string bytes = Pattern(9 * kMiB + 1, 1);
  WriteFile("by terrace umount", bytes);
  store.Remount();
  EXPECT_TRUE(ReadFile("by terrace umount") == bytes);

  WriteFile("by umount", bytes);
  store.PlainUnmount();
  store.Mount();
  EXPECT_TRUE(ReadFile("by umount") == bytes);

  WriteFile("by SIGTERM", bytes);
  store.EndEngine(SIGTERM);
  store.Mount();
  EXPECT_TRUE(ReadFile("by SIGTERM") == bytes);
}

TEST_F(DurabilitySemanticsTest, AKilledEngine) {
  Paragraph("A killed engine");
  auto& store = MountStore(kNeverByAge);
  WriteFileAndSync("durable", "durable");
  WriteFile("not durable", "bytes");
  store.EndEngine(SIGKILL);
  EXPECT_ERRNO(ENOTCONN, access(Path("durable").c_str(), F_OK));
  store.PlainUnmount(/*lazy=*/true);
  store.Mount();
  EXPECT_EQ(ReadFile("durable"), "durable");
  const std::string found = Exists("not durable") ? ReadFile("not durable") : "";
  EXPECT_TRUE(found.empty() || found == "bytes" || found == std::string(5, '\0'));
}

TEST_F(DurabilitySemanticsTest, SyncAndSyncfs) {
  Paragraph("sync and syncfs");
  auto& store = MountStore(kNeverByAge);
  std::filesystem::create_directory(Path("below"));
  WriteFile("below/file", "bytes");
  io::UniqueFd root = Open("", O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(syncfs(root.get()), 0);
  root.Reset();
  EXPECT_GT(store.DirtyBytes(), 0u);
  EXPECT_FALSE(store.Status()["requests"].contains("syncfs"));
  auto flushed = terrace::testing::RunProgram({TERRACE_BINARY, "flush", Path("below")});
  EXPECT_EQ(flushed.exit_code, 0) << flushed.output;
  store.KillAndMountAgain();
  EXPECT_EQ(ReadFile("below/file"), "bytes");
}

TEST_F(DurabilitySemanticsTest, DamagedBlocks) {
  Paragraph("Damaged blocks");
  auto& store = MountStore(kNeverByAge);
  const std::string bytes = Pattern(3 * kMiB, 1);
  const std::string others = Pattern(3 * kMiB, 2);
  io::UniqueFd fd = Open("file", O_WRONLY | O_CREAT);
  for (uint64_t at = 0; at < bytes.size(); at += kMiB) WriteAt(fd, at, bytes.substr(at, kMiB));
  fd.Reset();
  WriteFile("other", others);
  store.Unmount();
  const uint64_t damaged = kMiB + 300'000;
  DamageStored(store.store_path() + "/terrace.data", bytes.substr(damaged, 64));
  store.Mount();
  EXPECT_TRUE(ReadFile("other") == others);
  fd = Open("file", O_RDONLY);
  EXPECT_TRUE(ReadAt(fd, 0, kMiB) == bytes.substr(0, kMiB));
  EXPECT_TRUE(ReadAt(fd, 2 * kMiB, kMiB) == bytes.substr(2 * kMiB));
  char byte;
  EXPECT_ERRNO(EIO, pread(fd.get(), &byte, 1, damaged));
  const std::string log = Contents(store.store_path() + "/terrace.log");
  const std::string inode = "inode " + std::to_string(StatOf("file").st_ino);
  EXPECT_NE(log.find(inode), std::string::npos) << log;
  EXPECT_NE(log.find("terrace.data"), std::string::npos) << log;
  EXPECT_GE(store.Status()["devices"][0]["errors"], 1);
}

TEST_F(DurabilitySemanticsTest, DamagedMetadata) {
  Paragraph("Damaged metadata");
  auto& store = MountStore({});
  for (int i = 0; i < 20; i++) WriteFile("file" + std::to_string(i), Pattern(5000 + i, i));
  store.Unmount();
  const std::filesystem::path metadata = store.store_path() + "/terrace.meta";
  const std::filesystem::path whole = store.store_path() + "/terrace.kept";
  std::filesystem::copy(metadata, whole);
  int noticed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(whole)) {
    const std::string name = entry.path().filename();
    if (entry.file_size() == 0) continue;
    std::string bytes = Contents(entry.path());
    bytes[bytes.size() / 2] ^= 0x10;
    std::ofstream(metadata / name, std::ios::binary) << bytes;
    const ProgramResult mounted = RunProgram({TERRACE_BINARY, "mount", "--store",
                                              store.store_path(), "--dram", "64M",
                                              store.mount_point()});
    if (mounted.exit_code != 0) {
      EXPECT_EQ(mounted.exit_code, 4) << name << ": " << mounted.output;
      EXPECT_NE(mounted.output.find("terrace.meta"), std::string::npos) << mounted.output;
      noticed++;
    } else {
      for (int i = 0; i < 20; i++) {
        const int error = ReadError(Path("file" + std::to_string(i)), Pattern(5000 + i, i));
        EXPECT_TRUE(error == 0 || error == EIO) << name << ": " << std::strerror(error);
        noticed += error == EIO ? 1 : 0;
      }
      EXPECT_EQ(RunProgram({TERRACE_BINARY, "umount", store.mount_point()}).exit_code, 0);
    }
    std::filesystem::remove_all(metadata);
    std::filesystem::copy(whole, metadata);
  }
  EXPECT_GT(noticed, 3);
  store.Mount();
  EXPECT_TRUE(ReadFile("file7") == Pattern(5007, 7));
}

TEST_F(DurabilitySemanticsTest, AFullStore) {
  Paragraph("A full store");
  auto& store = MountStore({"--store-size", "64M"});
  const std::string bytes = Pattern(kMiB, 1);
  io::UniqueFd fd = Open("file", O_RDWR | O_CREAT);
  uint64_t accepted = 0;
  ssize_t written = 0;
  while ((written = pwrite(fd.get(), bytes.data(), kMiB, static_cast<off_t>(accepted))) > 0) {
    accepted += static_cast<uint64_t>(written);
    ASSERT_LT(accepted, 128 * kMiB);
  }
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_GT(accepted, 32 * kMiB);
  ASSERT_EQ(fsync(fd.get()), 0) << std::strerror(errno);
  fd.Reset();
  store.Remount();
  EXPECT_EQ(StatOf("file").st_size, static_cast<off_t>(accepted));
  fd = Open("file", O_RDONLY);
  for (uint64_t at = 0; at + kMiB <= accepted; at += kMiB) {
    ASSERT_TRUE(ReadAt(fd, at, kMiB) == bytes) << at;
  }
  fd.Reset();
  ASSERT_EQ(unlink(Path("file").c_str()), 0);
  WriteFile("new file", Pattern(20 * kMiB, 2));
  EXPECT_TRUE(ReadFile("new file") == Pattern(20 * kMiB, 2));
}

}  // namespace terrace::mount
