// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// terrace format: makes an empty store, explicitly.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "io/store_layout.h"
#include "tools/report.h"
#include "tools/verbs/verbs.h"

namespace terrace::tools {

namespace {

constexpr const char* kFooter = R"(
A directory or block device that holds anything else is refused, by name of what it holds;
--force overwrites it. `terrace mount` formats empty and missing directories by itself.

Examples:
  terrace format --store /nvme0/terrace --store /nvme1/terrace
  terrace format --store /dev/nvme1n1 --force)";

struct Arguments {
  std::vector<std::string> stores;
  bool force = false;
};

int RunFormat(const Arguments& arguments) {
  io::StoreOptions options;
  options.paths = arguments.stores;
  options.force = arguments.force;
  SetLogLevel(LogLevel::kWarning);  // what is done is printed below
  Result<io::StoreId> store_id = io::FormatStore(options);
  if (!store_id) {
    return FailVerb(store_id.error(),
                    store_id.error().code == Errc::kBusy ? kExitBusy : kExitStoreRefused);
  }
  std::printf("formatted store %s on %zu device%s\n", io::StoreIdText(*store_id).c_str(),
              options.paths.size(), options.paths.size() == 1 ? "" : "s");
  return kExitOk;
}

}  // namespace

void AddFormatVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("format", "make an empty store");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("--store", arguments->stores,
                   "a directory or block device; give it once per device")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->required();
  verb->add_flag("--force", arguments->force, "overwrite what is there");
  verb->footer(kFooter);
  verb->callback([arguments, exit_code] { *exit_code = RunFormat(*arguments); });
}

}  // namespace terrace::tools
