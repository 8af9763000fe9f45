// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a fragmented file gets a short map again, in the background, and its bytes never change.
// Method: the parts of a volume that a file's bytes need, wired by hand, with a rewriter that does
// not wait for quiet.
#include "fs/rewriter.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>
#include <thread>

#include "fs/committer.h"
#include "fs/files.h"
#include "fs/meta/key_format.h"
#include "fs/meta/memory_meta_store.h"
#include "tests/support/cache_fixture.h"

namespace terrace::fs {
namespace {

class RewriterTest : public ::testing::Test {
 protected:
  static constexpr InodeId kInode{5};

  RewriterTest() {
    ids_ = *IdSource::Open(meta_);
    pool_ = *cache::BufferPool::Create({.size_bytes = 32 * kMiB, .prefault = false});
    cache_ = std::make_unique<cache::ExtentCache>(*pool_, *devices_.store, clock_);
    cache::WriteBack::Options options;
    options.high_water_bytes = 24 * kMiB;
    write_back_ = std::make_unique<cache::WriteBack>(*cache_, *devices_.store, committer_, clock_,
                                                     options);
    cache_->SetMakeRoom([this] { write_back_->Hurry(); });
    rewriter_ = std::make_unique<Rewriter>(
        Rewriter::Dependencies{*inodes_, *ids_, *cache_, *write_back_, clock_}, /*quiet_ns=*/0);
    committer_.Wire(*cache_, {[](InodeId) {}, [this](InodeId inode) {
                                if (note_) rewriter_->Note(inode);
                              }});
    files_ = std::make_unique<Files>(Files::Dependencies{
        meta_, *inodes_, *ids_, conditions_, *cache_, *write_back_, *devices_.store, clock_, [] {},
        [](InodeId) {}});
    InodeRecord record{.id = kInode, .mode = S_IFREG | 0644, .nlink = 1};
    MetaBatch batch;
    batch.Put(Table::kInode, InodeKey(kInode), EncodeInodeRecord(record));
    EXPECT_TRUE(meta_.Write(batch).has_value());
    write_back_->Start();
    rewriter_->Start();
  }
  ~RewriterTest() override {
    rewriter_->Stop();
    EXPECT_TRUE(write_back_->Stop().has_value());
    cache_->WaitIdle();
    cache_->EvictAll();
    files_.reset();
    rewriter_.reset();
    inodes_.reset();  // the maps hold extents
  }

  void Write(uint64_t offset, const std::string& bytes) {
    if (model_.size() < offset + bytes.size()) model_.resize(offset + bytes.size(), '\0');
    model_.replace(offset, bytes.size(), bytes);
    ReceiveArea area;
    files_->PrepareReceive(area);
    ASSERT_LE(bytes.size(), area.pieces()[0].iov_len);
    std::memcpy(area.pieces()[0].iov_base, bytes.data(), bytes.size());
    StatusLatch done;
    files_->Write({.inode = kInode,
                   .offset = offset,
                   .size_bytes = static_cast<uint32_t>(bytes.size())},
                  area, [&](Status status) { done.Set(std::move(status)); });
    ASSERT_TRUE(done.Wait().has_value());
  }
  void FlushAll() {
    StatusLatch done;
    write_back_->FlushAll([&](Status status) { done.Set(std::move(status)); });
    ASSERT_TRUE(done.Wait().has_value());
  }
  void Rewrite() {
    rewriter_->Note(kInode);
    rewriter_->Drain();
    FlushAll();
  }
  size_t Entries() {
    InodeRef inode = *inodes_->Get(kInode);
    ReaderLock lock(inode->mu);
    return inode->data->map.size();
  }
  void ExpectBytes() {
    for (uint64_t at = 0; at < model_.size(); at += kMiB) {
      cache::ReadOutcome outcome;
      files_->Read({.inode = kInode, .offset = at, .size_bytes = kMiB}, outcome.Callback());
      ASSERT_TRUE(outcome.Wait().has_value());
      ASSERT_TRUE(cache::Join(outcome.bytes) == model_.substr(at, kMiB)) << "at " << at;
    }
  }
  void OverwriteAtRandom(int count) {
    std::mt19937 random(1);
    for (int i = 0; i < count; i++) {
      uint64_t page = random() % (model_.size() / kBlockSize);
      Write(page * kBlockSize, cache::PatternOf(i, kBlockSize));
    }
  }

