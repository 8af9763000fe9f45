// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Loaded into pjdfstest with LD_PRELOAD: libc answers pathconf(_PC_LINK_MAX) from a table of file
// systems that it knows by number, and says 127 for every FUSE file system, whatever that takes;
// the suite then leaves its test of EMLINK out. This tells it the limit of docs/semantics.md.
#include <dlfcn.h>
#include <unistd.h>

namespace {

constexpr long kLinkCountMax = 65000;

}  // namespace

extern "C" long pathconf(const char* path, int name) noexcept {
  if (name == _PC_LINK_MAX) return kLinkCountMax;
  using Pathconf = long (*)(const char*, int);
  static const auto real = reinterpret_cast<Pathconf>(dlsym(RTLD_NEXT, "pathconf"));
  return real(path, name);
}
