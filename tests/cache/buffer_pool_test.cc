// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: POOL-1 to POOL-4 of cache/buffer_pool.h hold, and warm memory is handed out first.
// Method: exhaustive trims, a random model on a page bitmap, threads beside the prefaulter.
#include "cache/buffer_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <latch>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace terrace::cache {
namespace {

constexpr uint64_t kSmallPool = 16 * kMiB;
constexpr uint64_t kPagesPerBlock = kExtentSizeMax / kBlockSize;

std::unique_ptr<BufferPool> MakePool(uint64_t size_bytes, bool prefault = true) {
  auto pool = BufferPool::Create({.size_bytes = size_bytes, .prefault = prefault});
  EXPECT_TRUE(pool.has_value());
  return std::move(*pool);
}

uint64_t FreeBytes(const BufferPool& pool) {
  BufferPool::Counts counts = pool.counts();
  return counts.size_bytes - counts.used_bytes;
}

TEST(BufferPool, RefusesBudgetsThatMakeNoSense) {
  for (uint64_t size : {uint64_t{0}, kMiB, kSmallPool - 1, UINT64_MAX}) {
    auto pool = BufferPool::Create({.size_bytes = size});
    ASSERT_FALSE(pool.has_value()) << size;
    EXPECT_EQ(pool.error().code, Errc::kInvalid);
  }
}

// POOL-4: what describes the pages is part of the budget, and little of it.
TEST(BufferPool, CountsItsOwnMemoryInTheBudget) {
  for (uint64_t size : {kSmallPool, kSmallPool + kMiB - 1, 100 * kMiB, 3 * kGiB}) {
    auto pool = MakePool(size);
    uint64_t payload = pool->counts().size_bytes;
    uint64_t pages = payload / kBlockSize;
    uint64_t described = RoundUp(pages * sizeof(BufferHeader), kMiB) + pages * 9;
    EXPECT_LE(payload + described, size);
    EXPECT_GT(payload + described + 3 * kMiB, size);
    EXPECT_EQ(payload % kMiB, 0U);
    EXPECT_EQ(pool->memory().size_bytes(), payload);
  }
}

TEST(BufferPool, HandsOutTheSmallestClassThatFits) {
  auto pool = MakePool(kSmallPool);
  for (uint64_t size : {uint64_t{1}, uint64_t{4095}, 4 * kKiB, 4 * kKiB + 1, 64 * kKiB,
                        64 * kKiB + 1, 512 * kKiB + 1, kMiB}) {
    std::optional<Buffer> buffer = pool->TryAllocate(size);
    ASSERT_TRUE(buffer.has_value());
    uint64_t want = std::max(kBlockSize, std::bit_ceil(size));
    EXPECT_EQ(buffer->size_bytes(), want);
    EXPECT_EQ(buffer->memory_offset() % want, 0U);
    EXPECT_EQ(buffer->data(), pool->memory().data() + buffer->memory_offset());
    EXPECT_EQ(pool->counts().used_bytes, want);
    pool->CheckInvariants();
  }
  EXPECT_EQ(pool->counts().used_bytes, 0U);
}

// POOL-1: every page can be handed out, once.
TEST(BufferPool, GivesOutEveryPageAndThenNothing) {
  auto pool = MakePool(kSmallPool);
  for (uint64_t size = kBlockSize; size <= kMiB; size *= 2) {
    std::vector<Buffer> live;
    std::set<uint64_t> offsets;
    while (std::optional<Buffer> buffer = pool->TryAllocate(size)) {
      EXPECT_TRUE(offsets.insert(buffer->memory_offset()).second);
      live.push_back(std::move(*buffer));
    }
    EXPECT_EQ(live.size() * size, pool->counts().size_bytes);
    EXPECT_EQ(FreeBytes(*pool), 0U);
    pool->CheckInvariants();
  }
}

// POOL-2: free buddies merge, in whatever order they come back.
TEST(BufferPool, MergesWhatComesBackInAnyOrder) {
  auto pool = MakePool(kSmallPool);
  std::mt19937_64 random(1);
  for (int round = 0; round < 4; round++) {
    std::vector<Buffer> live;
    while (std::optional<Buffer> buffer = pool->TryAllocate(kBlockSize)) {
      live.push_back(std::move(*buffer));
    }
    std::shuffle(live.begin(), live.end(), random);
    live.clear();
    pool->CheckInvariants();
    while (std::optional<Buffer> buffer = pool->TryAllocate(kMiB)) {
      live.push_back(std::move(*buffer));
    }
    EXPECT_EQ(live.size() * kMiB, pool->counts().size_bytes);
  }
}

TEST(BufferPool, TrimFreesTheTailExactlyAndMovesNothing) {
  auto pool = MakePool(kSmallPool);
  for (uint64_t size = kBlockSize; size <= kMiB; size *= 2) {
    for (uint64_t keep = 1; keep * kBlockSize <= size; keep++) {
      std::optional<Buffer> buffer = pool->TryAllocate(size);
      ASSERT_TRUE(buffer.has_value());
      std::byte* data = buffer->data();
      buffer->Trim(keep * kBlockSize - keep % 2 * 4095);
      ASSERT_EQ(buffer->size_bytes(), keep * kBlockSize);
      ASSERT_EQ(buffer->data(), data);
      ASSERT_EQ(pool->counts().used_bytes, keep * kBlockSize);
      pool->CheckInvariants();
      buffer->Trim(1);
      ASSERT_EQ(pool->counts().used_bytes, kBlockSize);
      buffer.reset();
      ASSERT_EQ(pool->counts().used_bytes, 0U);
    }
  }
  pool->CheckInvariants();
}

TEST(BufferPool, TrimmedPagesServeOtherBuffersAtOnce) {
  auto pool = MakePool(kSmallPool);
  std::vector<Buffer> live;
  while (std::optional<Buffer> buffer = pool->TryAllocate(kMiB)) live.push_back(std::move(*buffer));
  ASSERT_FALSE(pool->TryAllocate(1).has_value());
  live.front().Trim(300 * kKiB);  // leaves 4 + 16 + 64 + 128 + 512 KiB
  std::vector<Buffer> small;
  for (uint64_t size : {512 * kKiB, 128 * kKiB, 64 * kKiB, 16 * kKiB, 4 * kKiB}) {
    std::optional<Buffer> buffer = pool->TryAllocate(size);
    ASSERT_TRUE(buffer.has_value()) << size;
    small.push_back(std::move(*buffer));
  }
  EXPECT_FALSE(pool->TryAllocate(1).has_value());
  pool->CheckInvariants();
}

// POOL-3: a free page is never taken for a published buffer.
TEST(BufferPool, ResetTakesBackTheHeader) {
  auto pool = MakePool(kSmallPool);
  std::optional<Buffer> buffer = pool->TryAllocate(kMiB);
  buffer->Trim(20 * kKiB);
  BufferHeader& header = buffer->header();
  header.inode = 7;
  header.sequence.store(42, std::memory_order_release);
  pool->CheckInvariants();
  buffer->Reset();
  EXPECT_FALSE(*buffer);
  EXPECT_EQ(header.sequence.load(), 0U);
  pool->CheckInvariants();
  buffer->Reset();  // an empty buffer stays empty
}

TEST(BufferPool, EveryPageHasAHeaderOfItsOwn) {
  auto pool = MakePool(kSmallPool);
  std::vector<Buffer> live;
  std::set<BufferHeader*> headers;
  while (std::optional<Buffer> buffer = pool->TryAllocate(1)) {
    EXPECT_EQ(buffer->header().sequence.load(), 0U);
    buffer->header().sequence.store(buffer->memory_offset() + 1);
    headers.insert(&buffer->header());
    live.push_back(std::move(*buffer));
  }
  EXPECT_EQ(headers.size(), live.size());
  for (const Buffer& buffer : live) {
    EXPECT_EQ(buffer.header().sequence.load(), buffer.memory_offset() + 1);
  }
}

TEST(BufferPool, MovingABufferMovesTheOwnership) {
  auto pool = MakePool(kSmallPool);
  Buffer a = std::move(*pool->TryAllocate(kMiB));
  Buffer b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b);
  b = std::move(*pool->TryAllocate(kBlockSize));
  EXPECT_EQ(pool->counts().used_bytes, kBlockSize);
  Buffer& self = b;
  b = std::move(self);
  EXPECT_TRUE(b);
}

