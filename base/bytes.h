// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Views of bytes, and little-endian coding of integers into strings.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace terrace {

using ByteView = std::span<const std::byte>;
using MutableByteView = std::span<std::byte>;

inline ByteView AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view AsText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Big-endian, so that keys sort as numbers do.
inline void AppendBigEndian64(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}
// Requires: at least 8 bytes.
inline uint64_t ReadBigEndian64(std::string_view in) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; i++) value = value << 8 | static_cast<unsigned char>(in[i]);
  return value;
}

// Every supported host is little-endian; stored integers are too.
template <typename Int>
void AppendLittleEndian(std::string& out, Int value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes integers and strings off the front of stored bytes; every take is bounds-checked.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename Int>
  std::optional<Int> Take() {
    if (rest_.size() < sizeof(Int)) return std::nullopt;
    Int value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::optional<std::string_view> TakeBytes(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace terrace
