// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: readers get the right bytes from DRAM or the devices, however little memory there is, and
// no extent's memory or blocks are freed while somebody uses them.
// Method: devices in memory that can be paused and made to fail; a pool of 15 MiB.
#include "cache/extent_cache.h"

#include <gtest/gtest.h>

#include <latch>
#include <random>
#include <thread>

#include "tests/support/cache_fixture.h"

namespace terrace::cache {
namespace {

class ExtentCacheTest : public CacheFixture {
 protected:
  // Takes all memory in buffers of 1 MiB, but for `spare`.
  std::vector<Buffer> FillPool(size_t spare) {
    std::vector<Buffer> held;
    while (std::optional<Buffer> buffer = cache_->TryAllocateBuffer(kMiB)) {
      held.push_back(std::move(*buffer));
    }
    held.resize(held.size() - spare);
    return held;
  }
};

TEST_F(ExtentCacheTest, AdoptedBufferIsReadWithoutACopy) {
  std::string bytes = PatternOf(1, 100'000);
  ExtentRef extent = AddDirty(bytes);
  ReadOutcome outcome;
  cache_->PinForRead({{extent, 1000, 50'000}}, FetchMode::kKeep, outcome.Callback());
  ASSERT_TRUE(outcome.Wait().has_value());
  ASSERT_EQ(outcome.bytes.pieces.size(), 1u);
  EXPECT_EQ(outcome.bytes.pieces[0].iov_base, extent->memory() + 1000);
  EXPECT_EQ(Join(outcome.bytes), bytes.substr(1000, 50'000));
  EXPECT_EQ(cache_->hits(), 1u);
  EXPECT_EQ(cache_->misses(), 0u);
}

TEST_F(ExtentCacheTest, HeaderSaysWhatTheBufferHolds) {
  Buffer buffer = cache_->AllocateBuffer(10'000);
  BufferHeader& header = buffer.header();
  ASSERT_TRUE(store().Reserve(3).has_value());
  ExtentCache::NewExtent what;
  what.birth = {ExtentId(71), kInode, 12'345, Sequence(99)};
  what.size_bytes = 9000;
  what.reserved_blocks = 3;
  ExtentRef extent = cache_->AddDirty(what, std::move(buffer));
  EXPECT_EQ(header.sequence.load(), 99u);
  EXPECT_EQ(header.inode, kInode.value());
  EXPECT_EQ(header.extent, 71u);
  EXPECT_EQ(header.file_offset, 12'345u);
  EXPECT_EQ(header.length_bytes, 9000u);
  extent.reset();
  EXPECT_EQ(header.sequence.load(), 0u);
  EXPECT_EQ(store().reserved_bytes(), 0u);
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
}

TEST_F(ExtentCacheTest, OpenExtentGrowsUntilItIsSealed) {  // EXT-2
  ExtentRef tail = AddDirty(PatternOf(1, 100), true, kBlockSize);
  ASSERT_TRUE(tail->BeginCopy());
  EXPECT_FALSE(tail->BeginCopy());  // one copier at a time
  std::memcpy(tail->memory() + 100, "abc", 3);
  tail->EndCopy(103);
  EXPECT_EQ(ReadWhole(tail).value(), PatternOf(1, 100) + "abc");
  cache_->dirty().Seal(*tail);
  EXPECT_FALSE(tail->BeginCopy());
}

TEST_F(ExtentCacheTest, ColdExtentComesToDramAndStays) {  // CACHE-1
  std::string bytes = PatternOf(2, 300'000);
  ExtentRef extent = AddCold(bytes);
  EXPECT_EQ(Read({{extent, 70'000, 10}}).value(), bytes.substr(70'000, 10));
  EXPECT_EQ(cache_->misses(), 1u);
  cache_->CheckInvariants();
  uint64_t read_bytes = store().Statuses()[0].read_bytes;
  EXPECT_EQ(ReadWhole(extent).value(), bytes);
  EXPECT_EQ(store().Statuses()[0].read_bytes, read_bytes);
  EXPECT_EQ(cache_->hits(), 1u);
  cache_->EvictAll();
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
  EXPECT_EQ(ReadWhole(extent).value(), bytes);
}

TEST_F(ExtentCacheTest, HolesReadAsZerosBetweenExtents) {
  std::string a = PatternOf(3, 5000);
  std::string b = PatternOf(4, 80'000);
  ExtentRef dirty = AddDirty(a);
  ExtentRef cold = AddCold(b);
  std::string read =
      Read({{dirty, 10, 20}, {nullptr, 0, 200'000}, {cold, 65'000, 1000}, {nullptr, 0, 1}}).value();
  EXPECT_EQ(read, a.substr(10, 20) + std::string(200'000, '\0') + b.substr(65'000, 1000) +
                      std::string(1, '\0'));
  EXPECT_EQ(Read({}).value(), "");
}

TEST_F(ExtentCacheTest, TransientReadTakesOnlyTheBlocksItNeeds) {
  std::string bytes = PatternOf(5, kMiB);
  ExtentRef extent = AddCold(bytes);
  EXPECT_EQ(Read({{extent, 200'000, 4096}}, FetchMode::kTransient).value(),
            bytes.substr(200'000, 4096));
  EXPECT_EQ(store().Statuses()[0].read_bytes, kChecksumBlockSize);
  EXPECT_EQ(Read({{extent, 65'530, 12}}, FetchMode::kTransient).value(),
            bytes.substr(65'530, 12));  // both sides of a block's edge
  EXPECT_EQ(store().Statuses()[0].read_bytes, 3 * kChecksumBlockSize);
  EXPECT_EQ(pool_->counts().used_bytes, 0u);  // and keeps none of it
  // Most of an extent, or a small one, is worth keeping.
  EXPECT_EQ(Read({{extent, 0, 600'000}}, FetchMode::kTransient).value(), bytes.substr(0, 600'000));
  EXPECT_EQ(pool_->counts().used_bytes, kMiB);
  ExtentRef small = AddCold(PatternOf(6, 5000));
  EXPECT_EQ(Read({{small, 1, 2}}, FetchMode::kTransient).value(), PatternOf(6, 5000).substr(1, 2));
  EXPECT_EQ(pool_->counts().used_bytes, kMiB + 2 * kBlockSize);
}

TEST_F(ExtentCacheTest, TransientReadOfTheLastShortBlock) {
  std::string bytes = PatternOf(5, kMiB - 100);
  ExtentRef extent = AddCold(bytes);
  EXPECT_EQ(Read({{extent, static_cast<uint32_t>(kMiB - 110), 10}}, FetchMode::kTransient).value(),
            bytes.substr(kMiB - 110));
}

TEST_F(ExtentCacheTest, OneFetchServesAllWhoWantIt) {
  std::string bytes = PatternOf(7, 500'000);
  ExtentRef extent = AddCold(bytes);
  memory().Pause();
  ReadOutcome a, b;
  cache_->PinForRead({{extent, 0, 1000}, {extent, 400'000, 7}}, FetchMode::kKeep, a.Callback());
  cache_->PinForRead({{extent, 9000, 10}}, FetchMode::kKeep, b.Callback());
  cache_->Prefetch({extent});
  EXPECT_EQ(memory().kept_count(), 1u);
  memory().Resume();
  ASSERT_TRUE(a.Wait().has_value());
  ASSERT_TRUE(b.Wait().has_value());
  EXPECT_EQ(Join(a.bytes), bytes.substr(0, 1000) + bytes.substr(400'000, 7));
  EXPECT_EQ(Join(b.bytes), bytes.substr(9000, 10));
}

TEST_F(ExtentCacheTest, PinnedExtentKeepsItsBuffer) {  // CACHE-2
  std::string bytes = PatternOf(8, 200'000);
  ExtentRef extent = AddCold(bytes);
  ReadOutcome outcome;
  cache_->PinForRead({{extent, 0, 200'000}}, FetchMode::kKeep, outcome.Callback());
  ASSERT_TRUE(outcome.Wait().has_value());
  cache_->EvictAll();
  cache_->CheckInvariants();
  EXPECT_EQ(Join(outcome.bytes), bytes);
  outcome.bytes = {};
  cache_->EvictAll();
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
}

TEST_F(ExtentCacheTest, KnownIsOneObjectPerExtent) {
  ExtentRef extent = AddCold(PatternOf(9, 1000));
  Extent::Birth birth = extent->birth();
  io::ExtentRecord record = extent->record();
  EXPECT_EQ(cache_->Known(birth, record), extent);
  EXPECT_EQ(ReadWhole(extent).value(), PatternOf(9, 1000));
  std::weak_ptr<Extent> weak = extent;
  extent.reset();
  EXPECT_FALSE(weak.expired());  // the cache keeps what is in DRAM
  EXPECT_EQ(cache_->Known(birth, record), weak.lock());
  cache_->EvictAll();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(ReadWhole(cache_->Known(birth, record)).value(), PatternOf(9, 1000));
}

TEST_F(ExtentCacheTest, BlocksAreFreedWithTheLastHolder) {  // EXT-3
  ExtentRef extent = AddCold(PatternOf(10, 100'000));
  io::ExtentRecord record = extent->record();
  ExtentId id = extent->id();
  uint64_t free_before = FreeBlocks();
  ReadOutcome outcome;
  cache_->PinForRead({{extent, 0, 100'000}}, FetchMode::kKeep, outcome.Callback());
  ASSERT_TRUE(outcome.Wait().has_value());
  extent.reset();
  cache_->Retire(id, record);
  EXPECT_EQ(AwaitingBlocks(), 0u);  // the reply still holds it
  outcome.bytes = {};
  EXPECT_EQ(AwaitingBlocks(), BlockCount(100'000));
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
  store().Release(store().SealAwaiting());
  EXPECT_EQ(FreeBlocks(), free_before + BlockCount(100'000));
}

TEST_F(ExtentCacheTest, RetiredExtentThatNobodyHoldsIsFreedAtOnce) {  // EXT-3
  ExtentRef extent = AddCold(PatternOf(11, 5000));
  io::ExtentRecord record = extent->record();
  ExtentId id = extent->id();
  extent.reset();
  cache_->Retire(id, record);
  EXPECT_EQ(AwaitingBlocks(), 2u);
}

TEST_F(ExtentCacheTest, RetiredExtentThatIsBeingFetchedIsNotKept) {
  ExtentRef extent = AddCold(PatternOf(12, 5000));
  io::ExtentRecord record = extent->record();
  ExtentId id = extent->id();
  memory().Pause();
  cache_->Prefetch({extent});
  extent.reset();
  cache_->Retire(id, record);
  EXPECT_EQ(AwaitingBlocks(), 0u);
  memory().Resume();
  EXPECT_EQ(AwaitingBlocks(), 2u);
  EXPECT_EQ(pool_->counts().used_bytes, 0u);
}

TEST_F(ExtentCacheTest, FailedReadReachesAllWhoWaitAndIsNotKept) {
  ExtentRef extent = AddCold(PatternOf(13, 200'000));
  fault().Arm({.kind = io::FaultKind::kFailRead});
  memory().Pause();
  ReadOutcome a;
  cache_->PinForRead({{extent, 0, 10}, {extent, 100'000, 5}}, FetchMode::kKeep, a.Callback());
  EXPECT_EQ(a.Wait().error().code, Errc::kIo);
  memory().Resume();
  EXPECT_EQ(ReadWhole(extent).value(), PatternOf(13, 200'000));
}

TEST_F(ExtentCacheTest, DamagedBytesAreAnErrorNotAnAnswer) {
  ExtentRef extent = AddCold(PatternOf(14, kMiB));
  for (FetchMode mode : {FetchMode::kKeep, FetchMode::kTransient}) {
    fault().Arm({.kind = io::FaultKind::kFlipBit});
    EXPECT_EQ(Read({{extent, 0, 100}}, mode).error().code, Errc::kCorrupt);
    EXPECT_EQ(pool_->counts().used_bytes, 0u);
    EXPECT_EQ(Read({{extent, 0, 100}}, mode).value(), PatternOf(14, kMiB).substr(0, 100));
    cache_->EvictAll();
  }
  EXPECT_EQ(store().Statuses()[0].errors, 2u);
}

TEST_F(ExtentCacheTest, PrefetchBringsWhatFitsAndNeverWaits) {
  std::vector<ExtentRef> extents;
  for (int i = 0; i < 4; i++) extents.push_back(AddCold(PatternOf(20 + i, kMiB)));
  std::vector<Buffer> held = FillPool(2);
  cache_->Prefetch(extents);
  EXPECT_EQ(store().Statuses()[0].read_bytes, 4 * kMiB);  // each pushed the one before out
  std::vector<Buffer> rest = FillPool(0);
  cache_->Prefetch(extents);  // no memory at all
  EXPECT_EQ(store().Statuses()[0].read_bytes, 4 * kMiB);
  held.clear();
  rest.clear();
  cache_->Prefetch(extents);
  uint64_t misses = cache_->misses();
  for (int i = 0; i < 4; i++) EXPECT_EQ(ReadWhole(extents[i]).value(), PatternOf(20 + i, kMiB));
  EXPECT_EQ(cache_->misses(), misses);
}

// A million small extents would take more memory beside the pool than in it.
TEST_F(ExtentCacheTest, NumberOfExtentsInDramIsBounded) {
  cache_ = std::make_unique<ExtentCache>(*pool_, store(), clock_, /*resident_count_max=*/5);
  std::vector<ExtentRef> extents;
  for (int i = 0; i < 8; i++) extents.push_back(AddCold(PatternOf(i, 1000)));
  for (const ExtentRef& extent : extents) ASSERT_TRUE(ReadWhole(extent).has_value());
  const uint64_t misses = cache_->misses();
  for (int i = 3; i < 8; i++) ASSERT_TRUE(ReadWhole(extents[i]).has_value());
  EXPECT_EQ(cache_->misses(), misses);
  ASSERT_TRUE(ReadWhole(extents[0]).has_value());
  EXPECT_EQ(cache_->misses(), misses + 1);
}

// What streams through DRAM by prefetch leaves before what was asked for twice.
TEST_F(ExtentCacheTest, ReadOfAPrefetchedExtentIsItsFirstUse) {
  std::vector<ExtentRef> hot;
  for (int i = 0; i < 8; i++) hot.push_back(AddCold(PatternOf(30, kMiB)));
  for (int round = 0; round < 2; round++) {
    for (const ExtentRef& extent : hot) ASSERT_TRUE(ReadWhole(extent).has_value());
  }
  for (int i = 0; i < 20; i++) {  // two ahead, so that others are used in between
    std::vector<ExtentRef> ahead = {AddCold(PatternOf(32, kMiB)), AddCold(PatternOf(33, kMiB))};
    cache_->Prefetch(ahead);
    for (const ExtentRef& extent : ahead) ASSERT_TRUE(ReadWhole(extent).has_value());
  }
  uint64_t misses = cache_->misses();
  for (const ExtentRef& extent : hot) ASSERT_TRUE(ReadWhole(extent).has_value());
  EXPECT_EQ(cache_->misses(), misses);
}

TEST_F(ExtentCacheTest, AllocationEvictsWhatIsClean) {  // EXT-1
  ExtentRef extent = AddCold(PatternOf(15, kMiB));
  ASSERT_TRUE(ReadWhole(extent).has_value());
  std::vector<Buffer> held = FillPool(0);
  EXPECT_EQ(held.size(), pool_->counts().size_bytes / kMiB);
}

TEST_F(ExtentCacheTest, AllocationWaitsForDirtyMemoryAndAsksForRoom) {
  std::vector<Buffer> held = FillPool(1);
  ExtentRef dirty = AddDirty(PatternOf(16, kMiB));
  ASSERT_FALSE(cache_->TryAllocateBuffer(kBlockSize).has_value());
  std::latch asked(1);
  std::atomic<bool> first{true};
  cache_->SetMakeRoom([&] {
    if (first.exchange(false)) asked.count_down();
  });
  std::thread waiter([&] {
    Buffer buffer = cache_->AllocateBuffer(kMiB);
    EXPECT_TRUE(bool{buffer});
  });
  asked.wait();
  dirty.reset();
  waiter.join();
}

// A read of a badly fragmented range needs more memory than there is.
TEST_F(ExtentCacheTest, ReadOfMoreExtentsThanThePoolHolds) {
  for (FetchMode mode : {FetchMode::kKeep, FetchMode::kTransient}) {
    std::vector<ReadPiece> pieces;
    std::string expected;
    for (int i = 0; i < 40; i++) {
      std::string bytes = PatternOf(100 + i, kMiB);
      pieces.push_back({AddCold(bytes), 70'000, 20'000});
      expected += bytes.substr(70'000, 20'000);
      pieces.push_back({nullptr, 0, 100});
      expected += std::string(100, '\0');
    }
    EXPECT_EQ(Read(pieces, mode).value(), expected);
    fault().Arm({.kind = io::FaultKind::kFailRead, .after = 30});
    cache_->EvictAll();
    EXPECT_EQ(Read(pieces, mode).error().code, Errc::kIo);
    fault().Disarm();
  }
}

// Readers with room for one of them at a time: none may hold memory while it waits for more.
TEST_F(ExtentCacheTest, ReadersWhoWaitForMemoryDoNotWaitForEachOther) {
  constexpr int kReaders = 4;
  std::vector<std::vector<ReadPiece>> wanted(kReaders);
  for (int i = 0; i < kReaders; i++) {
    for (int j = 0; j < 3; j++) {
      wanted[i].push_back({AddCold(PatternOf(i * 3 + j, 500'000)), 0, 300'000});
    }
  }
  std::vector<Buffer> held = FillPool(2);
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; i++) {
    readers.emplace_back([&, i] {
      for (int round = 0; round < 20; round++) {
        std::string read = Read(wanted[i]).value();
        for (int j = 0; j < 3; j++) {
          EXPECT_EQ(read.substr(j * 300'000, 300'000),
                    PatternOf(i * 3 + j, 500'000).substr(0, 300'000));
        }
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
}

// After WaitIdle no completion holds an extent: the cache may be destroyed.
TEST_F(ExtentCacheTest, WaitIdleOutlastsEveryCompletion) {
  for (int round = 0; round < 200; round++) {
    ExtentRef extent = AddCold(PatternOf(40, 70'000));
    std::weak_ptr<Extent> weak = extent;
    memory().Pause();
    cache_->Prefetch({extent});
    ReadOutcome outcome;
    cache_->PinForRead({{extent, 0, 10}}, round % 2 == 0 ? FetchMode::kKeep : FetchMode::kTransient,
                       outcome.Callback());
    extent.reset();
    std::thread device([&] { memory().Resume(); });
    cache_->WaitIdle();
    outcome.bytes = {};
    cache_->EvictAll();
    EXPECT_TRUE(weak.expired());
    device.join();
  }
}

TEST_F(ExtentCacheTest, ManyThreadsSmallPool) {
  constexpr int kExtents = 24;
  std::vector<ExtentRef> extents;
  std::vector<std::string> contents;
  for (int i = 0; i < kExtents; i++) {
    contents.push_back(PatternOf(200 + i, 100'000 + i * 37'000));
    extents.push_back(AddCold(contents.back()));
  }
  auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 300; i++) {
      size_t at = random() % kExtents;
      size_t size = contents[at].size();
      auto offset = static_cast<uint32_t>(random() % size);
      auto length = static_cast<uint32_t>(1 + random() % (size - offset));
      FetchMode mode = random() % 2 == 0 ? FetchMode::kKeep : FetchMode::kTransient;
      switch (random() % 8) {
        case 0: cache_->EvictAll(); break;
        case 1: cache_->Prefetch({extents[at], extents[(at + 1) % kExtents]}); break;
        case 2: EXPECT_NE(AddDirty(PatternOf(1, length)), nullptr); break;
        case 3: cache_->CheckInvariants(); break;
        default:
          EXPECT_EQ(Read({{extents[at], offset, length}}, mode).value(),
                    contents[at].substr(offset, length));
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 4; seed++) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store().reserved_bytes(), 0u);
}

}  // namespace
}  // namespace terrace::cache
