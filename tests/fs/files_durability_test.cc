// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: fsync, rename and removal keep their promises when the power goes at any moment.
// Method: a volume in memory whose devices and metadata lose what was not synced; each case is
// played once for every number of unsynced metadata batches that may have survived.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <latch>
#include <set>
#include <thread>

#include "tests/support/volume_fixture.h"

namespace terrace::fs {
namespace {

// Plays the power loss for each number of surviving batches. `play` prepares a fresh volume,
// `check` looks at it afterwards.
void ForEachSurvivingPrefix(const TestVolume::Options& options,
                            const std::function<void(TestVolume&)>& play,
                            const std::function<void(TestVolume&)>& check) {
  size_t unsynced_max = 0;
  for (size_t kept = 0; kept <= unsynced_max; kept++) {
    SCOPED_TRACE("surviving batches: " + std::to_string(kept));
    TestVolume volume(options);
    play(volume);
    volume.LosePower([&](size_t unsynced) {
      unsynced_max = std::max(unsynced_max, unsynced);
      return std::min(kept, unsynced);
    });
    check(volume);
    volume.CheckConsistency();
    if (testing::Test::HasFailure()) return;
  }
}

size_t All(size_t unsynced) { return unsynced; }

// A file that is not durable takes the name of one that is, and that nobody uses any more.
void ReplaceByRename(TestVolume& volume, InodeId& inode) {
  InodeId older = volume.Create("final");
  ASSERT_TRUE(volume.Write(older, 0, PatternOf(1, 100'000)).has_value());
  ASSERT_TRUE(volume.Sync(older).has_value());
  inode = volume.Create("tmp");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(2, 5000)).has_value());
  ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
  volume.names().Forget(older, 1);
}

TEST(FilesDurabilityTest, SyncKeepsDataSizeAndName) {  // COMMIT-3
  TestVolume volume({.device_count = 2});
  InodeId small = volume.Create("small");
  InodeId large = volume.Create("large");
  InodeId empty = volume.Create("empty");
  InodeId other = volume.Create("other");
  ASSERT_TRUE(volume.Write(small, 0, PatternOf(1, 100)).has_value());
  ASSERT_TRUE(volume.Write(large, 5, PatternOf(2, 5 * kMiB)).has_value());
  ASSERT_TRUE(volume.Write(other, 0, PatternOf(3, 1000)).has_value());
  ASSERT_TRUE(volume.Sync(small).has_value());
  ASSERT_TRUE(volume.Sync(large).has_value());
  ASSERT_TRUE(volume.Sync(empty).has_value());
  ASSERT_TRUE(volume.Write(small, 100, PatternOf(4, 100)).has_value());
  ASSERT_TRUE(volume.Sync(small).has_value());
  volume.LosePower();
  EXPECT_EQ(volume.Content("small"), PatternOf(1, 100) + PatternOf(4, 100));
  EXPECT_TRUE(volume.Content("large") == std::string(5, '\0') + PatternOf(2, 5 * kMiB));
  EXPECT_EQ(volume.Content("empty"), "");
  EXPECT_EQ(volume.Content("other"), "");  // its name went along, its bytes did not
}

TEST(FilesDurabilityTest, SyncOfOneFileWaitsForNoOther) {
  TestVolume volume;
  InodeId a = volume.Create("a");
  InodeId b = volume.Create("b");
  ASSERT_TRUE(volume.Write(a, 0, PatternOf(1, 2 * kMiB)).has_value());
  ASSERT_TRUE(volume.Write(b, 0, PatternOf(1, 5000)).has_value());
  ASSERT_TRUE(volume.Sync(b).has_value());
  EXPECT_EQ(volume.DirtyBytes(), 2 * kMiB);
}

TEST(FilesDurabilityTest, ConcurrentSyncsShareBarriers) {
  constexpr int kFiles = 64;
  TestVolume volume;
  std::vector<InodeId> inodes;
  for (int i = 0; i < kFiles; i++) {
    inodes.push_back(volume.Create(std::to_string(i)));
    ASSERT_TRUE(volume.Write(inodes.back(), 0, PatternOf(i, 5000)).has_value());
  }
  uint64_t before = volume.memory().sync_count();
  volume.memory().Pause();
  std::latch done(kFiles);
  for (InodeId inode : inodes) {
    volume.files().Sync(inode, [&](Status status) {
      EXPECT_TRUE(status.has_value());
      done.count_down();
    });
  }
  volume.memory().Resume();
  done.wait();
  EXPECT_LT(volume.memory().sync_count() - before, kFiles / 2);
}

TEST(FilesDurabilityTest, UnsyncedBytesAgeOut) {
  TestVolume volume({.write_back_delay_ms = 20});
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 5000)).has_value());
  while (volume.DirtyBytes() > 0) std::this_thread::yield();
  volume.LosePower(All);
  EXPECT_EQ(volume.Content("a"), PatternOf(1, 5000));
}

