// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: files hold what was written, byte for byte, hot, cold and after a remount, in as few and as
// large extents as the writes allow. Method: a whole volume in memory, one device and several.
#include "fs/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>
#include <thread>

#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

class FilesTest : public ::testing::TestWithParam<size_t> {
 protected:
  FilesTest() : volume_({.device_count = GetParam()}) {}

  // Reads the file from DRAM, from the devices, and after a remount.
  void ExpectEverywhere(InodeId inode, const std::string& expected) {
    EXPECT_EQ(volume_.SizeOf(inode), expected.size());
    EXPECT_TRUE(volume_.ReadAll(inode).value() == expected) << "from DRAM";
    ASSERT_TRUE(volume_.FlushAll().has_value());
    volume_->EvictDram();
    EXPECT_TRUE(volume_.ReadAll(inode).value() == expected) << "from the devices";
    volume_.Remount();
    EXPECT_EQ(volume_.SizeOf(inode), expected.size());
    EXPECT_TRUE(volume_.ReadAll(inode).value() == expected) << "after a remount";
    volume_.CheckConsistency();
  }
  uint64_t ReadFromDevices() {
    uint64_t bytes = 0;
    for (const io::DeviceStatus& device : volume_->GetStatus().devices) bytes += device.read_bytes;
    return bytes;
  }

  TestVolume volume_;
};

TEST_P(FilesTest, LargeWritesAreAdoptedWithoutACopy) {
  InodeId inode = volume_.Create("a");
  std::string expected;
  for (size_t size : {size_t{64 * kKiB}, size_t{kMiB}, size_t{200'001}, size_t{65'537}}) {
    std::string bytes = PatternOf(size, size);
    ASSERT_TRUE(volume_.Write(inode, expected.size(), bytes).has_value());
    expected += bytes;
  }
  EXPECT_EQ(volume_.files().copied_bytes(), 0u);
  EXPECT_EQ(volume_.files().accepted_bytes(), expected.size());
  ExpectEverywhere(inode, expected);
}

TEST_P(FilesTest, SmallAppendsEndUpInFewExtents) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, 3 * kMiB + 777);
  for (size_t at = 0; at < expected.size(); at += 4000) {
    ASSERT_TRUE(volume_.Write(inode, at, std::string_view(expected).substr(at, 4000)).has_value());
  }
  EXPECT_EQ(volume_.files().copied_bytes(), expected.size());
  ASSERT_TRUE(volume_.FlushAll().has_value());
  EXPECT_LE(volume_.CommittedEntries(inode), 12u);  // 4 KiB doubled up to 1 MiB
  ExpectEverywhere(inode, expected);
}

TEST_P(FilesTest, SmallFilesTakeOnePageEach) {
  std::vector<InodeId> inodes;
  for (int i = 0; i < 200; i++) {
    inodes.push_back(volume_.Create("file" + std::to_string(i)));
    ASSERT_TRUE(volume_.Write(inodes.back(), 0, PatternOf(i, 100 + i)).has_value());
  }
  EXPECT_EQ(volume_.DirtyBytes(), 200 * kBlockSize);
  volume_.Remount();
  for (int i = 0; i < 200; i++) EXPECT_EQ(*volume_.ReadAll(inodes[i]), PatternOf(i, 100 + i));
}

TEST_P(FilesTest, OpenTailIsOverwrittenInPlace) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, 3000);
  ASSERT_TRUE(volume_.Write(inode, 0, expected).has_value());
  ASSERT_TRUE(volume_.Write(inode, 100, PatternOf(2, 50)).has_value());
  expected.replace(100, 50, PatternOf(2, 50));
  ASSERT_TRUE(volume_.Write(inode, 2990, PatternOf(3, 30)).has_value());  // over the end
  expected.replace(2990, 10, PatternOf(3, 30));
  EXPECT_EQ(*volume_.ReadAll(inode), expected);
  ExpectEverywhere(inode, expected);
}

