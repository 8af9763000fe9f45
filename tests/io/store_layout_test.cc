// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: an empty path becomes a store, a store is found again, all else is refused by name, and a
//       refusal changes nothing.
// Method: directories in every bad state of the table; each refusal between two snapshots.
#include "io/store_layout.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>

#include "base/checksum.h"
#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStoreSize = 128 * kMiB;

StoreOptions Options(std::vector<std::string> paths) {
  return {.paths = std::move(paths),
          .store_size_bytes = kStoreSize,
          .force = false,
          .read_only = false,
          .make = true,
          .metadata_directory = std::nullopt};
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

void Overwrite(const std::string& path, uint64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
}

std::string ReadHead(const std::string& path, size_t size_bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size_bytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size_bytes));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

class StoreLayout : public ::testing::Test {
 protected:
  // Names, kinds and contents of everything below the test's directory.
  std::map<std::string, std::string> Snapshot() {
    std::map<std::string, std::string> snapshot;
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
      std::string content = "directory";
      if (entry.is_regular_file()) {
        std::string bytes = ReadHead(entry.path(), 2 * kMiB);
        content =
            std::to_string(entry.file_size()) + ":" + std::to_string(Checksum64(AsBytes(bytes)));
      }
      snapshot[entry.path().string()] = content;
    }
    return snapshot;
  }
  StoreId Format(const std::vector<std::string>& paths) {
    Result<StoreId> id = FormatStore(Options(paths));
    EXPECT_TRUE(id.has_value()) << id.error().context;
    return id.value_or(StoreId{});
  }
  // Opening is refused with this code, every word is in the message, and nothing was changed.
  void ExpectRefused(const StoreOptions& options, Errc code,
                     const std::vector<std::string>& words) {
    auto before = Snapshot();
    Result<OpenedStore> store = OpenStore(options);
    EXPECT_EQ(Snapshot(), before);
    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().code, code) << store.error().context;
    for (const std::string& word : words) {
      EXPECT_NE(store.error().context.find(word), std::string::npos)
          << "'" << word << "' is not in: " << store.error().context;
    }
  }
  std::string Data(const std::string& path) { return path + "/terrace.data"; }

  IoTempDirectory directory_;
  const std::string a_ = directory_ / "a";
  const std::string b_ = directory_ / "b";
  const std::string c_ = directory_ / "c";
};

