// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of docs/semantics.md share: a mount, and short words for files.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "io/unique_fd.h"
#include "tests/support/mounted_store.h"

namespace terrace::mount {

// Nothing is written back by age during a test.
inline const std::vector<std::string> kNeverByAge = {"-o", "write_back_delay=1h"};
inline const std::vector<std::string> kSoonByAge = {"-o", "write_back_delay=200ms"};
inline const std::vector<std::string> kWritebackCache = {"-o",
                                                         "cache=writeback,write_back_delay=200ms"};

class SemanticsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto reason = terrace::testing::MountedStore::WhyNotHere()) GTEST_SKIP() << *reason;
  }

  // Every test names its paragraph; the document must have it under that heading.
  static void Paragraph(std::string_view heading) {
    std::ifstream document(TERRACE_SOURCE_DIR "/docs/semantics.md");
    const std::string wanted = "### " + std::string(heading);
    for (std::string line; std::getline(document, line);) {
      if (line == wanted) return;
    }
    ADD_FAILURE() << "docs/semantics.md has no paragraph '" << heading << "'";
  }

  terrace::testing::MountedStore& MountStore(std::vector<std::string> flags) {
    store_ = std::make_unique<terrace::testing::MountedStore>(std::move(flags));
    return *store_;
  }

  std::string Path(std::string_view name) const { return store_->Path(name); }

  io::UniqueFd Open(std::string_view name, int flags, mode_t mode = 0644) const {
    io::UniqueFd fd(::open(Path(name).c_str(), flags | O_CLOEXEC, mode));
    EXPECT_TRUE(fd.is_open()) << name << ": " << std::strerror(errno);
    return fd;
  }

  static void WriteAt(const io::UniqueFd& fd, uint64_t offset, std::string_view bytes) {
    EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()))
        << std::strerror(errno);
  }

  static std::string ReadAt(const io::UniqueFd& fd, uint64_t offset, size_t size) {
    std::string bytes(size, '?');
    ssize_t got = ::pread(fd.get(), bytes.data(), size, static_cast<off_t>(offset));
    EXPECT_GE(got, 0) << std::strerror(errno);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }

  void WriteFile(std::string_view name, std::string_view bytes) const {
    WriteAt(Open(name, O_WRONLY | O_CREAT | O_TRUNC), 0, bytes);
  }

  void WriteFileAndSync(std::string_view name, std::string_view bytes) const {
    io::UniqueFd fd = Open(name, O_WRONLY | O_CREAT | O_TRUNC);
    WriteAt(fd, 0, bytes);
    EXPECT_EQ(::fsync(fd.get()), 0) << std::strerror(errno);
  }

  std::string ReadFile(std::string_view name) const {
    io::UniqueFd fd = Open(name, O_RDONLY);
    struct stat status {};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return ReadAt(fd, 0, static_cast<size_t>(status.st_size) + 1);
  }

  struct stat StatOf(std::string_view name) const {
    struct stat status {};
    EXPECT_EQ(::lstat(Path(name).c_str(), &status), 0) << name << ": " << std::strerror(errno);
    return status;
  }

  bool Exists(std::string_view name) const { return ::access(Path(name).c_str(), F_OK) == 0; }

  void Rename(std::string_view from, std::string_view to) const {
    EXPECT_EQ(::rename(Path(from).c_str(), Path(to).c_str()), 0) << std::strerror(errno);
  }

  std::unique_ptr<terrace::testing::MountedStore> store_;
};

// Bytes in which no two blocks are equal, other ones for each seed.
inline std::string Pattern(size_t size, uint64_t seed) {
  std::string bytes(size, '\0');
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

// EXPECT_ERRNO(EPERM, link(a, b)): the call fails with that errno.
#define EXPECT_ERRNO(wanted, call)                                    \
  do {                                                                \
    errno = 0;                                                        \
    const auto terrace_result = (call);                               \
    const int terrace_errno = errno;                                  \
    EXPECT_EQ(terrace_result, -1) << #call;                           \
    EXPECT_EQ(terrace_errno, wanted) << std::strerror(terrace_errno); \
  } while (false)

}  // namespace terrace::mount
