// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The workloads, by group: one file each. A workload has one id, and reports one figure or more.
#pragma once

#include <string_view>
#include <vector>

namespace terrace::bench {

class Bench;

struct Workload {
  std::string_view id;
  std::string_view figures;
  std::string_view what;
  void (*run)(Bench& bench);
  bool on_request = false;  // runs only if it is named
};

std::vector<Workload> SaveWorkloads();
std::vector<Workload> LoadWorkloads();
std::vector<Workload> KvWorkloads();
std::vector<Workload> MetaWorkloads();
std::vector<Workload> SmallWorkloads();
std::vector<Workload> CopyWorkloads();
std::vector<Workload> OverwriteWorkloads();
std::vector<Workload> ManyFilesWorkloads();

}  // namespace terrace::bench
