// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the log goes where it was sent, one line per event, above the level that was set.
// Method: a log file in a temporary directory.
#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace terrace {
namespace {

TEST(LogTest, LinesGoToTheFileAboveTheLevel) {
  std::string path = testing::TempDir() + "/terrace-log-test-" + std::to_string(getpid());
  ASSERT_TRUE(LogToFile(path).has_value());
  SetLogLevel(LogLevel::kInfo);
  Log(LogLevel::kDebug, "not this");
  LogInfo("one {} with braces");
  LogWarning("two");
  SetLogLevel(LogLevel::kError);
  LogWarning("nor this");
  LogError("three");
  LogToStderr();
  SetLogLevel(LogLevel::kInfo);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find("one {} with braces"), std::string::npos);
  EXPECT_NE(lines[1].find(" W "), std::string::npos);
  EXPECT_NE(lines[2].find("three"), std::string::npos);
}

TEST(LogTest, LevelOutlivesAChangeOfTarget) {
  std::string path = testing::TempDir() + "/terrace-log-level-" + std::to_string(getpid());
  SetLogLevel(LogLevel::kError);
  ASSERT_TRUE(LogToFile(path).has_value());
  LogWarning("not this");
  LogError("this");
  LogToStderr();
  SetLogLevel(LogLevel::kInfo);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  EXPECT_EQ(text.str().find("not this"), std::string::npos);
  EXPECT_NE(text.str().find("this"), std::string::npos);
}

TEST(LogTest, TextOfSeveralLinesIsOneLine) {
  std::string path = testing::TempDir() + "/terrace-log-lines-" + std::to_string(getpid());
  ASSERT_TRUE(LogToFile(path).has_value());
  LogError("edit {\n  a\r\n\tb\n}\x7f \xff");
  LogToStderr();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  EXPECT_NE(text.str().find("edit {   a   b }  \xff\n"), std::string::npos) << text.str();
}

TEST(LogTest, FileThatCannotBeOpenedIsAnError) {
  EXPECT_FALSE(LogToFile("/proc/no/such/file").has_value());
}

}  // namespace
}  // namespace terrace
