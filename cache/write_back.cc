// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "cache/write_back.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/status_latch.h"
#include "base/units.h"

namespace terrace::cache {

namespace {

// Per device: one batch, and what may be on its way at a time. 24 MiB in requests of 1 MiB keep
// a drive busy, and an fsync behind them waits a few tens of milliseconds.
constexpr uint64_t kBatchBytesPerDevice = 4 * kMiB;
constexpr uint64_t kInFlightBytesPerDevice = 24 * kMiB;
// A streaming extent that no full batch came for is written after this.
constexpr int64_t kStreamingAgeNs = 300'000'000;
// A commit without anybody waiting for it: after so many bytes, or so long.
constexpr uint64_t kCommitBytesPerDevice = 64 * kMiB;
constexpr int64_t kCommitAgeNs = 500'000'000;
// Metadata that nobody syncs is synced by us.
constexpr int64_t kMetadataSyncNs = 1'000'000'000;
// Pause after a failed batch.
constexpr int64_t kRetryPauseNs = 1'000'000'000;
// While writers are held back, they are looked after this often.
constexpr int64_t kThrottledTickNs = 20'000'000;
// How often the last flush is tried before what is dirty is given up.
constexpr int kFinalFlushAttempts = 5;

uint64_t ChargedBytes(const std::vector<ExtentRef>& extents) {
  uint64_t bytes = 0;
  for (const ExtentRef& extent : extents) bytes += RoundUp(extent->size_bytes(), kBlockSize);
  return bytes;
}

bool OnDevice(const Extent& extent) {
  return extent.state() == ExtentState::kWritten || extent.durable();
}

}  // namespace

WriteBack::WriteBack(ExtentCache& cache, io::ExtentStore& store, CommitSink& sink,
                     const Clock& clock, const Options& options)
    : cache_(cache),
      store_(store),
      sink_(sink),
      clock_(clock),
      options_(options),
      batch_bytes_(kBatchBytesPerDevice * store.device_count()),
      in_flight_bytes_max_(kInFlightBytesPerDevice * store.device_count()),
      throttle_(options.high_water_bytes, [this] { return DirtyLoadBytes(); }) {}

WriteBack::~WriteBack() {
  MutexLock lock(mu_);
  TERRACE_ASSERT(in_flight_.empty());
  TERRACE_ASSERT(flushers_.empty());
}

void WriteBack::Start() {
  writer_ = Thread("write-back", [this] { RunWriter(); });
  committer_ = Thread("commit", [this] { RunCommitter(); });
}

Status WriteBack::Stop() {
  throttle_.OpenGates();
  Status result;
  for (int attempt = 0; attempt < kFinalFlushAttempts; attempt++) {
    StatusLatch flushed;
    FlushAll([&flushed](Status status) { flushed.Set(std::move(status)); });
    result = flushed.Wait();
    if (result) break;
  }
  {
    MutexLock lock(mu_);
    while (!in_flight_.empty()) flight_over_.Wait(mu_);
    stopping_ = true;
    writer_wake_.NotifyAll();
    commit_wake_.NotifyAll();
  }
  writer_.Join();
  committer_.Join();
  std::list<Flusher> abandoned;
  {
    MutexLock lock(mu_);
    abandoned.swap(flushers_);
  }
  Finish(std::move(abandoned), Fail(Errc::kShutdown, "unmounted before the devices took it"));
  return result;
}

void WriteBack::Kick() {
  if (!writer_idle_.load(std::memory_order_relaxed)) return;
  if (cache_.dirty().streaming_bytes() < batch_bytes_) return;
  MutexLock lock(mu_);
  writer_wake_.NotifyAll();
}

void WriteBack::Hurry() {
  MutexLock lock(mu_);
  hurry_ = true;
  writer_wake_.NotifyAll();
  commit_wake_.NotifyAll();
}

void WriteBack::Flush(std::vector<ExtentRef> extents, Done done) {
  MutexLock lock(mu_);
  for (const ExtentRef& extent : extents) {
    if (!OnDevice(*extent)) urgent_.push_back(extent);
  }
  flushers_.push_back({std::move(extents), std::move(done)});
  writer_wake_.NotifyAll();
  commit_wake_.NotifyAll();
}

void WriteBack::FlushAll(Done done) {
  std::vector<ExtentRef> all;
  {
    // Under the lock that an extent's way from the queues to its commit takes at each step.
    MutexLock lock(mu_);
    all = cache_.dirty().Waiting();
    all.insert(all.end(), in_flight_.begin(), in_flight_.end());
    all.insert(all.end(), written_.begin(), written_.end());
    all.insert(all.end(), committing_.begin(), committing_.end());
  }
  // In the order in which they came, so that streams lie in order on the devices.
  std::sort(all.begin(), all.end(), [](const ExtentRef& a, const ExtentRef& b) {
    return a->birth().sequence < b->birth().sequence;
  });
  Flush(std::move(all), std::move(done));
}

int64_t WriteBack::OldestDirtyNs() const {
  int64_t oldest = cache_.dirty().OldestNs();
  MutexLock lock(mu_);
  for (const ExtentRef& extent : in_flight_) oldest = std::min(oldest, extent->born_ns_);
  for (const ExtentRef& extent : written_) oldest = std::min(oldest, extent->born_ns_);
  for (const ExtentRef& extent : committing_) oldest = std::min(oldest, extent->born_ns_);
  return oldest;
}

uint64_t WriteBack::DirtyLoadBytes() const {
  const uint64_t share = options_.high_water_bytes / options_.dirty_extents_max;
  return std::max(cache_.dirty().dirty_bytes(), cache_.dirty().dirty_count() * share);
}

std::vector<ExtentRef> WriteBack::TakeDue() {
  int64_t now = clock_.MonotonicNs();
  if (now < retry_at_ns_ || in_flight_bytes_ >= in_flight_bytes_max_) return {};
  while (!urgent_.empty()) {
    std::vector<ExtentRef> wanted;
    uint64_t bytes = 0;
    while (!urgent_.empty() && bytes < batch_bytes_) {
      bytes += RoundUp(urgent_.front()->size_bytes(), kBlockSize);
      wanted.push_back(std::move(urgent_.front()));
      urgent_.pop_front();
    }
    std::vector<ExtentRef> taken = cache_.dirty().TakeThese(wanted);
    // An extent that is just being copied into stays urgent.
    for (ExtentRef& extent : wanted) {
      ExtentState state = extent->state();
      if (state == ExtentState::kCopying || state == ExtentState::kOpen) {
        urgent_.push_back(std::move(extent));
      }
    }
    if (!taken.empty()) return taken;
    if (!urgent_.empty()) break;
  }
  bool pressure = hurry_ || DirtyLoadBytes() > options_.high_water_bytes / 2;
  DirtySet::Limits limits;
  limits.bytes_max = std::min(batch_bytes_, in_flight_bytes_max_ - in_flight_bytes_);
  limits.lazy_before_ns = pressure ? INT64_MAX : now - options_.delay_ns;
  limits.streaming_bytes_min = batch_bytes_;
  limits.streaming_before_ns = pressure ? INT64_MAX : now - kStreamingAgeNs;
  std::vector<ExtentRef> taken = cache_.dirty().Take(limits);
  if (taken.empty()) hurry_ = false;
  return taken;
}

int64_t WriteBack::NextDueNs(int64_t now_ns) const {
  if (now_ns < retry_at_ns_) return retry_at_ns_;
  int64_t due = INT64_MAX;
  int64_t lazy = cache_.dirty().OldestLazyNs();
  if (lazy != INT64_MAX) due = std::min(due, lazy + options_.delay_ns);
  int64_t streaming = cache_.dirty().OldestStreamingNs();
  if (streaming != INT64_MAX) due = std::min(due, streaming + kStreamingAgeNs);
  // New extents do not wake an idle writer before a batch is full, so look now and then.
  due = std::min(due, now_ns + std::min(kStreamingAgeNs, options_.delay_ns));
  if (!urgent_.empty() || throttle_.engaged()) due = std::min(due, now_ns + kThrottledTickNs);
  return std::max(due, now_ns + 1'000'000);
}

void WriteBack::RunWriter() {
  for (;;) {
    std::vector<ExtentRef> due;
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      due = TakeDue();
      if (due.empty()) {
        int64_t now = clock_.MonotonicNs();
        int64_t until =
            in_flight_bytes_ >= in_flight_bytes_max_ ? now + kStreamingAgeNs : NextDueNs(now);
        writer_idle_.store(true, std::memory_order_relaxed);
        writer_wake_.WaitFor(mu_, std::chrono::nanoseconds(until - now));
        writer_idle_.store(false, std::memory_order_relaxed);
      } else {
        in_flight_.insert(in_flight_.end(), due.begin(), due.end());
        in_flight_bytes_ += ChargedBytes(due);
      }
    }
    if (!due.empty()) Submit(std::move(due));
    throttle_.Update();
  }
}

