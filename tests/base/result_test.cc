// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: errors travel with their code and gain context on the way.
// Method: small functions that fail at each step.
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>

namespace terrace {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(Errc::kInvalid, std::to_string(value) + " is odd");
  return value / 2;
}
Result<int> Quarter(int value) {
  TERRACE_ASSIGN_OR_RETURN(int half, Half(value));
  TERRACE_ASSIGN_OR_RETURN(half, Half(half));
  return half;
}
Status CheckEven(int value) {
  TERRACE_TRY(Half(value));
  return {};
}
Result<std::unique_ptr<int>> MakeOwned(int value) {
  TERRACE_TRY(CheckEven(value));
  return std::make_unique<int>(value);
}

TEST(ResultTest, ValuesAndErrorsPassThrough) {
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_EQ(Quarter(6).error().code, Errc::kInvalid);
  EXPECT_EQ(Quarter(6).error().context, "3 is odd");
  EXPECT_TRUE(CheckEven(2).has_value());
  EXPECT_FALSE(CheckEven(3).has_value());
  EXPECT_EQ(**MakeOwned(4), 4);
  EXPECT_FALSE(MakeOwned(5).has_value());
}

TEST(ResultTest, WrappingKeepsTheCode) {
  Result<int> wrapped = Wrap(Half(3).error(), "halving");
  EXPECT_EQ(wrapped.error().code, Errc::kInvalid);
  EXPECT_EQ(wrapped.error().context, "halving: 3 is odd");
  EXPECT_EQ(Describe(wrapped.error()), "halving: 3 is odd (invalid)");
}

TEST(ResultTest, ErrnosBecomeCodes) {
  const struct {
    int errno_value;
    Errc code;
  } cases[] = {{ENOENT, Errc::kNotFound},   {EEXIST, Errc::kExists},
               {ENOSPC, Errc::kNoSpace},    {EDQUOT, Errc::kNoSpace},
               {EACCES, Errc::kPermission}, {EPERM, Errc::kPermission},
               {EAGAIN, Errc::kBusy},       {ENOMEM, Errc::kNoMemory},
               {EROFS, Errc::kReadOnly},    {EIO, Errc::kIo},
               {ENXIO, Errc::kIo}};
  for (const auto& one : cases) {
    Status status = FailErrno(one.errno_value, "open /x");
    EXPECT_EQ(status.error().code, one.code) << one.errno_value;
    EXPECT_EQ(status.error().context.find("open /x: "), 0u);
  }
}

TEST(ResultTest, EveryCodeHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(Errc::kShutdown); code++) {
    std::string_view word = ErrcName(static_cast<Errc>(code));
    EXPECT_NE(word, "unknown");
    EXPECT_TRUE(words.insert(word).second) << word;
  }
}

}  // namespace
}  // namespace terrace
