// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/faulty_file.h"

#include <cstring>
#include <utility>

#include "base/units.h"

namespace terrace::io {

void FaultyFile::Arm(const Fault& fault) {
  MutexLock lock(mu_);
  armed_.push_back(fault);
}

void FaultyFile::Disarm() {
  MutexLock lock(mu_);
  armed_.clear();
}

uint64_t FaultyFile::struck_count() const {
  MutexLock lock(mu_);
  return struck_count_;
}

FaultyFile::Request FaultyFile::RequestOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kFailRead:
    case FaultKind::kFlipBit:
    case FaultKind::kZeroBlock: return Request::kRead;
    case FaultKind::kFailWrite:
    case FaultKind::kTearWrite:
    case FaultKind::kLoseWrite: return Request::kWrite;
    case FaultKind::kFailSync: return Request::kSync;
    case FaultKind::kFailGrow: return Request::kGrow;
  }
  return Request::kRead;
}

std::optional<Fault> FaultyFile::Strike(Request request) {
  MutexLock lock(mu_);
  std::optional<Fault> striking;
  for (Fault& fault : armed_) {
    if (RequestOf(fault.kind) != request || fault.times == 0) continue;
    if (fault.after > 0) {
      fault.after--;
    } else if (!striking) {
      if (fault.times != Fault::kForever) fault.times--;
      striking = fault;
      struck_count_++;
    }
  }
  return striking;
}

Status FaultyFile::Failure(const Fault& fault, const char* what) const {
  return Fail(fault.code, path() + ": " + what + ": a fault that the test armed");
}

void FaultyFile::Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) {
  std::optional<Fault> fault = Strike(Request::kRead);
  if (!fault) return base_->Read(offset_bytes, std::move(pieces), std::move(done));
  if (fault->kind == FaultKind::kFailRead) return done(Failure(*fault, "read"));
  auto* first = static_cast<std::byte*>(pieces.front().iov_base);
  base_->Read(offset_bytes, std::move(pieces),
              [first, kind = fault->kind, done = std::move(done)](Status status) {
                if (kind == FaultKind::kFlipBit) *first ^= std::byte{0x10};
                if (kind == FaultKind::kZeroBlock) std::memset(first, 0, kBlockSize);
                done(std::move(status));
              });
}

void FaultyFile::Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) {
  std::optional<Fault> fault = Strike(Request::kWrite);
  if (!fault) return base_->Write(offset_bytes, std::move(pieces), std::move(done));
  if (fault->kind == FaultKind::kLoseWrite) return done({});
  Status failure = Failure(*fault, "write");
  if (fault->kind == FaultKind::kFailWrite) return done(std::move(failure));
  base_->Write(offset_bytes, {{pieces.front().iov_base, kBlockSize}},
               [failure, done = std::move(done)](Status) { done(failure); });
}

Status FaultyFile::Sync() {
  if (std::optional<Fault> fault = Strike(Request::kSync)) return Failure(*fault, "sync");
  return base_->Sync();
}

void FaultyFile::StartSync(IoDone done) {
  if (std::optional<Fault> fault = Strike(Request::kSync)) return done(Failure(*fault, "sync"));
  base_->StartSync(std::move(done));
}

Status FaultyFile::Grow(uint64_t size_bytes) {
  if (std::optional<Fault> fault = Strike(Request::kGrow)) return Failure(*fault, "grow");
  return base_->Grow(size_bytes);
}

}  // namespace terrace::io
