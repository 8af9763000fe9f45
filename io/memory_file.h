// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// MemoryFile: a File in memory, for tests. Completes on the caller's thread or, when paused,
// when the test says so.
//
// Role     Blocks that were never written read as zeros and take no memory. Writes since the
//          last Sync are kept apart, so that a power loss can be played.
// Threads  Thread-safe; callbacks run without mu_.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/units.h"
#include "io/file.h"

namespace terrace::io {

class MemoryFile final : public File {
 public:
  explicit MemoryFile(uint64_t size_bytes, std::string path = "memory");

  void Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) override;
  void Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) override;
  Status Sync() override;
  uint64_t size_bytes() const override;
  Status Grow(uint64_t size_bytes) override;
  uint64_t room_bytes() const override;
  uint64_t FirstUnwritten(uint64_t begin_bytes, uint64_t end_bytes) const override;
  const std::string& path() const override { return path_; }

  // Between Pause and Resume requests are kept and complete, in order, at Resume.
  void Pause();
  void Resume();
  size_t kept_count() const;
  // Forgets every write since the last Sync, like a power loss.
  void LoseUnsynced();
  uint64_t sync_count() const;
  // The host's file system has room for this much growth; at first for any.
  void SetRoom(uint64_t room_bytes);

 private:
  using Block = std::array<std::byte, kBlockSize>;
  using Blocks = std::unordered_map<uint64_t, std::unique_ptr<Block>>;

  void RunOrKeep(std::function<void()> transfer) TERRACE_EXCLUDES(mu_);
  Status Check(uint64_t offset_bytes, const std::vector<iovec>& pieces) const TERRACE_REQUIRES(mu_);
  Status CopyOut(uint64_t offset_bytes, const std::vector<iovec>& pieces) TERRACE_EXCLUDES(mu_);
  Status CopyIn(uint64_t offset_bytes, const std::vector<iovec>& pieces) TERRACE_EXCLUDES(mu_);

  // Constant after construction.
  const std::string path_;
  // Guarded by mu_.
  mutable Mutex mu_;
  uint64_t size_bytes_ TERRACE_GUARDED_BY(mu_);
  uint64_t room_bytes_ TERRACE_GUARDED_BY(mu_) = UINT64_MAX;
  Blocks synced_ TERRACE_GUARDED_BY(mu_);
  Blocks unsynced_ TERRACE_GUARDED_BY(mu_);  // newer than what synced_ has
  std::deque<std::function<void()>> kept_ TERRACE_GUARDED_BY(mu_);
  bool paused_ TERRACE_GUARDED_BY(mu_) = false;
  uint64_t sync_count_ TERRACE_GUARDED_BY(mu_) = 0;
};

}  // namespace terrace::io
