// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/bench/workloads/content.h"

#include <array>
#include <cstring>

namespace terrace::bench {

namespace {

constexpr size_t kStampWords = 2;
constexpr size_t kStampSize = kStampWords * sizeof(uint64_t);
constexpr size_t kWordsPerPage = kPageSize / sizeof(uint64_t);

// One step of the splitmix64 generator: a bijection that scatters its input.
uint64_t Scatter(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

using Noise = std::array<uint64_t, kChunkSize / sizeof(uint64_t)>;

const Noise& SharedNoise() {
  static const Noise* const noise = [] {
    auto* made = new Noise;
    for (size_t i = 0; i < made->size(); i++) (*made)[i] = Scatter(i);
    return made;
  }();
  return *noise;
}

const std::byte* NoiseOfPage(uint64_t page) {
  return reinterpret_cast<const std::byte*>(SharedNoise().data()) +
         page % kPagesPerChunk * kPageSize;
}

std::array<uint64_t, kStampWords> StampOf(uint64_t seed, uint64_t page) {
  uint64_t first = Scatter(Scatter(seed) ^ page);
  return {first, Scatter(first)};
}

}  // namespace

void Content::Prepare() { SharedNoise(); }

std::byte* Content::Stamped(uint64_t page) {
  if (!buffer_) {
    buffer_.emplace();
    std::memcpy(buffer_->data(), SharedNoise().data(), kChunkSize);
  }
  std::byte* at = buffer_->data() + page % kPagesPerChunk * kPageSize;
  auto stamp = StampOf(seed_, page);
  std::memcpy(at, stamp.data(), kStampSize);
  return at;
}

const std::byte* Content::Chunk(uint64_t index) {
  for (size_t i = 0; i < kPagesPerChunk; i++) Stamped(index * kPagesPerChunk + i);
  return buffer_->data();
}

const std::byte* Content::Page(uint64_t page) { return Stamped(page); }

bool Content::MatchesPage(const std::byte* got, uint64_t page, bool whole) const {
  auto stamp = StampOf(seed_, page);
  if (std::memcmp(got, stamp.data(), whole ? kStampSize : sizeof stamp[0]) != 0) return false;
  const std::byte* noise = NoiseOfPage(page);
  if (whole) {
    return std::memcmp(got + kStampSize, noise + kStampSize, kPageSize - kStampSize) == 0;
  }
  size_t at = (kStampWords + page % (kWordsPerPage - kStampWords)) * sizeof(uint64_t);
  return std::memcmp(got + at, noise + at, sizeof(uint64_t)) == 0;
}

bool Content::Matches(const std::byte* got, uint64_t index, size_t size, bool whole) const {
  for (size_t i = 0; i < size / kPageSize; i++) {
    if (!MatchesPage(got + i * kPageSize, index * kPagesPerChunk + i, whole)) return false;
  }
  return true;
}

}  // namespace terrace::bench
