// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "mount/kernel.h"

#include <sys/utsname.h>

#include <charconv>

namespace terrace::mount {

KernelVersion ParseKernelVersion(std::string_view release) {
  KernelVersion version;
  const char* end = release.data() + release.size();
  auto [dot, error] = std::from_chars(release.data(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return {};
  return version;
}

std::string KernelRelease() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "";
}

KernelVersion RunningKernel() { return ParseKernelVersion(KernelRelease()); }

std::vector<KernelFeature> KernelFeatures(KernelVersion version) {
  return {
      {"mmap beside direct I/O", version >= kKernelDirectMmap,
       "files that programs read go through the page cache (Linux 6.6 has it)"},
      {"passthrough", version >= kKernelPassthrough,
       "the mount uses the write-back cache instead (Linux 6.9 has it)"},
  };
}

}  // namespace terrace::mount
