// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: our mounts are found in mountinfo, whatever else stands there.
// Method: parsing of samples, also of nonsense; paths of a temporary directory.
#include "mount/mount_table.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <random>

#include "tests/support/io_support.h"

namespace terrace::mount {
namespace {

constexpr std::string_view kTable =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "40 22 0:57 / /mnt/a\\040b rw,nosuid,nodev - fuse.terrace terrace "
    "rw,user_id=1001,group_id=1001\n"
    "41 22 0:58 / /mnt/plain rw shared:7 master:1 - fuse terrace rw,user_id=0,allow_other\n"
    "42 22 0:59 / /mnt/sshfs rw - fuse.sshfs host: rw,user_id=0,group_id=0\n"
    "43 22 0:60 / /mnt/sshfs rw - fuse.terrace terrace rw,user_id=0\n"
    "garbage\n"
    "44 22 zero:57 / /x rw - ext4 /dev/x rw\n"
    "45 22 0:61 / /y rw -\n";

TEST(MountTableTest, ParsesAndSkipsNonsense) {
  const std::vector<MountEntry> table = ParseMountTable(kTable);
  ASSERT_EQ(table.size(), 5u);
  EXPECT_FALSE(table[0].IsTerrace());
  const MountEntry& ours = table[1];
  EXPECT_TRUE(ours.IsTerrace());
  EXPECT_EQ(ours.mount_point, "/mnt/a b");
  EXPECT_EQ(ours.owner, 1001u);
  EXPECT_EQ(ours.DeviceName(), "0-57");
  EXPECT_EQ(ours.Device(), makedev(0, 57));
  EXPECT_TRUE(table[2].IsTerrace()) << "plain_type";
  EXPECT_FALSE(table[3].IsTerrace());
}

TEST(MountTableTest, TopmostMountCounts) {
  const std::vector<MountEntry> table = ParseMountTable(kTable);
  EXPECT_EQ(FindMountAt(table, "/mnt/sshfs")->device_minor, 60u);
  EXPECT_FALSE(FindMountAt(table, "/mnt"));
  EXPECT_FALSE(FindMountAt(table, "/mnt/sshfs/"));
}

TEST(MountTableTest, AnyBytesAreParsed) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2'000; round++) {
    std::string text(kTable);
    for (int i = 0; i < 20; i++) {
      text[random() % text.size()] = " \n\\-:0a,=\xff"[random() % 10];
    }
    ParseMountTable(text.substr(0, random() % text.size()));
  }
}

TEST(MountTableTest, PathsBecomeCanonical) {
  io::IoTempDirectory directory;
  const std::string real = std::filesystem::canonical(directory.path());
  std::filesystem::create_directories(directory.path() + "/mount");
  std::filesystem::create_directory_symlink(directory.path(), directory.path() + "/link");
  EXPECT_EQ(CanonicalMountPoint(directory.path() + "/mount//").value(), real + "/mount");
  EXPECT_EQ(CanonicalMountPoint(directory.path() + "/link/./mount").value(), real + "/mount");
  EXPECT_EQ(CanonicalMountPoint(directory.path() + "/mount/..").value(), real);
  // The last name is not looked at: a mount of another user can't be.
  EXPECT_EQ(CanonicalMountPoint(directory.path() + "/not-there").value(), real + "/not-there");
  EXPECT_FALSE(CanonicalMountPoint(directory.path() + "/not/there"));
  EXPECT_EQ(CanonicalMountPoint("/").value(), "/");
}

TEST(MountTableTest, ErrorsSayWhatIsThere) {
  io::IoTempDirectory directory;
  Result<MountEntry> nothing = FindTerraceMount(directory.path());
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().context.find("nothing is mounted there"), std::string::npos);
  Result<MountEntry> proc = FindTerraceMount("/proc");
  ASSERT_FALSE(proc);
  EXPECT_NE(proc.error().context.find("type proc"), std::string::npos);
  EXPECT_FALSE(FindFileOnMount("/proc/self/status"));
  EXPECT_FALSE(FindFileOnMount(directory.path() + "/missing"));
}

}  // namespace
}  // namespace terrace::mount