void WriteBack::Submit(std::vector<ExtentRef> extents) {
  std::vector<io::ExtentWrite> batch;
  batch.reserve(extents.size());
  uint64_t failed_barriers = store_.failed_barriers();
  for (const ExtentRef& extent : extents) {
    const Extent::Birth& birth = extent->birth();
    extent->failed_barriers_ = failed_barriers;
    io::ExtentWrite write;
    write.data = extent->memory();
    write.size_bytes = extent->size_bytes();
    write.id = birth.id;
    write.inode = birth.inode;
    write.file_offset = birth.file_offset;
    write.sequence = birth.sequence;
    batch.push_back(std::move(write));
  }
  store_.WriteBatch(std::move(batch),
                    [this, extents = std::move(extents)](std::vector<io::ExtentWrite> done,
                                                         Status status) mutable {
                      if (status) {
                        OnWritten(std::move(extents), std::move(done));
                      } else {
                        OnWriteFailed(std::move(extents), status.error());
                      }
                    });
}

void WriteBack::OnWritten(std::vector<ExtentRef> extents, std::vector<io::ExtentWrite> batch) {
  uint64_t blocks = 0;
  for (size_t i = 0; i < extents.size(); i++) {
    extents[i]->record_ = std::move(batch[i].record);
    blocks += cache_.dirty().TakeReservation(*extents[i]);
  }
  store_.Unreserve(blocks);  // allocated blocks took its place
  uint64_t bytes = ChargedBytes(extents);
  MutexLock lock(mu_);
  // kWritten and in written_ at once: a flush that sees the one counts on the other.
  for (const ExtentRef& extent : extents) {
    extent->state_.store(ExtentState::kWritten, std::memory_order_release);
  }
  if (written_.empty()) written_since_ns_ = clock_.MonotonicNs();
  written_bytes_ += bytes;
  written_.insert(written_.end(), extents.begin(), extents.end());
  EndFlightLocked(extents);
  extents.clear();
}

