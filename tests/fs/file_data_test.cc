// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: replaced versions of bytes are kept until a newer one is committed, and no longer.
// Method: random replacements, commits and clears against a list of versions for every byte.
#include "fs/file_data.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "tests/support/cache_fixture.h"

namespace terrace::fs {
namespace {

class ReplacedBytesTest : public cache::CacheFixture {
 protected:
  // Versions of each byte, older before newer.
  using Model = std::vector<std::vector<const cache::Extent*>>;

  Model Versions(size_t size) {
    Model versions(size);
    for (const ReplacedBytes::Piece& piece : replaced_.pieces()) {
      for (uint64_t i = 0; i < piece.entry.size; i++) {
        EXPECT_EQ(piece.entry.extent_offset + i, piece.offset + i);  // as the test puts them
        versions[piece.offset + i].push_back(piece.entry.extent.get());
      }
    }
    return versions;
  }

  ReplacedBytes replaced_;
};

TEST_F(ReplacedBytesTest, CommitOfANewerVersionForgetsTheOlderOnes) {  // COMMIT-2
  cache::ExtentRef a = AddDirty(cache::PatternOf(1, 1000));
  cache::ExtentRef b = AddDirty(cache::PatternOf(1, 1000));
  replaced_.Add(100, {300, 100, a});
  replaced_.Add(200, {100, 200, b});
  replaced_.Committed(b);
  Model versions = Versions(1000);
  EXPECT_EQ(versions[199], std::vector<const cache::Extent*>{a.get()});
  EXPECT_TRUE(versions[200].empty());
  EXPECT_TRUE(versions[299].empty());
  EXPECT_EQ(versions[300], std::vector<const cache::Extent*>{a.get()});
  EXPECT_EQ(b.use_count(), 1);
  replaced_.Clear(0, 350);
  EXPECT_EQ(replaced_.pieces().size(), 1u);
  replaced_.Committed(a);
  EXPECT_TRUE(replaced_.empty());
}

TEST_F(ReplacedBytesTest, CommitOfAnOlderVersionKeepsTheNewerOnes) {
  cache::ExtentRef a = AddDirty(cache::PatternOf(1, 1000));
  cache::ExtentRef b = AddDirty(cache::PatternOf(1, 1000));
  replaced_.Add(0, {500, 0, a});
  replaced_.Add(100, {100, 100, b});
  replaced_.Committed(a);
  EXPECT_EQ(replaced_.pieces().size(), 1u);
  EXPECT_EQ(replaced_.pieces()[0].entry.extent, b);
}

TEST_F(ReplacedBytesTest, RandomAgainstAModel) {
  constexpr size_t kSize = 300;
  std::vector<cache::ExtentRef> extents;
  for (int i = 0; i < 10; i++) extents.push_back(AddDirty(cache::PatternOf(1, kSize)));
  Model model(kSize);
  std::mt19937 random(11);
  for (int step = 0; step < 4000; step++) {
    const cache::ExtentRef& extent = extents[random() % extents.size()];
    auto offset = static_cast<uint32_t>(random() % kSize);
    auto size = static_cast<uint32_t>(1 + random() % (kSize - offset));
    switch (random() % 4) {
      case 0:
        replaced_.Clear(offset, offset + size);
        for (size_t i = offset; i < offset + size; i++) model[i].clear();
        break;
      case 1:
        replaced_.Committed(extent);
        for (auto& versions : model) {
          auto newest = std::find(versions.rbegin(), versions.rend(), extent.get());
          versions.erase(versions.begin(), newest.base());
        }
        break;
      default:
        replaced_.Add(offset, {size, offset, extent});
        for (size_t i = offset; i < offset + size; i++) model[i].push_back(extent.get());
    }
    ASSERT_EQ(Versions(kSize), model) << "step " << step;
  }
}

TEST_F(ReplacedBytesTest, UndurableExtentsAreListedInOrder) {
  FileData data;
  auto rest = [&] { return std::distance(data.undurable.begin(), data.undurable.end()); };
  std::vector<cache::ExtentRef> extents;
  for (int i = 0; i < 3; i++) {
    extents.push_back(AddDirty(cache::PatternOf(1, 100)));
    data.undurable.push_back(extents.back());
  }
  extents.erase(extents.begin() + 1);  // overwritten before it was written
  EXPECT_EQ(data.CollectUndurable(), extents);
  extents.erase(extents.begin());
  EXPECT_EQ(data.CollectUndurable(), extents);
  EXPECT_EQ(rest(), 1);
  extents.clear();
  data.undurable.Prune();
  EXPECT_EQ(rest(), 0);
}

}  // namespace
}  // namespace terrace::fs
