// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: WRITE and READ are served by the letter of the protocol, and malformed ones are refused
// without harm.
// Method: a real volume in a temporary directory; a socket pair stands for /dev/fuse, on which the
// replies are read.
#include "mount/data_requests.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "fs/open.h"
#include "mount/file_handle.h"
#include "tests/support/io_support.h"

namespace terrace::mount {
namespace {

struct Reply {
  int error = 0;
  uint64_t unique = 0;
  std::string payload;
};

class DataRequestsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::VolumeConfig config;
    config.store_paths = {directory_ / "store"};
    config.store_size_bytes = 256 * kMiB;
    config.dram_bytes = 64 * kMiB;
    Result<std::unique_ptr<fs::Volume>> volume = fs::OpenVolume(config);
    ASSERT_TRUE(volume) << volume.error().context;
    volume_ = std::move(*volume);
    // Sequenced packets: one reply, one read, as on /dev/fuse.
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_), 0);
    int size = 4 << 20;
    setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    requests_ = std::make_unique<DataRequests>(ends_[0], *volume_, open_modes_);
    auto made = volume_->names().Make(kRootInode, "file", {.mode = S_IFREG | 0644}, {});
    ASSERT_TRUE(made) << made.error().context;
    inode_ = made->inode;
  }
  void TearDown() override {
    if (volume_ != nullptr) {
      EXPECT_TRUE(volume_->Stop());
    }
    close(ends_[0]);
    close(ends_[1]);
  }

  RequestHead Head(uint32_t opcode) {
    RequestHead head{};
    head.header.opcode = opcode;
    head.header.unique = ++unique_;
    head.header.nodeid = inode_.value();
    return head;
  }
  Reply TakeReply() {
    std::string packet(kPayloadSizeMax + 4096, '\0');
    ssize_t size = recv(ends_[1], packet.data(), packet.size(), 0);
    EXPECT_GE(size, static_cast<ssize_t>(sizeof(fuse_out_header)));
    fuse_out_header header{};
    if (size < static_cast<ssize_t>(sizeof header)) return {};
    std::memcpy(&header, packet.data(), sizeof header);
    EXPECT_EQ(header.len, size);
    EXPECT_EQ(header.unique, unique_);
    return {.error = -header.error,
            .unique = header.unique,
            .payload = packet.substr(sizeof header, static_cast<size_t>(size) - sizeof header)};
  }
  bool NoReplyWaits() {
    char byte;
    return recv(ends_[1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  // As a reader thread does it: the payload lies in the receive area.
  Reply Write(const RequestHead& head, const std::string& payload, size_t request_size) {
    volume_->files().PrepareReceive(area_);
    size_t done = 0;
    for (const iovec& piece : area_.pieces()) {
      const size_t part = std::min(piece.iov_len, payload.size() - done);
      std::memcpy(piece.iov_base, payload.data() + done, part);
      done += part;
    }
    requests_->Write(head, request_size, area_);
    return TakeReply();
  }
  Reply WriteAt(uint64_t offset, const std::string& payload) {
    RequestHead head = Head(FUSE_WRITE);
    head.write.offset = offset;
    head.write.size = static_cast<uint32_t>(payload.size());
    return Write(head, payload, sizeof head + payload.size());
  }
  Reply ReadAt(uint64_t offset, uint32_t size) {
    RequestHead head = Head(FUSE_READ);
    head.read.offset = offset;
    head.read.size = size;
    requests_->Read(head, sizeof head);
    return TakeReply();
  }

  io::IoTempDirectory directory_;
  std::unique_ptr<fs::Volume> volume_;
  OpenModes open_modes_{Connection{}};
  std::unique_ptr<DataRequests> requests_;
  fs::ReceiveArea area_;
  InodeId inode_;
  int ends_[2] = {-1, -1};
  uint64_t unique_ = 0;
};

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; i++) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

TEST_F(DataRequestsTest, WritesAndReadsBack) {
  const std::string bytes = Bytes(kPayloadSizeMax);
  Reply written = WriteAt(960, bytes);
  EXPECT_EQ(written.error, 0);
  fuse_write_out out{};
  ASSERT_EQ(written.payload.size(), sizeof out);
  std::memcpy(&out, written.payload.data(), sizeof out);
  EXPECT_EQ(out.size, bytes.size());
  EXPECT_EQ(ReadAt(960, kPayloadSizeMax).payload, bytes);
  EXPECT_EQ(ReadAt(0, 4096).payload, std::string(960, '\0') + bytes.substr(0, 4096 - 960));
  EXPECT_EQ(ReadAt(960 + bytes.size() - 10, 4096).payload, bytes.substr(bytes.size() - 10));
  EXPECT_EQ(ReadAt(1 << 30, 4096).payload, "");
}

TEST_F(DataRequestsTest, ManyPiecesAreOneReply) {
  // More pieces than one system call takes.
  std::string bytes = Bytes(128 * 1024);
  EXPECT_EQ(WriteAt(0, bytes).error, 0);
  for (size_t offset = 0; offset < bytes.size(); offset += 100) {
    bytes[offset] = 'x';
    ASSERT_EQ(WriteAt(offset, "x").error, 0);
  }
  EXPECT_EQ(ReadAt(0, static_cast<uint32_t>(bytes.size())).payload, bytes);
}

TEST_F(DataRequestsTest, MalformedWritesAreRefused) {
  const std::string payload = Bytes(4096);
  RequestHead head = Head(FUSE_WRITE);
  for (uint32_t size : {0u, 1u, 4095u, 4097u, 0x7fffffffu, 0xffffffffu}) {
    head.write.size = size;
    EXPECT_EQ(Write(head, payload, sizeof head + payload.size()).error, EIO) << size;
  }
  head.write.size = 4096;
  EXPECT_EQ(Write(head, payload, sizeof(fuse_in_header)).error, EIO) << "no head";
  EXPECT_EQ(ReadAt(0, 4096).payload, "") << "nothing was written";
}

TEST_F(DataRequestsTest, OffsetsBeyondAFile) {
  EXPECT_EQ(WriteAt(kFileSizeMax, "x").error, EFBIG);
  EXPECT_EQ(WriteAt(UINT64_MAX, "x").error, EFBIG);
  EXPECT_EQ(WriteAt(UINT64_MAX - 4, "12345678").error, EFBIG);
  EXPECT_EQ(ReadAt(UINT64_MAX, 4096).error, EINVAL);
}

TEST_F(DataRequestsTest, MalformedReadsAreRefused) {
  RequestHead head = Head(FUSE_READ);
  head.read.size = 4096;
  requests_->Read(head, sizeof head - 1);
  EXPECT_EQ(TakeReply().error, EIO);
  head.read.size = kPayloadSizeMax + 1;
  requests_->Read(head, sizeof head);
  EXPECT_EQ(TakeReply().error, EIO);
}

TEST_F(DataRequestsTest, InodeThatIsNot) {
  inode_ = InodeId(123456789);
  EXPECT_NE(WriteAt(0, "x").error, 0);
  EXPECT_NE(ReadAt(0, 4096).error, 0);
  inode_ = kRootInode;
  EXPECT_NE(WriteAt(0, "x").error, 0);
  EXPECT_NE(ReadAt(0, 4096).error, 0);
}

TEST_F(DataRequestsTest, RandomHeadsAreAnsweredOnce) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2'000; i++) {
    RequestHead head = Head(random() % 2 == 0 ? FUSE_WRITE : FUSE_READ);
    for (char& byte : head.bytes) byte = static_cast<char>(random());
    if (random() % 2 == 0) head.read.size = static_cast<uint32_t>(random() % 8192);
    if (random() % 2 == 0) head.read.offset = random() % kMiB;
    const size_t size = random() % 8192;
    if (head.header.opcode == FUSE_WRITE) {
      Write(head, std::string(size, 'x'), sizeof head + size);
    } else {
      requests_->Read(head, sizeof head + (random() % 8 == 0 ? size : 0));
      TakeReply();
    }
    ASSERT_TRUE(NoReplyWaits());
  }
}

TEST_F(DataRequestsTest, FaultsOfDirectHandlesAreNoticed) {
  RequestHead head = Head(FUSE_READ);
  head.read.size = 4096;
  head.read.fh = FileHandle{.inode = inode_, .read = true}.Encode();
  head.read.read_flags = FUSE_READ_LOCKOWNER;
  requests_->Read(head, sizeof head);
  TakeReply();
  EXPECT_TRUE(open_modes_.TakeInodesWithPages().empty()) << "a plain read";
  head.read.read_flags = 0;
  requests_->Read(head, sizeof head);
  TakeReply();
  EXPECT_EQ(open_modes_.TakeInodesWithPages(), std::vector<InodeId>{inode_});
}

}  // namespace
}  // namespace terrace::mount
