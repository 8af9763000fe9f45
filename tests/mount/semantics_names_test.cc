// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal    docs/semantics.md, "Names and directories" and "Attributes": one test per paragraph.
// Method  A mount of the built program, used through plain system calls.
#include <dirent.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "tests/mount/semantics_support.h"

namespace terrace::mount {

namespace {

constexpr uid_t kNobody = 65534;

// Runs `body` in another process, as another user if `uid` is not 0. Returns what it returned.
int InAnotherProcess(uid_t uid, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (uid != 0 && (setgid(uid) != 0 || setuid(uid) != 0)) _exit(200);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

std::vector<std::string> List(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  EXPECT_NE(directory, nullptr);
  while (const dirent* entry = readdir(directory)) names.emplace_back(entry->d_name);
  closedir(directory);
  return names;
}

}  // namespace

using NameSemanticsTest = SemanticsTest;
using LongNameSemanticsTest = SemanticsTest;
using AttributeSemanticsTest = SemanticsTest;

TEST_F(NameSemanticsTest, Names) {
  Paragraph("Names");
  auto& store = MountStore({});
  const std::string longest(255, 'n');
  const std::vector<std::string> names = {longest,     "case", "CASE", "\xff\xfe not UTF-8",
                                          "new\nline", " ",    "...",  "-rf"};
  for (const std::string& name : names) WriteFile(name, name);
  EXPECT_ERRNO(ENAMETOOLONG, open(Path(longest + "n").c_str(), O_WRONLY | O_CREAT, 0644));
  store.Remount();
  for (const std::string& name : names) EXPECT_EQ(ReadFile(name), name);
  EXPECT_EQ(List(store.mount_point()).size(), names.size() + 2);
}

TEST_F(NameSemanticsTest, ListingWhileTheDirectoryChanges) {
  Paragraph("Listing while the directory changes");
  auto& store = MountStore({});
  constexpr int kFiles = 3000;
  std::filesystem::create_directory(Path("d"));
  for (int i = 0; i < kFiles; i++) WriteFile("d/" + std::to_string(i), "");

  DIR* directory = opendir(Path("d").c_str());
  ASSERT_NE(directory, nullptr);
  std::map<std::string, int> seen;
  long middle = 0;
  std::string after_middle;
  for (int count = 0; const dirent* entry = readdir(directory); count++) {
    seen[entry->d_name]++;
    if (count == kFiles / 2) middle = telldir(directory);
    if (count == kFiles / 2 + 1) after_middle = entry->d_name;
    // Every third goes, and as many come.
    if (count % 3 == 0 && count < kFiles) {
      unlink(Path("d/" + std::to_string(count)).c_str());
      WriteFile("d/new " + std::to_string(count), "");
    }
  }
  for (int i = 0; i < kFiles; i++) {
    if (i % 3 != 0) {
      EXPECT_EQ(seen[std::to_string(i)], 1) << i;
    }
  }
  for (const auto& [name, times] : seen) EXPECT_LE(times, 1) << name;
  seekdir(directory, middle);
  const dirent* again = readdir(directory);
  // New names may have come in between.
  auto came_later = [&] {
    const std::string_view name = again->d_name;
    return name.starts_with("new ") && name != after_middle;
  };
  while (again != nullptr && came_later()) again = readdir(directory);
  ASSERT_NE(again, nullptr);
  if (Exists("d/" + after_middle)) {
    EXPECT_EQ(again->d_name, after_middle);
  }
  closedir(directory);

  const std::vector<std::string> order = List(Path("d"));
  store.Remount();
  EXPECT_EQ(List(Path("d")), order);
}

TEST_F(NameSemanticsTest, LinkCounts) {
  Paragraph("Link counts");
  auto& store = MountStore({});
  WriteFile("file", "bytes");
  std::filesystem::create_directory(Path("d"));
  ASSERT_EQ(link(Path("file").c_str(), Path("d/another").c_str()), 0);
  EXPECT_ERRNO(EPERM, link(Path("d").c_str(), Path("link to a directory").c_str()));
  for (const char* name : {"d/sub1", "d/sub2"}) std::filesystem::create_directory(Path(name));
  for (int pass = 0; pass < 2; pass++) {
    EXPECT_EQ(StatOf("file").st_nlink, 2u);
    EXPECT_EQ(StatOf("d").st_nlink, 4u);
    EXPECT_EQ(StatOf("d/sub1").st_nlink, 2u);
    store.Remount();
  }
}

TEST_F(LongNameSemanticsTest, TheMostLinks) {
  Paragraph("Link counts");
  auto& store = MountStore({});
  constexpr nlink_t kLinksMax = 65000;
  WriteFile("file", "bytes");
  std::filesystem::create_directory(Path("d"));
  for (nlink_t i = 1; i < kLinksMax; i++) {
    ASSERT_EQ(link(Path("file").c_str(), Path("d/" + std::to_string(i)).c_str()), 0) << i;
  }
  EXPECT_ERRNO(EMLINK, link(Path("file").c_str(), Path("one more").c_str()));
  store.Remount();
  EXPECT_EQ(StatOf("file").st_nlink, kLinksMax);
  ASSERT_EQ(unlink(Path("d/1").c_str()), 0);
  EXPECT_EQ(link(Path("file").c_str(), Path("one more").c_str()), 0);
}

TEST_F(NameSemanticsTest, SizesOfDirectories) {
  Paragraph("Sizes of directories");
  MountStore({});
  std::filesystem::create_directory(Path("d"));
  EXPECT_EQ(StatOf("d").st_size, 4096);
  for (int i = 0; i < 500; i++) WriteFile("d/" + std::to_string(i), "");
  EXPECT_EQ(StatOf("d").st_size, 4096);
}

TEST_F(NameSemanticsTest, Renameat2) {
  Paragraph("renameat2");
  MountStore({});
  WriteFile("a", "a");
  WriteFile("b", "b");
  auto rename2 = [&](const char* from, const char* to, unsigned flags) {
    return renameat2(AT_FDCWD, Path(from).c_str(), AT_FDCWD, Path(to).c_str(), flags);
  };
  EXPECT_ERRNO(EEXIST, rename2("a", "b", RENAME_NOREPLACE));
  EXPECT_ERRNO(ENOENT, rename2("a", "missing", RENAME_EXCHANGE));
  EXPECT_ERRNO(EINVAL, rename2("a", "b", RENAME_WHITEOUT));
  EXPECT_EQ(rename2("a", "c", RENAME_NOREPLACE), 0);
  EXPECT_EQ(rename2("b", "c", RENAME_EXCHANGE), 0);
  EXPECT_EQ(ReadFile("b"), "a");
  EXPECT_EQ(ReadFile("c"), "b");
}

TEST_F(NameSemanticsTest, InodeNumbers) {
  Paragraph("Inode numbers");
  auto& store = MountStore({});
  std::set<ino_t> used;
  auto make = [&](const std::string& name) {
    WriteFile(name, "");
    EXPECT_TRUE(used.insert(StatOf(name).st_ino).second) << name;
  };
  make("kept");
  const ino_t kept = StatOf("kept").st_ino;
  for (int round = 0; round < 4; round++) {
    make("removed");
    unlink(Path("removed").c_str());
    make("also removed");
    unlink(Path("also removed").c_str());
    round % 2 == 0 ? store.Remount() : store.KillAndMountAgain();
    EXPECT_EQ(StatOf("kept").st_ino, kept);
  }
}

TEST_F(NameSemanticsTest, TemporaryFilesWithoutAName) {
  Paragraph("Temporary files without a name");
  auto& store = MountStore({});
  const std::string content(300'000, 't');
  auto publish = [](int fd, const std::string& name) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd);
    return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  };
  {
    io::UniqueFd unnamed = Open("", O_TMPFILE | O_RDWR, 0640);
    struct stat status {};
    ASSERT_EQ(fstat(unnamed.get(), &status), 0);
    EXPECT_EQ(status.st_nlink, 0u);
    EXPECT_EQ(status.st_mode, static_cast<mode_t>(S_IFREG | 0640));
    EXPECT_TRUE(std::filesystem::is_empty(Path("")));
    ASSERT_EQ(pwrite(unnamed.get(), content.data(), content.size(), 0), ssize_t(content.size()));
    ASSERT_EQ(publish(unnamed.get(), Path("named")), 0) << std::strerror(errno);
    EXPECT_EQ(StatOf("named").st_ino, status.st_ino);
    EXPECT_EQ(StatOf("named").st_nlink, 1u);

    io::UniqueFd exclusive = Open("", O_TMPFILE | O_EXCL | O_WRONLY, 0600);
    EXPECT_ERRNO(ENOENT, publish(exclusive.get(), Path("never")));
  }
  store.Remount();
  EXPECT_EQ(ReadFile("named"), content);
}

TEST_F(NameSemanticsTest, SpecialFiles) {
  Paragraph("Special files");
  auto& store = MountStore({});
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0) << std::strerror(errno);
  const std::string target(4095, 't');
  ASSERT_EQ(symlink(target.c_str(), Path("link").c_str()), 0) << std::strerror(errno);
  // sockaddr_un holds 108 bytes: go there.
  InAnotherProcess(0, [&] {
    if (chdir(store.mount_point().c_str()) != 0) return 1;
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "socket"};
    return bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address);
  });
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(mknod(Path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  }
  store.Remount();
  EXPECT_TRUE(S_ISFIFO(StatOf("fifo").st_mode));
  EXPECT_TRUE(S_ISSOCK(StatOf("socket").st_mode));
  EXPECT_EQ(std::filesystem::read_symlink(Path("link")), target);
  if (root) {
    EXPECT_EQ(StatOf("null").st_rdev, makedev(1, 3));
    EXPECT_ERRNO(EACCES, open(Path("null").c_str(), O_RDONLY));  // nodev is the default
  }
}

