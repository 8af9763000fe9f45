// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: every verb does what docs/operations.md says, with its exit codes and one line per error.
// Method: the built program, as an operator calls it, on a store of its own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/unique_fd.h"
#include "mount/process_watch.h"
#include "tests/support/io_support.h"
#include "tests/support/mounted_store.h"

namespace terrace::mount {
namespace {

using terrace::testing::MountedStore;
using terrace::testing::ProgramResult;
using terrace::testing::RunProgram;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kBusy = 3, kStoreRefused = 4, kNotMounted = 5;

ProgramResult Terrace(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TERRACE_BINARY);
  return RunProgram(arguments);
}

void ExpectError(const ProgramResult& result, int exit_code, const std::string& part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.output;
  EXPECT_THAT(result.output, StartsWith("terrace: "));
  EXPECT_THAT(result.output, HasSubstr(part));
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class VerbsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto reason = MountedStore::WhyNotHere()) GTEST_SKIP() << *reason;
  }
  std::vector<std::string> MountCommand(const std::string& store, const std::string& mount_point) {
    return {"mount", "--store", store, "--dram", "64M", "--store-size", "256M", mount_point};
  }
  std::string MakeDirectory(const std::string& name) {
    std::filesystem::create_directory(directory_ / name);
    return directory_ / name;
  }

  io::IoTempDirectory directory_;
};

TEST_F(VerbsTest, UsageErrors) {
  ExpectError(Terrace({}), kUsage, "terrace --help");
  ExpectError(Terrace({"frobnicate"}), kUsage, "frobnicate: no such verb");
  ExpectError(Terrace({"mount"}), kUsage, "see terrace mount --help");
  ExpectError(Terrace({"mount", "--bogus", "/mnt"}), kUsage, "--bogus");
  ExpectError(Terrace({"evict", "/mnt"}), kUsage, "--dram");
  ExpectError(Terrace({"mount", "--dram", "-5G", "/mnt"}), kUsage, "--dram -5G: '-5G'");
  ExpectError(Terrace({"mount", "-o", "cahce=auto", "/mnt"}), kUsage, "did you mean cache?");
  ExpectError(Terrace({"format"}), kUsage, "--store");
  WriteFile(directory_ / "t.toml", "ro = true\nnonsense = 1\n");
  ExpectError(Terrace({"mount", "--config", directory_ / "t.toml", "/mnt"}), kUsage,
              "t.toml:2: nonsense");
}

TEST_F(VerbsTest, HelpOfEveryVerb) {
  EXPECT_EQ(Terrace({"--help"}).exit_code, kOk);
  for (const char* verb : {"mount", "format", "umount", "status", "flush", "evict", "version"}) {
    const ProgramResult help = Terrace({verb, "--help"});
    EXPECT_EQ(help.exit_code, kOk) << verb;
    EXPECT_THAT(help.output, HasSubstr("Example")) << verb;
  }
}