TEST(BufferPool, ReusesWarmMemoryBeforeUntouched) {
  auto pool = MakePool(kSmallPool);
  std::optional<Buffer> first = pool->TryAllocate(kMiB);
  std::optional<Buffer> second = pool->TryAllocate(kMiB);
  uint64_t first_offset = first->memory_offset();
  uint64_t second_offset = second->memory_offset();
  first.reset();
  second.reset();
  second = pool->TryAllocate(kMiB);  // the last one that came back
  EXPECT_EQ(second->memory_offset(), second_offset);
  first = pool->TryAllocate(kBlockSize);  // splits a used block, not an untouched one
  EXPECT_EQ(first->memory_offset(), first_offset);
}

// The prefaulter waits in the callback of its first chunk, which makes the rest deterministic.
TEST(BufferPool, PrefersUsedThenPrefaultedThenUntouched) {
  auto pool = MakePool(200 * kMiB);
  Buffer used = std::move(*pool->TryAllocate(kMiB));
  uint64_t used_offset = used.memory_offset();
  ASSERT_GE(used_offset, BufferPool::kPrefaultChunkBytes);  // away from the prefaulter
  std::latch first_chunk(1);
  std::latch go_on(1);
  pool->StartPrefault([&, first = true](std::byte*, size_t) mutable {
    if (!std::exchange(first, false)) return;
    first_chunk.count_down();
    go_on.wait();
  });
  first_chunk.wait();
  EXPECT_EQ(pool->counts().prefaulted_bytes, BufferPool::kPrefaultChunkBytes);
  pool->CheckInvariants();
  used.Reset();
  std::vector<Buffer> live;
  live.push_back(std::move(*pool->TryAllocate(kMiB)));
  EXPECT_EQ(live.back().memory_offset(), used_offset);
  for (uint64_t i = 0; i < BufferPool::kPrefaultChunkBytes / kMiB; i++) {
    live.push_back(std::move(*pool->TryAllocate(kMiB)));
    EXPECT_LT(live.back().memory_offset(), BufferPool::kPrefaultChunkBytes);
  }
  live.push_back(std::move(*pool->TryAllocate(kMiB)));
  EXPECT_GE(live.back().memory_offset(), BufferPool::kPrefaultChunkBytes);
  go_on.count_down();
}

