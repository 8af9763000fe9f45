// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/memory_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace terrace::io {

MemoryFile::MemoryFile(uint64_t size_bytes, std::string path)
    : path_(std::move(path)), size_bytes_(RoundDown(size_bytes, kBlockSize)) {}

void MemoryFile::Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) {
  RunOrKeep([this, offset_bytes, pieces = std::move(pieces), done = std::move(done)] {
    done(CopyOut(offset_bytes, pieces));
  });
}

void MemoryFile::Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) {
  RunOrKeep([this, offset_bytes, pieces = std::move(pieces), done = std::move(done)] {
    done(CopyIn(offset_bytes, pieces));
  });
}

void MemoryFile::RunOrKeep(std::function<void()> transfer) {
  {
    MutexLock lock(mu_);
    if (paused_) {
      kept_.push_back(std::move(transfer));
      return;
    }
  }
  transfer();
}

Status MemoryFile::Check(uint64_t offset_bytes, const std::vector<iovec>& pieces) const {
  uint64_t end = offset_bytes;
  uint64_t bits = offset_bytes;
  for (const iovec& piece : pieces) {
    bits |= reinterpret_cast<uintptr_t>(piece.iov_base) | piece.iov_len;
    end += piece.iov_len;
    if (piece.iov_len == 0) return Fail(Errc::kInvalid, path_ + ": an empty piece");
  }
  if (pieces.empty() || bits % kBlockSize != 0) {
    return Fail(Errc::kInvalid, path_ + ": not whole, aligned blocks");
  }
  if (end > size_bytes_) return Fail(Errc::kIo, path_ + ": the device ends before that");
  return {};
}

Status MemoryFile::CopyOut(uint64_t offset_bytes, const std::vector<iovec>& pieces) {
  MutexLock lock(mu_);
  TERRACE_TRY(Check(offset_bytes, pieces));
  uint64_t block = offset_bytes / kBlockSize;
  for (const iovec& piece : pieces) {
    auto* into = static_cast<std::byte*>(piece.iov_base);
    for (size_t done = 0; done < piece.iov_len; done += kBlockSize, block++) {
      auto found = unsynced_.find(block);
      bool known = found != unsynced_.end();
      if (!known) {
        found = synced_.find(block);
        known = found != synced_.end();
      }
      if (known) {
        std::memcpy(into + done, found->second->data(), kBlockSize);
      } else {
        std::memset(into + done, 0, kBlockSize);
      }
    }
  }
  return {};
}

Status MemoryFile::CopyIn(uint64_t offset_bytes, const std::vector<iovec>& pieces) {
  MutexLock lock(mu_);
  TERRACE_TRY(Check(offset_bytes, pieces));
  uint64_t block = offset_bytes / kBlockSize;
  for (const iovec& piece : pieces) {
    const auto* from = static_cast<const std::byte*>(piece.iov_base);
    for (size_t done = 0; done < piece.iov_len; done += kBlockSize, block++) {
      std::unique_ptr<Block>& kept = unsynced_[block];
      if (!kept) kept = std::make_unique<Block>();
      std::memcpy(kept->data(), from + done, kBlockSize);
    }
  }
  return {};
}

Status MemoryFile::Sync() {
  MutexLock lock(mu_);
  for (auto& [block, bytes] : unsynced_) synced_[block] = std::move(bytes);
  unsynced_.clear();
  sync_count_++;
  return {};
}

uint64_t MemoryFile::size_bytes() const {
  MutexLock lock(mu_);
  return size_bytes_;
}

Status MemoryFile::Grow(uint64_t size_bytes) {
  MutexLock lock(mu_);
  size_bytes = RoundUp(size_bytes, kBlockSize);
  if (size_bytes <= size_bytes_) return {};
  uint64_t more = size_bytes - size_bytes_;
  if (more > room_bytes_) return Fail(Errc::kNoSpace, path_ + ": its file system is full");
  if (room_bytes_ != UINT64_MAX) room_bytes_ -= more;
  size_bytes_ = size_bytes;
  return {};
}

uint64_t MemoryFile::room_bytes() const {
  MutexLock lock(mu_);
  return room_bytes_;
}

uint64_t MemoryFile::FirstUnwritten(uint64_t begin_bytes, uint64_t end_bytes) const {
  MutexLock lock(mu_);
  for (uint64_t block = begin_bytes / kBlockSize; block * kBlockSize < end_bytes; block++) {
    if (unsynced_.count(block) == 0 && synced_.count(block) == 0) {
      return std::max(begin_bytes, block * kBlockSize);
    }
  }
  return end_bytes;
}

void MemoryFile::SetRoom(uint64_t room_bytes) {
  MutexLock lock(mu_);
  room_bytes_ = room_bytes;
}

void MemoryFile::Pause() {
  MutexLock lock(mu_);
  paused_ = true;
}

// Requests that come while the kept ones complete are kept too, and complete after them.
void MemoryFile::Resume() {
  for (;;) {
    std::function<void()> transfer;
    {
      MutexLock lock(mu_);
      if (kept_.empty()) {
        paused_ = false;
        return;
      }
      transfer = std::move(kept_.front());
      kept_.pop_front();
    }
    transfer();
  }
}

size_t MemoryFile::kept_count() const {
  MutexLock lock(mu_);
  return kept_.size();
}

void MemoryFile::LoseUnsynced() {
  MutexLock lock(mu_);
  unsynced_.clear();
}

uint64_t MemoryFile::sync_count() const {
  MutexLock lock(mu_);
  return sync_count_;
}

}  // namespace terrace::io