TEST(FilesDurabilityTest, RenamedFileIsWholeOrItsPredecessorIsThere) {  // COMMIT-2
  const std::string older = PatternOf(1, 300'000);
  const std::string newer = PatternOf(2, 3 * kMiB);
  std::set<std::string> seen;
  auto play = [&](TestVolume& volume) {
    InodeId final = volume.Create("final");
    ASSERT_TRUE(volume.Write(final, 0, older).has_value());
    ASSERT_TRUE(volume.Sync(final).has_value());
    InodeId inode = volume.Create("tmp");
    ASSERT_TRUE(volume.Write(inode, 0, newer).has_value());
    ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
  };
  auto check = [&](TestVolume& volume) {
    std::string content = volume.Content("final");
    EXPECT_TRUE(content == older) << content.size();
  };
  ForEachSurvivingPrefix({.device_count = 2}, play, check);
  // The same when one of two devices has written its part and a commit came by.
  auto play_half = [&](TestVolume& volume) {
    play(volume);
    volume.memory(1).Pause();
    StatusLatch unused;
    volume->FlushAll([&](Status) {});
    while (volume.memory(1).kept_count() == 0) std::this_thread::yield();
    ASSERT_TRUE(volume.Sync(volume.Create("another")).has_value());
  };
  ForEachSurvivingPrefix({.device_count = 2}, play_half, check);
  auto play_whole = [&](TestVolume& volume) {
    play(volume);
    ASSERT_TRUE(volume.Sync(*volume.Lookup("final")).has_value());
  };
  ForEachSurvivingPrefix({.device_count = 2}, play_whole, [&](TestVolume& volume) {
    EXPECT_TRUE(volume.Content("final") == newer);
  });
}

TEST(FilesDurabilityTest, NewNameOfAnUnwrittenFileIsWholeOrAbsent) {  // COMMIT-2
  auto play = [](TestVolume& volume) {
    InodeId inode = volume.Create("tmp");
    ASSERT_TRUE(volume.Write(inode, 0, PatternOf(2, 100'000)).has_value());
    ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
  };
  ForEachSurvivingPrefix(
      {}, play, [](TestVolume& volume) { EXPECT_EQ(volume.Content("final"), "not found"); });
}

TEST(FilesDurabilityTest, SyncOfTheDirectoryPublishes) {  // COMMIT-3
  TestVolume volume;
  InodeId inode = volume.Create("tmp");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(2, 100'000)).has_value());
  ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
  EXPECT_EQ(volume->GetStatus().open_conditions, 1u);
  ASSERT_TRUE(volume.SyncDirectory(kRootInode).has_value());
  EXPECT_EQ(volume->GetStatus().open_conditions, 0u);
  volume.LosePower();
  EXPECT_EQ(volume.Content("final"), PatternOf(2, 100'000));
}

// No entry shows where such a file ends, and what is written further may be lost.
TEST(FilesDurabilityTest, PublishedVersionThatEndsInAHoleKeepsItsSize) {  // COMMIT-2
  const std::string older = PatternOf(1, 1000);
  const std::string newer = PatternOf(2, 4000) + std::string(1000, '\0');
  for (bool zero : {false, true}) {
    auto play = [&](TestVolume& volume) {
      InodeId final = volume.Create("final");
      ASSERT_TRUE(volume.Write(final, 0, older).has_value());
      ASSERT_TRUE(volume.Sync(final).has_value());
      InodeId inode = volume.Create("tmp");
      ASSERT_TRUE(volume.Write(inode, 0, PatternOf(2, 5000)).has_value());
      AllocateRequest hole{.inode = inode, .offset = 4000, .size = 1000, .keep_size = true};
      (zero ? hole.zero_range : hole.punch_hole) = true;
      ASSERT_TRUE(volume.files().Allocate(hole).has_value());
      ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
      volume.memory().Pause();
      volume->FlushAll([](Status) {});
      while (volume.memory().kept_count() == 0) std::this_thread::yield();
      ASSERT_TRUE(volume.Write(inode, 5000, PatternOf(4, 700)).has_value());
      volume.memory().Resume();
      while (volume->GetStatus().open_conditions > 0) std::this_thread::yield();
    };
    ForEachSurvivingPrefix({}, play, [&](TestVolume& volume) {
      std::string content = volume.Content("final");
      if (content == older) return;
      ASSERT_GE(content.size(), newer.size());
      EXPECT_EQ(content.substr(0, newer.size()), newer);
    });
  }
}

// Bytes of the published version that were replaced before they were written must not be missing
// when the version counts as durable.
TEST(FilesDurabilityTest, PublishedVersionIsWholeThoughItIsOverwrittenAtOnce) {  // COMMIT-2
  const std::string first = PatternOf(1, kMiB);
  const std::string second = PatternOf(2, 500'000);
  const std::string older = PatternOf(3, 1000);
  auto play = [&](TestVolume& volume) {
    InodeId final = volume.Create("final");
    ASSERT_TRUE(volume.Write(final, 0, older).has_value());
    ASSERT_TRUE(volume.Sync(final).has_value());
    InodeId inode = volume.Create("tmp");
    ASSERT_TRUE(volume.Write(inode, 0, first).has_value());
    ASSERT_TRUE(volume.Write(inode, kMiB, first).has_value());
    ASSERT_TRUE(volume.Rename("tmp", "final").has_value());
    volume.memory(1).Pause();
    volume.memory(0).Pause();
    StatusLatch flushed;
    volume->FlushAll([&](Status status) { flushed.Set(std::move(status)); });
    while (volume.memory(0).kept_count() + volume.memory(1).kept_count() < 2) {
      std::this_thread::yield();
    }
    // On their way; the end of the first and the beginning of the second are replaced.
    ASSERT_TRUE(volume.Write(inode, kMiB - 250'000, second).has_value());
    volume.memory(0).Resume();
    volume.memory(1).Resume();
    ASSERT_TRUE(flushed.Wait().has_value());
  };
  auto check = [&](TestVolume& volume) {
    std::string content = volume.Content("final");
    if (content == older) return;
    ASSERT_EQ(content.size(), 2 * kMiB);
    std::string version = first + first;
    for (size_t i = 0; i < content.size(); i++) {
      bool replaced = i >= kMiB - 250'000 && i < kMiB + 250'000;
      char newer = replaced ? second[i - (kMiB - 250'000)] : version[i];
      ASSERT_TRUE(content[i] == version[i] || content[i] == newer) << "at " << i;
    }
  };
  ForEachSurvivingPrefix({.device_count = 2}, play, check);
}

TEST(FilesDurabilityTest, SyncedBytesStayThoughTheyAreOverwrittenMeanwhile) {  // COMMIT-3
  const std::string first = PatternOf(1, 200'000);
  const std::string second = PatternOf(2, 150'000);
  auto play = [&](TestVolume& volume) {
    InodeId inode = volume.Create("a");
    ASSERT_TRUE(volume.Write(inode, 0, first).has_value());
    volume.memory().Pause();
    StatusLatch synced;
    volume.files().Sync(inode, [&](Status status) { synced.Set(std::move(status)); });
    while (volume.memory().kept_count() == 0) std::this_thread::yield();
    ASSERT_TRUE(volume.Write(inode, 100'000, second).has_value());
    ASSERT_TRUE(volume.Write(inode, 120'000, second.substr(0, 90'000)).has_value());
    volume.memory().Resume();
    ASSERT_TRUE(synced.Wait().has_value());
  };
  auto check = [&](TestVolume& volume) {
    std::string content = volume.Content("a");
    EXPECT_TRUE(content == first) << content.size();
  };
  ForEachSurvivingPrefix({}, play, check);
  // And what replaced them is there once it is synced itself.
  TestVolume volume;
  play(volume);
  ASSERT_TRUE(volume.Sync(*volume.Lookup("a")).has_value());
  volume.LosePower();
  std::string expected = first.substr(0, 100'000) + second;
  expected.replace(120'000, 90'000, second.substr(0, 90'000));
  EXPECT_TRUE(volume.Content("a") == expected);
  volume.CheckConsistency();
}

TEST(FilesDurabilityTest, FreedSpaceIsNotReusedBeforeItsRemovalIsDurable) {  // COMMIT-4
  const std::string kept = PatternOf(1, 20 * kMiB);
  auto play = [&](TestVolume& volume) {
    InodeId a = volume.Create("a");
    ASSERT_TRUE(volume.Write(a, 0, kept).has_value());
    ASSERT_TRUE(volume.Sync(a).has_value());
    ASSERT_TRUE(volume.Remove("a", a).has_value());
    InodeId b = volume.Create("b");
    // Does not fit beside what was removed.
    ASSERT_TRUE(volume.Write(b, 0, PatternOf(2, 30 * kMiB)).has_value());
    ASSERT_TRUE(volume.FlushAll().has_value());
  };
  auto check = [&](TestVolume& volume) {
    std::string content = volume.Content("a");
    EXPECT_TRUE(content == "not found" || content == kept) << content.size();
  };
  ForEachSurvivingPrefix({.device_size_bytes = 40 * kMiB, .pool_bytes = 64 * kMiB}, play, check);
  // Without a sync in between, the removal itself may be undone.
  auto play_unsynced = [&](TestVolume& volume) {
    InodeId a = volume.Create("a");
    ASSERT_TRUE(volume.Write(a, 0, kept).has_value());
    ASSERT_TRUE(volume.Sync(a).has_value());
    ASSERT_TRUE(volume.Remove("a", a).has_value());
    InodeId b = volume.Create("b");
    ASSERT_TRUE(volume.Write(b, 0, PatternOf(2, 10 * kMiB)).has_value());
  };
  ForEachSurvivingPrefix({.device_size_bytes = 40 * kMiB, .pool_bytes = 64 * kMiB}, play_unsynced,
                         check);
}

TEST(FilesDurabilityTest, OverwrittenInPlaceEachBlockHasAValueItHad) {
  const std::string first = PatternOf(1, 600'000);
  const std::string second = PatternOf(2, 600'000);
  auto play = [&](TestVolume& volume) {
    InodeId inode = volume.Create("a");
    ASSERT_TRUE(volume.Write(inode, 0, first).has_value());
    ASSERT_TRUE(volume.Sync(inode).has_value());
    for (size_t at = 0; at < second.size(); at += 100'000) {
      ASSERT_TRUE(volume.Write(inode, at, second.substr(at, 100'000)).has_value());
      if (at != 300'000) continue;
      ASSERT_TRUE(volume.FlushAll().has_value());
    }
  };
  ForEachSurvivingPrefix({}, play, [&](TestVolume& volume) {
    std::string content = volume.Content("a");
    ASSERT_EQ(content.size(), first.size());
    for (size_t at = 0; at < first.size(); at += 100'000) {
      std::string part = content.substr(at, 100'000);
      EXPECT_TRUE(part == first.substr(at, 100'000) || part == second.substr(at, 100'000));
    }
  });
}

// Cutting off or punching away all that was not durable must close the condition, or the name stays
// "busy" and the predecessor keeps its space.
TEST(FilesDurabilityTest, UnlinkAfterRenameAndTruncateIsNotBusy) {
  for (bool punch : {false, true}) {
    TestVolume volume;
    InodeId inode;
    ASSERT_NO_FATAL_FAILURE(ReplaceByRename(volume, inode));
    EXPECT_EQ(volume->GetStatus().open_conditions, 1u);
    AllocateRequest hole{.inode = inode, .size = 5000, .keep_size = true, .punch_hole = true};
    Status gone = punch ? volume.files().Allocate(hole)
                        : volume.files().Truncate(inode, 0, false).map([](const Attributes&) {});
    ASSERT_TRUE(gone.has_value());
    EXPECT_EQ(volume->GetStatus().open_conditions, 0u);
    ASSERT_TRUE(volume.Remove("final", inode).has_value());
    volume.CheckConsistency();
    EXPECT_EQ(volume.RowsOf(Table::kInode), 1u);  // the predecessor is gone, too
    EXPECT_EQ(volume.RowsOf(Table::kExtent), 0u);
  }
}

TEST(FilesDurabilityTest, PredecessorGoesWhenTheConditionCloses) {
  TestVolume volume;
  InodeId inode;
  ASSERT_NO_FATAL_FAILURE(ReplaceByRename(volume, inode));
  EXPECT_EQ(volume.RowsOf(Table::kExtent), 1u);
  ASSERT_TRUE(volume.Sync(inode).has_value());
  volume.CheckConsistency();
  EXPECT_EQ(volume.RowsOf(Table::kExtent), 1u);
  EXPECT_EQ(volume.RowsOf(Table::kInode), 2u);
  EXPECT_EQ(volume.Content("final"), PatternOf(2, 5000));
}

TEST(FilesDurabilityTest, RemovedFileIsReadableUntilItIsForgotten) {
  TestVolume volume;
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 100'000)).has_value());
  ASSERT_TRUE(volume.names().Unlink(kRootInode, "a").has_value());
  ASSERT_TRUE(volume.Write(inode, 100'000, PatternOf(2, 100'000)).has_value());
  ASSERT_TRUE(volume.Sync(inode).has_value());
  volume->EvictDram();
  EXPECT_EQ(*volume.ReadAll(inode), PatternOf(1, 100'000) + PatternOf(2, 100'000));
  volume.LosePower();  // the next mount frees it
  volume.CheckConsistency();
  EXPECT_EQ(volume.RowsOf(Table::kExtent), 0u);
  EXPECT_EQ(volume.RowsOf(Table::kInode), 1u);
  EXPECT_EQ(volume.RowsOf(Table::kOrphan), 0u);
}

// Files that are written and removed at once race with the commits of their bytes.
TEST(FilesDurabilityTest, NothingComesBackOfFilesRemovedDuringTheirCommit) {
  TestVolume volume;
  std::latch all(300);
  for (int i = 0; i < 300; i++) {
    InodeId inode = volume.Create("a");
    ASSERT_TRUE(volume.Write(inode, 0, PatternOf(i, 3000)).has_value());
    volume.files().Sync(inode, [&](Status) { all.count_down(); });
    if (i % 2 == 0) std::this_thread::yield();
    ASSERT_TRUE(volume.Remove("a", inode).has_value());
  }
  all.wait();
  volume.CheckConsistency();
  EXPECT_EQ(volume.RowsOf(Table::kInode), 1u);
  EXPECT_EQ(volume.RowsOf(Table::kExtent), 0u);
}

// The same, with the commit brought to the point where it has found the inode but not locked it.
TEST(FilesDurabilityTest, RecordOfAFreedInodeDoesNotComeBack) {
  TestVolume volume;
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 3000)).has_value());
  volume.memory().Pause();
  StatusLatch synced;
  volume.files().Sync(inode, [&](Status status) { synced.Set(std::move(status)); });
  while (volume.memory().kept_count() == 0) std::this_thread::yield();
  volume.SetBeforeMetaWrite([&](const MetaBatch& batch) {
    if (batch.empty()) return;
    const MetaBatch::Operation& last = batch.operations().back();
    if (last.table != Table::kOrphan || !last.is_delete) return;
    uint64_t barriers = volume.memory().sync_count();
    volume.memory().Resume();
    while (volume.memory().sync_count() == barriers) std::this_thread::yield();
    for (int i = 0; i < 10'000; i++) std::this_thread::yield();  // now it waits for the inode
  });
  ASSERT_TRUE(volume.Remove("a", inode).has_value());
  ASSERT_TRUE(synced.Wait().has_value());
  volume.CheckConsistency();
  EXPECT_EQ(volume.RowsOf(Table::kInode), 1u);
}

TEST(FilesDurabilityTest, DeviceErrorIsReportedOnceAndNothingIsLost) {
  TestVolume volume;
  InodeId inode = volume.Create("a");
  for (io::FaultKind kind :
       {io::FaultKind::kFailWrite, io::FaultKind::kFailSync, io::FaultKind::kTearWrite}) {
    ASSERT_TRUE(
        volume.Write(inode, 0, PatternOf(static_cast<uint64_t>(kind), 100'000)).has_value());
    volume.fault().Arm({.kind = kind});
    EXPECT_EQ(volume.Sync(inode).error().code, Errc::kIo);
    EXPECT_TRUE(volume.files().Flush(inode).has_value());  // close does not say it again
    EXPECT_EQ(*volume.ReadAll(inode), PatternOf(static_cast<uint64_t>(kind), 100'000));
    ASSERT_TRUE(volume.Sync(inode).has_value());
    volume.LosePower();
    EXPECT_EQ(volume.Content("a"), PatternOf(static_cast<uint64_t>(kind), 100'000));
  }
  volume.CheckConsistency();
}

TEST(FilesDurabilityTest, BackgroundErrorIsReportedByCloseOnce) {
  TestVolume volume({.write_back_delay_ms = 10});
  InodeId inode = volume.Create("a");
  volume.fault().Arm({.kind = io::FaultKind::kFailWrite});
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 5000)).has_value());
  while (volume.fault().struck_count() == 0) std::this_thread::yield();
  Status closed;
  while (closed) {  // told as soon as the completion has noted it
    closed = volume.files().Flush(inode);
    std::this_thread::yield();
  }
  EXPECT_EQ(closed.error().code, Errc::kIo);
  EXPECT_TRUE(volume.files().Flush(inode).has_value());
  while (volume.DirtyBytes() > 0) std::this_thread::yield();  // it went out by itself
  volume.LosePower(All);
  EXPECT_EQ(volume.Content("a"), PatternOf(1, 5000));
}

TEST(FilesDurabilityTest, FailingMetadataIsReportedAndTriedAgain) {
  TestVolume volume;
  InodeId inode = volume.Create("a");
  ASSERT_TRUE(volume.Write(inode, 0, PatternOf(1, 5000)).has_value());
  volume.meta_fault().FailAll(MetaCall::kWrite, Errc::kIo);
  EXPECT_EQ(volume.Sync(inode).error().code, Errc::kIo);
  EXPECT_EQ(volume.files().Truncate(inode, 10, false).error().code, Errc::kIo);
  EXPECT_EQ(*volume.ReadAll(inode), PatternOf(1, 5000));  // nothing changed
  volume.meta_fault().Heal();
  ASSERT_TRUE(volume.Sync(inode).has_value());
  volume.LosePower();
  EXPECT_EQ(volume.Content("a"), PatternOf(1, 5000));
  volume.CheckConsistency();
}

TEST(FilesDurabilityTest, DamagedExtentIsAnErrorAndTheRestIsReadable) {
  TestVolume volume;
  InodeId a = volume.Create("a");
  InodeId b = volume.Create("b");
  ASSERT_TRUE(volume.Write(a, 0, PatternOf(1, 2 * kMiB)).has_value());
  ASSERT_TRUE(volume.Write(b, 0, PatternOf(2, 100'000)).has_value());
  ASSERT_TRUE(volume.FlushAll().has_value());
  volume->EvictDram();
  volume.fault().Arm({.kind = io::FaultKind::kFlipBit});
  EXPECT_EQ(volume.Read(a, 0, 1000).error().code, Errc::kCorrupt);
  EXPECT_EQ(volume->GetStatus().devices[0].errors, 1u);
  EXPECT_EQ(volume.Content("b"), PatternOf(2, 100'000));
  EXPECT_TRUE(volume.Content("a") == PatternOf(1, 2 * kMiB));  // the flip was on the wire
}

}  // namespace
}  // namespace terrace::fs
