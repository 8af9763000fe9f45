// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// WriteBack: moves dirty extents to the devices and has them committed.
//
// Role     One thread gathers due extents (asked for by fsync, a streaming batch that is full,
//          old, or DRAM filling up) into large batches and submits them; one thread commits what
//          arrived: barrier on the devices, map and sizes through CommitSink, metadata sync.
//          N concurrent flushes share one barrier. Nothing waits for a caller: what was written
//          is durable after the delay plus the time the devices need.
// Owner    fs/open builds it on top of ExtentCache.
// Threads  Thread-safe. done callbacks run on the commit thread or, with an error, on a device's
//          completion thread; they must not block.
// Errors   A failed batch stays dirty, is reported to the flushes that wait for it and to
//          CommitSink, and is tried again after a pause. After a failed barrier nobody knows what
//          the devices kept: what it covered is written again, elsewhere.
// Locks    mu_, then ExtentCache::mu_ and what is below it.
//
// Keeps COMMIT-1 (data is durable before the map that names it) and COMMIT-4 (freed space is not
// used again too early): docs/invariants.md; tests/cache/write_back_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "cache/commit_sink.h"
#include "cache/extent_cache.h"
#include "cache/throttle.h"

namespace terrace::cache {

class WriteBack {
 public:
  using Done = std::function<void(Status)>;
  struct Options {
    int64_t delay_ns = 5'000'000'000;  // age at which a dirty extent is written anyway
    uint64_t high_water_bytes = 0;     // dirty bytes above which writers are throttled
    // The same for the number of dirty extents, because small ones take more memory beside the pool
    // than in it: about 1 KiB each.
    uint64_t dirty_extents_max = 200'000;
  };

  WriteBack(ExtentCache& cache, io::ExtentStore& store, CommitSink& sink, const Clock& clock,
            const Options& options);
  ~WriteBack();  // Requires: Stop ran, or Start never did.

  void Start();
  // Writes and commits everything, with a few attempts if a device fails, then ends both threads.
  // Returns: why something is still dirty, if so.
  Status Stop();

  // New dirty bytes came: starts early write-back of streaming writers.
  void Kick();
  // An allocation waits for memory: everything dirty is due.
  void Hurry();
  // done runs when these extents are durable and all metadata written before the call is synced.
  void Flush(std::vector<ExtentRef> extents, Done done);
  // The same for everything dirty.
  void FlushAll(Done done);

  Throttle& throttle() { return throttle_; }
  // Monotonic time of the oldest undurable extent; INT64_MAX: none.
  int64_t OldestDirtyNs() const;
  // Barriers and the commits they carried, for tests and status.
  uint64_t barrier_count() const { return barrier_count_.load(); }

 private:
  struct Flusher {
    std::vector<ExtentRef> extents;  // shrinks from the back as they become durable
    Done done;
  };

  void RunWriter();
  void RunCommitter();
  std::vector<ExtentRef> TakeDue() TERRACE_REQUIRES(mu_);
  int64_t NextDueNs(int64_t now_ns) const TERRACE_REQUIRES(mu_);
  void Submit(std::vector<ExtentRef> extents) TERRACE_EXCLUDES(mu_);
  void OnWritten(std::vector<ExtentRef> extents, std::vector<io::ExtentWrite> batch);
  void OnWriteFailed(std::vector<ExtentRef> extents, const Error& error);
  void EndFlightLocked(const std::vector<ExtentRef>& extents) TERRACE_REQUIRES(mu_);
  bool CommitDueLocked(int64_t now_ns) TERRACE_REQUIRES(mu_);
  bool FlusherReadyLocked() TERRACE_REQUIRES(mu_);
  void CommitOnce();
  Status CommitBatch(std::vector<ExtentRef> batch);
  Status SyncMetadata();
  // The flushers of `ready` whose extents have to be written again wait on.
  void RequeueUnfinished(std::list<Flusher>& ready);
  void WriteAgain(std::vector<ExtentRef> extents, const Error& error);
  // Takes out the flushers that wait for one of these.
  std::list<Flusher> TakeFlushersLocked(const std::vector<ExtentRef>& extents)
      TERRACE_REQUIRES(mu_);
  // Dirty bytes, or more where many small extents are dirty: what is held against high_water_bytes.
  uint64_t DirtyLoadBytes() const;
  static void Finish(std::list<Flusher> flushers, const Status& status);

  // Dependencies.
  ExtentCache& cache_;
  io::ExtentStore& store_;
  CommitSink& sink_;
  const Clock& clock_;
  // Constant after construction.
  const Options options_;
  const uint64_t batch_bytes_;          // of one WriteBatch
  const uint64_t in_flight_bytes_max_;  // on the way to the devices
  Throttle throttle_;

  // Guarded by mu_.
  mutable Mutex mu_;
  CondVar writer_wake_;
  CondVar commit_wake_;
  CondVar flight_over_;                                   // nothing is on its way to a device
  std::deque<ExtentRef> urgent_ TERRACE_GUARDED_BY(mu_);  // asked for by Flush, not yet taken
  std::vector<ExtentRef> written_ TERRACE_GUARDED_BY(mu_);
  std::vector<ExtentRef> committing_ TERRACE_GUARDED_BY(mu_);  // taken from written_
  std::list<Flusher> flushers_ TERRACE_GUARDED_BY(mu_);
  std::list<ExtentRef> in_flight_ TERRACE_GUARDED_BY(mu_);
  uint64_t in_flight_bytes_ TERRACE_GUARDED_BY(mu_) = 0;
  uint64_t written_bytes_ TERRACE_GUARDED_BY(mu_) = 0;
  int64_t written_since_ns_ TERRACE_GUARDED_BY(mu_) = 0;  // when written_ got its first extent
  int64_t last_sync_ns_ TERRACE_GUARDED_BY(mu_) = 0;
  int64_t retry_at_ns_ TERRACE_GUARDED_BY(mu_) = 0;  // after a device error
  int64_t commit_retry_at_ns_ TERRACE_GUARDED_BY(mu_) = 0;
  bool hurry_ TERRACE_GUARDED_BY(mu_) = false;
  bool stopping_ TERRACE_GUARDED_BY(mu_) = false;

  // The commit thread's: sealed, and not released yet because no sync succeeded since.
  std::vector<uint64_t> sealed_tickets_;

  std::atomic<uint64_t> barrier_count_{0};
  std::atomic<bool> writer_idle_{false};
  Thread writer_;
  Thread committer_;
};

}  // namespace terrace::cache