TEST(BufferPool, PrefaultReportsEveryChunkInOrderAndKeepsContents) {
  auto pool = MakePool(200 * kMiB);
  Buffer buffer = std::move(*pool->TryAllocate(kMiB));
  std::memset(buffer.data(), 0x5a, buffer.size_bytes());
  const uint64_t size = pool->counts().size_bytes;
  std::vector<std::pair<std::byte*, size_t>> chunks;
  std::latch done(1);
  uint64_t reported = 0;
  pool->StartPrefault([&](std::byte* base, size_t size_bytes) {
    chunks.emplace_back(base, size_bytes);
    reported += size_bytes;
    if (reported == size) done.count_down();
  });
  done.wait();
  std::byte* expected = pool->memory().data();
  for (auto [base, size_bytes] : chunks) {
    EXPECT_EQ(base, expected);
    EXPECT_LE(size_bytes, BufferPool::kPrefaultChunkBytes);
    expected += size_bytes;
  }
  EXPECT_EQ(pool->counts().prefaulted_bytes, size);
  EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size_bytes(),
                          [](std::byte byte) { return byte == std::byte{0x5a}; }));
  pool->CheckInvariants();
}

TEST(BufferPool, PrefaultCanBeSwitchedOff) {
  auto pool = MakePool(kSmallPool, false);
  pool->StartPrefault([](std::byte*, size_t) { ADD_FAILURE() << "prefaulted"; });
  EXPECT_EQ(pool->counts().prefaulted_bytes, 0U);
}