void WriteBack::OnWriteFailed(std::vector<ExtentRef> extents, const Error& error) {
  LogError("write-back: " + Describe(error) + "; trying again");
  sink_.NoteWriteError(extents, error);
  std::list<Flusher> failed;
  {
    MutexLock lock(mu_);
    retry_at_ns_ = clock_.MonotonicNs() + kRetryPauseNs;
    cache_.dirty().PutBack(extents);
    failed = TakeFlushersLocked(extents);
    EndFlightLocked(extents);
    extents.clear();
  }
  Finish(std::move(failed), tl::unexpected<Error>(error));
}

// Once nothing is in flight, Stop may go on: the caller drops its shares before the lock.
void WriteBack::EndFlightLocked(const std::vector<ExtentRef>& extents) {
  std::unordered_set<const Extent*> members;
  for (const ExtentRef& extent : extents) members.insert(extent.get());
  in_flight_.remove_if([&](const ExtentRef& extent) { return members.contains(extent.get()); });
  in_flight_bytes_ -= ChargedBytes(extents);
  if (in_flight_.empty()) flight_over_.NotifyAll();
  writer_wake_.NotifyAll();
  commit_wake_.NotifyAll();
}

bool WriteBack::FlusherReadyLocked() {
  bool ready = false;
  for (Flusher& flusher : flushers_) {
    while (!flusher.extents.empty() && flusher.extents.back()->durable()) {
      flusher.extents.pop_back();
    }
    ready = ready || std::all_of(flusher.extents.begin(), flusher.extents.end(),
                                 [](const ExtentRef& extent) { return OnDevice(*extent); });
  }
  return ready;
}

