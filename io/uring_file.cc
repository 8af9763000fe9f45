// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "io/uring_file.h"

#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// After the C headers: linux/fs.h defines BLOCK_SIZE and the ioctl of block devices.
#include <linux/fs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/units.h"
#include "io/transfer_limit.h"
#include "io/uring_buffers.h"

// A request takes one of queue_depth slots, or waits in order for one. Its slot's address is the
// user data of its submission entries. One entry carries up to kPiecesMax pieces; a request that
// has more, or whose completion was short, goes on with another entry from where it stopped. When
// it is finished the next waiting request takes the slot over before the callback runs, so that
// the device stays busy.

namespace terrace::io {

namespace {

constexpr size_t kPiecesMax = IOV_MAX;  // pieces in one entry
constexpr unsigned kStallsMax = 16;     // completions in a row that moved nothing
constexpr unsigned kSubmitTries = 1u << 20;
// What a growing file leaves free for others on its file system: this, or 1/32 of it if less.
constexpr uint64_t kGrowReserveBytes = 256 * kMiB;

enum class Operation : uint8_t { kRead, kWrite, kSync };

const char* NameOf(Operation operation) {
  switch (operation) {
    case Operation::kRead: return "read";
    case Operation::kWrite: return "write";
    case Operation::kSync: return "sync";
  }
  return "";
}

struct Request {
  Operation operation = Operation::kSync;
  unsigned stalls = 0;
  uint64_t offset_bytes = 0;  // of the first byte that is not transferred yet
  size_t piece = 0;           // the piece it belongs to
  std::vector<iovec> pieces;
  IoDone done;
};

bool IsAligned(uint64_t offset_bytes, const std::vector<iovec>& pieces) {
  uint64_t bits = offset_bytes;
  for (const iovec& piece : pieces) {
    bits |= reinterpret_cast<uintptr_t>(piece.iov_base) | piece.iov_len;
    if (piece.iov_len == 0) return false;
  }
  return bits % kBlockSize == 0 && !pieces.empty();
}

// Moves the request on by what was transferred, in whole blocks. Returns: true when it is done.
bool Advance(Request& request, uint64_t bytes) {
  bytes = RoundDown(bytes, kBlockSize);
  request.stalls = bytes == 0 ? request.stalls + 1 : 0;
  request.offset_bytes += bytes;
  while (request.piece < request.pieces.size() && bytes >= request.pieces[request.piece].iov_len) {
    bytes -= request.pieces[request.piece].iov_len;
    request.piece++;
  }
  if (request.piece == request.pieces.size()) return true;
  iovec& rest = request.pieces[request.piece];
  rest.iov_base = static_cast<std::byte*>(rest.iov_base) + bytes;
  rest.iov_len -= bytes;
  return false;
}

uint64_t PartBytes(const Request& part) {
  uint64_t bytes = 0;
  for (const iovec& piece : part.pieces) bytes += piece.iov_len;
  return bytes;
}

// The parts of one transfer; the last to complete reports the first failure, if there was one.
class PartJoin {
 public:
  PartJoin(size_t count, IoDone done) : remaining_(count), done_(std::move(done)) {}

  void Arrive(Status status) {
    Status outcome;
    {
      MutexLock lock(mu_);
      if (!status && outcome_) outcome_ = std::move(status);
      if (--remaining_ > 0) return;
      outcome = std::move(outcome_);
    }
    done_(std::move(outcome));
  }

 private:
  Mutex mu_;
  size_t remaining_ TERRACE_GUARDED_BY(mu_);
  Status outcome_ TERRACE_GUARDED_BY(mu_);
  const IoDone done_;
};

struct FileKind {
  bool is_block_device;
  uint64_t size_bytes;
};

Result<FileKind> KindOf(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return FailErrno(errno, path);
  if (!S_ISBLK(info.st_mode)) {
    return FileKind{false, RoundDown(static_cast<uint64_t>(info.st_size), kBlockSize)};
  }
  uint64_t size_bytes = 0;
  if (::ioctl(fd, BLKGETSIZE64, &size_bytes) != 0) return FailErrno(errno, path);
  return FileKind{true, RoundDown(size_bytes, kBlockSize)};
}

// Sets the ring up with the first flags that this kernel takes. Returns 0 or an errno.
int SetUpRing(io_uring& ring, unsigned entries) {
  // Not COOP_TASKRUN: a completion would wait until the thread that submitted it enters the kernel
  // of its own accord. Not SINGLE_ISSUER and DEFER_TASKRUN: any thread submits.
  const unsigned choices[] = {IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL, IORING_SETUP_CLAMP};
  int rc = 0;
  for (unsigned flags : choices) {
    rc = ::io_uring_queue_init(entries, &ring, flags);
    if (rc == 0) return 0;
    if (rc != -EINVAL) return -rc;
  }
  return -rc;
}

class UringFile final : public File {
 public:
  UringFile(int fd, std::string path, FileKind kind, const UringOptions& options)
      : fd_(fd),
        path_(std::move(path)),
        is_block_device_(kind.is_block_device),
        transfer_bytes_max_(TransferLimit(fd)),
        size_bytes_(kind.size_bytes),
        slots_(options.queue_depth) {}
  ~UringFile() override;

