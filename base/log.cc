// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cctype>
#include <memory>
#include <string>

namespace terrace {

namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

void Use(std::shared_ptr<spdlog::logger> logger) {
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L [%t] %v");
  logger->flush_on(spdlog::level::info);
  logger->set_level(spdlog::default_logger_raw()->level());
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

Status LogToFile(const std::string& path) {
  try {
    Use(std::make_shared<spdlog::logger>(
        "terrace", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path)));
  } catch (const spdlog::spdlog_ex& error) {
    return Fail(Errc::kIo, "log file " + path + ": " + error.what());
  }
  return {};
}

void LogToStderr() {
  Use(std::make_shared<spdlog::logger>("terrace",
                                       std::make_shared<spdlog::sinks::stderr_sink_mt>()));
}

void SetLogLevel(LogLevel level) { spdlog::set_level(ToSpdlog(level)); }

void Log(LogLevel level, std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  }
  spdlog::log(ToSpdlog(level), "{}", line);
}

void LogFatalLine(const char* expression, const char* file, int line) {
  spdlog::critical("assertion failed: {} at {}:{}", expression, file, line);
  spdlog::default_logger()->flush();
}

}  // namespace terrace
