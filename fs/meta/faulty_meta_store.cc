// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/meta/faulty_meta_store.h"

#include "base/assert.h"

namespace terrace::fs {

namespace {

class FailedCursor final : public MetaCursor {
 public:
  explicit FailedCursor(Error error) : error_(std::move(error)) {}
  bool Valid() const override { return false; }
  void Next() override { TERRACE_ASSERT(Valid()); }
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  Status status() const override { return tl::unexpected<Error>(error_); }

 private:
  const Error error_;
};

}  // namespace

void FaultyMetaStore::FailNth(MetaCall call, uint64_t nth, Errc code) {
  TERRACE_ASSERT(nth > 0);
  MutexLock lock(mu_);
  Plan& plan = plans_[static_cast<size_t>(call)];
  plan.fail_at = plan.calls + nth;
  plan.code = code;
}

void FaultyMetaStore::FailAll(MetaCall call, Errc code) {
  MutexLock lock(mu_);
  Plan& plan = plans_[static_cast<size_t>(call)];
  plan.fail_all = true;
  plan.code = code;
}

void FaultyMetaStore::Heal() {
  MutexLock lock(mu_);
  for (Plan& plan : plans_) {
    plan.fail_at = 0;
    plan.fail_all = false;
  }
}

uint64_t FaultyMetaStore::CallCount(MetaCall call) {
  MutexLock lock(mu_);
  return plans_[static_cast<size_t>(call)].calls;
}

Status FaultyMetaStore::Count(MetaCall call) {
  MutexLock lock(mu_);
  Plan& plan = plans_[static_cast<size_t>(call)];
  plan.calls++;
  if (plan.fail_all || plan.calls == plan.fail_at) return Fail(plan.code, "injected fault");
  return {};
}

Result<std::optional<std::string>> FaultyMetaStore::Get(Table table, std::string_view key) {
  TERRACE_TRY(Count(MetaCall::kGet));
  return inner_.Get(table, key);
}

Result<std::vector<std::optional<std::string>>> FaultyMetaStore::GetMany(
    Table table, const std::vector<std::string>& keys) {
  TERRACE_TRY(Count(MetaCall::kGet));
  return inner_.GetMany(table, keys);
}

Status FaultyMetaStore::Write(const MetaBatch& batch) {
  TERRACE_TRY(Count(MetaCall::kWrite));
  return inner_.Write(batch);
}

Status FaultyMetaStore::Sync() {
  TERRACE_TRY(Count(MetaCall::kSync));
  return inner_.Sync();
}

Status FaultyMetaStore::EmptyLog() {
  TERRACE_TRY(Count(MetaCall::kSync));
  return inner_.EmptyLog();
}

std::unique_ptr<MetaCursor> FaultyMetaStore::Scan(Table table, std::string_view begin,
                                                  std::string_view end) {
  Status counted = Count(MetaCall::kScan);
  if (!counted) return std::make_unique<FailedCursor>(std::move(counted).error());
  return inner_.Scan(table, begin, end);
}

std::unique_ptr<MetaCursor> FaultyMetaStore::ScanFromFloor(Table table, std::string_view key,
                                                           std::string_view floor,
                                                           std::string_view end) {
  Status counted = Count(MetaCall::kScan);
  if (!counted) return std::make_unique<FailedCursor>(std::move(counted).error());
  return inner_.ScanFromFloor(table, key, floor, end);
}

}  // namespace terrace::fs
