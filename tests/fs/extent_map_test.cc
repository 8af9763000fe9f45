// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the live map says for every byte which byte of which extent it is, whatever was put and
// cleared. Method: hand-made cases for each way to overlap, then random changes against an array.
#include "fs/extent_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/cache_fixture.h"

namespace terrace::fs {
namespace {

class ExtentMapTest : public cache::CacheFixture {
 protected:
  cache::ExtentRef Extent(size_t size) { return AddDirty(cache::PatternOf(1, size)); }

  struct Row {
    uint64_t offset;
    uint32_t size;
    uint32_t extent_offset;
    cache::ExtentRef extent;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> Rows() {
    map_.CheckInvariants();
    std::vector<Row> rows;
    for (const auto& [offset, entry] : map_) {
      rows.push_back({offset, entry.size, entry.extent_offset, entry.extent});
    }
    return rows;
  }

  ExtentMap map_;
};

TEST_F(ExtentMapTest, OverwritingTrimsSplitsAndDrops) {  // MAP-1, MAP-2
  cache::ExtentRef a = Extent(1000);
  cache::ExtentRef b = Extent(1000);
  map_.Put(1000, {1000, 0, a});
  map_.Put(1400, {200, 10, b});  // inside: splits
  EXPECT_EQ(Rows(), (std::vector<Row>{
                        {1000, 400, 0, a}, {1400, 200, 10, b}, {1600, 400, 600, a}}));
  EXPECT_EQ(map_.mapped_bytes(), 1000u);
  map_.Put(900, {200, 0, b});  // over the beginning
  EXPECT_EQ(Rows(), (std::vector<Row>{{900, 200, 0, b},
                                      {1100, 300, 100, a},
                                      {1400, 200, 10, b},
                                      {1600, 400, 600, a}}));
  map_.Put(1300, {400, 500, b});  // over an end, a whole entry and a beginning
  EXPECT_EQ(Rows(), (std::vector<Row>{{900, 200, 0, b},
                                      {1100, 200, 100, a},
                                      {1300, 400, 500, b},
                                      {1700, 300, 700, a}}));
  map_.Put(900, {1000, 0, b});
  map_.Put(1900, {100, 0, b});
  EXPECT_EQ(a.use_count(), 1);  // no entry is left
  EXPECT_EQ(map_.mapped_bytes(), 1100u);
}

TEST_F(ExtentMapTest, ClearingMakesHoles) {  // MAP-1, MAP-2
  cache::ExtentRef a = Extent(1000);
  map_.Put(0, {1000, 0, a});
  map_.Clear(100, 200);
  map_.Clear(100, 150);
  map_.Clear(2000, 3000);
  EXPECT_EQ(Rows(), (std::vector<Row>{{0, 100, 0, a}, {200, 800, 200, a}}));
  map_.Clear(900, UINT64_MAX);
  EXPECT_EQ(map_.mapped_bytes(), 800u);
  EXPECT_EQ(map_.MappedBytesIn(50, 250), 100u);
  EXPECT_EQ(map_.MappedBytesIn(0, UINT64_MAX), 800u);
  EXPECT_EQ(map_.Covering(99)->first, 0u);
  EXPECT_TRUE(map_.Covering(100) == map_.end());
  EXPECT_EQ(map_.FirstBehind(100)->first, 200u);
  EXPECT_TRUE(map_.FirstBehind(900) == map_.end());
  map_.Clear(0, UINT64_MAX);
  EXPECT_EQ(map_.size(), 0u);
}

TEST_F(ExtentMapTest, ExtendingGoesOnInTheSameEntry) {
  cache::ExtentRef tail = AddDirty(cache::PatternOf(1, 100), true, 4096);
  map_.Put(5000, {100, 0, tail});
  ASSERT_TRUE(tail->BeginCopy());
  tail->EndCopy(150);
  map_.Extend(5000, 50);
  EXPECT_EQ(Rows(), (std::vector<Row>{{5000, 150, 0, tail}}));
  EXPECT_EQ(map_.mapped_bytes(), 150u);
}

TEST_F(ExtentMapTest, OffsetsUpToTheLargestFile) {
  cache::ExtentRef a = Extent(1000);
  map_.Put(kFileSizeMax - 1000, {1000, 0, a});
  EXPECT_EQ(map_.MappedBytesIn(0, kFileSizeMax), 1000u);
  map_.Clear(kFileSizeMax - 1, UINT64_MAX);
  EXPECT_EQ(Rows(), (std::vector<Row>{{kFileSizeMax - 1000, 999, 0, a}}));
}

TEST_F(ExtentMapTest, RandomChangesAgainstAnArray) {  // MAP-1, MAP-2
  constexpr size_t kFileSize = 4000;
  struct Byte {
    const cache::Extent* extent = nullptr;
    uint32_t offset = 0;
    bool operator==(const Byte&) const = default;
  };
  std::vector<cache::ExtentRef> extents;
  for (int i = 0; i < 8; i++) extents.push_back(Extent(1500));
  std::vector<Byte> model(kFileSize);
  std::mt19937 random(20261130);
  for (int step = 0; step < 3000; step++) {
    size_t offset = random() % kFileSize;
    auto size = static_cast<uint32_t>(1 + random() % std::min<size_t>(1000, kFileSize - offset));
    if (random() % 4 == 0) {
      map_.Clear(offset, offset + size);
      std::fill_n(model.begin() + static_cast<ptrdiff_t>(offset), size, Byte{});
    } else {
      const cache::ExtentRef& extent = extents[random() % extents.size()];
      auto inside = static_cast<uint32_t>(random() % 500);
      map_.Put(offset, {size, inside, extent});
      for (uint32_t i = 0; i < size; i++) model[offset + i] = {extent.get(), inside + i};
    }
    map_.CheckInvariants();
    std::vector<Byte> found(kFileSize);
    for (const auto& [start, entry] : map_) {
      for (uint32_t i = 0; i < entry.size; i++) {
        found[start + i] = {entry.extent.get(), entry.extent_offset + i};
      }
    }
    ASSERT_EQ(found, model) << "step " << step;
    size_t at = random() % kFileSize;
    EXPECT_EQ(map_.Covering(at) != map_.end(), model[at].extent != nullptr);
  }
}

}  // namespace
}  // namespace terrace::fs
