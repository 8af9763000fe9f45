// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/control_service.h"

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/mutex.h"
#include "mount/status_json.h"

namespace terrace::mount {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kProgressInterval(200);

std::string Line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string VerdictLine(const Status& status) {
  if (status) return Line({{"ok", true}});
  return Line({{"ok", false},
               {"code", std::string(ErrcName(status.error().code))},
               {"error", status.error().context}});
}

// What a flush and its client share: either may be gone first.
struct PendingFlush {
  Mutex mu;
  CondVar done;
  std::optional<Status> result TERRACE_GUARDED_BY(mu);
};

}  // namespace

void ControlService::Handle(const std::string& request, const ControlSocket::Send& send) {
  json parsed = json::parse(request, nullptr, false);
  std::string verb;
  if (parsed.is_object() && parsed.contains("verb") && parsed["verb"].is_string()) {
    verb = parsed["verb"].get<std::string>();
  }
  Status result = Fail(Errc::kInvalid, "no such request");
  if (verb == "status") {
    send(Line({{"ok", true}, {"status", StatusJson(volume_, session_, mount_)}}));
    return;
  }
  if (verb == "flush" && parsed.contains("inode") && parsed["inode"].is_number_unsigned()) {
    InodeId inode(parsed["inode"].get<uint64_t>());
    result = inode == kRootInode ? FlushAll(send) : volume_.FlushBelow(inode);
  } else if (verb == "evict_dram") {
    // The kernel's pages first: dropping them may write some back to us.
    session_.DropCachedPages();
    volume_.EvictDram();
    result = {};
  }
  send(VerdictLine(result));
}

Status ControlService::FlushAll(const ControlSocket::Send& send) {
  auto pending = std::make_shared<PendingFlush>();
  volume_.FlushAll([pending](Status status) {
    MutexLock lock(pending->mu);
    pending->result = std::move(status);
    pending->done.NotifyAll();
  });
  for (;;) {
    {
      MutexLock lock(pending->mu);
      if (!pending->result) pending->done.WaitFor(pending->mu, kProgressInterval);
      if (pending->result) return *pending->result;
    }
    if (!send(Line({{"dirty_bytes", volume_.GetStatus().dram.dirty_bytes}}))) {
      return Fail(Errc::kShutdown, "the client is gone");
    }
  }
}

Errc ErrcFromName(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(Errc::kShutdown); code++) {
    if (ErrcName(static_cast<Errc>(code)) == name) return static_cast<Errc>(code);
  }
  return Errc::kIo;
}

}  // namespace terrace::mount
