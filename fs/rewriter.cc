// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/rewriter.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/status_latch.h"
#include "base/units.h"
#include "fs/file_data.h"

namespace terrace::fs {

namespace {

constexpr uint64_t kWindowSize = kExtentSizeMax;
// A window with at most this many entries is good enough.
constexpr size_t kEntriesPerWindow = 2;
// A map may have this many entries more than its size asks for.
constexpr size_t kSlackEntries = 64;

}  // namespace

// A run of bytes without a hole inside one window, as it was when it was looked at.
struct Rewriter::Run {
  struct Piece {
    uint64_t offset;
    ExtentMap::Entry entry;  // or the part of it that lies in the window
  };
  uint64_t offset = 0;  // of the first byte
  uint32_t size = 0;
  std::vector<Piece> pieces;
  cache::Buffer buffer;

  uint64_t end() const { return offset + size; }
};

Rewriter::Rewriter(Dependencies dependencies, int64_t quiet_ns)
    : deps_(dependencies), quiet_ns_(quiet_ns) {}

Rewriter::~Rewriter() { Stop(); }

bool Rewriter::IsFragmented(const ExtentMap& map) {
  size_t ideal = map.mapped_bytes() / kExtentSizeMax + 1;
  return map.size() > kEntriesPerWindow * ideal + kSlackEntries;
}

void Rewriter::Start() {
  thread_ = Thread("rewriter", [this] { Main(); });
}

void Rewriter::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.Join();
}

void Rewriter::Note(InodeId inode) {
  MutexLock lock(mu_);
  noted_[inode] = deps_.clock.MonotonicNs();
  changed_.NotifyAll();
}

void Rewriter::Drain() {
  MutexLock lock(mu_);
  while (!stopping_ && (busy_ || !noted_.empty())) changed_.Wait(mu_);
}

bool Rewriter::Stopping() {
  MutexLock lock(mu_);
  return stopping_;
}

void Rewriter::Main() {
  Thread::GiveWay();
  for (;;) {
    InodeId next;
    {
      MutexLock lock(mu_);
      busy_ = false;
      changed_.NotifyAll();
      while (!stopping_ && next == kNoInode) {
        int64_t now = deps_.clock.MonotonicNs();
        int64_t until = INT64_MAX;
        for (const auto& [inode, noted_ns] : noted_) {
          if (noted_ns + quiet_ns_ <= now) next = inode;
          until = std::min(until, noted_ns + quiet_ns_);
        }
        if (next != kNoInode) break;
        if (until == INT64_MAX) {
          changed_.Wait(mu_);
        } else {
          changed_.WaitFor(mu_, std::chrono::nanoseconds(until - now));
        }
      }
      if (stopping_) return;
      noted_.erase(next);
      busy_ = true;
    }
    RewriteFile(next);
  }
}

void Rewriter::RewriteFile(InodeId id) {
  InodeRef inode = deps_.inodes.Peek(id);
  if (inode == nullptr) return;
  uint64_t size;
  {
    ReaderLock lock(inode->mu);
    if (inode->data == nullptr || !IsFragmented(inode->data->map)) return;
    size = inode->record.size_bytes;
  }
  for (uint64_t offset = 0; offset < size && !Stopping();) {
    const uint64_t window_end = RoundDown(offset, kWindowSize) + kWindowSize;
    Run run = FindRun(*inode, offset, window_end);
    if (run.pieces.empty()) {
      offset = window_end;
      continue;
    }
    offset = run.end();
    Status read = ReadRun(run);
    if (!read && read.error().code != Errc::kBusy) continue;  // it stays as it is
    Status replaced = read ? ReplaceRun(*inode, run) : read;
    if (!replaced) {
      Note(id);  // later, when there is memory and space
      return;
    }
    deps_.write_back.Kick();
  }
}

