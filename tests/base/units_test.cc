// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: sizes and durations that people write are understood, nonsense is refused.
// Method: tables of both.
#include "base/units.h"

#include <gtest/gtest.h>

namespace terrace {
namespace {

TEST(UnitsTest, Sizes) {
  const struct {
    const char* text;
    uint64_t bytes;
  } cases[] = {{"0", 0},
               {"1048576", kMiB},
               {"512B", 512},
               {"64K", 64 * kKiB},
               {"64k", 64 * kKiB},
               {"4G", 4 * kGiB},
               {"4GB", 4 * kGiB},
               {"512MiB", 512 * kMiB},
               {"1.5T", 3 * kTiB / 2},
               {"0.5m", kMiB / 2},
               {"2.", 2},
               {"8000000T", 8'000'000 * kTiB}};
  for (const auto& one : cases) EXPECT_EQ(ParseSize(one.text).value(), one.bytes) << one.text;
}

TEST(UnitsTest, SizesThatAreNone) {
  for (const char* text : {"", "-1", "+1", "G", "1.5.2G", ".", "4X", "4 G", " 4G", "4G ", "5iB",
                           "1e9", "0x10", "inf", "nan", "4GiBB", "4MG", "8388608T",
                           "99999999999999999999999999999"}) {
    EXPECT_EQ(ParseSize(text).error().code, Errc::kInvalid) << text;
  }
  EXPECT_EQ(ParseSize(std::string(400, '9')).error().code, Errc::kInvalid);
  EXPECT_NE(ParseSize("4X").error().context.find("'4X'"), std::string::npos);
}

TEST(UnitsTest, Durations) {
  const struct {
    const char* text;
    uint64_t ms;
  } cases[] = {{"0", 0},        {"5", 5000},     {"5s", 5000},      {"250ms", 250},
               {"0.25s", 250},  {"1m", 60'000},  {"2h", 7'200'000}, {"1.5h", 5'400'000}};
  for (const auto& one : cases) EXPECT_EQ(ParseDurationMs(one.text).value(), one.ms) << one.text;
  for (const char* text : {"", "-5s", "5 s", "s", "5d", "5us", "1e3", "99999999999h"}) {
    EXPECT_EQ(ParseDurationMs(text).error().code, Errc::kInvalid) << text;
  }
}

TEST(UnitsTest, SizesForPeople) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1536), "1.5 KiB");
  EXPECT_EQ(FormatSize(3 * kGiB), "3.0 GiB");
  EXPECT_EQ(FormatSize(UINT64_MAX), "16.0 EiB");
}

TEST(UnitsTest, Rounding) {
  EXPECT_EQ(RoundUp(0, kBlockSize), 0u);
  EXPECT_EQ(RoundUp(1, kBlockSize), kBlockSize);
  EXPECT_EQ(RoundUp(kBlockSize, kBlockSize), kBlockSize);
  EXPECT_EQ(RoundDown(kBlockSize - 1, kBlockSize), 0u);
  EXPECT_EQ(BlockCount(0), 0u);
  EXPECT_EQ(BlockCount(kBlockSize + 1), 2u);
}

}  // namespace
}  // namespace terrace
