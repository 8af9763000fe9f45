// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace: the one binary. Every verb is a file in tools/verbs/.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/log.h"
#include "tools/mount_helper.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

constexpr const char* kDescription =
    "TerraceFS: a tiered filesystem for checkpoints, model files and KV caches.";
constexpr const char* kFooter = R"(
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 in use, 4 store refused,
5 no TerraceFS there or its daemon does not answer.

Examples:
  terrace mount --store /nvme0/terrace --store /nvme1/terrace /mnt/ckpt
  terrace status /mnt/ckpt
  terrace umount /mnt/ckpt)";

// " mount" when the command line names that verb; empty when it names none.
std::string VerbOf(const CLI::App& app, int argc, const char* const* argv) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (argc > 1 && verb->get_name() == argv[1]) return " " + verb->get_name();
  }
  return "";
}

int Run(int argc, const char* const* argv) {
  CLI::App app(kDescription, "terrace");
  app.footer(kFooter);
  app.require_subcommand(1);
  int exit_code = kExitOk;
  AddMountVerb(app, &exit_code);
  AddFormatVerb(app, &exit_code);
  AddUmountVerb(app, &exit_code);
  AddStatusVerb(app, &exit_code);
  AddFlushVerb(app, &exit_code);
  AddEvictVerb(app, &exit_code);
  AddVersionVerb(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error);  // --help
    }
    const std::string verb = VerbOf(app, argc, argv);
    const bool unknown_verb = argc > 1 && verb.empty() && argv[1][0] != '-';
    PrintError((unknown_verb ? std::string(argv[1]) + ": no such verb" : error.what()) +
               ": see terrace" + verb + " --help");
    return kExitUsage;
  }
  return exit_code;
}

int RunMountHelper(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  Result<MountHelperCall> call = ParseMountHelperCall(given);
  if (!call) return FailVerb(call.error(), kExitUsage);
  if (call->fake) return kExitOk;
  std::vector<const char*> arguments;
  if (call->remount) {
    for (const std::string& argument : *call->remount) arguments.push_back(argument.c_str());
    arguments.push_back(nullptr);
    execvp(arguments[0], const_cast<char* const*>(arguments.data()));
    return FailVerb(Error{Errc::kNotFound, std::string("mount: ") + std::strerror(errno)});
  }
  arguments.push_back("terrace");
  for (const std::string& argument : call->arguments) arguments.push_back(argument.c_str());
  return Run(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

}  // namespace terrace::tools

int main(int argc, char** argv) {
  if (argc > 0 && terrace::tools::IsMountHelperName(argv[0])) {
    return terrace::tools::RunMountHelper(argc, argv);
  }
  return terrace::tools::Run(argc, argv);
}
