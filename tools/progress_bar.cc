// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/units.h"

namespace terrace::tools {

namespace {

constexpr std::chrono::milliseconds kQuietTime(500);
constexpr size_t kBarWidth = 24;

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), visible_(isatty(STDERR_FILENO) == 1), start_(Clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::Update(uint64_t left_bytes) {
  most_bytes_ = std::max(most_bytes_, left_bytes);
  const Clock::duration elapsed = Clock::now() - start_;
  if (!visible_ || elapsed < kQuietTime) return;
  ProgressFigures figures{.done_bytes = most_bytes_ - left_bytes,
                          .total_bytes = most_bytes_,
                          .seconds = std::chrono::duration<double>(elapsed).count()};
  std::fprintf(stderr, "\r\033[K%s", ProgressLine(what_, figures).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

std::string ProgressLine(const std::string& what, const ProgressFigures& figures) {
  const double done = static_cast<double>(figures.done_bytes);
  const double total = static_cast<double>(std::max<uint64_t>(figures.total_bytes, 1));
  const size_t filled = std::min(kBarWidth, static_cast<size_t>(done / total * kBarWidth));
  std::string line = what + " [" + std::string(filled, '#') + std::string(kBarWidth - filled, '-') +
                     "] " + FormatSize(figures.done_bytes) + " of " +
                     FormatSize(figures.total_bytes);
  if (figures.seconds <= 0 || figures.done_bytes == 0) return line;
  const double rate = done / figures.seconds;
  line += ", " + FormatSize(static_cast<uint64_t>(rate)) + "/s, ";
  line += std::to_string(static_cast<uint64_t>((total - done) / rate + 0.5)) + " s left";
  return line;
}

}  // namespace terrace::tools