  Status Start();

  void Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) override;
  void Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) override;
  Status Sync() override;
  void StartSync(IoDone done) override;
  uint64_t size_bytes() const override { return size_bytes_.load(); }
  Status Grow(uint64_t size_bytes) override;
  uint64_t room_bytes() const override;
  uint64_t FirstUnwritten(uint64_t begin_bytes, uint64_t end_bytes) const override;
  const std::string& path() const override { return path_; }
  void RegisterMemory(std::byte* base, size_t size_bytes) override {
    buffers_->Add(base, size_bytes);
  }

 private:
  void Transfer(Request request) TERRACE_EXCLUDES(mu_);
  void Begin(Request request) TERRACE_EXCLUDES(mu_);
  void SubmitLocked(Request& request) TERRACE_REQUIRES(mu_);
  void PrepareTransfer(io_uring_sqe* entry, Request& request);
  void EnterLocked() TERRACE_REQUIRES(mu_);
  void RunCompletions();
  void Complete(Request& request, int result) TERRACE_EXCLUDES(mu_);
  bool IsFinishedLocked(Request& request, int result, Status& status) TERRACE_REQUIRES(mu_);
  Status FailureOf(const Request& request, int error) const;

  // Constant after construction.
  const int fd_;
  const std::string path_;
  const bool is_block_device_;
  const uint64_t transfer_bytes_max_;
  bool registered_file_ = false;
  bool ring_ready_ = false;
  // Thread-safe by themselves.
  std::atomic<uint64_t> size_bytes_;
  std::unique_ptr<UringBuffers> buffers_;
  io_uring ring_{};  // its submission side is guarded by mu_; completions are the thread's alone
  Thread completion_thread_;
  // Guarded by mu_, under which the system call that submits runs. Lock order: before the lock
  // of buffers_.
  Mutex mu_;
  CondVar idle_;
  std::vector<Request> slots_;  // never resized
  std::vector<Request*> free_slots_ TERRACE_GUARDED_BY(mu_);
  std::deque<Request> waiting_ TERRACE_GUARDED_BY(mu_);
};

Status UringFile::Start() {
  int error = SetUpRing(ring_, static_cast<unsigned>(slots_.size()));
  if (error == ENOSYS || error == EPERM) {
    return Fail(Errc::kUnsupported,
                path_ +
                    ": io_uring is not available here: allow it in the sysctl "
                    "kernel.io_uring_disabled and in the container's seccomp profile");
  }
  if (error != 0) return FailErrno(error, path_ + ": io_uring_setup");
  ring_ready_ = true;
  registered_file_ = ::io_uring_register_files(&ring_, &fd_, 1) == 0;
  buffers_ = std::make_unique<UringBuffers>(ring_, path_);
  {
    MutexLock lock(mu_);
    for (Request& slot : slots_) free_slots_.push_back(&slot);
  }
  completion_thread_ = Thread("terrace-uring", [this] { RunCompletions(); });
  return {};
}

