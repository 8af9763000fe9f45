// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The log: one line per event, in the place where an error stops travelling.
//
// Role     Wraps spdlog, so that no other file includes it. Format with fmt-like pieces is left
//          to the caller: a line is one string.
// Threads  All functions are thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace terrace {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sends the log to a file (appended). Errors: kPermission, kNotFound, kIo.
Status LogToFile(const std::string& path);
// Sends the log to standard error, which is the start.
void LogToStderr();
void SetLogLevel(LogLevel level);
// Line breaks and other control characters become spaces: names of files and RocksDB's texts have
// some.
void Log(LogLevel level, std::string_view text);

inline void LogInfo(std::string_view line) { Log(LogLevel::kInfo, line); }
inline void LogWarning(std::string_view line) { Log(LogLevel::kWarning, line); }
inline void LogError(std::string_view line) { Log(LogLevel::kError, line); }

// Last words of an assertion; flushes.
void LogFatalLine(const char* expression, const char* file, int line);

}  // namespace terrace
