// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: whatever is done to files, in whatever order, hot, cold, after remounts and power losses,
// they hold what they should. Method: random operations against plain strings, whole files
// compared; for power losses every byte has a list of the values that it may have. The seed is
// printed; TERRACE_SEED replays it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bitset>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

uint64_t Seed() {
  const char* given = std::getenv("TERRACE_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "TERRACE_SEED=" << seed << "\n";
  return seed;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t bound) { return engine_() % bound; }
  bool OneIn(uint64_t count) { return Below(count) == 0; }
  // Sizes of all magnitudes; page and extent sizes more often than chance would have it.
  uint64_t Size(uint64_t max) {
    static constexpr uint64_t kSpecial[] = {1,        64,     4095,     4096,    4097,
                                            65'535,   65'536, 65'537,   131'072, 1'048'512,
                                            kMiB - 1, kMiB,   kMiB + 1, 2 * kMiB};
    uint64_t size =
        OneIn(3) ? kSpecial[Below(std::size(kSpecial))] : 1 + Below(uint64_t{1} << (1 + Below(21)));
    return std::min(size, max);
  }

 private:
  std::mt19937_64 engine_;
};

struct Setting {
  const char* name;
  TestVolume::Options options;
  int steps;
};

class FilesModelTest : public ::testing::TestWithParam<Setting> {
 protected:
  static constexpr uint64_t kFileSizeMaxHere = 5 * kMiB;
  struct File {
    InodeId inode;
    std::string name;
    std::string bytes;
  };

  FilesModelTest() : seed_(Seed()), random_(seed_), volume_(GetParam().options) {
    for (int i = 0; i < 4; i++) Add();
  }