UringFile::~UringFile() {
  if (ring_ready_) {
    {
      MutexLock lock(mu_);
      while (free_slots_.size() < slots_.size()) idle_.Wait(mu_);
      io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
      TERRACE_ASSERT(entry != nullptr);
      ::io_uring_prep_nop(entry);
      ::io_uring_sqe_set_data(entry, nullptr);  // tells the thread to end
      EnterLocked();
    }
    completion_thread_.Join();
    // The kernel takes a ring apart some time after its end. A file that is still registered
    // then stays open that long, with its lock and its exclusive claim on a device.
    if (registered_file_) ::io_uring_unregister_files(&ring_);
    ::io_uring_queue_exit(&ring_);
  }
  ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

void UringFile::Read(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) {
  Transfer({.operation = Operation::kRead,
            .offset_bytes = offset_bytes,
            .pieces = std::move(pieces),
            .done = std::move(done)});
}

void UringFile::Write(uint64_t offset_bytes, std::vector<iovec> pieces, IoDone done) {
  Transfer({.operation = Operation::kWrite,
            .offset_bytes = offset_bytes,
            .pieces = std::move(pieces),
            .done = std::move(done)});
}

// Begins the transfer in parts of equal size that the device takes whole.
void UringFile::Transfer(Request request) {
  uint64_t bytes = 0;
  for (const iovec& piece : request.pieces) bytes += piece.iov_len;
  if (bytes <= transfer_bytes_max_ || !IsAligned(request.offset_bytes, request.pieces)) {
    Begin(std::move(request));
    return;
  }
  const uint64_t count = (bytes + transfer_bytes_max_ - 1) / transfer_bytes_max_;
  const uint64_t part_bytes = RoundUp((bytes + count - 1) / count, kBlockSize);
  std::vector<Request> parts;
  for (const iovec& whole : request.pieces) {
    iovec piece = whole;
    while (piece.iov_len > 0) {
      uint64_t at = parts.empty() ? part_bytes : PartBytes(parts.back());
      if (at == part_bytes) {
        parts.push_back({.operation = request.operation,
                         .offset_bytes = request.offset_bytes + parts.size() * part_bytes,
                         .pieces = {},
                         .done = {}});
        at = 0;
      }
      iovec taken{piece.iov_base, std::min<size_t>(piece.iov_len, part_bytes - at)};
      parts.back().pieces.push_back(taken);
      piece.iov_base = static_cast<std::byte*>(piece.iov_base) + taken.iov_len;
      piece.iov_len -= taken.iov_len;
    }
  }
  auto join = std::make_shared<PartJoin>(parts.size(), std::move(request.done));
  for (Request& part : parts) {
    part.done = [join](Status status) { join->Arrive(std::move(status)); };
    Begin(std::move(part));
  }
}

void UringFile::StartSync(IoDone done) {
  Begin({.operation = Operation::kSync, .pieces = {}, .done = std::move(done)});
}

Status UringFile::Sync() {
  int rc;
  do {
    rc = ::fdatasync(fd_);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) return FailErrno(errno, path_ + ": fdatasync");
  return {};
}

uint64_t UringFile::room_bytes() const {
  struct statvfs info;
  if (is_block_device_ || ::fstatvfs(fd_, &info) != 0) return 0;
  uint64_t total = info.f_blocks * info.f_frsize;
  uint64_t available = info.f_bavail * info.f_frsize;
  uint64_t reserve = std::min(kGrowReserveBytes, total / 32);
  return available > reserve ? available - reserve : 0;
}

Status UringFile::Grow(uint64_t size_bytes) {
  uint64_t old_size = size_bytes_.load();
  if (size_bytes <= old_size) return {};
  std::string what = path_ + ": growing to " + FormatSize(size_bytes);
  if (is_block_device_) return Fail(Errc::kUnsupported, what + ": a block device does not grow");
  if (size_bytes - old_size > room_bytes()) {
    return Fail(Errc::kNoSpace, what + ": its file system is full");
  }
  int rc;
  do {
    rc = ::fallocate(fd_, 0, static_cast<off_t>(old_size),
                     static_cast<off_t>(size_bytes - old_size));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0 && errno == EOPNOTSUPP) rc = ::ftruncate(fd_, static_cast<off_t>(size_bytes));
  if (rc != 0) return FailErrno(errno, what);
  size_bytes_ = size_bytes;
  return {};
}

// SEEK_HOLE takes fallocated space that was never written for a hole.
uint64_t UringFile::FirstUnwritten(uint64_t begin_bytes, uint64_t end_bytes) const {
  if (is_block_device_) return end_bytes;
  off_t hole = ::lseek(fd_, static_cast<off_t>(begin_bytes), SEEK_HOLE);
  if (hole < 0) return end_bytes;
  return std::min(static_cast<uint64_t>(hole), end_bytes);
}

void UringFile::Begin(Request request) {
  if (request.operation != Operation::kSync && !IsAligned(request.offset_bytes, request.pieces)) {
    request.done(Fail(Errc::kInvalid, path_ + ": " + NameOf(request.operation) +
                                          " of what is not whole, aligned blocks"));
    return;
  }
  MutexLock lock(mu_);
  if (free_slots_.empty()) {
    waiting_.push_back(std::move(request));
    return;
  }
  Request& slot = *free_slots_.back();
  free_slots_.pop_back();
  slot = std::move(request);
  SubmitLocked(slot);
}

void UringFile::SubmitLocked(Request& request) {
  // Each slot has at most one entry underway, and there are as many entries as slots.
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
  TERRACE_ASSERT(entry != nullptr);
  if (request.operation == Operation::kSync) {
    ::io_uring_prep_fsync(entry, registered_file_ ? 0 : fd_, IORING_FSYNC_DATASYNC);
  } else {
    PrepareTransfer(entry, request);
  }
  if (registered_file_) ::io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
  ::io_uring_sqe_set_data(entry, &request);
  EnterLocked();
}

void UringFile::PrepareTransfer(io_uring_sqe* entry, Request& request) {
  int fd = registered_file_ ? 0 : fd_;
  bool is_read = request.operation == Operation::kRead;
  const iovec* pieces = &request.pieces[request.piece];
  size_t count = std::min(request.pieces.size() - request.piece, kPiecesMax);
  if (count > 1) {
    auto piece_count = static_cast<unsigned>(count);
    if (is_read) {
      ::io_uring_prep_readv(entry, fd, pieces, piece_count, request.offset_bytes);
    } else {
      ::io_uring_prep_writev(entry, fd, pieces, piece_count, request.offset_bytes);
    }
    return;
  }
  void* memory = pieces->iov_base;
  auto bytes = static_cast<unsigned>(std::min<size_t>(pieces->iov_len, kGiB));
  std::optional<uint16_t> slot = buffers_->Find(*pieces);
  if (is_read && slot) {
    ::io_uring_prep_read_fixed(entry, fd, memory, bytes, request.offset_bytes, *slot);
  } else if (is_read) {
    ::io_uring_prep_read(entry, fd, memory, bytes, request.offset_bytes);
  } else if (slot) {
    ::io_uring_prep_write_fixed(entry, fd, memory, bytes, request.offset_bytes, *slot);
  } else {
    ::io_uring_prep_write(entry, fd, memory, bytes, request.offset_bytes);
  }
}

// Hands the prepared entry to the kernel, which refuses only for want of memory.
void UringFile::EnterLocked() {
  for (unsigned i = 0; i < kSubmitTries; i++) {
    int rc = ::io_uring_submit(&ring_);
    if (rc > 0) return;
    bool passes = rc == 0 || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR || rc == -ENOMEM;
    TERRACE_ASSERT(passes);
    ::sched_yield();
  }
  AssertFailed("io_uring takes a request in the end", __FILE__, __LINE__);
}

void UringFile::RunCompletions() {
  for (;;) {
    io_uring_cqe* completion = nullptr;
    int rc = ::io_uring_wait_cqe(&ring_, &completion);
    if (rc == -EINTR || rc == -EAGAIN) continue;
    TERRACE_ASSERT(rc == 0);
    auto* request = static_cast<Request*>(::io_uring_cqe_get_data(completion));
    int result = completion->res;
    ::io_uring_cqe_seen(&ring_, completion);
    if (request == nullptr) return;
    Complete(*request, result);
  }
}

void UringFile::Complete(Request& request, int result) {
  IoDone done;
  Status status;
  {
    MutexLock lock(mu_);
    if (!IsFinishedLocked(request, result, status)) {
      SubmitLocked(request);
      return;
    }
    done = std::move(request.done);
    if (!waiting_.empty()) {
      request = std::move(waiting_.front());
      waiting_.pop_front();
      SubmitLocked(request);
    } else {
      request = Request{};
      free_slots_.push_back(&request);
      if (free_slots_.size() == slots_.size()) idle_.NotifyAll();
    }
  }
  done(std::move(status));
}

// Takes a completion in. Returns: false when the rest, or all of it again, is to be submitted.
bool UringFile::IsFinishedLocked(Request& request, int result, Status& status) {
  bool again = result == -EAGAIN || result == -EINTR || result == -ECANCELED;
  if (result < 0 && !again) {
    status = FailureOf(request, -result);
    return true;
  }
  if (again) {
    request.stalls++;
  } else if (request.operation == Operation::kSync ||
             Advance(request, static_cast<uint64_t>(result))) {
    return true;
  }
  if (request.stalls <= kStallsMax) return false;
  status = FailureOf(request, again ? -result : 0);
  return true;
}

// error 0: the file ended before the request did.
Status UringFile::FailureOf(const Request& request, int error) const {
  std::string what = path_ + ": " + NameOf(request.operation) + " at byte " +
                     std::to_string(request.offset_bytes) + ": ";
  if (error == 0) return Fail(Errc::kIo, what + "the device ends before that");
  Errc code = error == ENOSPC || error == EDQUOT ? Errc::kNoSpace : Errc::kIo;
  return Fail(code, what + std::generic_category().message(error));
}

}  // namespace

Result<std::unique_ptr<File>> OpenUringFile(int fd, std::string path, const UringOptions& options) {
  TERRACE_ASSERT(options.queue_depth > 0);
  Result<FileKind> kind = KindOf(fd, path);
  if (!kind) {
    ::close(fd);
    return tl::unexpected<Error>(std::move(kind).error());
  }
  auto file = std::make_unique<UringFile>(fd, std::move(path), *kind, options);
  TERRACE_TRY(file->Start());
  return std::unique_ptr<File>(std::move(file));
}

}  // namespace terrace::io
