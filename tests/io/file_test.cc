// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: every File keeps the contract of io/file.h: whole transfers or an error, one callback.
// Method: the same cases over MemoryFile, FaultyFile without faults, and UringFile on a real file.
#include "io/file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

enum class Kind { kMemory, kFaulty, kUring };

constexpr uint64_t kFileSize = 8 * kMiB;

class FileContract : public ::testing::TestWithParam<Kind> {
 protected:
  FileContract() {
    switch (GetParam()) {
      case Kind::kMemory: file_ = std::make_unique<MemoryFile>(kFileSize); break;
      case Kind::kFaulty:
        file_ = std::make_unique<FaultyFile>(std::make_unique<MemoryFile>(kFileSize));
        break;
      case Kind::kUring: file_ = MakeUringFile(directory_ / "file", kFileSize); break;
    }
  }
  IoTempDirectory directory_;
  std::unique_ptr<File> file_;
};

TEST_P(FileContract, NewSpaceReadsAsZeros) {
  IoMemory read(64 * kKiB);
  IoMemory zeros(64 * kKiB);
  read.Fill(1);
  ASSERT_TRUE(ReadNow(*file_, 4 * kMiB, {read.piece()}).has_value());
  EXPECT_TRUE(read == zeros);
}

TEST_P(FileContract, ReadsWhatWasWritten) {
  for (size_t size_bytes : {size_t{4096}, size_t{8192}, size_t{65536}, size_t{kMiB}}) {
    IoMemory written(size_bytes);
    written.Fill(size_bytes);
    ASSERT_TRUE(WriteNow(*file_, 12 * kKiB, {written.piece()}).has_value());
    IoMemory read(size_bytes);
    ASSERT_TRUE(ReadNow(*file_, 12 * kKiB, {read.piece()}).has_value());
    EXPECT_TRUE(read == written) << size_bytes;
  }
}

TEST_P(FileContract, PiecesLieInOrder) {
  IoMemory a(4096);
  IoMemory b(12288);
  IoMemory c(8192);
  a.Fill(1);
  b.Fill(2);
  c.Fill(3);
  ASSERT_TRUE(WriteNow(*file_, 4096, {a.piece(), b.piece(), c.piece()}).has_value());
  IoMemory whole(24576);
  ASSERT_TRUE(ReadNow(*file_, 4096, {whole.piece()}).has_value());
  EXPECT_EQ(std::memcmp(whole.data(), a.data(), 4096), 0);
  EXPECT_EQ(std::memcmp(whole.data() + 4096, b.data(), 12288), 0);
  EXPECT_EQ(std::memcmp(whole.data() + 16384, c.data(), 8192), 0);
  IoMemory back(12288);
  IoMemory tail(12288);
  ASSERT_TRUE(ReadNow(*file_, 4096, {back.piece(), tail.piece()}).has_value());
  EXPECT_EQ(std::memcmp(whole.data(), back.data(), 12288), 0);
  EXPECT_EQ(std::memcmp(whole.data() + 12288, tail.data(), 12288), 0);
}

TEST_P(FileContract, ManyMorePiecesThanTheKernelTakesAtOnce) {
  constexpr size_t kPieces = 2500;  // IOV_MAX is 1024
  ASSERT_TRUE(file_->Grow(16 * kMiB).has_value());
  IoMemory memory(kPieces * kBlockSize);
  memory.Fill(5);
  std::vector<iovec> reversed;  // so that nothing is joined
  for (size_t i = kPieces; i-- > 0;) {
    reversed.push_back({memory.data() + i * kBlockSize, kBlockSize});
  }
  ASSERT_TRUE(WriteNow(*file_, kMiB, reversed).has_value());
  IoMemory read(kPieces * kBlockSize);
  ASSERT_TRUE(ReadNow(*file_, kMiB, {read.piece()}).has_value());
  for (size_t i = 0; i < kPieces; i++) {
    ASSERT_EQ(std::memcmp(read.data() + i * kBlockSize,
                          memory.data() + (kPieces - 1 - i) * kBlockSize, kBlockSize),
              0);
  }
}

