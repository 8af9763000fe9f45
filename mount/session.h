// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Session: one mounted /dev/fuse connection: mounting, the reader threads, the end.
//
// Role     Mounts through libfuse (directly as root, else with fusermount3), takes requests with
//          several threads on one descriptor, sends WRITE and READ to DataRequests and all others
//          through libfuse to mount/operations/. One descriptor, not clones: requests taken
//          through a clone would end with it.
// Life     Mount -> WaitUntilReady -> (requests) -> the readers end by themselves when the
//          file system is unmounted, or StopReaders -> fs::Volume::Stop -> destruction, which
//          closes the descriptor: replies may come until the volume has stopped.
// Threads  All methods are thread-safe but for the end (StopReaders and destruction, once).
// Errors   Mount: kPermission, kNotFound (no /dev/fuse), kBusy, kIo; each says the way out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread.h"
#include "fs/volume.h"
#include "mount/cache_mode.h"
#include "mount/data_requests.h"
#include "mount/mount_table.h"
#include "mount/open_modes.h"
#include "mount/page_syncer.h"
#include "mount/request_counts.h"

struct fuse_session;
struct fuse_conn_info;

namespace terrace::mount {

struct Context;

std::string LibfuseVersion();

struct SessionOptions {
  std::string mount_point;  // absolute
  ConnectionMode mode = ConnectionMode::kPassthrough;
  bool allow_other = false;
  bool read_only = false;
  bool plain_type = false;                  // the mount shows type fuse, not fuse.terrace
  std::string source{kMountSource};         // what the mount table shows as the source
  std::vector<std::string> kernel_options;  // noatime, noexec and the like
  uint32_t reader_threads = 0;              // 0: twice the processors, 4 to 16
  uint32_t reader_spin_us = 0;              // look for the next request that long before sleeping
  // Write-back mode: how often the kernel is made to write out what it holds.
  std::chrono::milliseconds page_sync_interval{5000};
};

class Session {
 public:
  static constexpr uint32_t kReaderThreadsMax = 64;

  // Requires: volume outlives the session.
  static Result<std::unique_ptr<Session>> Mount(SessionOptions options, fs::Volume& volume);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Waits for INIT. Returns: false if the mount ended before.
  bool WaitUntilReady();
  // A descriptor that becomes readable when all readers have ended.
  int ended_fd() const { return ended_fd_; }
  // Ends the readers without the kernel's help (the mount is detached, but still in use).
  void StopReaders();
  // The caller takes the mount away itself: the end of the session leaves the mount table alone.
  void NoteDetached() { detached_.store(true); }

  // The mount is about to be taken away: nothing of ours opens it any more.
  void StopPageSyncer();
  // Tells the kernel to drop the pages it holds. Not from a reader thread.
  void DropCachedPages();

  const SessionOptions& options() const { return options_; }
  const RequestCounts& request_counts() const { return counts_; }
  // What INIT agreed on, in words, for `terrace status`.
  std::vector<std::string> features();

 private:
  Session(SessionOptions options, fs::Volume& volume);
  Status MountWithLibfuse();
  void StartReaders();
  static void OnInit(void* owner, fuse_conn_info* connection);
  void Negotiate(fuse_conn_info* connection);

  void ReaderMain();
  // Returns: false when the connection has ended.
  bool ServeOne(RequestHead& head, fs::ReceiveArea& area);
  void Dispatch(const RequestHead& head, size_t size, fs::ReceiveArea& area);
  void ProcessWithLibfuse(const RequestHead& head, size_t size, const fs::ReceiveArea& area);
  void SpinForRequest() const;
  bool TakePages(InodeId inode);

  // Dependencies.
  fs::Volume& volume_;
  // Constant after Mount.
  const SessionOptions options_;
  fuse_session* fuse_ = nullptr;
  int fd_ = -1;
  int ended_fd_ = -1;
  std::unique_ptr<DataRequests> data_;

  std::unique_ptr<PageSyncer> page_syncer_;  // write-back mode only

  OpenModes open_modes_;
  std::unique_ptr<Context> context_;
  RequestCounts counts_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> detached_{false};

  Mutex mu_;
  CondVar changed_;
  bool ready_ TERRACE_GUARDED_BY(mu_) = false;
  uint32_t readers_running_ TERRACE_GUARDED_BY(mu_) = 0;
  std::vector<pthread_t> reader_ids_ TERRACE_GUARDED_BY(mu_);
  std::vector<std::string> features_ TERRACE_GUARDED_BY(mu_);
  std::vector<Thread> readers_;
};

}  // namespace terrace::mount
