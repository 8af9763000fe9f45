// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/names_support.h"

#include <bit>
#include <cstring>

#include "base/checksum.h"

namespace terrace::fs {

namespace {

// XXH3-64 of 8 bytes x: Mix(x' ^ flip(seed)), x' being x with its halves swapped, flip unknown
// here; it is found from the hash of a known name.
constexpr uint64_t kPrime = 0x9FB21C651E98DF25ull;
constexpr uint64_t kNameSize = 8;

// The inverse of x ^ rotl(x, 49) ^ rotl(x, 24): that map's 64th power is the identity.
uint64_t UndoRotations(uint64_t x) {
  for (int i = 0; i < 63; i++) x ^= std::rotl(x, 49) ^ std::rotl(x, 24);
  return x;
}

uint64_t InverseOf(uint64_t odd) {
  uint64_t inverse = odd;  // correct in 3 bits; each step doubles them
  for (int i = 0; i < 6; i++) inverse *= 2 - odd * inverse;
  return inverse;
}

uint64_t UndoMix(uint64_t hash) {
  const uint64_t inverse = InverseOf(kPrime);
  hash ^= (hash >> 28) ^ (hash >> 56);
  hash *= inverse;
  hash ^= (hash >> 35) + kNameSize;
  hash *= inverse;
  return UndoRotations(hash);
}

uint64_t SwapHalves(uint64_t x) { return std::rotl(x, 32); }

}  // namespace

std::vector<std::string> CollidingNames(size_t count, uint64_t seed) {
  const char known[] = "knownone";
  uint64_t known_bytes = 0;
  std::memcpy(&known_bytes, known, kNameSize);
  const uint64_t known_hash = Checksum64Seeded(AsBytes({known, kNameSize}), seed);
  const uint64_t flip = UndoMix(known_hash) ^ SwapHalves(known_bytes);
  std::vector<std::string> names;
  for (uint64_t low = 0; low < 512 && names.size() < count; low++) {
    const uint64_t hash = (known_hash & ~uint64_t{511}) | low;
    const uint64_t bytes = SwapHalves(UndoMix(hash) ^ flip);
    std::string name(reinterpret_cast<const char*>(&bytes), kNameSize);
    if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos) continue;
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace terrace::fs