TEST_F(StoreLayout, AMissingPathBecomesAStoreAndIsFoundAgain) {
  const std::string deep = directory_ / "x/store";
  Result<OpenedStore> too_early = OpenStore(Options({deep}));
  ASSERT_FALSE(too_early.has_value()) << "the drive that should be at x is not mounted";
  EXPECT_NE(too_early.error().context.find("no directory"), std::string::npos);
  EXPECT_FALSE(fs::exists(directory_ / "x"));
  fs::create_directory(directory_ / "x");
  StoreId id;
  {
    Result<OpenedStore> store = OpenStore(Options({deep}));
    ASSERT_TRUE(store.has_value()) << store.error().context;
    EXPECT_TRUE(store->freshly_formatted);
    EXPECT_EQ(store->metadata_directory, deep + "/terrace.meta");
    EXPECT_FALSE(fs::exists(deep + "/terrace.meta"));
    ASSERT_EQ(store->devices.size(), 1u);
    EXPECT_EQ(store->devices[0]->capacity_bytes(), kStoreSize);
    EXPECT_TRUE(MarkStoreInUse(*store->devices[0]).has_value());
    id = store->store_id;
  }
  struct stat info;
  ASSERT_EQ(::stat(deep.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(Data(deep).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  Result<OpenedStore> again = OpenStore(Options({deep + "/"}));
  ASSERT_TRUE(again.has_value()) << again.error().context;
  EXPECT_FALSE(again->freshly_formatted);
  EXPECT_EQ(again->store_id, id);
}

TEST_F(StoreLayout, AStoreIsFreshUntilItsMetadataWasMade) {
  Format({a_, b_});
  for (int round = 0; round < 2; round++) {  // as after a mount that ended before it was done
    Result<OpenedStore> store = OpenStore(Options({a_, b_}));
    ASSERT_TRUE(store.has_value()) << store.error().context;
    EXPECT_TRUE(store->freshly_formatted);
    Status marked = round == 0 ? Status() : MarkStoreInUse(*store->devices[0]);
    EXPECT_TRUE(marked.has_value());
  }
  EXPECT_FALSE(OpenStore(Options({a_, b_}))->freshly_formatted);
  Overwrite(Data(a_), 2 * kBlockSize, "damage");
  EXPECT_FALSE(OpenStore(Options({a_, b_}))->freshly_formatted);
  StoreOptions force = Options({a_, b_});
  force.force = true;
  ASSERT_TRUE(FormatStore(force).has_value());
  EXPECT_TRUE(OpenStore(Options({a_, b_}))->freshly_formatted);
}

TEST_F(StoreLayout, WhatIsOursAndLostAndFoundDoNotCountAsContent) {
  fs::create_directories(a_ + "/lost+found");
  WriteFile(a_ + "/terrace.log", "a log of an earlier try");
  WriteFile(a_ + "/terrace.data.new", "of an interrupted format");
  EXPECT_TRUE(OpenStore(Options({a_})).has_value());
  EXPECT_FALSE(fs::exists(a_ + "/terrace.data.new"));
}

TEST_F(StoreLayout, BytesSurviveAReopenOverSeveralDevices) {
  ExtentRecord record;
  IoMemory memory(kMiB);
  memory.Fill(4);
  for (int round = 0; round < 2; round++) {
    Result<OpenedStore> opened = OpenStore(Options({a_, b_, c_}));
    ASSERT_TRUE(opened.has_value()) << opened.error().context;
    ASSERT_EQ(opened->devices.size(), 3u);
    EXPECT_EQ(opened->metadata_directory, a_ + "/terrace.meta");
    ExtentStore store(std::move(opened->devices));
    if (round == 0) {
      ExtentWrite write;
      write.data = memory.data();
      write.size_bytes = kExtentSizeMax;
      WrittenBatch written = WriteBatchNow(store, {write});
      ASSERT_TRUE(written.status.has_value());
      ASSERT_TRUE(store.Sync().has_value());
      record = written.batch[0].record;
    } else {
      ASSERT_TRUE(store.MarkAllocated(record).has_value());
      IoMemory read(kMiB);
      ASSERT_TRUE(ReadExtentNow(store, record, 0, 16, read.data()).has_value());
      EXPECT_TRUE(read == memory);
    }
  }
}

TEST_F(StoreLayout, ForeignFilesAreRefusedByName) {
  fs::create_directories(a_);
  WriteFile(a_ + "/thesis.pdf", "important");
  ExpectRefused(Options({a_}), Errc::kInvalid, {a_, "the file thesis.pdf"});
  ExpectRefused(Options({b_, a_}), Errc::kInvalid, {a_, "thesis.pdf"});
  fs::remove(a_ + "/thesis.pdf");
  fs::create_directories(a_ + "/photos");
  ExpectRefused(Options({a_}), Errc::kInvalid, {"the directory photos"});
}

TEST_F(StoreLayout, AStoreOfAnotherProductIsRefused) {
  fs::create_directories(a_);
  WriteFile(Data(a_), std::string(20000, 'x'));
  ExpectRefused(Options({a_}), Errc::kInvalid, {a_, "no superblock of TerraceFS"});
  WriteFile(Data(a_), "");
  ExpectRefused(Options({a_}), Errc::kInvalid, {a_, "no superblock of TerraceFS"});
}

TEST_F(StoreLayout, MetadataWithoutItsDataFileIsRefused) {
  fs::create_directories(a_ + "/terrace.meta");
  ExpectRefused(Options({a_}), Errc::kInvalid, {a_, "terrace.meta"});
}

TEST_F(StoreLayout, NeitherADirectoryNorADevice) {
  WriteFile(a_, "a file");
  ExpectRefused(Options({a_}), Errc::kInvalid, {a_, "neither a directory nor a block device"});
  ExpectRefused(Options({a_ + "/below"}), Errc::kNotDirectory, {a_});
}

TEST_F(StoreLayout, APathGivenTwiceIsRefused) {
  fs::create_directories(a_);
  fs::create_directory_symlink(a_, b_);
  for (const std::string& same : {a_, a_ + "/", a_ + "/../a", b_}) {
    ExpectRefused(Options({a_, same}), Errc::kInvalid, {same, "given twice"});
  }
  ExpectRefused(Options({c_, c_}), Errc::kInvalid, {c_, "given twice"});
  ExpectRefused(Options({}), Errc::kInvalid, {"--store"});
  ExpectRefused(Options({""}), Errc::kInvalid, {"empty"});
}

TEST_F(StoreLayout, SwappedDevicesAreRefusedNamingBoth) {
  StoreId id = Format({a_, b_});
  ExpectRefused(Options({b_, a_}), Errc::kInvalid,
                {a_, b_, "expected device 0 of store " + StoreIdText(id), "found device 1",
                 "--store " + a_ + " --store " + b_});
  EXPECT_TRUE(OpenStore(Options({a_, b_})).has_value());
}

TEST_F(StoreLayout, AMissingDeviceIsRefused) {
  StoreId id = Format({a_, b_, c_});
  ExpectRefused(Options({a_, c_}), Errc::kInvalid,
                {StoreIdText(id), "has 3 devices, 2 paths are given", "device 1 is missing"});
  ExpectRefused(Options({c_}), Errc::kInvalid, {"device 0 is missing"});
  fs::remove_all(b_);
  ExpectRefused(Options({a_, b_, c_}), Errc::kInvalid,
                {b_, "expected device 1 of store " + StoreIdText(id), "found nothing"});
}

TEST_F(StoreLayout, AnExtraDeviceIsRefused) {
  StoreId id = Format({a_, b_});
  ExpectRefused(Options({a_, b_, c_}), Errc::kInvalid,
                {c_, "one path too many", StoreIdText(id), "has 2 devices"});
}

TEST_F(StoreLayout, ADeviceOfAnotherStoreIsRefusedWithBothIds) {
  StoreId first = Format({a_, b_});
  StoreId second = Format({c_});
  ExpectRefused(Options({a_, c_}), Errc::kInvalid,
                {c_, "expected device 1 of store " + StoreIdText(first),
                 "found device 0 of store " + StoreIdText(second)});
}

TEST_F(StoreLayout, ACopiedDeviceIsRefused) {
  Format({a_, b_});
  fs::copy(a_, c_, fs::copy_options::recursive);
  ExpectRefused(Options({a_, c_}), Errc::kInvalid, {a_, c_, "one must be a copy"});
}

TEST_F(StoreLayout, AnInterruptedFormatIsRecognised) {
  Format({a_, b_, c_});
  fs::remove(Data(a_));  // device 0 is written last
  ExpectRefused(Options({a_, b_, c_}), Errc::kInvalid, {a_, "interrupted format", "--force"});
}

TEST_F(StoreLayout, ADamagedSuperblockIsRefusedAndItsCopyReported) {
  StoreId id = Format({a_});
  Overwrite(Data(a_), 30, "?");
  ExpectRefused(Options({a_}), Errc::kCorrupt,
                {Data(a_), "checksum", "copy in block 1 is intact", StoreIdText(id), "--force"});
  Overwrite(Data(a_), 0, std::string(4096, '\0'));
  ExpectRefused(Options({a_}), Errc::kCorrupt, {"copy in block 1 is intact"});
  Overwrite(Data(a_), 4096, std::string(4096, '\0'));
  ExpectRefused(Options({a_}), Errc::kInvalid, {"no superblock of TerraceFS"});
}

TEST_F(StoreLayout, ANewerFormatIsRefused) {
  Format({a_});
  Overwrite(Data(a_), offsetof(Superblock, format_version), std::string("\x07", 1));
  ExpectRefused(Options({a_}), Errc::kInvalid, {a_, "format version 7", "newer terrace"});
}

TEST_F(StoreLayout, ADataFileThatWasCutOffIsRefused) {
  Format({a_});
  fs::resize_file(Data(a_), 65536);
  ExpectRefused(Options({a_}), Errc::kCorrupt, {Data(a_), "cut off"});
}

TEST_F(StoreLayout, AStoreInUseIsRefusedNamingTheProcess) {
  Result<OpenedStore> store = OpenStore(Options({a_}));
  ASSERT_TRUE(store.has_value());
  std::string pid = "(pid " + std::to_string(::getpid()) + ")";
  ExpectRefused(Options({a_}), Errc::kBusy, {a_, "in use by", pid});
  StoreOptions force = Options({a_});
  force.force = true;
  Result<StoreId> formatted = FormatStore(force);
  ASSERT_FALSE(formatted.has_value());
  EXPECT_EQ(formatted.error().code, Errc::kBusy);
}

TEST_F(StoreLayout, TheStoreOfAKilledProcessOpensAtOnce) {
  Format({a_, b_});
  for (int round = 0; round < 5; round++) {
    int ready[2];
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_t child = ::fork();
    if (child == 0) {
      Result<OpenedStore> store = OpenStore(Options({a_, b_}));
      char answer = store ? 'y' : 'n';
      if (::write(ready[1], &answer, 1) == 1) ::pause();
      ::_exit(0);
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    Result<OpenedStore> store = OpenStore(Options({a_, b_}));
    ASSERT_TRUE(store.has_value()) << store.error().context;
  }
}

TEST_F(StoreLayout, SizesThatMakeNoSenseAreRefused) {
  StoreOptions options = Options({a_});
  options.store_size_bytes = 10 * kMiB;
  ExpectRefused(options, Errc::kInvalid, {"--store-size 10.0 MiB", "64.0 MiB"});
  options.store_size_bytes = uint64_t{1} << 60;
  ExpectRefused(options, Errc::kInvalid, {"--store-size", a_, "its file system has only"});
}

TEST_F(StoreLayout, TheDefaultSizeIsMostOfTheFreeSpace) {
  StoreOptions options = Options({a_});
  options.store_size_bytes = std::nullopt;
  uint64_t free_bytes = fs::space(directory_.path()).available;
  Result<OpenedStore> store = OpenStore(options);
  ASSERT_TRUE(store.has_value()) << store.error().context;
  EXPECT_GT(store->devices[0]->capacity_bytes(), free_bytes / 10 * 8);
  EXPECT_LT(store->devices[0]->capacity_bytes(), free_bytes);
}

TEST_F(StoreLayout, AFileLargerThanStoreSizeKeepsItsSize) {
  {
    Result<OpenedStore> store = OpenStore(Options({a_}));
    ASSERT_TRUE(store->devices[0]->Allocate(100 * kMiB / kBlockSize).has_value());
  }
  StoreOptions smaller = Options({a_});
  smaller.store_size_bytes = 64 * kMiB;
  Result<OpenedStore> store = OpenStore(smaller);
  ASSERT_TRUE(store.has_value()) << store.error().context;
  EXPECT_GE(store->devices[0]->capacity_bytes(), 101 * kMiB);
}

TEST_F(StoreLayout, ReadOnlyMakesNothingAndOpensWhatIsThere) {
  StoreOptions options = Options({a_});
  options.read_only = true;
  ExpectRefused(options, Errc::kNotFound, {a_});
  Format({a_});
  auto before = Snapshot();
  {
    Result<OpenedStore> store = OpenStore(options);
    ASSERT_TRUE(store.has_value()) << store.error().context;
    IoMemory memory(4096);
    EXPECT_FALSE(WriteNow(store->devices[0]->file(), kMiB - 4096, {memory.piece()}).has_value());
  }
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(StoreLayout, AReadOnlyMountMakesNoStore) {
  StoreOptions options = Options({a_, b_});
  options.make = false;
  ExpectRefused(options, Errc::kNotFound, {a_, "no store here"});
  Format({a_, b_});
  EXPECT_TRUE(OpenStore(options).has_value());
}

TEST_F(StoreLayout, ANewStoreIsNotMadeForMetadataOfAnother) {
  StoreOptions options = Options({a_, b_});
  options.metadata_directory = c_;
  WriteFile(c_, "a file");
  ExpectRefused(options, Errc::kNotDirectory, {c_});
  fs::remove(c_);
  fs::create_directories(c_);
  WriteFile(c_ + "/terrace.log", "ours");
  WriteFile(c_ + "/CURRENT", "the newest\n");
  ExpectRefused(options, Errc::kInvalid, {c_, "the file CURRENT", "--meta"});
  fs::remove(c_ + "/CURRENT");
  EXPECT_TRUE(OpenStore(options).has_value());
}

TEST_F(StoreLayout, FormatRefusesByNameAndForceOverwrites) {
  StoreId first = Format({a_, b_});
  fs::create_directories(a_ + "/terrace.meta/deep");
  WriteFile(a_ + "/terrace.meta/CURRENT", "metadata");
  WriteFile(a_ + "/mine.txt", "not touched");
  auto before = Snapshot();
  Result<StoreId> refused = FormatStore(Options({a_, b_}));
  EXPECT_EQ(Snapshot(), before);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_NE(refused.error().context.find("device 0 of store " + StoreIdText(first)),
            std::string::npos);
  EXPECT_NE(refused.error().context.find("--force"), std::string::npos);
  StoreOptions force = Options({a_, b_});
  force.force = true;
  Result<StoreId> second = FormatStore(force);
  ASSERT_TRUE(second.has_value()) << second.error().context;
  EXPECT_NE(*second, first);
  EXPECT_FALSE(fs::exists(a_ + "/terrace.meta"));
  EXPECT_TRUE(fs::exists(a_ + "/mine.txt"));
  Result<OpenedStore> store = OpenStore(Options({a_, b_}));
  ASSERT_TRUE(store.has_value()) << store.error().context;
  EXPECT_EQ(store->store_id, *second);
}

TEST_F(StoreLayout, FormatNamesForeignAndDamagedContent) {
  fs::create_directories(a_);
  WriteFile(a_ + "/data.bin", "x");
  EXPECT_NE(FormatStore(Options({a_})).error().context.find("the file data.bin"),
            std::string::npos);
  Format({b_});
  Overwrite(Data(b_), 30, "?");
  EXPECT_NE(FormatStore(Options({b_})).error().context.find("can't be read"), std::string::npos);
}

}  // namespace
}  // namespace terrace::io
