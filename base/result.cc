// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace terrace {

std::string_view ErrcName(Errc code) {
  switch (code) {
    case Errc::kNotFound: return "not found";
    case Errc::kExists: return "exists";
    case Errc::kNotDirectory: return "not a directory";
    case Errc::kIsDirectory: return "is a directory";
    case Errc::kNotEmpty: return "not empty";
    case Errc::kInvalid: return "invalid";
    case Errc::kNameTooLong: return "name too long";
    case Errc::kNoSpace: return "no space";
    case Errc::kTooLarge: return "too large";
    case Errc::kTooManyLinks: return "too many links";
    case Errc::kPermission: return "not permitted";
    case Errc::kReadOnly: return "read-only";
    case Errc::kNoAttribute: return "no such attribute";
    case Errc::kRange: return "out of range";
    case Errc::kBusy: return "busy";
    case Errc::kCorrupt: return "damaged";
    case Errc::kIo: return "i/o error";
    case Errc::kUnsupported: return "not supported";
    case Errc::kNoMemory: return "no memory";
    case Errc::kShutdown: return "stopping";
  }
  return "unknown";
}

namespace {

Errc FromErrno(int errno_value) {
  switch (errno_value) {
    case ENOENT: return Errc::kNotFound;
    case EEXIST: return Errc::kExists;
    case ENOTDIR: return Errc::kNotDirectory;
    case EISDIR: return Errc::kIsDirectory;
    case ENOTEMPTY: return Errc::kNotEmpty;
    case EINVAL: return Errc::kInvalid;
    case ENAMETOOLONG: return Errc::kNameTooLong;
    case ENOSPC:
    case EDQUOT: return Errc::kNoSpace;
    case EFBIG:
    case EOVERFLOW: return Errc::kTooLarge;
    case EPERM:
    case EACCES: return Errc::kPermission;
    case EROFS: return Errc::kReadOnly;
    case EAGAIN:
    case EBUSY: return Errc::kBusy;
    case ENOMEM: return Errc::kNoMemory;
    case EOPNOTSUPP:
    case ENOSYS: return Errc::kUnsupported;
    default: return Errc::kIo;
  }
}

}  // namespace

tl::unexpected<Error> FailErrno(int errno_value, std::string_view what) {
  std::string text(what);
  text += ": ";
  text += std::generic_category().message(errno_value);
  return Fail(FromErrno(errno_value), std::move(text));
}

tl::unexpected<Error> Wrap(Error error, std::string_view what) {
  std::string text(what);
  text += ": ";
  text += error.context;
  return Fail(error.code, std::move(text));
}

std::string Describe(const Error& error) {
  std::string text = error.context;
  text += " (";
  text += ErrcName(error.code);
  text += ")";
  return text;
}

}  // namespace terrace
