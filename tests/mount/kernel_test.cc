// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: kernel releases of any distribution are understood.
// Method: samples.
#include "mount/kernel.h"

#include <gtest/gtest.h>

namespace terrace::mount {
namespace {

TEST(KernelTest, ParsesReleases) {
  EXPECT_EQ(ParseKernelVersion("6.18.44-fc-v857"), (KernelVersion{6, 18}));
  EXPECT_EQ(ParseKernelVersion("6.1.0-28-amd64"), (KernelVersion{6, 1}));
  EXPECT_EQ(ParseKernelVersion("6.8"), (KernelVersion{6, 8}));
  for (const char* nonsense : {"", "6", "6.", ".1", "six.one"}) {
    EXPECT_EQ(ParseKernelVersion(nonsense), KernelVersion{}) << nonsense;
  }
}

TEST(KernelTest, VersionsAreOrdered) {
  EXPECT_LT((KernelVersion{6, 8}), kKernelPassthrough);
  EXPECT_GE((KernelVersion{6, 10}), kKernelPassthrough);
  EXPECT_GE((KernelVersion{7, 0}), kKernelPassthrough);
  EXPECT_LT((KernelVersion{5, 19}), kKernelMin);
}

TEST(KernelTest, SaysWhatIsMissing) {
  for (const KernelFeature& feature : KernelFeatures({6, 1})) {
    EXPECT_FALSE(feature.available);
    EXPECT_FALSE(feature.without.empty());
  }
  for (const KernelFeature& feature : KernelFeatures({6, 18})) EXPECT_TRUE(feature.available);
}

TEST(KernelTest, OfThisHost) { EXPECT_GE(RunningKernel().major, 5); }

}  // namespace
}  // namespace terrace::mount
