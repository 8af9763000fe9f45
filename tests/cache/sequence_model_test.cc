// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: sequential readers get large, growing, never repeated advice, and random ones none.
// Method: whole passes over files in many read sizes and orders; a random model for SEQ-1, SEQ-2.
#include "cache/sequence_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "base/units.h"

namespace terrace::cache {
namespace {

constexpr uint64_t kWindowMax = 32 * kMiB;

std::optional<ByteRange> Range(uint64_t offset, uint64_t end) {
  return ByteRange{.offset = offset, .size = end - offset};
}

TEST(SequenceModel, AReadOfByteZeroBeginsAStream) {
  SequenceModel model;
  SequenceModel::Advice advice = model.OnRead(0, 128 * kKiB, kGiB, kWindowMax);
  EXPECT_TRUE(advice.sequential);
  EXPECT_EQ(advice.prefetch, Range(128 * kKiB, 128 * kKiB + 2 * kMiB));
}

TEST(SequenceModel, TheFirstWindowIsTwiceALargeRead) {
  SequenceModel model;
  EXPECT_EQ(model.OnRead(0, 4 * kMiB, kGiB, kWindowMax).prefetch, Range(4 * kMiB, 12 * kMiB));
}

TEST(SequenceModel, AStreamInTheMiddleIsRecognisedAtItsSecondRead) {
  SequenceModel model;
  SequenceModel::Advice first = model.OnRead(100 * kMiB, kMiB, kGiB, kWindowMax);
  EXPECT_FALSE(first.sequential);
  EXPECT_FALSE(first.prefetch.has_value());
  SequenceModel::Advice second = model.OnRead(101 * kMiB, kMiB, kGiB, kWindowMax);
  EXPECT_TRUE(second.sequential);
  EXPECT_EQ(second.prefetch, Range(102 * kMiB, 104 * kMiB));
}

TEST(SequenceModel, ReadingTheSameBlockAgainIsNoStream) {
  SequenceModel model;
  for (int i = 0; i < 10; i++) {
    SequenceModel::Advice advice = model.OnRead(100 * kMiB, 4 * kKiB, kGiB, kWindowMax);
    EXPECT_FALSE(advice.sequential);
    EXPECT_FALSE(advice.prefetch.has_value());
  }
}

// What a whole pass over a file was told, with SEQ-1 and SEQ-2 checked at every step.
struct Pass {
  std::vector<ByteRange> advice;
  uint64_t reads = 0;
  uint64_t misses = 0;  // reads after the first that were not entirely advised before
};

Pass ReadInOrder(SequenceModel& model, uint64_t file_size, uint64_t read_size, uint64_t max) {
  Pass pass;
  uint64_t advised = 0;
  for (uint64_t offset = 0; offset < file_size; offset += read_size) {
    uint64_t size = std::min(read_size, file_size - offset);
    if (pass.reads++ > 0 && offset + size > advised) pass.misses++;
    SequenceModel::Advice advice = model.OnRead(offset, size, file_size, max);
    EXPECT_TRUE(advice.sequential);
    if (!advice.prefetch) continue;
    EXPECT_GT(advice.prefetch->size, 0U);
    EXPECT_GE(advice.prefetch->offset, advised);             // SEQ-1
    EXPECT_LE(advice.prefetch->end(), file_size);            // SEQ-2
    EXPECT_LE(advice.prefetch->end(), offset + size + max);  // SEQ-2
    advised = advice.prefetch->end();
    pass.advice.push_back(*advice.prefetch);
  }
  return pass;
}

class SequenceModelPass : public testing::TestWithParam<std::tuple<uint64_t, uint64_t>> {};

TEST_P(SequenceModelPass, AdvisesTheWholeFileAheadOfTheReaderInLargePieces) {
  auto [file_size, read_size] = GetParam();
  SequenceModel model;
  Pass pass = ReadInOrder(model, file_size, read_size, kWindowMax);
  EXPECT_EQ(pass.misses, 0U);
  uint64_t covered = std::min(read_size, file_size);
  for (const ByteRange& range : pass.advice) {
    EXPECT_EQ(range.offset, covered);
    covered = range.end();
    if (file_size >= 3 * kMiB) {
      EXPECT_GE(range.size, std::min(kMiB, file_size - range.offset));
    }
  }
  EXPECT_EQ(covered, file_size);
  EXPECT_LE(pass.advice.size(), 6 + file_size / (kWindowMax / 2));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SequenceModelPass,
    testing::Combine(testing::Values(uint64_t{1}, 4 * kKiB, 300 * kKiB, 2 * kMiB, 3 * kMiB,
                                     3 * kMiB + 1, 7 * kMiB + 4321, 40 * kMiB, 200 * kMiB + 999),
                     testing::Values(4 * kKiB, 64 * kKiB + 1, 128 * kKiB, kMiB, 4 * kMiB)));

TEST(SequenceModel, WindowsDoubleUpToTheLimit) {
  SequenceModel model;
  Pass pass = ReadInOrder(model, kGiB, 4 * kKiB, kWindowMax);
  std::vector<uint64_t> ahead;
  for (const ByteRange& range : pass.advice) ahead.push_back(range.size);
  ASSERT_GE(ahead.size(), 8U);
  // 2 MiB; then, each time half of the window is left: 2 * 2 - 1, 2 * 4 - 2, 2 * 8 - 4, 2 * 16 - 8.
  EXPECT_EQ(ahead[0], 2 * kMiB);
  EXPECT_EQ(ahead[1], 3 * kMiB);
  EXPECT_EQ(ahead[2], 6 * kMiB);
  EXPECT_EQ(ahead[3], 12 * kMiB);
  EXPECT_EQ(ahead[4], 24 * kMiB);
  EXPECT_EQ(ahead[5], 16 * kMiB);
  EXPECT_EQ(ahead[6], 16 * kMiB);
}

TEST(SequenceModel, SmallLimitsAreKept) {
  for (uint64_t max : {uint64_t{0}, 4 * kKiB, 256 * kKiB, kMiB, 2 * kMiB, 3 * kMiB}) {
    SequenceModel model;
    Pass pass = ReadInOrder(model, 20 * kMiB, 64 * kKiB, max);
    EXPECT_EQ(pass.advice.empty(), max == 0);
    for (const ByteRange& range : pass.advice) EXPECT_LE(range.size, max);
  }
}

TEST(SequenceModel, TheLimitMayShrinkWhileReading) {
  SequenceModel model;
  for (uint64_t offset = 0; offset < 64 * kMiB; offset += kMiB) {
    model.OnRead(offset, kMiB, kGiB, kWindowMax);
  }
  for (uint64_t offset = 64 * kMiB; offset < 256 * kMiB; offset += kMiB) {
    auto advice = model.OnRead(offset, kMiB, kGiB, 4 * kMiB);
    EXPECT_TRUE(advice.sequential);
    if (!advice.prefetch) continue;
    EXPECT_LE(advice.prefetch->end(), offset + 5 * kMiB);  // SEQ-2
  }
}

// The kernel's readahead through two reader threads: neighbours change places.
TEST(SequenceModel, ReadsThatOvertakeEachOtherAreOneStream) {
  for (uint64_t read_size : {128 * kKiB, kMiB}) {
    for (uint64_t start : {uint64_t{0}, 300 * kMiB}) {
      SequenceModel model;
      model.OnRead(start, read_size, kGiB, kWindowMax);
      uint64_t advised = 0;
      for (uint64_t i = 1; i < 400; i += 2) {
        for (uint64_t place : {i + 1, i}) {
          uint64_t offset = start + place * read_size;
          auto advice = model.OnRead(offset, read_size, kGiB, kWindowMax);
          EXPECT_TRUE(advice.sequential) << read_size << " " << place;
          if (!advice.prefetch) continue;
          EXPECT_GE(advice.prefetch->offset, advised);  // SEQ-1
          advised = advice.prefetch->end();
        }
      }
      EXPECT_GE(advised, start + 400 * read_size);
    }
  }
}

TEST(SequenceModel, ASmallGapIsBridgedAndALargeOneIsNot) {
  SequenceModel model;
  model.OnRead(0, kMiB, kGiB, kWindowMax);
  EXPECT_TRUE(model.OnRead(2 * kMiB, kMiB, kGiB, kWindowMax).sequential);
  EXPECT_TRUE(model.OnRead(4 * kMiB, 4 * kKiB, kGiB, kWindowMax).sequential);
  EXPECT_FALSE(model.OnRead(6 * kMiB, kMiB, kGiB, kWindowMax).sequential);
}

TEST(SequenceModel, FollowsSeveralStreamsAtOnce) {
  SequenceModel model;
  std::map<uint64_t, uint64_t> advised;
  for (uint64_t step = 0; step < 100; step++) {
    for (uint64_t stream = 0; stream < SequenceModel::kStreams; stream++) {
      uint64_t start = stream * 256 * kMiB;
      auto advice = model.OnRead(start + step * kMiB, kMiB, kGiB, kWindowMax);
      EXPECT_EQ(advice.sequential, step > 0 || stream == 0);
      if (!advice.prefetch) continue;
      EXPECT_GE(advice.prefetch->offset, advised[stream]);  // SEQ-1
      advised[stream] = advice.prefetch->end();
    }
  }
  for (auto [stream, end] : advised) EXPECT_GT(end, stream * 256 * kMiB + 100 * kMiB);
}

TEST(SequenceModel, TwoReadersCloseBehindEachOtherAreOneStream) {
  SequenceModel model;
  uint64_t advised = 0;
  for (uint64_t offset = 0; offset < 100 * kMiB; offset += 128 * kKiB) {
    for (uint64_t lead : {512 * kKiB, uint64_t{0}}) {
      auto advice = model.OnRead(offset + lead, 128 * kKiB, kGiB, kWindowMax);
      EXPECT_EQ(advice.sequential, offset > 0 || lead == 0);
      if (!advice.prefetch) continue;
      EXPECT_GE(advice.prefetch->offset, advised);  // SEQ-1
      advised = advice.prefetch->end();
    }
  }
  EXPECT_GT(advised, 100 * kMiB);
}

TEST(SequenceModel, AnIdleStreamIsReplacedBeforeABusyOne) {
  SequenceModel model;
  std::mt19937_64 random(3);
  model.OnRead(0, kMiB, 64 * kGiB, kWindowMax);
  for (uint64_t step = 1; step < 300; step++) {
    auto advice = model.OnRead(step * kMiB, kMiB, 64 * kGiB, kWindowMax);
    EXPECT_TRUE(advice.sequential);
    for (int i = 0; i < SequenceModel::kStreams - 1; i++) {
      model.OnRead(kGiB + random() % (63 * kGiB), 4 * kKiB, 64 * kGiB, kWindowMax);
    }
  }
}

TEST(SequenceModel, SmallRandomReadsGetNoAdvice) {
  SequenceModel model;
  std::mt19937_64 random(4);
  uint64_t advised = 0;
  for (int i = 0; i < 10000; i++) {
    uint64_t offset = kBlockSize + random() % (kGiB / kBlockSize - 1) * kBlockSize;
    auto advice = model.OnRead(offset, 4 * kKiB, 2 * kGiB, kWindowMax);
    if (advice.prefetch) advised += advice.prefetch->size;
  }
  // Chance makes a pair of neighbours now and then; it costs less than the reads themselves.
  EXPECT_LT(advised, 10000 * 4 * kKiB);
}

TEST(SequenceModel, ASecondPassIsAdvisedAfresh) {
  for (uint64_t file_size : {uint64_t{900 * kKiB}, 3 * kMiB, 100 * kMiB}) {
    SequenceModel model;
    Pass first = ReadInOrder(model, file_size, 128 * kKiB, kWindowMax);
    Pass second = ReadInOrder(model, file_size, 128 * kKiB, kWindowMax);
    EXPECT_EQ(first.advice, second.advice);
  }
}

// `tail -f`: the reader keeps up with a writer and must not trickle advice.
TEST(SequenceModel, AGrowingFileGivesNoAdvicePerRead) {
  SequenceModel model;
  uint64_t advices = 0;
  for (uint64_t i = 0; i < 10000; i++) {
    uint64_t file_size = i * 4 * kKiB + 512 * kKiB;
    auto advice = model.OnRead(i * 4 * kKiB, 4 * kKiB, file_size, kWindowMax);
    EXPECT_TRUE(advice.sequential);
    if (advice.prefetch) {
      advices++;
      EXPECT_LE(advice.prefetch->end(), file_size);  // SEQ-2
    }
  }
  EXPECT_LE(advices, 10000U / 100);
}

TEST(SequenceModel, OffsetsUpToTheLargestFileAreFine) {
  SequenceModel model;
  uint64_t start = kFileSizeMax - 3 * kMiB;
  model.OnRead(start, kMiB, kFileSizeMax, kWindowMax);
  EXPECT_EQ(model.OnRead(start + kMiB, kMiB, kFileSizeMax, kWindowMax).prefetch,
            Range(start + 2 * kMiB, kFileSizeMax));
  EXPECT_FALSE(model.OnRead(kFileSizeMax, kMiB, kFileSizeMax, UINT64_MAX).prefetch.has_value());
}

// SEQ-2 for any reads at all; SEQ-1 as "advice to one stream never goes back", by its offset.
class SequenceModelRandom : public testing::TestWithParam<uint64_t> {};

TEST_P(SequenceModelRandom, AdviceStaysAheadAndInsideTheFile) {
  std::mt19937_64 random(GetParam());
  SequenceModel model;
  uint64_t file_size = 0;
  uint64_t cursor = 0;
  for (int step = 0; step < 20000; step++) {
    if (step % 500 == 0) file_size = 1 + random() % kGiB;
    if (random() % 50 == 0) cursor = random() % file_size;
    uint64_t size = 1 + random() % (random() % 2 ? 8 * kKiB : 2 * kMiB);
    uint64_t offset = cursor + random() % (random() % 8 == 0 ? 2 * kMiB : 1);
    uint64_t max = random() % 3 ? kWindowMax : random() % (4 * kMiB);
    auto advice = model.OnRead(offset, size, file_size, max);
    cursor = offset + size;
    if (!advice.prefetch) continue;
    EXPECT_TRUE(advice.sequential);
    EXPECT_GT(advice.prefetch->size, 0U);
    EXPECT_LE(advice.prefetch->size, max);         // SEQ-2
    EXPECT_LE(advice.prefetch->end(), file_size);  // SEQ-2
    EXPECT_GE(advice.prefetch->end(), offset);     // ahead of a read that is in order
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SequenceModelRandom, testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace terrace::cache