// The first run of durable bytes in [offset, window_end) that more than a few entries share;
// without pieces: none.
Rewriter::Run Rewriter::FindRun(Inode& inode, uint64_t offset, uint64_t window_end) {
  Run run;
  ReaderLock lock(inode.mu);
  if (inode.data == nullptr) return run;  // freed meanwhile
  const ExtentMap& map = inode.data->map;
  for (auto at = map.FirstBehind(offset); at != map.end() && at->first < window_end; ++at) {
    const auto& [start, entry] = *at;
    const uint64_t from = std::max(offset, start);
    const uint64_t to = std::min(window_end, start + entry.size);
    const bool goes_on = entry.extent->durable() && from == run.end();
    if (!goes_on) {
      if (run.pieces.size() > kEntriesPerWindow) return run;
      run = Run{};
      if (!entry.extent->durable()) continue;
    }
    if (run.pieces.empty()) run.offset = from;
    run.size += static_cast<uint32_t>(to - from);
    run.pieces.push_back(
        {from,
         {static_cast<uint32_t>(to - from),
          entry.extent_offset + static_cast<uint32_t>(from - start), entry.extent}});
  }
  return run.pieces.size() > kEntriesPerWindow ? std::move(run) : Run{};
}

// Copies the run's bytes. Errors: kBusy when there is no memory to spare.
Status Rewriter::ReadRun(Run& run) {
  std::optional<cache::Buffer> buffer = deps_.cache.TryAllocateBuffer(run.size);
  if (!buffer) return Fail(Errc::kBusy, "no memory to spare");
  run.buffer = std::move(*buffer);
  std::vector<cache::ReadPiece> pieces;
  for (const Run::Piece& piece : run.pieces) {
    pieces.push_back({piece.entry.extent, piece.entry.extent_offset, piece.entry.size});
  }
  StatusLatch copied;
  deps_.cache.PinForRead(std::move(pieces), cache::FetchMode::kKeep,
                         [&](Result<cache::PinnedBytes> bytes) {
                           if (!bytes) {
                             copied.Set(tl::unexpected<Error>(bytes.error()));
                             return;
                           }
                           std::byte* into = run.buffer.data();
                           for (const iovec& piece : bytes->pieces) {
                             std::memcpy(into, piece.iov_base, piece.iov_len);
                             into += piece.iov_len;
                           }
                           copied.Set({});
                         });
  return copied.Wait();
}

namespace {

// REWRITE-1
bool IsStillThere(const ExtentMap& map, uint64_t offset, const ExtentMap::Entry& was) {
  auto at = map.Covering(offset);
  if (at == map.end()) return false;
  const auto& [start, entry] = *at;
  return entry.extent == was.extent && start + entry.size >= offset + was.size &&
         entry.extent_offset + (offset - start) == was.extent_offset;
}

}  // namespace

Status Rewriter::ReplaceRun(Inode& inode, Run& run) {
  uint64_t blocks = BlockCount(run.size);
  TERRACE_TRY(deps_.cache.store().Reserve(blocks));
  Result<ExtentId> extent_id = deps_.ids.NextExtent();
  WriterLock lock(inode.mu);
  Result<Sequence> sequence = deps_.ids.NextSequence();
  bool unchanged = extent_id && sequence && inode.data != nullptr;
  for (const Run::Piece& piece : run.pieces) {
    unchanged = unchanged && IsStillThere(inode.data->map, piece.offset, piece.entry);
  }
  if (!unchanged) {
    deps_.cache.store().Unreserve(blocks);
    return {};
  }
  cache::ExtentCache::NewExtent what;
  what.birth = {*extent_id, inode.id, run.offset, *sequence};
  what.size_bytes = run.size;
  what.reserved_blocks = static_cast<uint32_t>(blocks);
  run.buffer.Trim(run.size);
  cache::ExtentRef extent = deps_.cache.AddDirty(what, std::move(run.buffer));
  inode.data->undurable.push_back(extent);
  inode.data->map.Put(run.offset, {run.size, 0, std::move(extent)});
  inode.data_sequence = *sequence;
  inode.record_dirty = true;
  rewritten_extents_++;
  return {};
}

}  // namespace terrace::fs
