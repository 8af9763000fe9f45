// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Assertions for broken code, never for bad input.
//
// TERRACE_ASSERT is cheap and on in every build: a crash that recovers beats a silently wrong
// checkpoint. TERRACE_DCHECK may be slow and is off where NDEBUG is defined. Split conjunctions
// into two asserts, so that the report names the half that broke.
#pragma once

namespace terrace {

[[noreturn]] void AssertFailed(const char* expression, const char* file, int line);

}  // namespace terrace

#define TERRACE_ASSERT(expr)                              \
  do {                                                    \
    if (!(expr)) [[unlikely]] {                           \
      ::terrace::AssertFailed(#expr, __FILE__, __LINE__); \
    }                                                     \
  } while (false)

#ifdef NDEBUG
#define TERRACE_DCHECK(expr) \
  do {                       \
  } while (false)
#else
#define TERRACE_DCHECK(expr) TERRACE_ASSERT(expr)
#endif
