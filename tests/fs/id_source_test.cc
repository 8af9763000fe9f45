// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: no number is ever handed out twice, also after a power loss or a failing store.
// Method: reopening after losses, threads, injected faults.
#include "fs/id_source.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "fs/meta/faulty_meta_store.h"
#include "fs/meta/system_keys.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

TEST(IdSource, StartsBehindTheRootAndCounts) {
  MemoryMetaStore meta;
  auto ids = IdSource::Open(meta);
  ASSERT_TRUE(ids);
  EXPECT_EQ((*ids)->NextInode().value(), InodeId(2));
  EXPECT_EQ((*ids)->NextInode().value(), InodeId(3));
  EXPECT_EQ((*ids)->NextExtent().value(), ExtentId(1));
  EXPECT_EQ((*ids)->NextSequence().value(), Sequence(2));
  EXPECT_EQ((*ids)->NextSequence().value(), Sequence(3));
}

TEST(IdSource, PowerLossSkipsButNeverRepeats) {
  auto meta = std::make_unique<MemoryMetaStore>();
  meta->TrackPowerLoss();
  std::set<uint64_t> seen;
  for (int life = 0; life < 4; life++) {
    auto ids = IdSource::Open(*meta);
    ASSERT_TRUE(ids);
    for (int i = 0; i < 70000; i++) {  // crosses a reservation
      EXPECT_TRUE(seen.insert((*ids)->NextInode()->value()).second);
    }
    meta = meta->AfterPowerLoss(0);
    meta->TrackPowerLoss();
  }
}

TEST(IdSource, OpenAloneWritesNothing) {
  MemoryMetaStore inner;
  FaultyMetaStore meta(inner);
  ASSERT_TRUE(IdSource::Open(meta));
  EXPECT_EQ(meta.CallCount(MetaCall::kWrite), 0u);
}

TEST(IdSource, FailedReservationIsAnErrorAndTriedAgain) {
  for (MetaCall call : {MetaCall::kWrite, MetaCall::kSync}) {
    MemoryMetaStore inner;
    FaultyMetaStore meta(inner);
    auto ids = IdSource::Open(meta);
    ASSERT_TRUE(ids);
    meta.FailNth(call, 1, Errc::kNoSpace);
    EXPECT_EQ(CodeOf((*ids)->NextInode()), Errc::kNoSpace);
    auto next = (*ids)->NextInode();
    ASSERT_TRUE(next);
    EXPECT_NE(*next, kRootInode);
  }
}

TEST(IdSource, ThreadsGetDifferentNumbers) {
  MemoryMetaStore meta;
  auto ids = IdSource::Open(meta);
  ASSERT_TRUE(ids);
  constexpr int kThreads = 4;
  std::vector<std::vector<uint64_t>> taken(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40000; i++) taken[t].push_back((*ids)->NextInode()->value());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& numbers : taken) all.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), kThreads * 40000u);
}

TEST(IdSource, DamagedReservationIsCorrupt) {
  const std::string values[] = {"short", std::string(8, '\0'), std::string(9, 'x')};
  for (const std::string& value : values) {
    MemoryMetaStore meta;
    MetaBatch batch;
    batch.Put(Table::kSystem, kInodesReservedKey, value);
    ASSERT_TRUE(meta.Write(batch));
    EXPECT_EQ(CodeOf(IdSource::Open(meta)), Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace terrace::fs
