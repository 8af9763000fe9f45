// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what mount(8) hands to its helper becomes the same mount by the verb.
// Method: argument lists as mount(8) makes them.
#include "tools/mount_helper.h"

#include <gtest/gtest.h>

namespace terrace::tools {
namespace {

using Arguments = std::vector<std::string>;

TEST(MountHelper, IsFoundByItsName) {
  EXPECT_TRUE(IsMountHelperName("/sbin/mount.fuse.terrace"));
  EXPECT_TRUE(IsMountHelperName("mount.terrace"));
  EXPECT_FALSE(IsMountHelperName("/usr/bin/terrace"));
  EXPECT_FALSE(IsMountHelperName("/mount.terrace/terrace"));
}

TEST(MountHelper, OptionsReachTheVerb) {
  auto call = ParseMountHelperCall(
      Arguments{"a,b", "/mnt", "-sv", "-o", "rw,store=/x\\,y,nodev,user=me,X-mount.mkdir,dram=1G"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->arguments, (Arguments{"mount", "-o", "suid,dev", "-o", "source=a\\,b", "-o",
                                        "rw,store=/x\\,y,nodev,dram=1G", "/mnt"}));
  EXPECT_FALSE(call->fake);
  EXPECT_FALSE(call->remount);
}

TEST(MountHelper, NoSourceAndNoOptions) {
  auto call = ParseMountHelperCall(Arguments{"none", "/mnt", "-f", "-n"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->arguments, (Arguments{"mount", "-o", "suid,dev", "/mnt"}));
  EXPECT_TRUE(call->fake);
}

TEST(MountHelper, RemountIsTheKernels) {
  auto call = ParseMountHelperCall(Arguments{"name", "/mnt", "-o", "remount,ro"});
  ASSERT_TRUE(call && call->remount);
  EXPECT_EQ(*call->remount, (Arguments{"mount", "-i", "-o", "remount,ro", "/mnt"}));
}

TEST(MountHelper, WrongCallsAreRefused) {
  for (const Arguments& wrong : {Arguments{}, Arguments{"name"}, Arguments{"a", "b", "c"},
                                 Arguments{"a", "b", "-o"}, Arguments{"a", "b", "--bind"}}) {
    EXPECT_FALSE(ParseMountHelperCall(wrong));
  }
}

}  // namespace
}  // namespace terrace::tools
