// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The running kernel: its version, and what that means for a mount.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::mount {

struct KernelVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const KernelVersion&) const = default;
};

inline constexpr KernelVersion kKernelMin{6, 1};          // Debian 12
inline constexpr KernelVersion kKernelDirectMmap{6, 6};   // mmap beside direct I/O
inline constexpr KernelVersion kKernelPassthrough{6, 9};  // FUSE passthrough; resending requests

// "6.18.44-cloud" is 6.18; text without a version is 0.0.
KernelVersion ParseKernelVersion(std::string_view release);
std::string KernelRelease();  // of the running kernel, as uname says
KernelVersion RunningKernel();

// What a mount uses of the running kernel, and what it lacks, for people.
struct KernelFeature {
  std::string_view name;
  bool available;
  std::string_view without;  // what follows when it is missing
};
std::vector<KernelFeature> KernelFeatures(KernelVersion version);

}  // namespace terrace::mount