TEST(BufferPool, DestructionStopsThePrefault) {
  auto pool = MakePool(4 * kGiB);  // far more than is touched
  std::latch started(1);
  int chunks = 0;
  pool->StartPrefault([&](std::byte*, size_t) {
    if (chunks++ == 0) started.count_down();
  });
  started.wait();
  pool.reset();
  EXPECT_LT(chunks, 60);
}

// What the pool should say, on a bitmap of pages.
class PageModel {
 public:
  explicit PageModel(uint64_t pages) : used_(pages, false) {}

  void Mark(uint64_t first, uint64_t count, bool used) {
    for (uint64_t page = first; page < first + count; page++) {
      ASSERT_NE(used_[page], used) << "page " << page;
      used_[page] = used;
    }
  }
  bool HasFreeRun(uint64_t pages) const {
    for (uint64_t first = 0; first < used_.size(); first += pages) {
      auto begin = used_.begin() + static_cast<ptrdiff_t>(first);
      if (std::find(begin, begin + static_cast<ptrdiff_t>(pages), true) ==
          begin + static_cast<ptrdiff_t>(pages)) {
        return true;
      }
    }
    return false;
  }
  uint64_t used_pages() const {
    return static_cast<uint64_t>(std::count(used_.begin(), used_.end(), true));
  }

 private:
  std::vector<bool> used_;
};

// POOL-1, POOL-2, POOL-3 under random allocations, trims and frees.
class BufferPoolModel : public testing::TestWithParam<uint64_t> {};

