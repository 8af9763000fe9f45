// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the control socket serves honest clients beside garbage, slow and vanished ones, and ends
// at once.
// Method: a socket in a temporary directory with a handler of the test; raw bytes as a client.
#include "mount/control_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <latch>
#include <random>

#include "base/status_latch.h"
#include "mount/line_socket.h"
#include "tests/support/io_support.h"

namespace terrace::mount {
namespace {

constexpr std::chrono::milliseconds kPatience(20'000);

class ControlSocketTest : public ::testing::Test {
 protected:
  void Listen(ControlSocket::Handler handler) {
    Result<std::unique_ptr<ControlSocket>> control =
        ControlSocket::Listen(path_, std::move(handler));
    ASSERT_TRUE(control) << control.error().context;
    control_ = std::move(*control);
  }
  static void Echo(const std::string& request, const ControlSocket::Send& send) {
    send("heard " + request);
  }
  int ConnectRaw() const {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
    return fd;
  }
  // "nothing" if the daemon turned us away.
  std::string Ask(const std::string& request) const {
    LineSocket socket(ConnectRaw());
    if (!socket.WriteLine(request, kPatience)) return "nothing";
    return socket.ReadLine(kPatience).value_or("nothing");
  }
  // Clients before this one may still hold slots for a moment.
  std::string AskUntilHeard(const std::string& request) const {
    std::string answer;
    for (int attempt = 0; attempt < 10'000 && !answer.starts_with("heard"); attempt++) {
      answer = Ask(request);
    }
    return answer;
  }

  io::IoTempDirectory directory_;
  const std::string path_ = directory_ / "control.sock";
  std::unique_ptr<ControlSocket> control_;
};

TEST_F(ControlSocketTest, AnswersEachClient) {
  Listen(Echo);
  for (int i = 0; i < 50; i++) {
    EXPECT_EQ(AskUntilHeard(std::to_string(i)), "heard " + std::to_string(i));
  }
}

TEST_F(ControlSocketTest, IsPrivateAndGoesWithItsOwner) {
  Listen(Echo);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  control_.reset();
  EXPECT_NE(stat(path_.c_str(), &status), 0);
}

TEST_F(ControlSocketTest, ReplacesWhatADeadDaemonLeft) {
  close(open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  Listen(Echo);
  EXPECT_EQ(Ask("x"), "heard x");
}

TEST_F(ControlSocketTest, PathTooLong) {
  Result<std::unique_ptr<ControlSocket>> control =
      ControlSocket::Listen(directory_ / std::string(200, 'x'), Echo);
  ASSERT_FALSE(control);
  EXPECT_EQ(control.error().code, Errc::kNameTooLong);
}

TEST_F(ControlSocketTest, SendsManyLines) {
  Listen([](const std::string&, const ControlSocket::Send& send) {
    for (int i = 0; i < 1000; i++) send(std::to_string(i));
  });
  LineSocket socket(ConnectRaw());
  ASSERT_TRUE(socket.WriteLine("go", kPatience));
  for (int i = 0; i < 1000; i++) {
    ASSERT_EQ(socket.ReadLine(kPatience).value_or("nothing"), std::to_string(i));
  }
  EXPECT_FALSE(socket.ReadLine(kPatience)) << "closed at the end";
}

TEST_F(ControlSocketTest, GarbageCostsNothing) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Listen(Echo);
  for (int i = 0; i < 100; i++) {
    std::string bytes(random() % 9000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    int fd = ConnectRaw();
    [[maybe_unused]] ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(fd);
  }
  EXPECT_EQ(AskUntilHeard("x"), "heard x");
}

TEST_F(ControlSocketTest, EndlessLineIsCutOff) {
  Listen(Echo);
  int fd = ConnectRaw();
  const std::string part(64 * 1024, 'x');
  size_t sent_total = 0;
  ssize_t sent;
  while ((sent = send(fd, part.data(), part.size(), MSG_NOSIGNAL)) > 0) {
    sent_total += static_cast<size_t>(sent);
    ASSERT_LT(sent_total, 100 * LineSocket::kLineSizeMax);
  }
  close(fd);
  EXPECT_EQ(AskUntilHeard("x"), "heard x");
}

TEST_F(ControlSocketTest, TooManyClientsAreTold) {
  std::latch release(1);
  Listen([&](const std::string& request, const ControlSocket::Send& send) {
    release.wait();
    send("heard " + request);
  });
  std::vector<LineSocket> waiting;
  std::string refused;
  for (int i = 0; i < 20 && refused.empty(); i++) {
    LineSocket socket(ConnectRaw());
    // May fail: a refused client is not listened to.
    [[maybe_unused]] Status asked = socket.WriteLine("x", kPatience);
    // Whoever is admitted hears nothing yet.
    Result<std::string> line = socket.ReadLine(std::chrono::milliseconds(50));
    if (line) refused = *line;
    waiting.push_back(std::move(socket));
  }
  EXPECT_NE(refused.find("\"busy\""), std::string::npos) << refused;
  release.count_down();
  EXPECT_EQ(waiting.front().ReadLine(kPatience).value_or("nothing"), "heard x");
  control_.reset();  // before what the handler uses
}

TEST_F(ControlSocketTest, EndsWhileClientsAreSilent) {
  Listen(Echo);
  LineSocket silent(ConnectRaw());
  EXPECT_EQ(Ask("x"), "heard x");
  const auto start = std::chrono::steady_clock::now();
  control_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
  EXPECT_FALSE(silent.ReadLine(kPatience));
}

TEST_F(ControlSocketTest, HandlerHearsThatTheClientIsGone) {
  std::latch gone(1);
  Listen([&](const std::string&, const ControlSocket::Send& send) {
    while (send("still here")) {
    }
    gone.count_down();
  });
  {
    LineSocket socket(ConnectRaw());
    ASSERT_TRUE(socket.WriteLine("x", kPatience));
    ASSERT_TRUE(socket.ReadLine(kPatience));
  }
  gone.wait();
  control_.reset();  // before what the handler uses
}

TEST(LineSocketTest, TimesOut) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  LineSocket mine(ends[0]);
  LineSocket theirs(ends[1]);
  EXPECT_FALSE(mine.ReadLine(std::chrono::milliseconds(20)));
  ASSERT_TRUE(theirs.WriteLine("two", kPatience));
  ASSERT_TRUE(theirs.WriteLine("", kPatience));
  EXPECT_EQ(mine.ReadLine(kPatience).value_or("nothing"), "two");
  EXPECT_EQ(mine.ReadLine(kPatience).value_or("nothing"), "");
  EXPECT_EQ(mine.GetPeer().value().uid, geteuid());
  EXPECT_EQ(mine.GetPeer().value().pid, getpid());
  theirs.Shutdown();
  EXPECT_FALSE(mine.ReadLine(kPatience));
}

TEST(LineSocketTest, WriterGivesUpWhenNobodyReads) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  LineSocket mine(ends[0]);
  LineSocket theirs(ends[1]);
  const std::string line(8 * 1024 * 1024, 'x');
  EXPECT_FALSE(mine.WriteLine(line, std::chrono::milliseconds(20)));
}

}  // namespace
}  // namespace terrace::mount