TEST_P(FilesTest, OverwritingTouchesNothingAround) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, 2 * kMiB);
  ASSERT_TRUE(volume_.Write(inode, 0, expected).has_value());
  ASSERT_TRUE(volume_.FlushAll().has_value());
  volume_->EvictDram();
  uint64_t read_before = ReadFromDevices();
  for (size_t at : {size_t{0}, size_t{500'001}, size_t{kMiB - 10}, size_t{2 * kMiB - 4096}}) {
    ASSERT_TRUE(volume_.Write(inode, at, PatternOf(at, 4096)).has_value());
    expected.replace(at, 4096, PatternOf(at, 4096));
  }
  ASSERT_TRUE(volume_.Write(inode, 1'200'000, PatternOf(9, 100'000)).has_value());
  expected.replace(1'200'000, 100'000, PatternOf(9, 100'000));
  EXPECT_EQ(ReadFromDevices(), read_before);  // nothing cold was read
  ExpectEverywhere(inode, expected);
}

// What torch.save sends: a tensor's run begins with a write of a little less than 1 MiB and goes on
// in full ones, with 64-byte records in between; nothing is aligned to anything.
TEST_P(FilesTest, CheckpointStreamIsHardlyCopied) {
  InodeId inode = volume_.Create("model.pt");
  std::string expected;
  auto append = [&](size_t size) {
    std::string bytes = PatternOf(expected.size(), size);
    ASSERT_TRUE(volume_.Write(inode, expected.size(), bytes).has_value());
    expected += bytes;
  };
  for (int tensor = 0; tensor < 4; tensor++) {
    for (int i = 0; i < 15; i++) append(64);
    append(1'048'512);
    for (int i = 0; i < 3; i++) append(kMiB);
    append(300'960);
  }
  append(150);
  EXPECT_LE(volume_.files().copied_bytes() * 1000, expected.size());
  ExpectEverywhere(inode, expected);
  for (const io::DeviceStatus& device : volume_->GetStatus().devices) {
    EXPECT_GT(device.used_bytes, expected.size() / GetParam() / 2) << "extents are not striped";
  }
}

TEST_P(FilesTest, HolesReadAsZerosAndTakeNoSpace) {
  InodeId inode = volume_.Create("a");
  std::string tail = PatternOf(1, 70'000);
  ASSERT_TRUE(volume_.Write(inode, 10 * kMiB + 5, tail).has_value());
  EXPECT_EQ(volume_->attributes().Get(inode)->allocated_bytes, RoundUp(70'000, kBlockSize));
  ExpectEverywhere(inode, std::string(10 * kMiB + 5, '\0') + tail);
}

TEST_P(FilesTest, TruncateBothWays) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, 500'000);
  ASSERT_TRUE(volume_.Write(inode, 0, expected).has_value());
  EXPECT_EQ(volume_.files().Truncate(inode, 300'001, false)->size_bytes, 300'001u);
  expected.resize(300'001);
  EXPECT_EQ(*volume_.ReadAll(inode), expected);
  EXPECT_EQ(volume_.files().Truncate(inode, 400'000, false)->size_bytes, 400'000u);
  expected.resize(400'000, '\0');  // what was cut off does not come back
  ExpectEverywhere(inode, expected);
  EXPECT_TRUE(volume_.files().Truncate(inode, 10, false).has_value());
  ExpectEverywhere(inode, expected.substr(0, 10));
  EXPECT_TRUE(volume_.files().Truncate(inode, 0, false).has_value());
  EXPECT_EQ(volume_->attributes().Get(inode)->allocated_bytes, 0u);
  ExpectEverywhere(inode, "");
}

TEST_P(FilesTest, TruncatedTailIsNotAppendedTo) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, PatternOf(1, 1000)).has_value());
  ASSERT_TRUE(volume_.files().Truncate(inode, 400, false).has_value());
  ASSERT_TRUE(volume_.Write(inode, 400, "abc").has_value());
  ASSERT_TRUE(volume_.Write(inode, 1000, "xyz").has_value());
  ExpectEverywhere(inode, PatternOf(1, 1000).substr(0, 400) + "abc" + std::string(597, '\0') +
                              "xyz");
}

TEST_P(FilesTest, TruncateOfDirtyBytesLeavesNothing) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, PatternOf(1, 3 * kMiB)).has_value());
  ASSERT_TRUE(volume_.files().Truncate(inode, 0, false).has_value());
  EXPECT_EQ(volume_.DirtyBytes(), 0u);
  ASSERT_TRUE(volume_.Sync(inode).has_value());
  for (const io::DeviceStatus& device : volume_->GetStatus().devices) {
    EXPECT_EQ(device.written_bytes, 0u);
  }
  ExpectEverywhere(inode, "");
}

TEST_P(FilesTest, PunchedHoles) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, kMiB);
  ASSERT_TRUE(volume_.Write(inode, 0, expected).has_value());
  struct {
    uint64_t offset, size;
  } const holes[] = {{0, 1}, {4096, 8192}, {100'001, 3}, {500'000, 600'000}};
  for (auto [offset, size] : holes) {
    ASSERT_TRUE(volume_.files()
                    .Allocate({.inode = inode,
                               .offset = offset,
                               .size = size,
                               .keep_size = true,
                               .punch_hole = true})
                    .has_value());
    uint64_t end = std::min<uint64_t>(offset + size, expected.size());
    expected.replace(offset, end - offset, std::string(end - offset, '\0'));
    EXPECT_EQ(*volume_.ReadAll(inode), expected);
    if (offset == 4096) {
      ASSERT_TRUE(volume_.FlushAll().has_value());
    }
  }
  ExpectEverywhere(inode, expected);
}

// A punched hole can take away all that a commit would have come for.
TEST_P(FilesTest, SizeSurvivesAPunchOfAllUnwrittenBytes) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, PatternOf(1, 9000)).has_value());
  ASSERT_TRUE(volume_.files()
                  .Allocate({.inode = inode, .size = 9000, .keep_size = true, .punch_hole = true})
                  .has_value());
  ExpectEverywhere(inode, std::string(9000, '\0'));
}

TEST_P(FilesTest, AllocateExtendsUnlessToldNotTo) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, "abc").has_value());
  Files& files = volume_.files();
  ASSERT_TRUE(files.Allocate({.inode = inode, .size = 10'000, .keep_size = true}).has_value());
  EXPECT_EQ(volume_.SizeOf(inode), 3u);
  ASSERT_TRUE(files.Allocate({.inode = inode, .offset = 2, .size = 98}).has_value());
  EXPECT_EQ(*volume_.ReadAll(inode), "abc" + std::string(97, '\0'));
  ASSERT_TRUE(
      files.Allocate({.inode = inode, .offset = 1, .size = 199, .zero_range = true}).has_value());
  EXPECT_EQ(files.Allocate({.inode = inode}).error().code, Errc::kInvalid);
  EXPECT_EQ(files.Allocate({.inode = inode, .offset = kFileSizeMax, .size = 1}).error().code,
            Errc::kTooLarge);
  EXPECT_EQ(files.Allocate({.inode = inode, .size = 1ull << 50}).error().code, Errc::kNoSpace);
  ExpectEverywhere(inode, "a" + std::string(199, '\0'));
}

TEST_P(FilesTest, SeekFindsDataAndHoles) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 1000, PatternOf(1, 500)).has_value());
  ASSERT_TRUE(volume_.Write(inode, 1500, PatternOf(1, 100'000)).has_value());  // adjoins
  ASSERT_TRUE(volume_.Write(inode, 200'000, "x").has_value());
  ASSERT_TRUE(volume_.files().Truncate(inode, 300'000, false).has_value());
  struct {
    uint64_t from;
    std::optional<uint64_t> data, hole;
  } const cases[] = {{0, 1000, 0},
                     {999, 1000, 999},
                     {1000, 1000, 101'500},
                     {1499, 1499, 101'500},
                     {101'500, 200'000, 101'500},
                     {200'000, 200'000, 200'001},
                     {200'001, {}, 200'001},
                     {299'999, {}, 299'999},
                     {300'000, {}, {}},
                     {kFileSizeMax, {}, {}}};
  for (const auto& one : cases) {
    auto data = volume_.files().Seek(inode, one.from, SeekTarget::kData);
    auto hole = volume_.files().Seek(inode, one.from, SeekTarget::kHole);
    EXPECT_EQ(data ? std::optional(*data) : std::nullopt, one.data) << one.from;
    EXPECT_EQ(hole ? std::optional(*hole) : std::nullopt, one.hole) << one.from;
    if (!data) {
      EXPECT_EQ(data.error().code, Errc::kRange);
    }
  }
  ASSERT_TRUE(volume_.files().Truncate(inode, 1200, false).has_value());
  EXPECT_EQ(*volume_.files().Seek(inode, 1100, SeekTarget::kHole), 1200u);  // the end is one
}

TEST_P(FilesTest, ReadsAcrossEveryBoundary) {
  InodeId inode = volume_.Create("a");
  std::string expected(400'000, '\0');
  size_t at = 0;
  std::vector<size_t> edges = {0};
  for (size_t size : {size_t{100}, size_t{70'000}, size_t{4096}, size_t{131'072}, size_t{1}}) {
    expected.replace(at, size, PatternOf(at, size));
    ASSERT_TRUE(
        volume_.Write(inode, at, std::string_view(expected).substr(at, size)).has_value());
    edges.push_back(at);
    edges.push_back(at + size);
    at += size + (size % 2) * 5000;  // sometimes a hole
  }
  expected.resize(volume_.SizeOf(inode));
  edges.push_back(expected.size() + 10);
  for (bool cold : {false, true}) {
    ASSERT_TRUE(volume_.FlushAll().has_value());
    for (size_t begin : edges) {
      for (size_t end : edges) {
        for (int shift : {-1, 0, 1}) {
          size_t from = begin + (begin > 0 ? shift : 0);
          if (end <= from) continue;
          if (cold) volume_->EvictDram();
          std::string wanted =
              from < expected.size() ? expected.substr(from, end - from) : std::string();
          ASSERT_TRUE(volume_.Read(inode, from, end - from).value() == wanted)
              << from << " to " << end;
        }
      }
    }
  }
}

TEST_P(FilesTest, RandomColdReadTakesLittleMoreThanItAskedFor) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, 8 * kMiB);
  ASSERT_TRUE(volume_.Write(inode, 0, expected).has_value());
  ASSERT_TRUE(volume_.FlushAll().has_value());
  volume_->EvictDram();
  uint64_t before = ReadFromDevices();
  EXPECT_EQ(*volume_.Read(inode, 5'000'000, 4096), expected.substr(5'000'000, 4096));
  EXPECT_LE(ReadFromDevices() - before, 2 * kChecksumBlockSize);
}

TEST_P(FilesTest, SmallFileIsFetchedWhenAReaderOpensIt) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, PatternOf(1, 3 * kMiB)).has_value());
  ASSERT_TRUE(volume_.FlushAll().has_value());
  volume_->EvictDram();
  auto opened = volume_.files().Open(inode, {.read = true});
  EXPECT_EQ(opened->size_bytes, 3 * kMiB);
  uint64_t misses = volume_->GetStatus().dram.misses;
  EXPECT_TRUE(volume_.ReadAll(inode).has_value());
  EXPECT_EQ(volume_->GetStatus().dram.misses, misses);
  volume_.files().Release(inode, {.read = true});
}

TEST_P(FilesTest, SequentialReaderIsServedAhead) {
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, 24 * kMiB);
  ASSERT_TRUE(volume_.Write(inode, 0, expected).has_value());
  ASSERT_TRUE(volume_.FlushAll().has_value());
  volume_->EvictDram();
  uint64_t misses = volume_->GetStatus().dram.misses;
  EXPECT_TRUE(volume_.ReadAll(inode).value() == expected);
  EXPECT_LE(volume_->GetStatus().dram.misses - misses, 3u);
}

TEST_P(FilesTest, WritersOfDisjointRanges) {
  constexpr int kWriters = 4;
  constexpr size_t kPart = 2 * kMiB;
  InodeId inode = volume_.Create("a");
  std::string expected = PatternOf(1, kWriters * kPart);
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; i++) {
    writers.emplace_back([&, i] {
      std::mt19937 random(static_cast<uint32_t>(i));
      for (size_t at = i * kPart; at < (i + 1) * kPart;) {
        size_t size = std::min<size_t>(1 + random() % 150'000, (i + 1) * kPart - at);
        ASSERT_TRUE(
            volume_.Write(inode, at, std::string_view(expected).substr(at, size)).has_value());
        at += size;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ExpectEverywhere(inode, expected);
}

TEST_P(FilesTest, EndOfTheLargestFile) {
  InodeId inode = volume_.Create("a");
  EXPECT_EQ(volume_.Write(inode, kFileSizeMax, "x").error().code, Errc::kTooLarge);
  EXPECT_EQ(volume_.Write(inode, kFileSizeMax - 2, "xyz").error().code, Errc::kTooLarge);
  ASSERT_TRUE(volume_.Write(inode, kFileSizeMax - 3, "xyz").has_value());
  EXPECT_EQ(volume_.files().Truncate(inode, kFileSizeMax + 1, false).error().code,
            Errc::kTooLarge);
  volume_.Remount();
  EXPECT_EQ(volume_.SizeOf(inode), kFileSizeMax);
  EXPECT_EQ(*volume_.Read(inode, kFileSizeMax - 5, 100), std::string(2, '\0') + "xyz");
  ASSERT_TRUE(volume_.files().Truncate(inode, 0, false).has_value());
  volume_.CheckConsistency();
}

TEST_P(FilesTest, OnlyFilesHaveBytes) {
  auto make = [&](const char* name, uint32_t mode) {
    return volume_.names()
        .Make(kRootInode, name, {.mode = mode, .rdev = 0, .symlink_target = "target"}, {})
        ->inode;
  };
  InodeId link = make("link", S_IFLNK | 0777);
  EXPECT_EQ(volume_.Write(kRootInode, 0, "x").error().code, Errc::kIsDirectory);
  EXPECT_EQ(volume_.Read(kRootInode, 0, 1).error().code, Errc::kIsDirectory);
  EXPECT_EQ(volume_.files().Open(kRootInode, {.read = true}).error().code, Errc::kIsDirectory);
  EXPECT_EQ(volume_.Write(link, 0, "x").error().code, Errc::kInvalid);
  EXPECT_EQ(volume_.Write(InodeId(12345), 0, "x").error().code, Errc::kNotFound);
  EXPECT_EQ(volume_.Read(InodeId(12345), 0, 1).error().code, Errc::kNotFound);
  EXPECT_TRUE(volume_.Sync(kRootInode).has_value());
}

TEST_P(FilesTest, WritingClearsSuidAndMovesTheTimes) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_->attributes().Set(inode, {.mode = 06755, .mtime_ns = 5}).has_value());
  ReceiveArea area;
  auto write = [&](bool clear, bool keep_times) {
    volume_.files().PrepareReceive(area);
    StatusLatch done;
    volume_.files().Write({.inode = inode,
                           .offset = 0,
                           .size_bytes = 10,
                           .clear_suid_sgid = clear,
                           .keep_times = keep_times},
                          area, [&](Status status) { done.Set(std::move(status)); });
    ASSERT_TRUE(done.Wait().has_value());
  };
  write(false, true);
  EXPECT_EQ(volume_->attributes().Get(inode)->mode & 07777u, 06755u);
  EXPECT_EQ(volume_->attributes().Get(inode)->mtime_ns, 5);
  write(true, false);
  EXPECT_EQ(volume_->attributes().Get(inode)->mode & 07777u, 0755u);
  EXPECT_GT(volume_->attributes().Get(inode)->mtime_ns, 5);
}

TEST_P(FilesTest, MappedPagesAreRemembered) {
  InodeId inode = volume_.Create("a");
  ASSERT_TRUE(volume_.Write(inode, 0, "abc").has_value());
  EXPECT_FALSE(volume_.files().Open(inode, {.read = true})->pages_were_mapped);
  cache::ReadOutcome outcome;
  volume_.files().Read({.inode = inode, .offset = 0, .size_bytes = 3, .mapped = true},
                       outcome.Callback());
  ASSERT_TRUE(outcome.Wait().has_value());
  EXPECT_TRUE(volume_.files().Open(inode, {.read = true})->pages_were_mapped);
}

INSTANTIATE_TEST_SUITE_P(Devices, FilesTest, ::testing::Values(1, 3));

}  // namespace
}  // namespace terrace::fs