TEST_P(BufferPoolModel, AgreesWithABitmap) {
  auto pool = MakePool(kSmallPool);
  PageModel model(pool->counts().size_bytes / kBlockSize);
  std::mt19937_64 random(GetParam());
  std::vector<Buffer> live;
  for (int step = 0; step < 20000; step++) {
    uint64_t action = random() % 8;
    if (live.empty() || action < 4) {
      uint64_t pages = std::bit_ceil(1 + random() % (random() % 2 ? 8 : kPagesPerBlock));
      std::optional<Buffer> buffer = pool->TryAllocate(pages * kBlockSize);
      ASSERT_EQ(buffer.has_value(), model.HasFreeRun(pages));
      if (!buffer) continue;
      model.Mark(buffer->memory_offset() / kBlockSize, pages, true);
      buffer->header().sequence.store(1 + random() % 2);
      live.push_back(std::move(*buffer));
    } else if (action < 6) {
      Buffer& buffer = live[random() % live.size()];
      uint64_t before = buffer.size_bytes() / kBlockSize;
      uint64_t keep = 1 + random() % before;
      buffer.Trim(keep * kBlockSize);
      model.Mark(buffer.memory_offset() / kBlockSize + keep, before - keep, false);
    } else {
      std::swap(live[random() % live.size()], live.back());
      model.Mark(live.back().memory_offset() / kBlockSize, live.back().size_bytes() / kBlockSize,
                 false);
      live.pop_back();
    }
    ASSERT_FALSE(HasFatalFailure());
    if (step % 64 == 0) {
      pool->CheckInvariants();
      ASSERT_EQ(pool->counts().used_bytes, model.used_pages() * kBlockSize);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BufferPoolModel, testing::Range(uint64_t{1}, uint64_t{9}));

void FillAndCheck(BufferPool& pool, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Buffer> live;
  auto stamp = [seed](const Buffer& buffer) { return seed << 48 | buffer.memory_offset(); };
  for (int step = 0; step < 3000; step++) {
    if (live.size() < 8) {
      std::optional<Buffer> buffer = pool.TryAllocate(1 + random() % kMiB);
      if (buffer) {
        for (uint64_t at = 0; at < buffer->size_bytes(); at += kBlockSize) {
          uint64_t value = stamp(*buffer);
          std::memcpy(buffer->data() + at, &value, sizeof value);
        }
        if (step % 2 == 0) buffer->Trim(1 + random() % buffer->size_bytes());
        buffer->header().sequence.store(stamp(*buffer) + 1, std::memory_order_release);
        live.push_back(std::move(*buffer));
        continue;
      }
    }
    if (live.empty()) continue;
    std::swap(live[random() % live.size()], live.back());
    for (uint64_t at = 0; at < live.back().size_bytes(); at += kBlockSize) {
      uint64_t value;
      std::memcpy(&value, live.back().data() + at, sizeof value);
      ASSERT_EQ(value, stamp(live.back()));
    }
    ASSERT_EQ(live.back().header().sequence.load(), stamp(live.back()) + 1);
    live.pop_back();
  }
}

// POOL-1 between threads: nobody sees another's bytes or header, prefault or not.
TEST(BufferPool, ThreadsShareThePoolWithThePrefaulter) {
  auto pool = MakePool(100 * kMiB);
  {
    std::vector<std::jthread> threads;
    pool->StartPrefault([](std::byte*, size_t) {});
    for (uint64_t seed = 1; seed <= 4; seed++) {
      threads.emplace_back([&pool, seed] { FillAndCheck(*pool, seed); });
    }
    for (int i = 0; i < 3; i++) EXPECT_LE(pool->counts().used_bytes, pool->counts().size_bytes);
  }
  EXPECT_EQ(pool->counts().used_bytes, 0U);
  pool->CheckInvariants();
}

TEST(BufferPoolDeathTest, BrokenCallersAreStopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto pool = MakePool(kSmallPool);
  Buffer buffer = std::move(*pool->TryAllocate(8 * kKiB));
  EXPECT_DEATH(buffer.Trim(0), "size_bytes > 0");
  EXPECT_DEATH(buffer.Trim(8 * kKiB + 1), "size_bytes <= this->size_bytes");
  EXPECT_DEATH(pool->TryAllocate(0), "size_bytes > 0");
  EXPECT_DEATH(pool->TryAllocate(kMiB + 1), "size_bytes <= kExtentSizeMax");
  EXPECT_DEATH(pool.reset(), "used_pages_ == 0");
}

}  // namespace
// Goal: a payload's part of a block becomes a buffer of its own and the rest receives on (POOL-1).
// Method: split a block in four, drop the parts in another order, and have the block whole again.
TEST(BufferPoolTest, SplitFrontMakesTwoLiveBuffers) {
  auto pool = MakePool(kSmallPool);
  const uint64_t used_before = pool->counts().used_bytes;
  std::optional<Buffer> rest = pool->TryAllocate(kMiB);
  ASSERT_TRUE(rest);
  std::byte* const start = rest->data();
  std::vector<Buffer> parts;
  for (uint64_t i = 0; i < 4; i++) {
    parts.push_back(rest->SplitFront(256 * kKiB - 100));
    EXPECT_EQ(parts.back().data(), start + i * 256 * kKiB);
    EXPECT_EQ(parts.back().size_bytes(), 256 * kKiB);
    pool->CheckInvariants();
  }
  EXPECT_FALSE(*rest);
  EXPECT_EQ(pool->counts().used_bytes, used_before + kMiB);
  for (size_t i : {2u, 0u, 3u, 1u}) {
    parts[i].Reset();
    pool->CheckInvariants();
  }
  EXPECT_EQ(pool->counts().used_bytes, used_before);
}

}  // namespace terrace::cache