bool WriteBack::CommitDueLocked(int64_t now_ns) {
  if (FlusherReadyLocked()) return true;
  if (now_ns - last_sync_ns_ >= kMetadataSyncNs) return true;
  if (written_.empty()) return false;
  bool pressure = hurry_ || throttle_.engaged();
  // Whoever waits for room waits for this.
  if (pressure && in_flight_.empty() && now_ns >= commit_retry_at_ns_) return true;
  uint64_t enough = kCommitBytesPerDevice * store_.device_count() / (pressure ? 4 : 1);
  return written_bytes_ >= enough || now_ns - written_since_ns_ >= kCommitAgeNs;
}

void WriteBack::RunCommitter() {
  for (;;) {
    {
      MutexLock lock(mu_);
      int64_t now = clock_.MonotonicNs();
      while (!CommitDueLocked(now)) {
        if (stopping_) return;
        int64_t until = last_sync_ns_ + kMetadataSyncNs;
        if (!written_.empty()) until = std::min(until, written_since_ns_ + kCommitAgeNs);
        int64_t wait_ns = std::max<int64_t>(until - now, 1'000'000);
        commit_wake_.WaitFor(mu_, std::chrono::nanoseconds(wait_ns));
        now = clock_.MonotonicNs();
      }
      if (stopping_ && written_.empty() && flushers_.empty()) return;
    }
    CommitOnce();
    throttle_.Update();
  }
}

// One barrier for everything that is on the devices and everybody who waits.
void WriteBack::CommitOnce() {
  std::vector<ExtentRef> batch;
  std::list<Flusher> ready;
  {
    MutexLock lock(mu_);
    batch = std::move(written_);
    written_.clear();
    written_bytes_ = 0;
    committing_ = batch;
    for (auto flusher = flushers_.begin(); flusher != flushers_.end();) {
      auto next = std::next(flusher);
      bool on_device = std::all_of(flusher->extents.begin(), flusher->extents.end(),
                                   [](const ExtentRef& extent) { return OnDevice(*extent); });
      if (on_device) ready.splice(ready.end(), flushers_, flusher);
      flusher = next;
    }
  }
  Status status = CommitBatch(std::move(batch));
  bool sync_due;
  {
    MutexLock lock(mu_);
    committing_.clear();
    int64_t now = clock_.MonotonicNs();
    sync_due =
        !ready.empty() || now - last_sync_ns_ >= kMetadataSyncNs || hurry_ || throttle_.engaged();
    if (sync_due) last_sync_ns_ = now;
  }
  if (status) RequeueUnfinished(ready);
  if (status && sync_due) status = SyncMetadata();
  Finish(std::move(ready), status);
}

Status WriteBack::SyncMetadata() {
  sealed_tickets_.push_back(store_.SealAwaiting());
  TERRACE_TRY(sink_.SyncMetadata());
  for (uint64_t ticket : sealed_tickets_) store_.Release(ticket);  // COMMIT-4
  sealed_tickets_.clear();
  return {};
}

