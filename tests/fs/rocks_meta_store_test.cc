// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what RocksMetaStore adds to the contract: death of the process, damage, locking, bounds.
// Method: a real store in a temporary directory; copies of open files; damaged files.
#include "fs/meta/rocks_meta_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/units.h"
#include "fs/meta/key_format.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

using Path = std::filesystem::path;

class RocksMetaStoreTest : public testing::Test {
 protected:
  Result<std::unique_ptr<RocksMetaStore>> Open(RocksMetaOptions options = {}) {
    return RocksMetaStore::Open(directory_.path(), options);
  }
  std::unique_ptr<RocksMetaStore> Create() {
    auto store = Open({.create_if_missing = true});
    EXPECT_TRUE(store) << store.error().context;
    return store ? std::move(*store) : nullptr;
  }
  void PutMany(MetaStore& store, int count, size_t value_size) {
    for (int i = 0; i < count; i++) {
      MetaBatch batch;
      std::string value(value_size, 'v');
      for (size_t j = 0; j < value.size(); j++) value[j] = static_cast<char>(i * 31 + j * 7);
      batch.Put(Table::kInode, InodeKey(InodeId(i)), std::move(value));
      ASSERT_TRUE(store.Write(batch));
    }
  }
  // Opening writes out what the log holds: table files appear.
  void MakeTables() {
    PutMany(*Create(), 20000, 400);
    EXPECT_TRUE(Open());
  }
  std::vector<Path> FilesWith(const std::string& extension) {
    std::vector<Path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == extension || name.starts_with(extension)) {
        paths.push_back(entry.path());
      }
    }
    return paths;
  }

  MetaTempDirectory directory_;
};

