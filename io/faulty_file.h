// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// FaultyFile: a File that passes everything on to another one, except for the faults a test
// arms.
//
// Role     Fails requests, flips bits, zeroes, tears and loses blocks: what devices do. A fault
//          strikes the n-th request of its kind from now on, once or for ever.
// Owner    Whoever owns the File; the test keeps a pointer to arm it.
// Threads  Thread-safe; callbacks run without mu_.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "io/file.h"

namespace terrace::io {

enum class FaultKind {
  kFailRead,   // answers `code`, the memory is untouched
  kFlipBit,    // a read succeeds with one bit of its first block flipped
  kZeroBlock,  // a read succeeds with its first block zeroed
  kFailWrite,  // answers `code`, nothing is written
  kTearWrite,  // only the first block is written, the rest is not: answers `code`
  kLoseWrite,  // answers success, nothing is written
  kFailSync,   // answers `code`, nothing is synced
  kFailGrow,   // answers `code`
};

struct Fault {
  FaultKind kind = FaultKind::kFailRead;
  Errc code = Errc::kIo;
  uint64_t after = 0;  // requests of that kind that pass before it strikes
  uint64_t times = 1;  // how many requests it strikes; kForever: all that follow
  static constexpr uint64_t kForever = UINT64_MAX;
};

class FaultyFile final : public File {
 public:
  explicit FaultyFile(std::unique_ptr<File> base) : base_(std::move(base)) {}

  void Arm(const Fault& fault);
  // No fault strikes any more.
  void Disarm();
  // How many requests were struck.
  uint64_t struck_count() const;

  void Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) override;
  void Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) override;
  Status Sync() override;
  void StartSync(IoDone done) override;
  uint64_t size_bytes() const override { return base_->size_bytes(); }
  Status Grow(uint64_t size_bytes) override;
  uint64_t room_bytes() const override { return base_->room_bytes(); }
  uint64_t FirstUnwritten(uint64_t begin_bytes, uint64_t end_bytes) const override {
    return base_->FirstUnwritten(begin_bytes, end_bytes);
  }
  const std::string& path() const override { return base_->path(); }
  void RegisterMemory(std::byte* base, size_t size_bytes) override {
    base_->RegisterMemory(base, size_bytes);
  }

 private:
  enum class Request { kRead, kWrite, kSync, kGrow };

  static Request RequestOf(FaultKind kind);
  // The fault that strikes this request, if one does.
  std::optional<Fault> Strike(Request request) TERRACE_EXCLUDES(mu_);
  Status Failure(const Fault& fault, const char* what) const;

  // Dependencies.
  const std::unique_ptr<File> base_;
  // Guarded by mu_.
  mutable Mutex mu_;
  std::vector<Fault> armed_ TERRACE_GUARDED_BY(mu_);
  uint64_t struck_count_ TERRACE_GUARDED_BY(mu_) = 0;
};

}  // namespace terrace::io
