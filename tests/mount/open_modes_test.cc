// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: MODE-1: an open inode is in one mode, through any order of opens and closes.
// Method: single cases, then random opens and closes (seed printed) with CheckInvariants.
#include "mount/open_modes.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace terrace::mount {
namespace {

constexpr InodeId kFile{7};
constexpr Connection kPassthrough{.mode = ConnectionMode::kPassthrough, .direct_mmap = true};
constexpr Connection kWriteback{.mode = ConnectionMode::kWriteback, .direct_mmap = true};

FileHandle OpenFile(OpenModes& modes, InodeId inode, const OpenFacts& facts) {
  const int access = facts.flags & O_ACCMODE;
  const CacheMode mode = modes.Open(inode, facts);
  return {.inode = inode,
          .read = access != O_WRONLY,
          .write = access != O_RDONLY,
          .cached = !mode.direct};
}

TEST(OpenModesTest, ReaderBesideAStreamIsDirect) {
  OpenModes modes(kPassthrough);
  FileHandle writer = OpenFile(modes, kFile, {.flags = O_WRONLY});
  EXPECT_FALSE(writer.cached);
  FileHandle reader = OpenFile(modes, kFile, {.flags = O_RDONLY});
  EXPECT_FALSE(reader.cached);
  modes.Close(writer);
  modes.Close(reader);
  EXPECT_TRUE(OpenFile(modes, kFile, {.flags = O_RDONLY}).cached);
}

TEST(OpenModesTest, WriterBesideACachedReaderIsCached) {
  OpenModes modes(kPassthrough);
  FileHandle reader = OpenFile(modes, kFile, {.flags = O_RDONLY});
  EXPECT_TRUE(reader.cached);
  FileHandle writer = OpenFile(modes, kFile, {.flags = O_WRONLY | O_DIRECT});
  EXPECT_TRUE(writer.cached);
  modes.Close(reader);
  // The writer is still there, with its pages.
  EXPECT_TRUE(OpenFile(modes, kFile, {.flags = O_WRONLY}).cached);
  EXPECT_FALSE(OpenFile(modes, InodeId(8), {.flags = O_WRONLY}).cached);
}

TEST(OpenModesTest, DirtyPagesOnlyOfWritersOfAWriteBackMount) {
  OpenModes modes(kWriteback);
  FileHandle reader = OpenFile(modes, kFile, {.flags = O_RDONLY});
  EXPECT_FALSE(modes.MayHoldDirtyPages(kFile));
  FileHandle writer = OpenFile(modes, kFile, {.flags = O_RDWR});
  EXPECT_TRUE(modes.MayHoldDirtyPages(kFile));
  modes.Close(writer);
  EXPECT_FALSE(modes.MayHoldDirtyPages(kFile));
  modes.Close(reader);

  OpenModes through(kPassthrough);
  OpenFile(through, kFile, {.flags = O_RDWR});
  EXPECT_FALSE(through.MayHoldDirtyPages(kFile));
}

TEST(OpenModesTest, InodesWithPagesAreTakenOnce) {
  OpenModes modes(kPassthrough);
  FileHandle closed = OpenFile(modes, InodeId(1), {.flags = O_RDONLY});
  modes.Close(closed);
  OpenFile(modes, InodeId(2), {.flags = O_RDONLY});  // stays open
  OpenFile(modes, InodeId(3), {.flags = O_WRONLY});  // never cached
  modes.NotePages(InodeId(4));
  OpenFile(modes, InodeId(5), {.flags = O_RDONLY});
  modes.Forget(InodeId(5));  // the kernel dropped it
  std::vector<InodeId> taken = modes.TakeInodesWithPages();
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, (std::vector<InodeId>{InodeId(1), InodeId(2), InodeId(4)}));
  taken = modes.TakeInodesWithPages();
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, (std::vector<InodeId>{InodeId(2), InodeId(5)}));
}

TEST(OpenModesTest, StrayCloseChangesNothing) {
  OpenModes modes(kPassthrough);
  modes.Close({.inode = kFile, .read = true, .write = true, .cached = true});
  OpenFile(modes, kFile, {.flags = O_WRONLY});
  modes.Close({.inode = kFile, .read = true, .cached = true});
  modes.CheckInvariants();
  EXPECT_FALSE(OpenFile(modes, kFile, {.flags = O_RDONLY}).cached);
}

TEST(OpenModesTest, RandomOpensAndCloses) {  // MODE-1
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  OpenModes modes(random() % 2 == 0 ? kPassthrough : kWriteback);
  std::vector<FileHandle> handles;
  constexpr int kFlags[] = {
      O_RDONLY, O_WRONLY, O_RDWR, O_RDONLY | O_DIRECT, O_WRONLY | O_DIRECT, O_RDWR | O_DIRECT};
  for (int step = 0; step < 20'000; step++) {
    if (handles.empty() || random() % 2 == 0) {
      OpenFacts facts{.flags = kFlags[random() % std::size(kFlags)],
                      .size_bytes = random() % 2 == 0 ? 1 : kSmallFileSizeMax + 1,
                      .likely_mapped = random() % 4 == 0};
      handles.push_back(OpenFile(modes, InodeId(1 + random() % 8), facts));
    } else {
      std::swap(handles[random() % handles.size()], handles.back());
      modes.Close(handles.back());
      handles.pop_back();
    }
    modes.CheckInvariants();
  }
}

}  // namespace
}  // namespace terrace::mount