TEST_F(RocksMetaStoreTest, MissingStoreIsNotFoundAndNothingIsWritten) {
  EXPECT_EQ(CodeOf(Open()), Errc::kNotFound);
  EXPECT_EQ(CodeOf(Open({.create_if_missing = true, .read_only = true})), Errc::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(RocksMetaStoreTest, SecondOpenIsBusyAndSaysSo) {
  auto store = Create();
  auto second = Open();
  ASSERT_EQ(CodeOf(second), Errc::kBusy);
  EXPECT_NE(second.error().context.find(directory_.path()), std::string::npos);
  store.reset();
  EXPECT_TRUE(Open());
}

TEST_F(RocksMetaStoreTest, OtherProcessHoldsTheLock) {
  Create().reset();
  const std::string lock_path = directory_.path() + "/LOCK";
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {  // nothing but system calls: the parent has threads
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    const int fd = open(lock_path.c_str(), O_RDWR | O_CLOEXEC);
    char byte = fcntl(fd, F_SETLK, &lock) == 0 ? 1 : 0;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    close(done[1]);
    (void)!read(done[0], &byte, 1);
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 1);
  EXPECT_EQ(CodeOf(Open()), Errc::kBusy);
  for (int fd : {ready[0], done[0], done[1]}) close(fd);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Open());
}

// What a killed process leaves is what it had handed to the kernel: a copy of the open files.
TEST_F(RocksMetaStoreTest, UnsyncedWritesSurviveTheDeathOfTheProcess) {
  auto living = Create();
  for (uint64_t i = 1; i <= 500; i++) {
    MetaBatch batch;
    batch.Put(Table::kDentry, DentryKey(kRootInode, i), "entry");
    batch.Put(Table::kInode, InodeKey(InodeId(i)), "record");
    ASSERT_TRUE(living->Write(batch));
  }
  MetaTempDirectory left;
  std::filesystem::copy(directory_.path(), left.path());
  auto store = RocksMetaStore::Open(left.path(), {});
  ASSERT_TRUE(store) << store.error().context;
  for (uint64_t i = 1; i <= 500; i++) {
    EXPECT_EQ((*store)->Get(Table::kInode, InodeKey(InodeId(i))).value(), "record");
    EXPECT_EQ((*store)->Get(Table::kDentry, DentryKey(kRootInode, i)).value(), "entry");
  }
}

// After a power loss the log may end anywhere: a prefix of the batches must be there.
TEST_F(RocksMetaStoreTest, TornLogKeepsAPrefixOfWholeBatches) {
  {
    auto store = Create();
    for (int i = 0; i < 200; i++) {
      MetaBatch batch;
      batch.Put(Table::kInode, InodeKey(InodeId(i)), std::string(50, 'i'));
      batch.Put(Table::kDentry, InodeKey(InodeId(i)), std::string(50, 'd'));
      ASSERT_TRUE(store->Write(batch));
    }
  }
  const std::vector<Path> logs = FilesWith(".log");
  ASSERT_EQ(logs.size(), 1u);
  std::filesystem::resize_file(logs[0], std::filesystem::file_size(logs[0]) * 2 / 3 + 1);
  auto store = Open();
  ASSERT_TRUE(store) << store.error().context;
  int kept = 0;
  bool ended = false;
  for (int i = 0; i < 200; i++) {
    const bool record = (*store)->Get(Table::kInode, InodeKey(InodeId(i))).value().has_value();
    const bool entry = (*store)->Get(Table::kDentry, InodeKey(InodeId(i))).value().has_value();
    EXPECT_EQ(record, entry) << "half a batch";
    EXPECT_FALSE(ended && record) << "a hole";
    if (!record) ended = true;
    kept += record ? 1 : 0;
  }
  EXPECT_GT(kept, 100);
  EXPECT_LT(kept, 200);
}

// A log ends where it stops making sense, so damage of it can't be told from a power loss.
TEST_F(RocksMetaStoreTest, NothingHangsOnAnEmptiedLog) {
  {
    auto store = Create();
    PutMany(*store, 300, 400);
    ASSERT_TRUE(store->EmptyLog());
  }
  for (const Path& path : FilesWith(".log")) {
    EXPECT_EQ(std::filesystem::file_size(path), 0u) << path;
  }
  EXPECT_FALSE(FilesWith(".sst").empty());
  auto store = Open();
  ASSERT_TRUE(store) << store.error().context;
  for (int i = 0; i < 300; i++) {
    EXPECT_TRUE((*store)->Get(Table::kInode, InodeKey(InodeId(i))).value()) << i;
  }
}

TEST_F(RocksMetaStoreTest, ReadOnlyRefusesWritesAndReads) {
  PutMany(*Create(), 10, 10);
  auto store = Open({.read_only = true});
  ASSERT_TRUE(store) << store.error().context;
  EXPECT_TRUE((*store)->Get(Table::kInode, InodeKey(InodeId(3))).value());
  MetaBatch batch;
  batch.Put(Table::kInode, "k", "v");
  EXPECT_EQ(CodeOf((*store)->Write(batch)), Errc::kReadOnly);
}

TEST_F(RocksMetaStoreTest, MissingCurrentIsDamageNotAFreshStore) {
  PutMany(*Create(), 10, 10);
  std::filesystem::remove(Path(directory_.path()) / "CURRENT");
  auto store = Open({.create_if_missing = true});
  ASSERT_EQ(CodeOf(store), Errc::kCorrupt);
  EXPECT_NE(store.error().context.find(directory_.path()), std::string::npos);
  EXPECT_NE(store.error().context.find("format --force"), std::string::npos);
}

TEST_F(RocksMetaStoreTest, TruncatedOrMissingTableFileIsRefused) {
  MakeTables();
  const std::vector<Path> tables = FilesWith(".sst");
  ASSERT_FALSE(tables.empty());
  const Path kept = tables[0].string() + ".kept";
  std::filesystem::copy_file(tables[0], kept);
  std::filesystem::resize_file(tables[0], std::filesystem::file_size(tables[0]) / 2);
  EXPECT_EQ(CodeOf(Open()), Errc::kCorrupt);
  std::filesystem::remove(tables[0]);
  EXPECT_EQ(CodeOf(Open()), Errc::kCorrupt);
  std::filesystem::rename(kept, tables[0]);
  EXPECT_TRUE(Open());
}

TEST_F(RocksMetaStoreTest, FlippedByteIsCorruptNeverAWrongValue) {
  MakeTables();
  const std::vector<Path> tables = FilesWith(".sst");
  ASSERT_FALSE(tables.empty());
  for (const Path& path : tables) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(20000);
    const char byte = static_cast<char>(file.get());
    file.seekp(20000);
    file.put(static_cast<char>(byte ^ 0x10));
  }
  auto store = Open();
  if (!store) {
    EXPECT_EQ(CodeOf(store), Errc::kCorrupt);
    return;
  }
  int damaged = 0;
  for (int i = 0; i < 20000; i++) {
    auto value = (*store)->Get(Table::kInode, InodeKey(InodeId(i)));
    if (!value) {
      EXPECT_EQ(value.error().code, Errc::kCorrupt);
      damaged++;
      continue;
    }
    ASSERT_TRUE(*value) << i;
    EXPECT_EQ((**value)[0], static_cast<char>(i * 31)) << i;
    EXPECT_EQ((**value)[399], static_cast<char>(i * 31 + 399 * 7)) << i;
  }
  EXPECT_GT(damaged, 0);
}

TEST_F(RocksMetaStoreTest, DamagedManifestIsRefused) {
  PutMany(*Create(), 10, 10);
  for (const Path& path : FilesWith("MANIFEST")) std::filesystem::resize_file(path, 100);
  EXPECT_EQ(CodeOf(Open()), Errc::kCorrupt);
  for (const Path& path : FilesWith("MANIFEST")) std::filesystem::remove(path);
  auto missing = Open();
  ASSERT_EQ(CodeOf(missing), Errc::kCorrupt);
  EXPECT_NE(missing.error().context.find("format --force"), std::string::npos);
}

TEST_F(RocksMetaStoreTest, MemoryAndLogStayBounded) {
  auto store = Create();
  PutMany(*store, 60000, 400);  // 24 MB, more than all buffers
  const RocksMetaMemory memory = store->MemoryInUse();
  EXPECT_LE(memory.block_cache_bytes, 40 * kMiB);
  EXPECT_LE(memory.write_buffer_bytes, 24 * kMiB);
  uint64_t log_bytes = 0;
  for (const Path& path : FilesWith(".log")) log_bytes += std::filesystem::file_size(path);
  EXPECT_LE(log_bytes, 24 * kMiB);
}

}  // namespace
}  // namespace terrace::fs
