// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: every setting is understood from every source, and every wrong one is refused with its
// place and value.
// Method: BuildMountConfig on flags, -o lists and TOML files of a temporary directory.
#include "mount/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "mount/options.h"
#include "tests/support/io_support.h"

namespace terrace::mount {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  std::string WriteToml(const std::string& text) {
    const std::string path = directory_.path() + "/t.toml";
    std::ofstream(path) << text;
    return path;
  }
  // The error of these flags; fails if there is none.
  static std::string ErrorOf(MountFlags flags) {
    flags.stores.push_back("/s");
    Result<MountConfig> config = BuildMountConfig(flags);
    EXPECT_FALSE(config);
    if (config) return "";
    EXPECT_EQ(config.error().code, Errc::kInvalid);
    return config.error().context;
  }
  std::string TomlErrorOf(const std::string& text) {
    return ErrorOf({.config_file = WriteToml(text)});
  }

  io::IoTempDirectory directory_;
};

TEST_F(SettingsTest, Defaults) {
  MountConfig config = BuildMountConfig({.mount_point = "/m", .stores = {"/s"}}).value();
  EXPECT_EQ(config.cache, CacheChoice::kAuto);
  EXPECT_EQ(config.volume.write_back_delay_ms, 5000u);
  EXPECT_GT(config.volume.dram_bytes, 0u);
  EXPECT_EQ(config.session.mount_point, "/m");
  EXPECT_FALSE(config.session.allow_other);
  EXPECT_FALSE(config.session.read_only);
  EXPECT_FALSE(config.session.plain_type);
  EXPECT_FALSE(config.log_path);
}

TEST_F(SettingsTest, EveryNameInToml) {
  const std::string path = WriteToml(
      "store = ['/a', '/b']\n"
      "meta = '/meta'\nlog = '/log'\ndram = '256M'\nstore_size = '1G'\n"
      "cache = 'writeback'\nwrite_back_delay = '2s'\ndirty_high_water = 0.5\n"
      "plain_type = true\nallow_other = true\nro = true\n"
      "reader_threads = 3\nreader_spin_us = 20\n");
  MountConfig config = BuildMountConfig({.config_file = path}).value();
  EXPECT_THAT(config.volume.store_paths, ElementsAre("/a", "/b"));
  EXPECT_EQ(config.volume.metadata_directory, "/meta");
  EXPECT_EQ(config.log_path, "/log");
  EXPECT_EQ(config.volume.dram_bytes, 256 * kMiB);
  EXPECT_EQ(config.volume.store_size_bytes, kGiB);
  EXPECT_EQ(config.cache, CacheChoice::kWriteback);
  EXPECT_EQ(config.session.mode, ConnectionMode::kWriteback);
  EXPECT_EQ(config.volume.write_back_delay_ms, 2000u);
  EXPECT_DOUBLE_EQ(config.volume.dirty_high_water, 0.5);
  EXPECT_TRUE(config.session.plain_type);
  EXPECT_TRUE(config.session.allow_other);
  EXPECT_TRUE(config.session.read_only);
  EXPECT_TRUE(config.volume.read_only);
  EXPECT_EQ(config.session.reader_threads, 3u);
  EXPECT_EQ(config.session.reader_spin_us, 20u);
}

TEST_F(SettingsTest, EveryNameInOptions) {
  MountConfig config =
      BuildMountConfig(
          {.options = {"store=/a,store=/b,meta=/meta,log=/l\\,og,dram=256M,store_size=1G",
                       "cache=passthrough,write_back_delay=250ms,dirty_high_water=0.05",
                       "plain_type,allow_other,ro,reader_threads=1,reader_spin_us=0",
                       "noatime,rw,defaults,_netdev,x-systemd.automount"}})
          .value();
  EXPECT_THAT(config.volume.store_paths, ElementsAre("/a", "/b"));
  EXPECT_EQ(config.log_path, "/l,og");
  EXPECT_EQ(config.session.mode, ConnectionMode::kPassthrough);
  EXPECT_EQ(config.volume.write_back_delay_ms, 250u);
  EXPECT_TRUE(config.session.read_only);
  EXPECT_THAT(config.session.kernel_options, ElementsAre("noatime"));
}

TEST_F(SettingsTest, FlagsWinOverOptionsOverFile) {
  const std::string path =
      WriteToml("store = '/file'\ndram = '100M'\ncache = 'writeback'\nro = true\n");
  MountConfig config = BuildMountConfig({.stores = {"/flag"},
                                         .dram = "300M",
                                         .config_file = path,
                                         .options = {"store=/option,dram=200M,ro=false"}})
                           .value();
  EXPECT_THAT(config.volume.store_paths, ElementsAre("/flag"));
  EXPECT_EQ(config.volume.dram_bytes, 300 * kMiB);
  EXPECT_EQ(config.cache, CacheChoice::kWriteback);
  EXPECT_FALSE(config.session.read_only);
}

