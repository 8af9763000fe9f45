// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/lookup_counts.h"

#include <algorithm>

#include "base/assert.h"

namespace terrace::fs {

namespace {

constexpr size_t kCapacityMin = 64;

}  // namespace

size_t LookupCounts::Home(InodeId id) const {
  // The high bits of a product are well mixed; scaled to the capacity, which is no power of two.
  const uint64_t mixed = id.value() * 0x9E3779B97F4A7C15ull;
  return static_cast<size_t>(static_cast<unsigned __int128>(mixed) * places_.size() >> 64);
}

size_t LookupCounts::Find(InodeId id) const {
  size_t place = Home(id);
  while (places_[place].id != id && places_[place].id != kNoInode) {
    if (++place == places_.size()) place = 0;
  }
  return place;
}

void LookupCounts::Resize(size_t capacity) {
  TERRACE_ASSERT(capacity > used_);
  std::vector<Place> old(capacity);
  old.swap(places_);
  for (const Place& entry : old) {
    if (entry.id != kNoInode) places_[Find(entry.id)] = entry;
  }
}

void LookupCounts::Add(InodeId id) {
  TERRACE_ASSERT(id != kNoInode);
  if (used_ >= places_.size() / 8 * 7) {
    Resize(std::max(kCapacityMin, places_.size() + places_.size() / 4));
  }
  Place& place = places_[Find(id)];
  if (place.id == kNoInode) {
    place.id = id;
    used_++;
  }
  place.count++;
}

uint64_t LookupCounts::Subtract(InodeId id, uint64_t count) {
  if (places_.empty()) return 0;
  const size_t index = Find(id);
  Place& place = places_[index];
  if (place.id == kNoInode) return 0;
  if (place.count > count) {
    place.count -= count;
    return place.count;
  }
  FreePlace(index);
  used_--;
  if (places_.size() > kCapacityMin && used_ < places_.size() / 4) {
    Resize(std::max(kCapacityMin, places_.size() / 2));
  }
  return 0;
}

uint64_t LookupCounts::CountOf(InodeId id) const {
  if (places_.empty()) return 0;
  const Place& place = places_[Find(id)];
  return place.id == kNoInode ? 0 : place.count;
}

// Moves up every entry of the run that a search would no longer reach across the hole.
void LookupCounts::FreePlace(size_t hole) {
  const size_t capacity = places_.size();
  size_t next = hole;
  while (true) {
    if (++next == capacity) next = 0;
    if (places_[next].id == kNoInode) break;
    const size_t from_home = (next + capacity - Home(places_[next].id)) % capacity;
    const size_t from_hole = (next + capacity - hole) % capacity;
    if (from_home >= from_hole) {
      places_[hole] = places_[next];
      hole = next;
    }
  }
  places_[hole] = Place();
}

}  // namespace terrace::fs
