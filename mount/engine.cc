// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/engine.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/status_latch.h"
#include "base/units.h"
#include "base/version.h"
#include "fs/open.h"
#include "mount/kernel.h"
#include "mount/mount_point.h"
#include "mount/page_syncer.h"
#include "mount/runtime_directory.h"

namespace terrace::mount {

namespace {

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

Result<MountEntry> OwnMountEntry(const std::string& mount_point) {
  TERRACE_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  std::optional<MountEntry> entry = FindMountAt(table, mount_point);
  if (!entry || !entry->IsFuse()) {
    return Fail(Errc::kIo, mount_point + ": the mount is not in /proc/self/mountinfo");
  }
  return *entry;
}

void SayWhatIsMissing() {
  const KernelVersion kernel = RunningKernel();
  if (kernel < kKernelMin) {
    LogWarning("kernel " + KernelRelease() + " is older than 6.1: untested with TerraceFS");
  }
  for (const KernelFeature& feature : KernelFeatures(kernel)) {
    if (feature.available) continue;
    LogWarning("the kernel lacks " + std::string(feature.name) + ": " +
               std::string(feature.without));
  }
}

void SayWhatIsServed(const MountConfig& config, fs::Volume& volume) {
  const fs::VolumeStatus status = volume.GetStatus();
  LogInfo("terrace " + std::string(Version()) + " serves " + config.session.mount_point +
          " from store " + status.store_id + " on " + std::to_string(status.devices.size()) +
          " device(s), " + FormatSize(status.dram.size_bytes) + " of DRAM, " +
          std::string(ConnectionModeName(config.session.mode)) + " mode, kernel " +
          KernelRelease());
}

}  // namespace

void BlockEndSignals() {
  sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

tl::expected<std::unique_ptr<Engine>, MountFailure> Engine::Start(const MountConfig& config) {
  auto failed = [](bool in_store, Error error) {
    return tl::unexpected<MountFailure>(MountFailure{in_store, std::move(error)});
  };
  Result<std::unique_ptr<fs::Volume>> volume = fs::OpenVolume(config.volume);
  if (!volume) return failed(true, std::move(volume).error());
  std::unique_ptr<Engine> engine(new Engine());
  engine->mount_point_ = config.session.mount_point;
  engine->volume_ = std::move(*volume);
  // Only now: a store that is refused is not written to, and the log may lie in it.
  if (config.log_path) {
    Status logging = LogToFile(*config.log_path);
    if (!logging) return failed(false, logging.error());
    SetLogLevel(LogLevel::kInfo);
  }
  Result<std::unique_ptr<Session>> session = Session::Mount(config.session, *engine->volume_);
  if (!session) {
    return failed(false, Wrap(session.error(), config.session.mount_point).value());
  }
  engine->session_ = std::move(*session);
  Status services = engine->StartServices();
  if (!services) return failed(false, services.error());
  SayWhatIsServed(config, *engine->volume_);
  SayWhatIsMissing();
  return engine;
}

Status Engine::StartServices() {
  if (!session_->WaitUntilReady()) {
    return Fail(Errc::kIo, mount_point_ + ": the mount ended at once: look into the log");
  }
  TERRACE_ASSIGN_OR_RETURN(entry_, OwnMountEntry(mount_point_));
  Status raised = RaiseReadahead(entry_);
  if (!raised) LogInfo("mapped files are read in small steps: " + Describe(raised.error()));
  service_ = std::make_unique<ControlService>(*volume_, *session_, entry_);
  TERRACE_ASSIGN_OR_RETURN(std::string directory, OwnRuntimeDirectory());
  TERRACE_ASSIGN_OR_RETURN(control_, ControlSocket::Listen(directory + "/" + SocketName(entry_),
                                                           [this](const std::string& request,
                                                                  const ControlSocket::Send& send) {
                                                             service_->Handle(request, send);
                                                           }));
  return {};
}

Engine::~Engine() {
  if (volume_ == nullptr) return;
  // Start failed half-way: nothing was accepted that Stop's error could be about.
  Status stopped = Stop();
  if (!stopped) LogError("stopping: " + Describe(stopped.error()));
}

Status Engine::Serve() {
  sigset_t signals = EndSignals();
  int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
  if (signal_fd < 0) return FailErrno(errno, "listening for signals");
  WaitForEnd(signal_fd);
  close(signal_fd);
  RemoveDeadMount();
  return Stop();
}

void Engine::WaitForEnd(int signal_fd) {
  for (;;) {
    pollfd wanted[2] = {{.fd = session_->ended_fd(), .events = POLLIN, .revents = 0},
                        {.fd = signal_fd, .events = POLLIN, .revents = 0}};
    if (poll(wanted, 2, -1) < 0) {
      TERRACE_ASSERT(errno == EINTR);
      continue;
    }
    if (wanted[0].revents != 0) {
      LogInfo(mount_point_ + " was unmounted");
      return;
    }
    if (wanted[1].revents != 0) {
      signalfd_siginfo info{};
      [[maybe_unused]] ssize_t size = read(signal_fd, &info, sizeof info);
      LogInfo(std::string("ending: ") + strsignal(static_cast<int>(info.ssi_signo)));
      UnmountOnSignal();
      return;
    }
  }
}

// The readers serve while this runs: the kernel writes its dirty pages out when it unmounts.
void Engine::UnmountOnSignal() {
  session_->StopPageSyncer();
  control_.reset();
  FlushEverything();
  Status unmounted = Unmount(mount_point_, {});
  if (unmounted) return;
  LogWarning("unmounting: " + Describe(unmounted.error()) +
             ": detaching it; programs that use it get errors from now on");
  SyncFilesystemOf(mount_point_);
  session_->NoteDetached();
  Status detached = Unmount(mount_point_, {.lazy = true});
  if (!detached) LogError("detaching: " + Describe(detached.error()));
}

// A connection that was aborted (/sys/fs/fuse/connections) leaves a mount that answers nothing.
void Engine::RemoveDeadMount() {
  Result<MountEntry> left = OwnMountEntry(mount_point_);
  if (!left || left->Device() != entry_.Device()) return;
  Status unmounted = Unmount(mount_point_, {.lazy = true});
  if (!unmounted) LogWarning("a dead mount is left: " + Describe(unmounted.error()));
}

void Engine::FlushEverything() {
  StatusLatch latch;
  volume_->FlushAll([&latch](Status status) { latch.Set(std::move(status)); });
  Status flushed = latch.Wait();
  if (!flushed) LogError("flushing: " + Describe(flushed.error()));
}

Status Engine::Stop() {
  control_.reset();
  if (session_ != nullptr) session_->StopReaders();
  Status stopped = volume_->Stop();
  session_.reset();
  service_.reset();
  volume_.reset();
  return stopped;
}

}  // namespace terrace::mount