Status WriteBack::CommitBatch(std::vector<ExtentRef> batch) {
  if (batch.empty()) return {};
  Status barrier = store_.Sync();
  barrier_count_++;
  // A failed barrier, this one or another since they were submitted: they may be lost (COMMIT-1).
  uint64_t failed_barriers = store_.failed_barriers();
  auto lost = std::stable_partition(batch.begin(), batch.end(), [&](const ExtentRef& extent) {
    return extent->failed_barriers_ == failed_barriers;
  });
  if (lost != batch.end()) {
    Error error = barrier ? Error{Errc::kIo, "a barrier failed"} : barrier.error();
    WriteAgain({lost, batch.end()}, error);
    batch.erase(lost, batch.end());
  }
  TERRACE_TRY(barrier);
  if (batch.empty()) return {};
  Result<std::vector<bool>> named = sink_.CommitExtents(batch);  // COMMIT-1
  if (!named) {
    LogError("commit: " + Describe(named.error()) + "; trying again");
    sink_.NoteWriteError(batch, named.error());
    MutexLock lock(mu_);
    written_.insert(written_.end(), batch.begin(), batch.end());
    written_bytes_ += ChargedBytes(batch);
    written_since_ns_ = clock_.MonotonicNs();
    commit_retry_at_ns_ = written_since_ns_ + kCommitAgeNs;
    return tl::unexpected<Error>(named.error());
  }
  for (size_t i = 0; i < batch.size(); i++) cache_.MarkClean(batch[i], (*named)[i]);
  return {};
}

void WriteBack::WriteAgain(std::vector<ExtentRef> extents, const Error& error) {
  LogError("commit: " + Describe(error) + "; writing " + std::to_string(extents.size()) +
           " extents again");
  sink_.NoteWriteError(extents, error);
  for (const ExtentRef& extent : extents) {
    cache_.dirty().AddReservation(*extent, static_cast<uint32_t>(BlockCount(extent->size_bytes())));
    store_.FreeForRewrite(extent->record_);
    extent->record_ = {};
  }
  std::list<Flusher> failed;
  {
    MutexLock lock(mu_);
    retry_at_ns_ = clock_.MonotonicNs() + kRetryPauseNs;
    cache_.dirty().PutBack(extents);
    failed = TakeFlushersLocked(extents);
  }
  Finish(std::move(failed), tl::unexpected<Error>(error));
}

// The others let go of their extents, so that what nobody names is freed before the next sync.
void WriteBack::RequeueUnfinished(std::list<Flusher>& ready) {
  MutexLock lock(mu_);
  for (auto flusher = ready.begin(); flusher != ready.end();) {
    auto next = std::next(flusher);
    std::erase_if(flusher->extents, [](const ExtentRef& extent) { return extent->durable(); });
    urgent_.insert(urgent_.end(), flusher->extents.begin(), flusher->extents.end());
    if (!flusher->extents.empty()) flushers_.splice(flushers_.end(), ready, flusher);
    flusher = next;
  }
  if (!urgent_.empty()) writer_wake_.NotifyAll();
}

// The bytes stay dirty; those who waited for them learn of the error.
std::list<WriteBack::Flusher> WriteBack::TakeFlushersLocked(const std::vector<ExtentRef>& extents) {
  std::unordered_set<const Extent*> members;
  for (const ExtentRef& extent : extents) members.insert(extent.get());
  std::list<Flusher> taken;
  for (auto flusher = flushers_.begin(); flusher != flushers_.end();) {
    auto next = std::next(flusher);
    bool waits = std::any_of(flusher->extents.begin(), flusher->extents.end(),
                             [&](const ExtentRef& e) { return members.contains(e.get()); });
    if (waits) {
      flusher->extents.clear();
      taken.splice(taken.end(), flushers_, flusher);
    }
    flusher = next;
  }
  return taken;
}

void WriteBack::Finish(std::list<Flusher> flushers, const Status& status) {
  for (Flusher& flusher : flushers) {
    flusher.extents.clear();
    flusher.done(status);
  }
}

}  // namespace terrace::cache