TEST_F(VerbsTest, Version) {
  const ProgramResult version = Terrace({"version"});
  EXPECT_EQ(version.exit_code, kOk);
  EXPECT_THAT(version.output, HasSubstr("libfuse  3."));
  const auto json = nlohmann::json::parse(Terrace({"version", "--json"}).output);
  for (const char* name : {"version", "commit", "libfuse", "kernel", "kernel_features", "mode"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
}

TEST_F(VerbsTest, MountPointsThatAreNone) {
  const std::string store = directory_ / "store";
  ExpectError(Terrace(MountCommand(store, directory_ / "missing")), kFailed, "mkdir -p");
  WriteFile(directory_ / "file", "x");
  ExpectError(Terrace(MountCommand(store, directory_ / "file")), kFailed, "not a directory");
  EXPECT_FALSE(std::filesystem::exists(store)) << "a mount that can't be formats nothing";
}

TEST_F(VerbsTest, NoFuseDevice) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root for a mount namespace without /dev/fuse";
  const std::string mount_point = MakeDirectory("mount");
  const std::string script =
      "mount --bind /dev/null /dev/fuse 2>/dev/null || exit 77; umount "
      "/dev/fuse; mount -t tmpfs none /dev && exec " TERRACE_BINARY " mount --store " +
      directory_ / "store" + " --dram 64M " + mount_point;
  const ProgramResult result = RunProgram({"unshare", "--mount", "sh", "-c", script});
  if (result.exit_code == 77) GTEST_SKIP() << "no mount namespaces here";
  ExpectError(result, kFailed, "/dev/fuse");
}

TEST_F(VerbsTest, NothingIsMountedThere) {
  const std::string path = directory_.path();
  ExpectError(Terrace({"status", path}), kNotMounted, "nothing is mounted there");
  ExpectError(Terrace({"umount", path}), kNotMounted, "nothing is mounted there");
  ExpectError(Terrace({"evict", "--dram", path}), kNotMounted, "nothing is mounted there");
  ExpectError(Terrace({"flush", path}), kNotMounted, "not on a TerraceFS");
  ExpectError(Terrace({"flush", path + "/missing"}), kNotMounted, "missing");
  ExpectError(Terrace({"status", "/proc"}), kNotMounted, "type proc");
}

TEST_F(VerbsTest, StatusHasItsStableNames) {
  MountedStore store({});
  WriteFile(store.Path("file"), std::string(300'000, 'x'));
  const nlohmann::json status = store.Status();
  EXPECT_EQ(status["engine_pid"], store.engine_pid());
  EXPECT_THAT(status["mode"].get<std::string>(), ::testing::AnyOf("passthrough", "writeback"));
  for (const char* name : {"size_bytes", "used_bytes", "dirty_bytes", "hits", "misses"}) {
    EXPECT_TRUE(status["dram"][name].is_number_unsigned()) << name;
  }
  ASSERT_EQ(status["devices"].size(), 1u);
  EXPECT_THAT(status["devices"][0]["path"].get<std::string>(), StartsWith(store.store_path()));
  for (const char* name : {"size_bytes", "used_bytes", "read_bytes", "written_bytes", "errors"}) {
    EXPECT_TRUE(status["devices"][0][name].is_number_unsigned()) << name;
  }
  for (const char* name : {"copied_bytes", "oldest_dirty_ms"}) {
    EXPECT_TRUE(status[name].is_number_unsigned()) << name;
  }
  EXPECT_TRUE(status["version"].is_string());
  EXPECT_GE(status["requests"]["create"].get<uint64_t>(), 1u);
  EXPECT_GE(status["requests"]["write"].get<uint64_t>(), 1u);

  const ProgramResult text = Terrace({"status", store.mount_point()});
  EXPECT_EQ(text.exit_code, kOk);
  EXPECT_THAT(text.output, HasSubstr(store.mount_point()));
  EXPECT_THAT(text.output, HasSubstr("DRAM"));
}

TEST_F(VerbsTest, FlushMakesAFileADirectoryAndEverythingDurable) {
  MountedStore store({"-o", "write_back_delay=1h"});
  const std::string bytes(100'000, 'x');
  std::filesystem::create_directory(store.Path("d"));
  WriteFile(store.Path("d/file"), bytes);
  EXPECT_EQ(Terrace({"flush", store.Path("d/file")}).exit_code, kOk);
  WriteFile(store.Path("d/other"), bytes);
  EXPECT_EQ(Terrace({"flush", store.Path("d")}).exit_code, kOk);
  store.KillAndMountAgain();
  EXPECT_EQ(ReadFile(store.Path("d/file")), bytes);
  EXPECT_EQ(ReadFile(store.Path("d/other")), bytes);
  WriteFile(store.Path("d/third"), bytes);
  EXPECT_EQ(Terrace({"flush", store.mount_point()}).exit_code, kOk);
  EXPECT_EQ(store.DirtyBytes(), 0u);
}

TEST_F(VerbsTest, FlushSeesWhatTheKernelHolds) {
  MountedStore store({"-o", "write_back_delay=1h,cache=writeback"});
  const std::string bytes(100'000, 'x');
  io::UniqueFd file(open(store.Path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(Terrace({"flush", store.Path("file")}).exit_code, kOk);
  store.EndEngine(SIGKILL);
  file.Reset();
  store.PlainUnmount(/*lazy=*/true);
  store.Mount();
  EXPECT_EQ(ReadFile(store.Path("file")), bytes);
}

TEST_F(VerbsTest, EvictMakesReadsComeFromTheDevice) {
  MountedStore store({});
  const std::string small(100'000, 's');
  const std::string large(3'000'000, 'l');
  WriteFile(store.Path("small"), small);
  WriteFile(store.Path("large"), large);
  ASSERT_EQ(Terrace({"flush", store.mount_point()}).exit_code, kOk);
  EXPECT_EQ(ReadFile(store.Path("small")), small);
  const uint64_t before = store.Status()["devices"][0]["read_bytes"];
  ASSERT_EQ(Terrace({"evict", "--dram", store.mount_point()}).exit_code, kOk);
  EXPECT_EQ(ReadFile(store.Path("small")), small);
  EXPECT_EQ(ReadFile(store.Path("large")), large);
  const uint64_t after = store.Status()["devices"][0]["read_bytes"];
  EXPECT_GE(after - before, small.size() + large.size());
}

TEST_F(VerbsTest, EvictKeepsWhatIsDirty) {
  MountedStore store({"-o", "write_back_delay=1h"});
  const std::string bytes(200'000, 'x');
  WriteFile(store.Path("file"), bytes);
  ASSERT_EQ(Terrace({"evict", "--dram", store.mount_point()}).exit_code, kOk);
  EXPECT_EQ(ReadFile(store.Path("file")), bytes);
}

TEST_F(VerbsTest, UmountWaitsForDurabilityAndForTheDaemon) {
  MountedStore store({"-o", "write_back_delay=1h"});
  for (int round = 0; round < 5; round++) {
    const std::string name = store.Path("file" + std::to_string(round));
    WriteFile(name, std::string(200'000, static_cast<char>('a' + round)));
    Result<ProcessWatch> engine = ProcessWatch::Open(store.engine_pid());
    ASSERT_TRUE(engine);
    ASSERT_EQ(Terrace({"umount", store.mount_point()}).exit_code, kOk);
    EXPECT_TRUE(engine->WaitForExit(std::chrono::milliseconds(1))) << "gone when umount returns";
    EXPECT_TRUE(store.WaitForEngine());
    store.Mount();  // at once
    EXPECT_EQ(ReadFile(name), std::string(200'000, static_cast<char>('a' + round)));
  }
}

TEST_F(VerbsTest, MountAfterAPlainUmountWaitsForTheDaemon) {
  MountedStore store({"-o", "write_back_delay=1h"});
  for (int round = 0; round < 5; round++) {
    const std::string name = store.Path("file" + std::to_string(round));
    WriteFile(name, std::string(3'000'000, 'x'));
    store.PlainUnmount();
    store.Mount();
    EXPECT_EQ(ReadFile(name).size(), 3'000'000u);
  }
}

TEST_F(VerbsTest, UmountOfABusyMountSaysWho) {
  MountedStore store({});
  WriteFile(store.Path("held"), "x");
  const std::string script = "exec 3<" + store.Path("held") + "; echo; exec sleep 1000";
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ready[1], STDOUT_FILENO);
    execlp("sh", "sh", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  close(ready[1]);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  const ProgramResult busy = Terrace({"umount", store.mount_point()});
  ExpectError(busy, kBusy,
              "(pid " + std::to_string(child) + ") has " + store.Path("held") + " open");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(ReadFile(store.Path("held")), "x") << "it is still mounted";
}

// The engine would find its own mount where its metadata was.
TEST_F(VerbsTest, MountsThatWouldHideTheirStore) {
  const std::string store = MakeDirectory("store");
  for (const std::string& mount_point : {store, directory_.path()}) {
    ExpectError(Terrace(MountCommand(store, mount_point)), kFailed, "would hide it");
  }
  EXPECT_TRUE(std::filesystem::is_empty(store)) << "a mount that is refused formats nothing";
}

TEST_F(VerbsTest, MountPointOrStoreInUse) {
  MountedStore store({});
  ExpectError(Terrace(MountCommand(directory_ / "other", store.mount_point())), kBusy,
              "mounted there already");
  const std::string second = MakeDirectory("second");
  ExpectError(Terrace(MountCommand(store.store_path(), second)), kBusy,
              "(pid " + std::to_string(store.engine_pid()) + ")");
}

TEST_F(VerbsTest, ForeignStoresAreRefusedByName) {
  const std::string mount_point = MakeDirectory("mount");
  const std::string foreign = MakeDirectory("foreign");
  WriteFile(foreign + "/notes.txt", "mine");
  ExpectError(Terrace(MountCommand(foreign, mount_point)), kStoreRefused, "notes.txt");
  ExpectError(Terrace({"format", "--store", foreign}), kStoreRefused, "notes.txt");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(foreign), {}), 1)
      << "nothing was written";
}

TEST_F(VerbsTest, FormatThenMount) {
  const std::string mount_point = MakeDirectory("mount");
  const std::string a = directory_ / "a";
  const std::string b = directory_ / "b";
  const ProgramResult formatted = Terrace({"format", "--store", a, "--store", b});
  EXPECT_EQ(formatted.exit_code, kOk) << formatted.output;
  EXPECT_THAT(formatted.output, HasSubstr("on 2 devices"));
  ExpectError(Terrace(MountCommand(a, mount_point)), kStoreRefused, "device 1 is missing");
  const ProgramResult mounted =
      Terrace({"mount", "--store", a, "--store", b, "--dram", "64M", mount_point});
  ASSERT_EQ(mounted.exit_code, kOk) << mounted.output;
  EXPECT_EQ(Terrace({"umount", mount_point}).exit_code, kOk);
}

TEST_F(VerbsTest, ReadOnlyMountRefusesChanges) {
  MountedStore store({});
  WriteFile(store.Path("file"), "x");
  store.Remount({"-o", "ro"});
  EXPECT_EQ(ReadFile(store.Path("file")), "x");
  EXPECT_EQ(open(store.Path("new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(unlink(store.Path("file").c_str()), -1);
  EXPECT_EQ(errno, EROFS);
}

TEST_F(VerbsTest, PlainTypeShowsFuse) {
  MountedStore store({"-o", "plain_type"});
  std::ifstream table("/proc/self/mountinfo");
  std::string found;
  for (std::string line; std::getline(table, line);) {
    if (line.find(" " + store.mount_point() + " ") != std::string::npos) found = line;
  }
  EXPECT_THAT(found, HasSubstr(" - fuse terrace "));
}

// What mount(8) calls for `mount -t fuse.terrace SOURCE DIR -o …`.
TEST_F(VerbsTest, HelperOfMountMountsUnderAnySource) {
  if (geteuid() != 0) GTEST_SKIP() << "mount(8) calls helpers as root";
  const std::string helper = std::filesystem::path(TERRACE_BINARY).parent_path() / "mount.terrace";
  const std::string mount_point = MakeDirectory("mount");
  const std::string options = "rw,plain_type,dram=64M,store_size=256M,store=" +
                              (directory_ / "store") + ",X-mount.mkdir";
  ASSERT_EQ(RunProgram({helper, "a,source", mount_point, "-o", options}).exit_code, kOk);
  auto find = [&] {
    return RunProgram({"findmnt", "-no", "FSTYPE,SOURCE,OPTIONS", mount_point}).output;
  };
  EXPECT_THAT(find(), HasSubstr("fuse   a,source rw,"));
  EXPECT_THAT(find(), Not(HasSubstr("nosuid")));
  EXPECT_EQ(Terrace({"status", mount_point}).exit_code, kOk) << "found by its control socket";
  EXPECT_EQ(RunProgram({helper, "a,source", mount_point, "-o", "remount,ro"}).exit_code, kOk);
  EXPECT_THAT(find(), HasSubstr("fuse   a,source ro,"));
  EXPECT_EQ(RunProgram({helper, "a", "b", "--nonsense"}).exit_code, kUsage);
  EXPECT_EQ(Terrace({"umount", mount_point}).exit_code, kOk);
}

TEST_F(VerbsTest, LogAndStoreArePrivate) {
  MountedStore store({"--log", directory_ / "daemon.log"});
  EXPECT_THAT(ReadFile(directory_ / "daemon.log"), HasSubstr("serves " + store.mount_point()));
  struct stat status {};
  ASSERT_EQ(stat((directory_ / "daemon.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(VerbsTest, UnprivilegedUser) {
  if (geteuid() != 0) GTEST_SKIP() << "root plays the unprivileged user here";
  if (RunProgram({"sh", "-c", "command -v setpriv fusermount3"}).exit_code != 0) {
    GTEST_SKIP() << "setpriv or fusermount3 is not installed";
  }
  const std::string home = MakeDirectory("home");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  ASSERT_EQ(chown(home.c_str(), 65534, 65534), 0);
  auto as_nobody = [&](const std::string& words) {
    return RunProgram({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
                       "unset XDG_RUNTIME_DIR; cd " + home + " && " + words});
  };
  const std::string terrace = TERRACE_BINARY;
  if (as_nobody(terrace + " version").exit_code != 0) GTEST_SKIP() << "the binary is private";
  const ProgramResult mounted =
      as_nobody("mkdir m && " + terrace + " mount --store s --dram 64M --store-size 256M m");
  ASSERT_EQ(mounted.exit_code, kOk) << mounted.output;
  EXPECT_EQ(as_nobody("echo hello > m/file && cat m/file").output, "hello\n");
  EXPECT_EQ(as_nobody(terrace + " flush m/file").exit_code, kOk);
  // Root finds the user's daemon too, though it may not look into the mount.
  const ProgramResult status = Terrace({"status", "--json", home + "/m"});
  EXPECT_EQ(status.exit_code, kOk) << status.output;
  const ProgramResult unmounted = as_nobody(terrace + " umount m");
  EXPECT_EQ(unmounted.exit_code, kOk) << unmounted.output;
}

}  // namespace
}  // namespace terrace::mount
