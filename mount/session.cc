// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/assert.h"
#include "base/log.h"
#include "mount/fuse.h"
#include "mount/libfuse_mount.h"
#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

// Requests the kernel sends ahead (readahead, asynchronous direct I/O): the queue depth that
// one client thread can reach.
constexpr uint32_t kBackgroundRequestsMax = 64;
// Interrupts a reader's readv; its handler does nothing.
constexpr int kWakeSignal = SIGUSR1;

uint32_t ReaderCount(uint32_t wanted) {
  if (wanted > 0) return std::min(wanted, Session::kReaderThreadsMax);
  return std::clamp(2 * std::thread::hardware_concurrency(), 4u, 16u);
}

void InstallWakeSignal() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(kWakeSignal, &action, nullptr);  // without SA_RESTART
}

}  // namespace

std::string LibfuseVersion() { return fuse_pkgversion(); }

Session::Session(SessionOptions options, fs::Volume& volume)
    : volume_(volume),
      options_(std::move(options)),
      open_modes_(Connection{.mode = options_.mode, .direct_mmap = false}),
      context_(new Context{.volume = volume,
                           .open_modes = open_modes_,
                           .page_syncer = nullptr,
                           .clock = {},
                           .on_init = OnInit,
                           .owner = this}) {}

Result<std::unique_ptr<Session>> Session::Mount(SessionOptions options, fs::Volume& volume) {
  std::unique_ptr<Session> session(new Session(std::move(options), volume));
  TERRACE_TRY(session->MountWithLibfuse());
  if (session->options_.mode == ConnectionMode::kWriteback) {
    session->page_syncer_ = std::make_unique<PageSyncer>(
        session->options_.mount_point, session->options_.page_sync_interval,
        [self = session.get()](InodeId inode) { return self->TakePages(inode); });
    session->context_->page_syncer = session->page_syncer_.get();
  }
  session->StartReaders();
  return session;
}

Session::~Session() {
  StopReaders();
  if (fuse_ != nullptr) {
    if (!detached_) fuse_session_unmount(fuse_);
    fuse_session_destroy(fuse_);  // closes the descriptor
  }
  if (ended_fd_ >= 0) close(ended_fd_);
}

Status Session::MountWithLibfuse() {
  ended_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (ended_fd_ < 0) return FailErrno(errno, "making an event descriptor");
  TERRACE_ASSIGN_OR_RETURN(fuse_,
                           MountLibfuseSession(options_, BuildOperationTable(), context_.get()));
  fd_ = fuse_session_fd(fuse_);
  data_ = std::make_unique<DataRequests>(fd_, volume_, open_modes_);
  return {};
}

void Session::StartReaders() {
  InstallWakeSignal();
  const uint32_t count = ReaderCount(options_.reader_threads);
  {
    MutexLock lock(mu_);
    readers_running_ = count;
  }
  for (uint32_t i = 0; i < count; i++) {
    readers_.emplace_back("reader-" + std::to_string(i), [this] { ReaderMain(); });
  }
}

void Session::OnInit(void* owner, fuse_conn_info* connection) {
  static_cast<Session*>(owner)->Negotiate(connection);
}

void Session::Negotiate(fuse_conn_info* connection) {
  std::vector<std::string> agreed;
  auto want = [&](uint64_t capability, const char* name) {
    if (fuse_set_feature_flag(connection, capability)) agreed.emplace_back(name);
  };
  connection->max_write = kPayloadSizeMax;
  connection->max_background = kBackgroundRequestsMax;
  connection->congestion_threshold = kBackgroundRequestsMax * 3 / 4;
  // Interrupted programs get their answer a moment later: no request of ours waits for long.
  connection->no_interrupt = 1;
  want(FUSE_CAP_ASYNC_READ, "async_read");
  want(FUSE_CAP_ASYNC_DIO, "async_dio");
  want(FUSE_CAP_ATOMIC_O_TRUNC, "atomic_o_trunc");
  want(FUSE_CAP_PARALLEL_DIROPS, "parallel_dirops");
  want(FUSE_CAP_READDIRPLUS, "readdirplus");
  want(FUSE_CAP_READDIRPLUS_AUTO, "readdirplus_auto");
  want(FUSE_CAP_HANDLE_KILLPRIV_V2, "handle_killpriv_v2");
  want(FUSE_CAP_CACHE_SYMLINKS, "cache_symlinks");
  want(FUSE_CAP_POSIX_ACL, "posix_acl");
  want(FUSE_CAP_DONT_MASK, "dont_mask");  // a directory's default list takes the umask's place
  want(FUSE_CAP_EXPLICIT_INVAL_DATA, "explicit_inval_data");
  want(FUSE_CAP_DIRECT_IO_ALLOW_MMAP, "direct_io_allow_mmap");
  if (options_.mode == ConnectionMode::kWriteback) {
    want(FUSE_CAP_WRITEBACK_CACHE, "writeback_cache");
  }
  // libfuse's defaults that break this design: all changes go through this kernel (no
  // invalidation by mtime), payload goes to our buffers (no splice), and requests on an
  // io_uring would die with this process.
  fuse_unset_feature_flag(connection, FUSE_CAP_AUTO_INVAL_DATA);
  fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_READ);
  fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_WRITE);
  fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_MOVE);
  fuse_unset_feature_flag(connection, FUSE_CAP_OVER_IO_URING);
  fuse_unset_feature_flag(connection, FUSE_CAP_POSIX_LOCKS);
  fuse_unset_feature_flag(connection, FUSE_CAP_FLOCK_LOCKS);
  open_modes_.SetConnection(
      {.mode = options_.mode,
       .direct_mmap = fuse_get_feature_flag(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP)});
  MutexLock lock(mu_);
  features_ = std::move(agreed);
}

