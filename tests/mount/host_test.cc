// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what mount/ asks of the host: other programs, processes, private directories, mount points.
// Method: programs of the system, this process, and temporary directories.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "mount/child_process.h"
#include "mount/holders.h"
#include "mount/mount_point.h"
#include "mount/process_watch.h"
#include "mount/runtime_directory.h"
#include "tests/support/io_support.h"

namespace terrace::mount {
namespace {

TEST(ChildProcessTest, ExitCodeAndLastLine) {
  Result<ChildResult> child = RunChild({"sh", "-c", "echo one >&2; echo two >&2; exit 7"});
  ASSERT_TRUE(child) << child.error().context;
  EXPECT_EQ(child->exit_code, 7);
  EXPECT_EQ(child->last_line, "two");
  EXPECT_EQ(RunChild({"true"})->exit_code, 0);
  EXPECT_EQ(RunChild({"sh", "-c", "kill -9 $$"})->exit_code, 128 + SIGKILL);
}

TEST(ChildProcessTest, MessagesAreEnglish) {
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  EXPECT_EQ(RunChild({"sh", "-c", "echo $LC_ALL >&2"})->last_line, "C");
  unsetenv("LC_ALL");
}

TEST(ChildProcessTest, MissingProgram) {
  EXPECT_FALSE(RunChild({"/not/there"}));
  EXPECT_FALSE(FindProgram("certainly-not-a-program"));
  EXPECT_TRUE(FindProgram("sh"));
}

TEST(ProcessWatchTest, SeesTheEnd) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  Result<ProcessWatch> watch = ProcessWatch::Open(child);
  ASSERT_TRUE(watch) << watch.error().context;
  EXPECT_FALSE(watch->WaitForExit(std::chrono::milliseconds(10)));
  kill(child, SIGKILL);
  EXPECT_TRUE(watch->WaitForExit(std::chrono::milliseconds(0)));
  waitpid(child, nullptr, 0);
  Result<ProcessWatch> gone = ProcessWatch::Open(child);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kNotFound);
}

// A file system of which everything in use is known: that of the temporary directory, seen from
// a child that does one thing with it.
class HoldersTest : public ::testing::Test {
 protected:
  std::string HowChildHolds(void (*act)(const std::string& path)) {
    const std::string path = directory_ / "file";
    std::ofstream(path) << std::string(8192, 'x');
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    MountEntry mount;
    mount.device_major = major(status.st_dev);
    mount.device_minor = minor(status.st_dev);
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      for (int fd = 0; fd < 1024; fd++) {
        if (fd != ready[1]) close(fd);
      }
      if (chdir("/proc") != 0) _exit(1);
      act(path);
      close(ready[1]);
      pause();
    }
    close(ready[1]);
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    std::string how;
    for (const Holder& holder : FindHolders(mount, SIZE_MAX)) {
      if (holder.pid == child) how = holder.how;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return how;
  }

  io::IoTempDirectory directory_;
};

TEST_F(HoldersTest, WorkingDirectory) {
  const std::string how = HowChildHolds([](const std::string& path) {
    if (chdir(path.substr(0, path.rfind('/')).c_str()) != 0) _exit(1);
  });
  EXPECT_EQ(how, "works in " + directory_.path());
}

TEST(RuntimeDirectoryTest, IsMadePrivate) {
  if (geteuid() == 0) GTEST_SKIP() << "root's is /run/terrace, which mounts of this host use";
  io::IoTempDirectory directory;
  setenv("XDG_RUNTIME_DIR", directory.path().c_str(), 1);
  Result<std::string> own = OwnRuntimeDirectory();
  ASSERT_TRUE(own) << own.error().context;
  EXPECT_EQ(*own, directory / "terrace");
  EXPECT_TRUE(OwnRuntimeDirectory()) << "it may be there already";
  chmod(own->c_str(), 0777);
  EXPECT_FALSE(OwnRuntimeDirectory()) << "others may write there";
  rmdir(own->c_str());
  ASSERT_EQ(symlink("/tmp", own->c_str()), 0);
  EXPECT_FALSE(OwnRuntimeDirectory()) << "a symbolic link";
}

TEST(RuntimeDirectoryTest, OfOthersOnlyIfItIsTheirs) {
  const std::string path = "/tmp/terrace-54321";
  rmdir(path.c_str());
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  // It is this user's, not that of user 54321.
  EXPECT_TRUE(RuntimeDirectoriesOf(54321).empty());
  rmdir(path.c_str());
}

TEST(RuntimeDirectoryTest, SocketNameFollowsFromTheDevice) {
  MountEntry mount;
  mount.device_minor = 57;
  EXPECT_EQ(SocketName(mount), "mount-0-57.sock");
}

TEST(MountPointTest, SaysWhatIsWrongAndTheWayOut) {
  io::IoTempDirectory directory;
  Result<std::string> missing = CheckMountPoint(directory / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(
      missing.error().context,
      directory / "missing" + ": does not exist: make it with mkdir -p " + directory / "missing");
  std::ofstream(directory / "file") << "x";
  Result<std::string> file = CheckMountPoint(directory / "file");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kNotDirectory);
  EXPECT_FALSE(CheckMountPoint(directory / "file/below"));
  EXPECT_FALSE(CheckMountPoint(std::string(5000, 'x')));
}

TEST(MountPointTest, MountsThatWouldHideTheirStore) {
  io::IoTempDirectory directory;
  const std::string store = directory / "a/store";
  std::filesystem::create_directories(store);
  std::filesystem::create_directory_symlink(store, directory / "link");
  EXPECT_TRUE(CheckHidesNothing(directory / "b", {store}));
  EXPECT_TRUE(CheckHidesNothing(directory / "a/sto", {store}));
  EXPECT_TRUE(CheckHidesNothing(store + "/inner", {store}));
  for (const std::string& mount_point : {store, directory / "a", std::string("/")}) {
    Status hides = CheckHidesNothing(mount_point, {"/proc/self", directory / "link"});
    ASSERT_FALSE(hides) << mount_point;
    EXPECT_EQ(hides.error().code, Errc::kInvalid);
    EXPECT_NE(hides.error().context.find("would hide it"), std::string::npos);
  }
  EXPECT_FALSE(CheckHidesNothing(directory / "a", {directory / "a/missing/terrace.log"}));
}

TEST(MountPointTest, UnmountOfNothing) {
  io::IoTempDirectory directory;
  Status unmounted = Unmount(directory.path(), {});
  ASSERT_FALSE(unmounted);
  EXPECT_NE(unmounted.error().code, Errc::kBusy);
}

}  // namespace
}  // namespace terrace::mount
