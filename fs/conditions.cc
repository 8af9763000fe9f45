// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/conditions.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "fs/meta/key_format.h"

namespace terrace::fs {

namespace {

template <typename Multimap, typename Key, typename Value>
void EraseOne(Multimap& map, const Key& key, const Value& value) {
  auto [begin, end] = map.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    if (it->second == value) {
      map.erase(it);
      return;
    }
  }
  TERRACE_ASSERT(!"the indexes of conditions agree");
}

}  // namespace

std::string EncodeCondition(const Condition& condition) {
  std::string value;
  AppendLittleEndian(value, condition.inode.value());
  AppendLittleEndian(value, condition.needs.value());
  AppendLittleEndian(value, condition.predecessor.value());
  return value;
}

Result<Condition> DecodeCondition(std::string_view key, std::string_view value) {
  ByteReader reader(value);
  auto inode = reader.Take<uint64_t>();
  auto needs = reader.Take<uint64_t>();
  auto predecessor = reader.Take<uint64_t>();
  if (key.size() != 16 || !predecessor || !reader.empty()) {
    return Fail(Errc::kCorrupt, "record of a conditional entry: wrong size");
  }
  return Condition{.parent = InodeId(ReadBigEndian64(key)),
                   .cookie = ReadBigEndian64(key.substr(8)),
                   .inode = InodeId(*inode),
                   .needs = Sequence(*needs),
                   .predecessor = InodeId(*predecessor)};
}

void Conditions::Open(MetaBatch& batch, const Condition& condition) {
  TERRACE_ASSERT(condition.inode != kNoInode);
  TERRACE_ASSERT(condition.inode != condition.predecessor);
  batch.Put(Table::kCondition, DentryKey(condition.parent, condition.cookie),
            EncodeCondition(condition));
  MutexLock lock(mu_);
  RememberLocked(condition);
}

std::optional<Condition> Conditions::CloseName(MetaBatch& batch, InodeId parent, uint64_t cookie) {
  MutexLock lock(mu_);
  auto found = by_name_.find(NameKey{parent, cookie});
  if (found == by_name_.end()) return std::nullopt;
  const Condition condition = found->second;
  batch.Delete(Table::kCondition, DentryKey(parent, cookie));
  ForgetLocked(condition);
  return condition;
}

std::vector<Condition> Conditions::CloseSatisfied(MetaBatch& batch, InodeId inode,
                                                  Sequence durable) {
  std::vector<Condition> closed;
  MutexLock lock(mu_);
  auto [begin, end] = by_inode_.equal_range(inode);
  for (auto it = begin; it != end; ++it) {
    const Condition& condition = by_name_.at(it->second);
    if (condition.needs <= durable) closed.push_back(condition);
  }
  for (const Condition& condition : closed) {
    batch.Delete(Table::kCondition, DentryKey(condition.parent, condition.cookie));
    ForgetLocked(condition);
  }
  return closed;
}

void Conditions::UndoOpen(const Condition& condition) {
  MutexLock lock(mu_);
  ForgetLocked(condition);
}

void Conditions::UndoClose(const Condition& condition) {
  MutexLock lock(mu_);
  RememberLocked(condition);
}

std::optional<Condition> Conditions::AtName(InodeId parent, uint64_t cookie) const {
  MutexLock lock(mu_);
  auto found = by_name_.find(NameKey{parent, cookie});
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::vector<Condition> Conditions::InDirectory(InodeId parent) const {
  std::vector<Condition> conditions;
  MutexLock lock(mu_);
  auto [begin, end] = by_directory_.equal_range(parent);
  for (auto it = begin; it != end; ++it) conditions.push_back(by_name_.at(it->second));
  return conditions;
}

bool Conditions::IsPredecessor(InodeId inode) const {
  MutexLock lock(mu_);
  return predecessors_.contains(inode);
}

Sequence Conditions::NeededOf(InodeId inode) const {
  Sequence needed;
  MutexLock lock(mu_);
  auto [begin, end] = by_inode_.equal_range(inode);
  for (auto it = begin; it != end; ++it) needed = std::max(needed, by_name_.at(it->second).needs);
  return needed;
}

size_t Conditions::size() const {
  MutexLock lock(mu_);
  return by_name_.size();
}

void Conditions::RememberLocked(const Condition& condition) {
  const NameKey name{condition.parent, condition.cookie};
  const bool is_new = by_name_.emplace(name, condition).second;
  TERRACE_ASSERT(is_new);
  by_inode_.emplace(condition.inode, name);
  by_directory_.emplace(condition.parent, name);
  if (condition.predecessor != kNoInode) predecessors_[condition.predecessor]++;
}

void Conditions::ForgetLocked(const Condition& condition) {
  const NameKey name{condition.parent, condition.cookie};
  const size_t erased = by_name_.erase(name);
  TERRACE_ASSERT(erased == 1);
  EraseOne(by_inode_, condition.inode, name);
  EraseOne(by_directory_, condition.parent, name);
  if (condition.predecessor == kNoInode) return;
  auto found = predecessors_.find(condition.predecessor);
  TERRACE_ASSERT(found != predecessors_.end());
  if (--found->second == 0) predecessors_.erase(found);
}

}  // namespace terrace::fs
