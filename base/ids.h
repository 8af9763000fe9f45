// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Strong ids: integers that cannot be mistaken for each other.
//
// InodeId, ExtentId and DeviceId are carried by several folders; below fs/ an inode is opaque.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace terrace {

template <typename Tag, typename Rep>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_ = 0;
};

using InodeId = StrongId<struct InodeTag, uint64_t>;    // root is 1; 0 is none; never used twice
using ExtentId = StrongId<struct ExtentTag, uint64_t>;  // 0 is none; never used twice
using DeviceId = StrongId<struct DeviceTag, uint16_t>;  // index of the device in the store
// Position in the total order of accepted changes, data and metadata alike.
using Sequence = StrongId<struct SequenceTag, uint64_t>;

inline constexpr InodeId kRootInode{1};
inline constexpr InodeId kNoInode{0};

}  // namespace terrace

template <typename Tag, typename Rep>
struct std::hash<terrace::StrongId<Tag, Rep>> {
  size_t operator()(terrace::StrongId<Tag, Rep> id) const noexcept {
    uint64_t x = static_cast<uint64_t>(id.value()) * 0x9E3779B97F4A7C15ull;
    return static_cast<size_t>(x ^ (x >> 32));
  }
};
