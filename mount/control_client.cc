// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/control_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mount/control_service.h"
#include "mount/runtime_directory.h"

namespace terrace::mount {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kSendTimeout(5000);
constexpr std::chrono::milliseconds kAnswerTimeout(30'000);
// A flush takes as long as the devices need.
constexpr std::chrono::milliseconds kForEver(0);

Result<LineSocket> ConnectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Fail(Errc::kNameTooLong, path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return FailErrno(errno, "making a socket");
  LineSocket connected(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return FailErrno(errno, path);
  }
  return connected;
}

Result<json> Parse(const std::string& line) {
  json answer = json::parse(line, nullptr, false);
  if (!answer.is_object()) return Fail(Errc::kIo, "the daemon's answer makes no sense");
  return answer;
}

// The daemon's verdict, if this is the last line of an answer.
Status Verdict(const json& answer) {
  if (answer.value("ok", false)) return {};
  return Fail(ErrcFromName(answer.value("code", "")), answer.value("error", "no reason given"));
}

}  // namespace

Result<ControlClient> ControlClient::Connect(const MountEntry& mount) {
  if (geteuid() != 0 && geteuid() != mount.owner) {
    return Fail(Errc::kPermission, mount.mount_point + ": mounted by user " +
                                       std::to_string(mount.owner) +
                                       ": run this as that user or as root");
  }
  for (const std::string& directory : RuntimeDirectoriesOf(mount.owner)) {
    Result<LineSocket> socket = ConnectTo(directory + "/" + SocketName(mount));
    if (!socket) continue;
    TERRACE_ASSIGN_OR_RETURN(LineSocket::Peer peer, socket->GetPeer());
    if (peer.uid != mount.owner) continue;
    return ControlClient(std::move(*socket), peer.pid);
  }
  return Fail(Errc::kNotFound,
              mount.mount_point + ": its daemon does not answer: look into its log");
}

Result<std::string> ControlClient::Status() {
  TERRACE_TRY(socket_.WriteLine(json{{"verb", "status"}}.dump(), kSendTimeout));
  TERRACE_ASSIGN_OR_RETURN(std::string line, socket_.ReadLine(kAnswerTimeout));
  TERRACE_ASSIGN_OR_RETURN(json answer, Parse(line));
  TERRACE_TRY(Verdict(answer));
  return answer.value("status", json::object()).dump();
}

Status ControlClient::Flush(uint64_t inode, const std::function<void(uint64_t)>& progress) {
  TERRACE_TRY(socket_.WriteLine(json{{"verb", "flush"}, {"inode", inode}}.dump(), kSendTimeout));
  for (;;) {
    TERRACE_ASSIGN_OR_RETURN(std::string line, socket_.ReadLine(kForEver));
    TERRACE_ASSIGN_OR_RETURN(json answer, Parse(line));
    if (answer.contains("ok")) return Verdict(answer);
    if (answer.contains("dirty_bytes") && answer["dirty_bytes"].is_number_unsigned()) {
      progress(answer["dirty_bytes"].get<uint64_t>());
    }
  }
}

Status ControlClient::EvictDram() {
  TERRACE_TRY(socket_.WriteLine(json{{"verb", "evict_dram"}}.dump(), kSendTimeout));
  TERRACE_ASSIGN_OR_RETURN(std::string line, socket_.ReadLine(kForEver));
  TERRACE_ASSIGN_OR_RETURN(json answer, Parse(line));
  return Verdict(answer);
}

// Begins with the mount table: a daemon listens for a moment after its mount has gone.
bool ServesAMount(pid_t pid) {
  Result<std::vector<MountEntry>> table = ReadMountTable();
  if (!table) return false;
  return std::any_of(table->begin(), table->end(), [pid](const MountEntry& mount) {
    if (!mount.IsTerrace()) return false;
    Result<ControlClient> client = ControlClient::Connect(mount);
    return client && client->engine_pid() == pid;
  });
}

}  // namespace terrace::mount
