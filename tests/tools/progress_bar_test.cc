// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a progress line shows bytes, rate and time left, and never divides by nothing.
// Method: the line for given figures.
#include "tools/progress_bar.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace terrace::tools {
namespace {

TEST(ProgressBarTest, Halfway) {
  EXPECT_EQ(ProgressLine("flushing", {.done_bytes = kGiB, .total_bytes = 2 * kGiB, .seconds = 2}),
            "flushing [############------------] 1.0 GiB of 2.0 GiB, 512.0 MiB/s, 2 s left");
}

TEST(ProgressBarTest, BeginningAndEnd) {
  EXPECT_EQ(ProgressLine("x", {.done_bytes = 0, .total_bytes = kMiB, .seconds = 1}),
            "x [------------------------] 0 B of 1.0 MiB");
  EXPECT_EQ(ProgressLine("x", {.done_bytes = kMiB, .total_bytes = kMiB, .seconds = 1}),
            "x [########################] 1.0 MiB of 1.0 MiB, 1.0 MiB/s, 0 s left");
  EXPECT_EQ(ProgressLine("x", {}), "x [------------------------] 0 B of 0 B");
}

TEST(ProgressBarTest, InvisibleWithoutATerminal) {
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("x");
    bar.Update(100);
    bar.Update(0);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace terrace::tools
