// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: a block device is a store like a directory; one that holds anything else stays untouched.
// Method: loop devices over files on disk; skipped without root or losetup.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/checksum.h"
#include "io/store_layout.h"
#include "tests/support/io_support.h"

namespace terrace::io {
namespace {

constexpr uint64_t kDriveSize = 80 * kMiB;

// What a command prints, without the newline; empty if it failed.
std::string OutputOf(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "re");
  if (pipe == nullptr) return "";
  char line[4096] = "";
  bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  bool succeeded = ::pclose(pipe) == 0;
  std::string text = read && succeeded ? line : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class StoreOnDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "loop devices need root";
    for (std::string* device : {&first_, &second_}) {
      std::string file = directory_ / ("drive" + std::to_string(drives_.size()));
      { std::ofstream create(file); }
      std::filesystem::resize_file(file, kDriveSize);
      drives_.push_back(file);
      *device = OutputOf("losetup -f --show --direct-io=on " + file);
      if (device->empty()) *device = OutputOf("losetup -f --show " + file);
      if (device->empty()) GTEST_SKIP() << "losetup makes no loop device here";
    }
  }
  void TearDown() override {
    for (const std::string& device : {first_, second_}) {
      if (!device.empty()) OutputOf("losetup -d " + device);
    }
  }
  StoreOptions Options(const std::vector<std::string>& paths, bool force = false) {
    StoreOptions options;
    options.paths = paths;
    options.force = force;
    return options;
  }
  void PutOnDrive(size_t index, uint64_t offset, const std::string& bytes) {
    std::fstream drive(index == 0 ? first_ : second_,
                       std::ios::in | std::ios::out | std::ios::binary);
    drive.seekp(static_cast<std::streamoff>(offset));
    drive << bytes;
  }
  uint64_t ChecksumOfDrive(size_t index) {
    OutputOf("sync");
    std::ifstream drive(drives_[index], std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(drive), {});
    return Checksum64(AsBytes(bytes));
  }
  IoTempDirectory directory_;
  std::vector<std::string> drives_;
  std::string first_;
  std::string second_;
};

TEST_F(StoreOnDevices, EmptyDevicesBecomeAStoreThatIsFoundAgain) {
  StoreId id;
  {
    Result<OpenedStore> store = OpenStore(Options({first_, second_}));
    ASSERT_TRUE(store.has_value()) << store.error().context;
    EXPECT_TRUE(store->freshly_formatted);
    EXPECT_FALSE(store->metadata_directory.has_value());
    EXPECT_EQ(store->devices[0]->capacity_bytes(), kDriveSize);
    EXPECT_EQ(store->devices[0]->growable_bytes(), 0u);
    id = store->store_id;
    IoMemory memory(kMiB);
    File& file = store->devices[1]->file();
    EXPECT_TRUE(WriteNow(file, kDriveSize - kMiB, {memory.piece()}).has_value());
    EXPECT_FALSE(ReadNow(file, kDriveSize - 4096, {memory.piece()}).has_value());
    EXPECT_TRUE(file.Sync().has_value());
    EXPECT_EQ(file.Grow(2 * kDriveSize).error().code, Errc::kUnsupported);
  }
  Result<OpenedStore> again = OpenStore(Options({first_, second_}));
  ASSERT_TRUE(again.has_value()) << again.error().context;
  EXPECT_EQ(again->store_id, id);
}

TEST_F(StoreOnDevices, DirectoriesAndDevicesMix) {
  std::string directory = directory_ / "store";
  StoreOptions options = Options({first_, directory});
  options.store_size_bytes = 64 * kMiB;
  Result<OpenedStore> store = OpenStore(options);
  ASSERT_TRUE(store.has_value()) << store.error().context;
  EXPECT_EQ(store->metadata_directory, directory + "/terrace.meta");
  EXPECT_EQ(store->devices[0]->capacity_bytes(), kDriveSize);
  EXPECT_EQ(store->devices[1]->capacity_bytes(), 64 * kMiB);
}

