// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Thread: a named thread that is joined by its owner, never detached.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

namespace terrace {

class Thread {
 public:
  Thread() = default;
  template <typename Function>
  Thread(std::string name, Function function)  // the kernel keeps 15 bytes of the name
      : thread_([name = std::move(name), function = std::move(function)]() mutable {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          function();
        }) {}
  ~Thread() { Join(); }
  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other) {
    Join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // The calling thread gives way to all others of the machine from now on (nice 19).
  static void GiveWay() { setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19); }

  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace terrace