TEST_F(SettingsTest, SizesThatMakeNoSense) {
  EXPECT_EQ(ErrorOf({.dram = "5X"}), "--dram 5X: '5X' has an unknown unit (K, M, G or T)");
  for (const char* size :
       {"", "-5G", "lots", "1e3", "0", "1K", "100000T", "9999999999999999999T"}) {
    EXPECT_THAT(ErrorOf({.dram = size}), HasSubstr(std::string("--dram ") + size));
    EXPECT_THAT(ErrorOf({.options = {std::string("dram=") + size}}), HasSubstr("-o dram="));
  }
  for (const char* size : {"", "-1", "63M", "x"}) {
    EXPECT_THAT(ErrorOf({.store_size = size}), HasSubstr(std::string("--store-size ") + size));
  }
  EXPECT_THAT(ErrorOf({.dram = "500T"}), HasSubstr("larger than this machine's memory"));
}

TEST_F(SettingsTest, ValuesThatMakeNoSense) {
  for (const char* option :
       {"cache=fast", "cache", "write_back_delay=0", "write_back_delay=soon", "write_back_delay=2h",
        "dirty_high_water=0.01", "dirty_high_water=1", "dirty_high_water=nan",
        "dirty_high_water=", "ro=maybe", "reader_threads=1000", "reader_threads=-1",
        "reader_spin_us=x", "log=", "store="}) {
    EXPECT_THAT(ErrorOf({.options = {option}}), HasSubstr("-o ")) << option;
  }
}

TEST_F(SettingsTest, ReadersMustFitIntoTheDramTier) {
  EXPECT_THAT(ErrorOf({.dram = "64M", .options = {"reader_threads=17"}}),
              HasSubstr("reader_threads=17"));
  EXPECT_TRUE(
      BuildMountConfig({.stores = {"/s"}, .dram = "64M", .options = {"reader_threads=16"}}));
}

TEST_F(SettingsTest, UnknownNamesAreErrorsWithTheNearest) {
  EXPECT_EQ(ErrorOf({.options = {"chache=auto"}}),
            "-o chache: no such setting: did you mean cache?");
  EXPECT_THAT(ErrorOf({.options = {"zzzzzz"}}), HasSubstr("see terrace mount --help"));
  EXPECT_THAT(TomlErrorOf("# comment\n\nwrite_back_dely = '5s'\n"),
              HasSubstr("t.toml:3: write_back_dely: no such setting: did you mean "
                        "write_back_delay?"));
}

TEST_F(SettingsTest, TomlErrorsNameFileAndLine) {
  EXPECT_THAT(TomlErrorOf("ro = true\ncache = \n"), HasSubstr("t.toml:2"));
  EXPECT_THAT(TomlErrorOf("ro = true\ndram = '5X'\n"), HasSubstr("t.toml:2: dram: "));
  EXPECT_THAT(TomlErrorOf("\n[mount]\ncache = 'auto'\n"), HasSubstr("t.toml:2: [mount]"));
  EXPECT_THAT(TomlErrorOf("cache = ['auto']\n"), HasSubstr("t.toml:1: cache: "));
  EXPECT_THAT(TomlErrorOf("store = [['/a']]\n"), HasSubstr("t.toml:1"));
  EXPECT_THAT(TomlErrorOf("dram = 1979-05-27\n"), HasSubstr("t.toml:1: dram: "));
  EXPECT_THAT(TomlErrorOf("noatime = true\n"), HasSubstr("no such setting"));
  Result<MountConfig> missing = BuildMountConfig({.config_file = "/not/there.toml"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().context, HasSubstr("--config /not/there.toml"));
}

TEST_F(SettingsTest, EmptyTomlFileSetsNothing) {
  EXPECT_TRUE(BuildMountConfig({.config_file = "/dev/null"}));
  EXPECT_FALSE(BuildMountConfig({.config_file = "/proc"}));
}

TEST_F(SettingsTest, PathsBecomeAbsolute) {
  MountConfig config = BuildMountConfig({.stores = {"a/../b"}}).value();
  EXPECT_EQ(config.volume.store_paths[0].front(), '/');
  EXPECT_TRUE(config.volume.store_paths[0].ends_with("/b"));
}

TEST_F(SettingsTest, LogLiesWithTheMetadata) {
  const std::string store = directory_.path();
  fs::VolumeConfig volume;
  volume.store_paths = {"/dev/null", store};
  EXPECT_EQ(DefaultLogPath(volume), store + "/terrace.log");
  volume.store_paths = {store + "/new"};
  EXPECT_EQ(DefaultLogPath(volume), store + "/new/terrace.log");
  volume.store_paths = {"/dev/null"};
  volume.metadata_directory = "/meta";
  EXPECT_EQ(DefaultLogPath(volume), "/meta/terrace.log");
}

TEST_F(SettingsTest, NearestName) {
  EXPECT_EQ(NearestSettingName("dirty_highwater"), "dirty_high_water");
  EXPECT_EQ(NearestSettingName("allowother"), "allow_other");
  EXPECT_EQ(NearestSettingName("x"), "");
}

}  // namespace
}  // namespace terrace::mount