bool Session::WaitUntilReady() {
  MutexLock lock(mu_);
  while (!ready_ && readers_running_ > 0) changed_.Wait(mu_);
  return ready_;
}

std::vector<std::string> Session::features() {
  MutexLock lock(mu_);
  return features_;
}

void Session::ReaderMain() {
  {
    MutexLock lock(mu_);
    reader_ids_.push_back(pthread_self());
  }
  fs::ReceiveArea area;
  RequestHead head;
  do {
    volume_.files().PrepareReceive(area);
  } while (!stopping_.load(std::memory_order_acquire) && ServeOne(head, area));
  MutexLock lock(mu_);
  std::erase(reader_ids_, pthread_self());
  if (--readers_running_ == 0) {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t written = write(ended_fd_, &one, sizeof one);
  }
  changed_.NotifyAll();
}

bool Session::ServeOne(RequestHead& head, fs::ReceiveArea& area) {
  if (options_.reader_spin_us > 0) SpinForRequest();
  iovec parts[3] = {{&head, sizeof head}};
  std::span<const iovec> room = area.pieces();
  std::copy(room.begin(), room.end(), parts + 1);
  ssize_t size = readv(fd_, parts, static_cast<int>(1 + room.size()));
  if (size < 0) {
    // ENOENT: the request was taken back while it was read. ENODEV: unmounted.
    if (errno == ENOENT || errno == EINTR || errno == EAGAIN) return true;
    if (errno != ENODEV && errno != ECONNABORTED) {
      LogError(std::string("reading a request failed: ") + std::strerror(errno));
      return false;
    }
    NoteDetached();
    return false;
  }
  const auto received = static_cast<size_t>(size);
  if (received < sizeof head.header || head.header.len != received) {
    LogError("the kernel sent a request of " + std::to_string(received) + " bytes: ignored");
    return true;
  }
  Dispatch(head, received, area);
  return true;
}

void Session::Dispatch(const RequestHead& head, size_t size, fs::ReceiveArea& area) {
  counts_.Count(head.header.opcode);
  switch (head.header.opcode) {
    case FUSE_WRITE: return data_->Write(head, size, area);
    case FUSE_READ: return data_->Read(head, size);
    default: return ProcessWithLibfuse(head, size, area);
  }
}

void Session::ProcessWithLibfuse(const RequestHead& head, size_t size,
                                 const fs::ReceiveArea& area) {
  // libfuse wants the request in one piece; all but WRITE and READ are short. NUL-terminated,
  // so that a name that lacks its end can't lead beyond it.
  thread_local std::vector<char> joined;
  if (joined.size() < size + 1) joined.resize(size + 1);
  const size_t in_head = std::min(size, sizeof head);
  std::memcpy(joined.data(), &head, in_head);
  area.CopyTo(reinterpret_cast<std::byte*>(joined.data() + in_head), size - in_head);
  joined[size] = '\0';
  fuse_buf request{};
  request.mem = joined.data();
  request.size = size;
  fuse_session_process_buf(fuse_, &request);
  if (head.header.opcode == FUSE_INIT) {
    MutexLock lock(mu_);
    ready_ = true;
    changed_.NotifyAll();
  }
}

void Session::SpinForRequest() const {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::microseconds(options_.reader_spin_us);
  pollfd request{.fd = fd_, .events = POLLIN, .revents = 0};
  while (poll(&request, 1, 0) == 0 && Clock::now() < until) {
  }
}

void Session::StopPageSyncer() {
  if (page_syncer_ != nullptr) page_syncer_->Stop();
}

void Session::StopReaders() {
  StopPageSyncer();
  stopping_.store(true, std::memory_order_release);
  {
    MutexLock lock(mu_);
    // A signal can come just before a reader enters the system call, so it is repeated.
    while (readers_running_ > 0) {
      for (pthread_t reader : reader_ids_) pthread_kill(reader, kWakeSignal);
      changed_.WaitFor(mu_, std::chrono::milliseconds(10));
    }
  }
  readers_.clear();
}

// Returns: false when the kernel kept pages. ENOENT: it has dropped the inode meanwhile.
bool Session::TakePages(InodeId inode) {
  const int rc = fuse_lowlevel_notify_inval_inode(fuse_, inode.value(), 0, 0);
  if (rc == 0 || rc == -ENOENT) return true;
  LogWarning("the kernel kept pages of inode " + std::to_string(inode.value()) + ": " +
             std::strerror(-rc));
  return false;
}

void Session::DropCachedPages() {
  for (InodeId inode : open_modes_.TakeInodesWithPages()) TakePages(inode);
}

}  // namespace terrace::mount
