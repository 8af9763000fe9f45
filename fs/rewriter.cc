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

// One window's run of bytes without a hole, as it was when it was read.
struct Rewriter::Window {
  struct Piece {
    uint64_t offset;
    ExtentMap::Entry entry;
  };
  uint64_t offset = 0;  // of the first byte
  uint32_t size = 0;
  std::vector<Piece> pieces;  // whole entries
  cache::Buffer buffer;
};

Rewriter::Rewriter(Dependencies dependencies, int64_t quiet_ns)
    : deps_(dependencies), quiet_ns_(quiet_ns) {}

Rewriter::~Rewriter() { Stop(); }

bool Rewriter::IsFragmented(const ExtentMap& map) {
  size_t ideal = map.mapped_bytes() / kExtentSizeMax + 1;
  return map.size() > kEntriesPerWindow * ideal + kSlackEntries;
}

void Rewriter::Start() {
  thread_ = Thread("rewriter", [this] { Run(); });
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

void Rewriter::Run() {
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
  for (uint64_t offset = 0; offset < size && !Stopping(); offset += kWindowSize) {
    Result<Window> window = ReadWindow(*inode, offset);
    if (!window) return;
    if (window->pieces.empty()) continue;
    if (!ReplaceWindow(*inode, *window)) return;
    deps_.write_back.Kick();
  }
}

// Copies what lies in the window, if that is worth it and all of it is durable.
Result<Rewriter::Window> Rewriter::ReadWindow(Inode& inode, uint64_t offset) {
  Window window;
  std::vector<cache::ReadPiece> pieces;
  {
    ReaderLock lock(inode.mu);
    if (inode.data == nullptr) return Fail(Errc::kNotFound, "freed meanwhile");
    const ExtentMap& map = inode.data->map;
    for (auto at = map.FirstBehind(offset); at != map.end(); ++at) {
      const auto& [start, entry] = *at;
      if (start < offset) continue;  // began in the window before and stays as it is
      if (start + entry.size > offset + kWindowSize) break;
      bool adjoins = window.pieces.empty() || start == window.offset + window.size;
      if (!adjoins || !entry.extent->durable()) break;
      if (window.pieces.empty()) window.offset = start;
      window.size += entry.size;
      window.pieces.push_back({start, entry});
      pieces.push_back({entry.extent, entry.extent_offset, entry.size});
    }
  }
  if (window.pieces.size() <= kEntriesPerWindow) return Window{};
  std::optional<cache::Buffer> buffer = deps_.cache.TryAllocateBuffer(window.size);
  if (!buffer) return Fail(Errc::kBusy, "no memory to spare");
  window.buffer = std::move(*buffer);
  StatusLatch copied;
  deps_.cache.PinForRead(std::move(pieces), cache::FetchMode::kKeep,
                         [&](Result<cache::PinnedBytes> bytes) {
                           if (!bytes) {
                             copied.Set(tl::unexpected<Error>(bytes.error()));
                             return;
                           }
                           std::byte* into = window.buffer.data();
                           for (const iovec& piece : bytes->pieces) {
                             std::memcpy(into, piece.iov_base, piece.iov_len);
                             into += piece.iov_len;
                           }
                           copied.Set({});
                         });
  TERRACE_TRY(copied.Wait());
  return window;
}

Status Rewriter::ReplaceWindow(Inode& inode, Window& window) {
  uint64_t blocks = BlockCount(window.size);
  TERRACE_TRY(deps_.cache.store().Reserve(blocks));
  Result<ExtentId> extent_id = deps_.ids.NextExtent();
  WriterLock lock(inode.mu);
  Result<Sequence> sequence = deps_.ids.NextSequence();
  bool unchanged = extent_id && sequence && inode.data != nullptr;
  if (unchanged) {
    for (const Window::Piece& piece : window.pieces) {  // REWRITE-1
      auto at = inode.data->map.Covering(piece.offset);
      unchanged = unchanged && at != inode.data->map.end() && at->first == piece.offset &&
                  at->second.size == piece.entry.size &&
                  at->second.extent == piece.entry.extent &&
                  at->second.extent_offset == piece.entry.extent_offset;
    }
  }
  if (!unchanged) {
    deps_.cache.store().Unreserve(blocks);
    return {};
  }
  cache::ExtentCache::NewExtent what;
  what.birth = {*extent_id, inode.id, window.offset, *sequence};
  what.size_bytes = window.size;
  what.reserved_blocks = static_cast<uint32_t>(blocks);
  window.buffer.Trim(window.size);
  cache::ExtentRef extent = deps_.cache.AddDirty(what, std::move(window.buffer));
  inode.data->undurable.push_back(extent);
  inode.data->map.Put(window.offset, {window.size, 0, std::move(extent)});
  inode.data_sequence = *sequence;
  inode.record_dirty = true;
  rewritten_extents_++;
  return {};
}

}  // namespace terrace::fs