TEST_F(StoreOnDevices, OtherContentIsRefusedByNameAndStaysUntouched) {
  struct {
    uint64_t offset;
    std::string magic;
    std::string name;
  } cases[] = {{1080, "\x53\xef", "ext4 file system"},
               {512, "LABELONE", "LVM physical volume"},
               {100000, "something", "unknown data"}};
  for (const auto& one : cases) {
    PutOnDrive(0, 0, std::string(131072, '\0'));
    PutOnDrive(0, one.offset, one.magic);
    uint64_t before = ChecksumOfDrive(0);
    Result<OpenedStore> opened = OpenStore(Options({second_, first_}));
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Errc::kInvalid);
    EXPECT_NE(opened.error().context.find(first_ + ": "), std::string::npos);
    EXPECT_NE(opened.error().context.find(one.name), std::string::npos) << opened.error().context;
    Result<StoreId> formatted = FormatStore(Options({first_}));
    ASSERT_FALSE(formatted.has_value());
    EXPECT_NE(formatted.error().context.find(one.name), std::string::npos);
    EXPECT_EQ(ChecksumOfDrive(0), before);
  }
  EXPECT_TRUE(FormatStore(Options({first_}, true)).has_value());
  EXPECT_TRUE(OpenStore(Options({first_})).has_value());
}

// The kernel opens such a device for writing; only the writes fail.
TEST_F(StoreOnDevices, AReadOnlyDeviceIsRefused) {
  ASSERT_TRUE(FormatStore(Options({first_})).has_value());
  OutputOf("losetup -d " + first_);
  first_ = OutputOf("losetup -r -f --show " + drives_[0]);
  ASSERT_FALSE(first_.empty());
  Result<OpenedStore> opened = OpenStore(Options({first_}));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Errc::kReadOnly);
  EXPECT_NE(opened.error().context.find(first_ + ": the device is read-only"), std::string::npos);
  EXPECT_FALSE(FormatStore(Options({first_}, true)).has_value());
}

TEST_F(StoreOnDevices, ADeviceInUseIsRefusedNamingTheUser) {
  {
    Result<OpenedStore> store = OpenStore(Options({first_}));
    ASSERT_TRUE(store.has_value()) << store.error().context;
    Result<OpenedStore> second = OpenStore(Options({first_}));
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Errc::kBusy);
    std::string pid = "(pid " + std::to_string(::getpid()) + ")";
    EXPECT_NE(second.error().context.find(pid), std::string::npos) << second.error().context;
  }
  if (OutputOf("mkfs.ext4 -q -F " + second_ + " && echo made").empty()) {
    GTEST_SKIP() << "mkfs.ext4 is missing: the half with a mounted device is left out";
  }
  std::string mount_point = directory_ / "mnt";
  std::filesystem::create_directory(mount_point);
  ASSERT_EQ(OutputOf("mount " + second_ + " " + mount_point + " && echo mounted"), "mounted");
  Result<StoreId> formatted = FormatStore(Options({second_}, true));
  OutputOf("umount " + mount_point);
  ASSERT_FALSE(formatted.has_value());
  EXPECT_EQ(formatted.error().code, Errc::kBusy);
  EXPECT_NE(formatted.error().context.find("mounted at " + mount_point), std::string::npos)
      << formatted.error().context;
}

TEST_F(StoreOnDevices, SizesBeyondTheDeviceAreRefused) {
  StoreOptions options = Options({first_});
  options.store_size_bytes = 2 * kDriveSize;
  Result<OpenedStore> store = OpenStore(options);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kInvalid);
  EXPECT_NE(store.error().context.find("holds only 80.0 MiB"), std::string::npos)
      << store.error().context;
}

TEST_F(StoreOnDevices, TheSameDeviceTwiceIsRefused) {
  std::string link = directory_ / "link";
  std::filesystem::create_symlink(first_, link);
  Result<OpenedStore> store = OpenStore(Options({first_, link}));
  ASSERT_FALSE(store.has_value());
  EXPECT_NE(store.error().context.find("given twice"), std::string::npos);
}

}  // namespace
}  // namespace terrace::io