TEST_F(AttributeSemanticsTest, Times) {
  Paragraph("Times");
  auto& store = MountStore(kNeverByAge);
  WriteFile("file", "bytes");
  const timespec wanted[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 123'456'789},
                              {.tv_sec = -5'000'000'000, .tv_nsec = 987'654'321}};
  // Times that are set while bytes are dirty stay, whenever the bytes are written out.
  ASSERT_EQ(utimensat(AT_FDCWD, Path("file").c_str(), wanted, 0), 0);
  WriteFile("far", "");
  const timespec far[2] = {{.tv_sec = 20'000'000'000, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 1}};
  ASSERT_EQ(utimensat(AT_FDCWD, Path("far").c_str(), far, 0), 0);
  store.Remount();
  struct stat status = StatOf("file");
  EXPECT_EQ(status.st_atim.tv_nsec, wanted[0].tv_nsec);
  EXPECT_EQ(status.st_atim.tv_sec, wanted[0].tv_sec);
  EXPECT_EQ(status.st_mtim.tv_sec, wanted[1].tv_sec);
  EXPECT_EQ(status.st_mtim.tv_nsec, wanted[1].tv_nsec);
  EXPECT_GT(StatOf("far").st_atim.tv_sec, 9'200'000'000);  // the year 2261

  // relatime: a read moves an access time that is not newer than the last change.
  const timespec old[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 2, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, Path("file").c_str(), old, 0), 0);
  EXPECT_EQ(ReadFile("file"), "bytes");
  store.Remount();
  EXPECT_GT(StatOf("file").st_atim.tv_sec, 2);
  EXPECT_EQ(StatOf("file").st_mtim.tv_sec, 2);
}

TEST_F(AttributeSemanticsTest, ExtendedAttributes) {
  Paragraph("Extended attributes");
  auto& store = MountStore({});
  WriteFile("file", "");
  const std::string path = Path("file");
  const std::string value = Pattern(64 * kKiB, 1);
  const std::string longest = "user." + std::string(250, 'n');
  auto set = [&](const std::string& name, const std::string& to) {
    return setxattr(path.c_str(), name.c_str(), to.data(), to.size(), 0);
  };
  ASSERT_EQ(set(longest, value), 0) << std::strerror(errno);
  ASSERT_EQ(set("user.empty", ""), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(set("trusted.one", "1"), 0) << std::strerror(errno);
  }
  EXPECT_ERRNO(ERANGE, set(longest + "n", "1"));
  EXPECT_ERRNO(E2BIG, set("user.large", value + "x"));
  EXPECT_ERRNO(EOPNOTSUPP, set("system.other", "1"));
  store.Remount();
  std::string found(value.size(), '\0');
  EXPECT_EQ(getxattr(path.c_str(), longest.c_str(), found.data(), found.size()),
            static_cast<ssize_t>(value.size()));
  EXPECT_TRUE(found == value);
  EXPECT_EQ(getxattr(path.c_str(), "user.empty", nullptr, 0), 0);
  EXPECT_ERRNO(ENODATA, getxattr(path.c_str(), "user.missing", nullptr, 0));
}

TEST_F(AttributeSemanticsTest, Permissions) {
  Paragraph("Permissions");
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  auto& store = MountStore({});
  WriteFile("file", "bytes");
  auto can_enter = [&] { return access(Path("file").c_str(), F_OK) == 0 ? 0 : errno; };
  EXPECT_EQ(InAnotherProcess(kNobody, can_enter), EACCES);

  store.Remount({"-o", "allow_other"});
  EXPECT_EQ(InAnotherProcess(kNobody, can_enter), 0);
  ASSERT_EQ(chmod(Path("file").c_str(), 0600), 0);
  auto open_to_write = [&] { return open(Path("file").c_str(), O_WRONLY) >= 0 ? 0 : errno; };
  EXPECT_EQ(InAnotherProcess(kNobody, open_to_write), EACCES);

  ASSERT_EQ(chmod(Path("file").c_str(), 06777), 0);
  auto write_one_byte = [&] {
    int fd = open(Path("file").c_str(), O_WRONLY);
    return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : 1;
  };
  EXPECT_EQ(InAnotherProcess(kNobody, write_one_byte), 0);
  EXPECT_EQ(StatOf("file").st_mode & 07777, 0777u);
  ASSERT_EQ(chmod(Path("file").c_str(), 06777), 0);
  ASSERT_EQ(chown(Path("file").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(StatOf("file").st_mode & 07777, 0777u);
}

TEST_F(AttributeSemanticsTest, AccessControlLists) {
  Paragraph("Access control lists");
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  auto& store = MountStore({"-o", "allow_other"});
  // Of linux/posix_acl_xattr.h: version 2; owner rwx, user 65534 rw-, group ---, mask rwx, others
  // ---.
  const std::string list(
      "\2\0\0\0"
      "\1\0\7\0\xff\xff\xff\xff"
      "\2\0\6\0\xfe\xff\0\0"
      "\4\0\0\0\xff\xff\xff\xff"
      "\x10\0\7\0\xff\xff\xff\xff"
      "\x20\0\0\0\xff\xff\xff\xff",
      44);
  auto set = [&](const std::string& name, const char* kind) {
    return setxattr(Path(name).c_str(), kind, list.data(), list.size(), 0);
  };
  auto open_file = [&](const std::string& name) {
    return InAnotherProcess(kNobody, [&, path = Path(name)] {
      return open(path.c_str(), O_RDWR) >= 0 ? 0 : errno;
    });
  };
  WriteFile("file", "bytes");
  ASSERT_EQ(chmod(Path("file").c_str(), 0600), 0);
  EXPECT_EQ(open_file("file"), EACCES);
  ASSERT_EQ(set("file", "system.posix_acl_access"), 0) << std::strerror(errno);
  EXPECT_EQ(StatOf("file").st_mode & 0777, 0770u);
  EXPECT_EQ(open_file("file"), 0);
  ASSERT_EQ(chmod(Path("file").c_str(), 0700), 0);
  EXPECT_EQ(open_file("file"), EACCES) << "chmod moves the mask";

  ASSERT_EQ(mkdir(Path("directory").c_str(), 0755), 0);
  ASSERT_EQ(set("directory", "system.posix_acl_default"), 0) << std::strerror(errno);
  const mode_t umask_before = umask(0077);
  Open("directory/file", O_CREAT | O_WRONLY, 0666);
  umask(umask_before);
  EXPECT_EQ(StatOf("directory/file").st_mode & 0777, 0660u);
  EXPECT_EQ(open_file("directory/file"), 0);
  store.Remount({"-o", "allow_other"});
  EXPECT_EQ(open_file("directory/file"), 0);
  EXPECT_EQ(open_file("file"), EACCES);
  EXPECT_ERRNO(EACCES, set("file", "system.posix_acl_default"));
  EXPECT_ERRNO(EINVAL, setxattr(Path("file").c_str(), "system.posix_acl_access", "x", 1, 0));
}

TEST_F(AttributeSemanticsTest, SizesForBuffers) {
  Paragraph("Sizes for buffers");
  auto& store = MountStore(kNeverByAge);
  struct statvfs before {};
  ASSERT_EQ(statvfs(Path("").c_str(), &before), 0);
  EXPECT_EQ(before.f_bsize, 4096u);
  EXPECT_EQ(before.f_frsize, 4096u);
  EXPECT_EQ(before.f_namemax, 255u);
  EXPECT_GT(before.f_blocks, 500'000u * 9 / 10);  // 2 GiB
  EXPECT_LE(before.f_blocks, 2 * kGiB / 4096);
  WriteFile("file", Pattern(10 * kMiB + 1, 1));
  EXPECT_EQ(StatOf("file").st_blksize, static_cast<blksize_t>(256 * kKiB));
  const blkcnt_t blocks = StatOf("file").st_blocks;
  EXPECT_EQ(blocks * 512, static_cast<blkcnt_t>(10 * kMiB + kBlockSize));
  struct statvfs after {};
  ASSERT_EQ(statvfs(Path("").c_str(), &after), 0);
  EXPECT_LE(after.f_bfree + 10 * kMiB / 4096, before.f_bfree) << "accepted bytes count";
  store.Remount();
  EXPECT_EQ(StatOf("file").st_blocks, blocks);
}

TEST_F(AttributeSemanticsTest, Locks) {
  Paragraph("Locks");
  MountStore({});
  WriteFile("file", "bytes");
  io::UniqueFd fd = Open("file", O_RDWR);
  auto in_child = [&](const std::function<int(int fd)>& attempt) {
    return InAnotherProcess(0, [&] {
      int other = open(Path("file").c_str(), O_RDWR);
      return attempt(other) == 0 ? 0 : errno;
    });
  };
  auto flock_now = [](int other) { return flock(other, LOCK_EX | LOCK_NB); };
  ASSERT_EQ(flock(fd.get(), LOCK_EX), 0);
  EXPECT_EQ(in_child(flock_now), EWOULDBLOCK);
  ASSERT_EQ(flock(fd.get(), LOCK_UN), 0);
  EXPECT_EQ(in_child(flock_now), 0);

  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_start = 100;
  range.l_len = 10;
  for (int command : {F_SETLK, F_OFD_SETLK}) {
    struct flock mine = range;
    ASSERT_EQ(fcntl(fd.get(), command, &mine), 0) << std::strerror(errno);
    auto lock_range = [&](int other) {
      struct flock theirs = range;
      return fcntl(other, command, &theirs);
    };
    auto lock_elsewhere = [&](int other) {
      struct flock theirs = range;
      theirs.l_start = 110;
      return fcntl(other, command, &theirs);
    };
    EXPECT_EQ(in_child(lock_range), EAGAIN);
    EXPECT_EQ(in_child(lock_elsewhere), 0);
    mine.l_type = F_UNLCK;
    ASSERT_EQ(fcntl(fd.get(), command, &mine), 0);
    EXPECT_EQ(in_child(lock_range), 0);
  }
  // A lock goes with its owner.
  EXPECT_EQ(in_child(flock_now), 0);
  EXPECT_EQ(flock(fd.get(), LOCK_EX | LOCK_NB), 0);
}

TEST_F(AttributeSemanticsTest, ReadOnlyMounts) {
  Paragraph("Read-only mounts");
  auto& store = MountStore({});
  WriteFile("file", "bytes");
  store.Remount({"-o", "ro"});
  EXPECT_EQ(ReadFile("file"), "bytes");
  EXPECT_ERRNO(EROFS, open(Path("file").c_str(), O_WRONLY));
  EXPECT_ERRNO(EROFS, open(Path("new").c_str(), O_WRONLY | O_CREAT, 0644));
  EXPECT_ERRNO(EROFS, unlink(Path("file").c_str()));
  EXPECT_ERRNO(EROFS, mkdir(Path("d").c_str(), 0755));
  EXPECT_ERRNO(EROFS, chmod(Path("file").c_str(), 0600));
  EXPECT_ERRNO(EROFS, setxattr(Path("file").c_str(), "user.a", "1", 1, 0));
}

}  // namespace terrace::mount