  SystemClock clock_;
  MemoryMetaStore meta_;
  io::FaultyStore devices_{{.device_count = 2, .device_size_bytes = 128 * kMiB}};
  std::unique_ptr<InodeTable> inodes_ = std::make_unique<InodeTable>(meta_, 100);
  Conditions conditions_;
  Committer committer_{meta_, *inodes_, conditions_};
  std::unique_ptr<IdSource> ids_;
  std::unique_ptr<cache::BufferPool> pool_;
  std::unique_ptr<cache::ExtentCache> cache_;
  std::unique_ptr<cache::WriteBack> write_back_;
  std::unique_ptr<Rewriter> rewriter_;
  std::unique_ptr<Files> files_;
  std::atomic<bool> note_{false};  // whether commits tell the rewriter
  std::string model_;
};

TEST_F(RewriterTest, RandomOverwritesAreUndone) {
  constexpr size_t kMebibytes = 16;
  for (size_t i = 0; i < kMebibytes; i++) Write(i * kMiB, cache::PatternOf(i, kMiB));
  OverwriteAtRandom(3000);
  FlushAll();
  EXPECT_GT(Entries(), 3000u);
  Rewrite();
  EXPECT_LE(Entries(), 2 * kMebibytes);
  EXPECT_GT(rewriter_->rewritten_extents(), 0u);
  ExpectBytes();
  cache_->EvictAll();
  ExpectBytes();
}

TEST_F(RewriterTest, FileWrittenAtOddOffsetsToo) {
  Write(0, cache::PatternOf(77, 64));
  constexpr size_t kMebibytes = 12;
  for (size_t i = 0; i < kMebibytes; i++) Write(64 + i * kMiB, cache::PatternOf(i, kMiB));
  OverwriteAtRandom(2000);
  FlushAll();
  Rewrite();
  EXPECT_LE(Entries(), 2 * (kMebibytes + 1));
  ExpectBytes();
}

// Holes cut a window into runs; each is rewritten, and no hole is filled.
TEST_F(RewriterTest, HolesStayHoles) {
  for (uint64_t i = 0; i < 40; i++) {
    for (uint64_t j = 0; j < 6; j++) {
      Write(i * 300'000 + j * kBlockSize, cache::PatternOf(i, kBlockSize));
    }
  }
  FlushAll();
  for (uint64_t i = 0; i < 40; i++) {
    for (uint64_t j : {4, 2, 0}) {
      Write(i * 300'000 + j * kBlockSize, cache::PatternOf(i + 1, kBlockSize));
    }
  }
  FlushAll();
  EXPECT_GE(Entries(), 200u);
  uint64_t mapped = 0;
  {
    InodeRef inode = *inodes_->Get(kInode);
    ReaderLock lock(inode->mu);
    mapped = inode->data->map.mapped_bytes();
  }
  Rewrite();
  EXPECT_LE(Entries(), 60u);
  InodeRef inode = *inodes_->Get(kInode);
  {
    ReaderLock lock(inode->mu);
    EXPECT_EQ(inode->data->map.mapped_bytes(), mapped);
  }
  ExpectBytes();
}

TEST_F(RewriterTest, TimesDoNotMove) {
  for (size_t i = 0; i < 4; i++) Write(i * kMiB, cache::PatternOf(i, kMiB));
  OverwriteAtRandom(500);
  FlushAll();
  InodeRef inode = *inodes_->Get(kInode);
  int64_t mtime_ns = 0;
  {
    ReaderLock lock(inode->mu);
    mtime_ns = inode->record.mtime_ns;
  }
  Rewrite();
  ReaderLock lock(inode->mu);
  EXPECT_EQ(inode->record.mtime_ns, mtime_ns);
  EXPECT_TRUE(inode->DataIsDurableLocked());
}

TEST_F(RewriterTest, ShortMapsAreLeftAlone) {
  for (size_t i = 0; i < 4; i++) Write(i * kMiB, cache::PatternOf(i, kMiB));
  OverwriteAtRandom(10);
  FlushAll();
  size_t entries = Entries();
  Rewrite();
  EXPECT_EQ(Entries(), entries);
  EXPECT_EQ(rewriter_->rewritten_extents(), 0u);
}

TEST_F(RewriterTest, DamagedRunStaysAsItIs) {
  for (size_t i = 0; i < 4; i++) Write(i * kMiB, cache::PatternOf(i, kMiB));
  OverwriteAtRandom(800);
  FlushAll();
  cache_->EvictAll();
  devices_.faults[0]->Arm({.kind = io::FaultKind::kFlipBit});
  Rewrite();
  EXPECT_GT(Entries(), 100u);  // one window of four
  EXPECT_LT(Entries(), 700u);
  ExpectBytes();
  Rewrite();
  EXPECT_LE(Entries(), 8u);
  ExpectBytes();
}

// Writers change what is being copied: their bytes win.
TEST_F(RewriterTest, ChangedRunIsNotReplaced) {  // REWRITE-1
  for (size_t i = 0; i < 6; i++) Write(i * kMiB, cache::PatternOf(i, kMiB));
  note_ = true;
  std::mt19937 random(3);
  for (int round = 0; round < 30; round++) {
    for (int i = 0; i < 120; i++) {
      uint64_t offset = random() % (model_.size() - 5000);
      Write(offset, cache::PatternOf(round * 1000 + i, 1 + random() % 5000));
      if (i % 40 == 0) FlushAll();
    }
    if (round % 5 == 0) {
      ASSERT_TRUE(files_
                      ->Allocate({.inode = kInode,
                                  .offset = 100'000,
                                  .size = 50'000,
                                  .keep_size = true,
                                  .punch_hole = true})
                      .has_value());
      model_.replace(100'000, 50'000, std::string(50'000, '\0'));
    }
  }
  FlushAll();
  ExpectBytes();
  note_ = false;
  rewriter_->Drain();
  EXPECT_GT(rewriter_->rewritten_extents(), 0u);
  FlushAll();
  ExpectBytes();
}

}  // namespace
}  // namespace terrace::fs
