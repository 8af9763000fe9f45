// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Result: the one error type of the tree.
//
// Role     A function that can fail returns Result<T>; the caller must look at it.
// Codes    An Errc exists only where some caller acts differently on it; everything else is
//          context text. Only mount/errno.cc turns a code into an errno.
// Threads  Plain values.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace terrace {

enum class Errc {
  kNotFound,      // no such name, inode, key or attribute
  kExists,        // the name is taken
  kNotDirectory,  // a directory was needed
  kIsDirectory,   // anything but a directory was needed
  kNotEmpty,      // the directory still holds entries
  kInvalid,       // an argument or a flag makes no sense
  kNameTooLong,   // a name of more than 255 bytes, an xattr name too long
  kNoSpace,       // the store is full
  kTooLarge,      // a size or an offset beyond the limit of a file
  kTooManyLinks,  // link count at its limit
  kPermission,    // not allowed for this caller
  kReadOnly,      // the mount is read-only
  kNoAttribute,   // no such extended attribute
  kRange,         // the caller's buffer is too small
  kBusy,          // a bound is reached or the object is in use; try again later
  kCorrupt,       // stored bytes fail their check; never wrong bytes
  kIo,            // a device or the host failed
  kUnsupported,   // the operation is not offered here
  kNoMemory,      // the pool has no room
  kShutdown,      // the engine is stopping
};

// A stable lower-case word for logs and JSON, for instance "no space".
std::string_view ErrcName(Errc code);

struct Error {
  Errc code;
  std::string context;  // what was attempted on which object, and why it failed
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Builds the failing side of any Result.
[[nodiscard]] inline tl::unexpected<Error> Fail(Errc code, std::string context) {
  return tl::unexpected<Error>(Error{code, std::move(context)});
}

// "what: the system's text for errno_value", with the code that fits the errno.
[[nodiscard]] tl::unexpected<Error> FailErrno(int errno_value, std::string_view what);

// The same error with "what: " put before its context, for crossing a folder.
[[nodiscard]] tl::unexpected<Error> Wrap(Error error, std::string_view what);

// "context (code name)": for the one place where the error stops travelling.
std::string Describe(const Error& error);

}  // namespace terrace

#define TERRACE_CONCAT_INNER(a, b) a##b
#define TERRACE_CONCAT(a, b) TERRACE_CONCAT_INNER(a, b)

// Evaluates expr; returns its error from the enclosing function if it failed.
#define TERRACE_TRY(expr)                                                               \
  do {                                                                                  \
    auto terrace_try_result = (expr);                                                   \
    if (!terrace_try_result) {                                                          \
      return ::tl::unexpected<::terrace::Error>(std::move(terrace_try_result).error()); \
    }                                                                                   \
  } while (false)

// Evaluates expr; binds lhs to its value or returns its error from the enclosing function.
#define TERRACE_ASSIGN_OR_RETURN(lhs, expr) \
  TERRACE_ASSIGN_OR_RETURN_INNER(TERRACE_CONCAT(terrace_result_, __LINE__), lhs, expr)
#define TERRACE_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr)                 \
  auto tmp = (expr);                                                   \
  if (!tmp) {                                                          \
    return ::tl::unexpected<::terrace::Error>(std::move(tmp).error()); \
  }                                                                    \
  lhs = std::move(*tmp)
