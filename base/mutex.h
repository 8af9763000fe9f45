// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Mutex, SharedMutex and CondVar: the std types with capability annotations.
//
// Role     clang 14 does not accept a bare std::mutex in thread safety annotations, so that
//          every lock of the tree is one of these. Lock order: docs/concurrency.md.
// Threads  That is what they are for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/thread_annotations.h"

namespace terrace {

class TERRACE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() TERRACE_ACQUIRE() { mu_.lock(); }
  void Unlock() TERRACE_RELEASE() { mu_.unlock(); }
  bool TryLock() TERRACE_TRY_ACQUIRE(true) { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class TERRACE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) TERRACE_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() TERRACE_RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

class TERRACE_CAPABILITY("shared_mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() TERRACE_ACQUIRE() { mu_.lock(); }
  void Unlock() TERRACE_RELEASE() { mu_.unlock(); }
  bool TryLock() TERRACE_TRY_ACQUIRE(true) { return mu_.try_lock(); }
  void LockShared() TERRACE_ACQUIRE_SHARED() { mu_.lock_shared(); }
  void UnlockShared() TERRACE_RELEASE_SHARED() { mu_.unlock_shared(); }

 private:
  std::shared_mutex mu_;
};

class TERRACE_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mu) TERRACE_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~WriterLock() TERRACE_RELEASE() { mu_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mu_;
};

class TERRACE_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mu) TERRACE_ACQUIRE_SHARED(mu) : mu_(mu) { mu_.LockShared(); }
  ~ReaderLock() TERRACE_RELEASE_GENERIC() { mu_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mu_;
};

// A condition variable for Mutex. Waits can wake early: callers loop on their condition.
class CondVar {
 public:
  void Wait(Mutex& mu) TERRACE_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // Returns: false when the time ran out.
  bool WaitFor(Mutex& mu, std::chrono::nanoseconds timeout) TERRACE_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    bool notified = cv_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace terrace