TEST_P(FileContract, RefusesWhatIsNotWholeBlocks) {
  IoMemory memory(8192);
  std::vector<std::pair<uint64_t, std::vector<iovec>>> cases = {
      {1, {memory.piece()}},
      {512, {memory.piece()}},
      {0, {{memory.data() + 512, 4096}}},
      {0, {{memory.data(), 4095}}},
      {0, {{memory.data(), 4096}, {memory.data() + 4096, 512}}},
      {0, {{memory.data(), 0}}},
      {0, {}},
  };
  for (const auto& [offset, pieces] : cases) {
    Status read = ReadNow(*file_, offset, pieces);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Errc::kInvalid);
    Status written = WriteNow(*file_, offset, pieces);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, Errc::kInvalid);
  }
}

TEST_P(FileContract, ReadingBeyondTheEndIsAnError) {
  IoMemory memory(8192);
  Status read = ReadNow(*file_, kFileSize - 4096, {memory.piece()});
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Errc::kIo);
  EXPECT_NE(read.error().context.find(file_->path()), std::string::npos);
}

TEST_P(FileContract, GrowKeepsContentsAndNeverShrinks) {
  EXPECT_EQ(file_->size_bytes(), kFileSize);
  IoMemory written(4096);
  written.Fill(9);
  ASSERT_TRUE(WriteNow(*file_, kFileSize - 4096, {written.piece()}).has_value());
  ASSERT_TRUE(file_->Grow(2 * kFileSize).has_value());
  EXPECT_EQ(file_->size_bytes(), 2 * kFileSize);
  ASSERT_TRUE(file_->Grow(kFileSize).has_value());
  EXPECT_EQ(file_->size_bytes(), 2 * kFileSize);
  IoMemory read(4096);
  ASSERT_TRUE(ReadNow(*file_, kFileSize - 4096, {read.piece()}).has_value());
  EXPECT_TRUE(read == written);
  ASSERT_TRUE(WriteNow(*file_, 2 * kFileSize - 4096, {written.piece()}).has_value());
}

TEST_P(FileContract, SyncAndStartSyncAnswerOnce) {
  IoMemory memory(4096);
  ASSERT_TRUE(WriteNow(*file_, 0, {memory.piece()}).has_value());
  EXPECT_TRUE(file_->Sync().has_value());
  std::latch arrived(1);
  file_->StartSync([&](Status status) {
    EXPECT_TRUE(status.has_value());
    arrived.count_down();
  });
  arrived.wait();
}

TEST_P(FileContract, ACallbackMayStartTheNextRequest) {
  IoMemory memory(4096);
  constexpr int kLinks = 200;
  std::latch arrived(1);
  std::function<void(int)> next = [&](int link) {
    file_->Write(static_cast<uint64_t>(link) * kBlockSize, {memory.piece()}, [&, link](Status s) {
      EXPECT_TRUE(s.has_value());
      if (link + 1 < kLinks) {
        next(link + 1);
      } else {
        arrived.count_down();
      }
    });
  };
  next(0);
  arrived.wait();
}

TEST_P(FileContract, ManyThreadsAndMoreRequestsThanTheQueueHolds) {
  constexpr size_t kThreads = 4;
  constexpr size_t kBlocksEach = 400;
  std::vector<std::unique_ptr<IoMemory>> memories;
  std::latch arrived(kThreads * kBlocksEach);
  std::atomic<size_t> failures{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    memories.push_back(std::make_unique<IoMemory>(kBlocksEach * kBlockSize));
    memories[t]->Fill(t);
  }
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kBlocksEach; i++) {
        file_->Write((t * kBlocksEach + i) * kBlockSize,
                     {{memories[t]->data() + i * kBlockSize, kBlockSize}}, [&](Status status) {
                       if (!status) failures++;
                       arrived.count_down();
                     });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  arrived.wait();
  EXPECT_EQ(failures.load(), 0u);
  for (size_t t = 0; t < kThreads; t++) {
    IoMemory read(kBlocksEach * kBlockSize);
    ASSERT_TRUE(ReadNow(*file_, t * kBlocksEach * kBlockSize, {read.piece()}).has_value());
    EXPECT_TRUE(read == *memories[t]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FileContract,
                         ::testing::Values(Kind::kMemory, Kind::kFaulty, Kind::kUring),
                         [](const auto& info) {
                           switch (info.param) {
                             case Kind::kMemory: return "Memory";
                             case Kind::kFaulty: return "Faulty";
                             case Kind::kUring: return "Uring";
                           }
                           return "";
                         });

}  // namespace
}  // namespace terrace::io