  void Add() {
    File file;
    file.name = "file" + std::to_string(next_name_++);
    file.inode = volume_.Create(file.name);
    files_.push_back(std::move(file));
  }
  File& AnyFile() { return files_[random_.Below(files_.size())]; }
  uint64_t AnyOffset(const File& file) {
    if (random_.OneIn(3)) return file.bytes.size();  // an append
    return random_.Below(std::min(kFileSizeMaxHere, file.bytes.size() + 100'000));
  }

  void Write(File& file) {
    // Often where the last write ended, as streams do.
    uint64_t offset = AnyOffset(file);
    std::string bytes = PatternOf(random_.Below(1 << 30), random_.Size(kFileSizeMaxHere - offset));
    if (file.bytes.size() < offset + bytes.size()) file.bytes.resize(offset + bytes.size(), '\0');
    file.bytes.replace(offset, bytes.size(), bytes);
    ASSERT_TRUE(volume_.Write(file.inode, offset, bytes).has_value());
  }
  void AppendSmall(File& file) {
    for (uint64_t i = 0; i < 20 && file.bytes.size() < kFileSizeMaxHere; i++) {
      std::string bytes = PatternOf(random_.Below(1 << 30), 1 + random_.Below(9000));
      ASSERT_TRUE(volume_.Write(file.inode, file.bytes.size(), bytes).has_value());
      file.bytes += bytes;
    }
  }
  void Overwrite(File& file) {
    for (uint64_t i = 0; i < 10 && !file.bytes.empty(); i++) {
      uint64_t offset = random_.Below(file.bytes.size());
      std::string bytes =
          PatternOf(random_.Below(1 << 30), std::min<uint64_t>(4096, file.bytes.size() - offset));
      ASSERT_TRUE(volume_.Write(file.inode, offset, bytes).has_value());
      file.bytes.replace(offset, bytes.size(), bytes);
    }
  }
  void Read(const File& file) {
    uint64_t offset = random_.Below(file.bytes.size() + 10'000);
    uint64_t size = random_.Size(3 * kMiB);
    std::string wanted =
        offset < file.bytes.size() ? file.bytes.substr(offset, size) : std::string();
    ASSERT_TRUE(*volume_.Read(file.inode, offset, size) == wanted)
        << file.name << " at " << offset << " size " << size;
  }
  void Truncate(File& file) {
    uint64_t size = random_.Below(std::min(kFileSizeMaxHere, 2 * file.bytes.size() + 5000));
    file.bytes.resize(size, '\0');
    ASSERT_TRUE(volume_.files().Truncate(file.inode, size, false).has_value());
  }
  void Allocate(File& file) {
    uint64_t offset = AnyOffset(file);
    uint64_t size = random_.Size(kMiB);
    bool punch = random_.OneIn(2);
    bool zero = !punch && random_.OneIn(2);
    bool keep_size = punch || random_.OneIn(2);
    ASSERT_TRUE(volume_.files()
                    .Allocate({.inode = file.inode,
                               .offset = offset,
                               .size = size,
                               .keep_size = keep_size,
                               .punch_hole = punch,
                               .zero_range = zero})
                    .has_value());
    if (!keep_size && file.bytes.size() < offset + size) file.bytes.resize(offset + size, '\0');
    if ((punch || zero) && offset < file.bytes.size()) {
      uint64_t cleared = std::min<uint64_t>(size, file.bytes.size() - offset);
      file.bytes.replace(offset, cleared, std::string(cleared, '\0'));
    }
  }
  // Holes read as zeros; what lies between two holes may be anything.
  void Seek(const File& file) {
    uint64_t offset = random_.Below(file.bytes.size() + 1000);
    auto data = volume_.files().Seek(file.inode, offset, SeekTarget::kData);
    auto hole = volume_.files().Seek(file.inode, offset, SeekTarget::kHole);
    if (offset >= file.bytes.size()) {
      EXPECT_EQ(data.error().code, Errc::kRange);
      EXPECT_EQ(hole.error().code, Errc::kRange);
      return;
    }
    uint64_t end = data ? *data : file.bytes.size();
    ASSERT_GE(end, offset);
    EXPECT_EQ(file.bytes.find_first_not_of('\0', offset),
              std::min(file.bytes.find_first_not_of('\0', offset),
                       file.bytes.find_first_not_of('\0', end)));
    ASSERT_TRUE(hole.has_value());
    EXPECT_GE(*hole, offset);
    EXPECT_LE(*hole, file.bytes.size());
  }
  void Replace(File& file) {
    if (random_.OneIn(2)) {
      ASSERT_TRUE(volume_.Remove(file.name, file.inode).has_value());
      file = std::move(files_.back());
      files_.pop_back();
      Add();
      return;
    }
    File& other = AnyFile();
    if (other.inode == file.inode) return;
    ASSERT_TRUE(volume_.Rename(file.name, other.name).has_value());
    volume_.names().Forget(other.inode, 1);
    other.inode = file.inode;
    other.bytes = std::move(file.bytes);
    file = std::move(files_.back());
    files_.pop_back();
    Add();
  }
  void CompareAll() {
    for (const File& file : files_) {
      ASSERT_EQ(volume_.SizeOf(file.inode), file.bytes.size()) << file.name;
      ASSERT_TRUE(*volume_.ReadAll(file.inode) == file.bytes) << file.name;
    }
  }
  void Step() {
    switch (random_.Below(16)) {
      case 0:
      case 1:
      case 2:
      case 3: return Write(AnyFile());
      case 4: return AppendSmall(AnyFile());
      case 5: return Overwrite(AnyFile());
      case 6:
      case 7:
      case 8:
      case 9: return Read(AnyFile());
      case 10: return Truncate(AnyFile());
      case 11: return Allocate(AnyFile());
      case 12: return Seek(AnyFile());
      case 13: ASSERT_TRUE(volume_.Sync(AnyFile().inode).has_value()); return;
      case 14: return volume_->EvictDram();
      default: return random_.OneIn(4) ? Replace(AnyFile()) : Read(AnyFile());
    }
  }

  const uint64_t seed_;
  Random random_;
  TestVolume volume_;
  std::vector<File> files_;
  int next_name_ = 0;
};

TEST_P(FilesModelTest, FilesAreWhatTheModelSays) {
  for (int step = 0; step < GetParam().steps; step++) {
    SCOPED_TRACE("TERRACE_SEED=" + std::to_string(seed_) + " step " + std::to_string(step));
    Step();
    if (step % 300 == 299) {
      CompareAll();
      volume_.Remount();
      CompareAll();
    }
    if (HasFatalFailure() || HasFailure()) return;
  }
  volume_.CheckConsistency();
  CompareAll();
}

INSTANTIATE_TEST_SUITE_P(
    Volumes, FilesModelTest,
    ::testing::Values(
        Setting{"OneDevice", {.device_count = 1}, 3000},
        Setting{"ThreeDevicesAging",
                {.device_count = 3, .pool_bytes = 16 * kMiB, .write_back_delay_ms = 3},
                1500},
        Setting{
            "RealFilesAndRocksDb",
            {.device_count = 2, .pool_bytes = 24 * kMiB, .write_back_delay_ms = 20, .real = true},
            2000}),
    [](const auto& info) { return info.param.name; });

// One small file, many syncs and power losses. A byte that was synced has that value or a later
// one; else any value it ever had since, or none.
class PowerLossModelTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr size_t kSize = 200'000;

  PowerLossModelTest()
      : seed_(Seed() + static_cast<uint64_t>(GetParam())),
        random_(seed_),
        volume_({.device_count = 2, .write_back_delay_ms = GetParam() == 0 ? 3'600'000u : 1u}),
        inode_(volume_.Create("a")),
        allowed_(kSize) {
    EXPECT_TRUE(volume_.SyncDirectory(kRootInode).has_value());
    EXPECT_TRUE(volume_.Sync(inode_).has_value());
    Settle();
  }

  static size_t ValueOf(char byte) { return static_cast<unsigned char>(byte); }
  void Set(uint64_t offset, uint64_t end, char value) {
    for (uint64_t i = offset; i < end; i++) {
      now_[i] = value;
      allowed_[i].set(ValueOf(value));
    }
  }
  void Write() {
    uint64_t offset = random_.OneIn(2) ? now_.size() : random_.Below(kSize);
    if (offset >= kSize) offset = random_.Below(kSize);
    uint64_t end = offset + std::min<uint64_t>(random_.Size(150'000), kSize - offset);
    auto value = static_cast<char>(1 + random_.Below(255));
    if (now_.size() < end) now_.resize(end, '\0');
    Set(offset, end, value);
    ASSERT_TRUE(volume_.Write(inode_, offset, std::string(end - offset, value)).has_value());
  }
  void Truncate() {
    uint64_t size = random_.Below(kSize);
    for (uint64_t i = size; i < kSize; i++) allowed_[i].set(0);
    now_.resize(size, '\0');
    size_min_ = std::min<uint64_t>(size_min_, size);
    ASSERT_TRUE(volume_.files().Truncate(inode_, size, false).has_value());
  }
  void Punch() {
    uint64_t offset = random_.Below(kSize);
    uint64_t end = std::min<uint64_t>(now_.size(), offset + 1 + random_.Below(60'000));
    if (offset >= end) return;
    Set(offset, end, '\0');
    ASSERT_TRUE(volume_.files()
                    .Allocate({.inode = inode_,
                               .offset = offset,
                               .size = end - offset,
                               .keep_size = true,
                               .punch_hole = true})
                    .has_value());
  }
  void Settle() {  // what is there now is all that may be there
    for (size_t i = 0; i < kSize; i++) {
      allowed_[i].reset();
      allowed_[i].set(i < now_.size() ? ValueOf(now_[i]) : 0);
    }
    size_min_ = now_.size();
  }
  void Sync() {
    if (random_.OneIn(2)) {
      ASSERT_TRUE(volume_.Sync(inode_).has_value());
      Settle();
      return;
    }
    // Writes go on while the sync is on its way: they may or may not be covered.
    StatusLatch synced;
    volume_.files().Sync(inode_, [&](Status status) { synced.Set(std::move(status)); });
    Settle();
    for (uint64_t i = random_.Below(4); i > 0; i--) Write();
    ASSERT_TRUE(synced.Wait().has_value());
  }
  void LosePower() {
    volume_.LosePower([&](size_t unsynced) { return random_.Below(unsynced + 1); });
    now_ = volume_.Content("a");
    ASSERT_GE(now_.size(), size_min_);
    ASSERT_LE(now_.size(), kSize);
    for (size_t i = 0; i < now_.size(); i++) {
      ASSERT_TRUE(allowed_[i].test(ValueOf(now_[i])))
          << "byte " << i << " is " << static_cast<int>(now_[i]) << ", size " << now_.size();
    }
    inode_ = *volume_.Lookup("a");
    Settle();  // a mount serves what is durable
  }

  const uint64_t seed_;
  Random random_;
  TestVolume volume_;
  InodeId inode_;
  std::string now_;
  std::vector<std::bitset<256>> allowed_;  // values of each byte
  uint64_t size_min_ = 0;  // since the last sync
};

TEST_P(PowerLossModelTest, EveryByteHasAValueItMayHave) {  // COMMIT-1, COMMIT-3, COMMIT-4
  for (int step = 0; step < 2000; step++) {
    SCOPED_TRACE("TERRACE_SEED=" + std::to_string(seed_ - static_cast<uint64_t>(GetParam())) +
                 " step " + std::to_string(step));
    switch (random_.Below(12)) {
      case 0: Truncate(); break;
      case 1: Punch(); break;
      case 2: Sync(); break;
      case 3: volume_->EvictDram(); break;
      case 4: ASSERT_TRUE(*volume_.ReadAll(inode_) == now_); break;
      case 5:
        if (random_.OneIn(3)) LosePower();
        break;
      default: Write();
    }
    if (HasFatalFailure() || HasFailure()) return;
  }
  volume_.CheckConsistency();
}

INSTANTIATE_TEST_SUITE_P(Delays, PowerLossModelTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace terrace::fs
