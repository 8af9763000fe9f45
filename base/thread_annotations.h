// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Capability annotations of clang's thread safety analysis
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html); nothing under other compilers.
#pragma once

#if defined(__clang__)
#define TERRACE_ATTRIBUTE(x) __attribute__((x))
#else
#define TERRACE_ATTRIBUTE(x)
#endif

#define TERRACE_CAPABILITY(x) TERRACE_ATTRIBUTE(capability(x))
#define TERRACE_SCOPED_CAPABILITY TERRACE_ATTRIBUTE(scoped_lockable)
#define TERRACE_GUARDED_BY(x) TERRACE_ATTRIBUTE(guarded_by(x))
#define TERRACE_PT_GUARDED_BY(x) TERRACE_ATTRIBUTE(pt_guarded_by(x))
#define TERRACE_REQUIRES(...) TERRACE_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define TERRACE_REQUIRES_SHARED(...) TERRACE_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define TERRACE_ACQUIRE(...) TERRACE_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TERRACE_ACQUIRE_SHARED(...) TERRACE_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define TERRACE_RELEASE(...) TERRACE_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TERRACE_RELEASE_SHARED(...) TERRACE_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define TERRACE_RELEASE_GENERIC(...) TERRACE_ATTRIBUTE(release_generic_capability(__VA_ARGS__))
#define TERRACE_TRY_ACQUIRE(...) TERRACE_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define TERRACE_EXCLUDES(...) TERRACE_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define TERRACE_RETURN_CAPABILITY(x) TERRACE_ATTRIBUTE(lock_returned(x))
#define TERRACE_NO_THREAD_SAFETY_ANALYSIS TERRACE_ATTRIBUTE(no_thread_safety_analysis)
