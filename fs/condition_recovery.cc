// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/condition_recovery.h"

#include <optional>
#include <vector>

#include "fs/conditions.h"
#include "fs/inode_record.h"
#include "fs/meta/key_format.h"
#include "fs/name_slots.h"

namespace terrace::fs {

namespace {

Result<std::vector<Condition>> ReadConditions(MetaStore& meta) {
  std::vector<Condition> conditions;
  auto cursor = meta.Scan(Table::kCondition, {}, {});
  for (; cursor->Valid(); cursor->Next()) {
    TERRACE_ASSIGN_OR_RETURN(const Condition condition,
                             DecodeCondition(cursor->key(), cursor->value()));
    conditions.push_back(condition);
  }
  TERRACE_TRY(cursor->status());
  return conditions;
}

Result<std::optional<InodeRecord>> ReadRecord(MetaStore& meta, InodeId inode) {
  if (inode == kNoInode) return std::nullopt;
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> stored,
                           meta.Get(Table::kInode, InodeKey(inode)));
  if (!stored) return std::nullopt;
  TERRACE_ASSIGN_OR_RETURN(InodeRecord record, DecodeInodeRecord(inode, *stored));
  return std::optional<InodeRecord>(std::move(record));
}

void PutRecord(MetaBatch& batch, const InodeRecord& record) {
  batch.Put(Table::kInode, InodeKey(record.id), EncodeInodeRecord(record));
}

void AddName(MetaBatch& batch, InodeRecord& record) {
  if (record.nlink == 0) batch.Delete(Table::kOrphan, InodeKey(record.id));
  record.nlink++;
  PutRecord(batch, record);
}

void DropName(MetaBatch& batch, InodeRecord& record) {
  if (record.nlink > 0) record.nlink--;
  if (record.nlink == 0) batch.Put(Table::kOrphan, InodeKey(record.id), {});
  PutRecord(batch, record);
}

// Adds to the batch what the condition asks for.
Status Settle(MetaStore& meta, const Condition& condition, MetaBatch& batch,
              ConditionRecovery& recovery) {
  TERRACE_ASSIGN_OR_RETURN(NameSlots slots,
                           NameSlots::Load(meta, condition.parent, condition.cookie));
  TERRACE_ASSIGN_OR_RETURN(std::optional<InodeRecord> record, ReadRecord(meta, condition.inode));
  const auto entry = slots.AtCookie(condition.cookie);
  if (!entry || entry->inode != condition.inode || !record) {
    recovery.stale++;
    return {};
  }
  if (record->durable_sequence >= condition.needs) {
    recovery.kept++;
    return {};
  }
  TERRACE_ASSIGN_OR_RETURN(std::optional<InodeRecord> predecessor,
                           ReadRecord(meta, condition.predecessor));
  DropName(batch, *record);
  if (predecessor) {
    slots.Set(condition.cookie, predecessor->id, predecessor->mode);
    AddName(batch, *predecessor);
    recovery.restored++;
  } else {
    slots.Remove(condition.cookie);
    recovery.removed++;
  }
  slots.Emit(batch);
  return {};
}

}  // namespace

Result<ConditionRecovery> RecoverConditions(MetaStore& meta) {
  ConditionRecovery recovery;
  TERRACE_ASSIGN_OR_RETURN(const std::vector<Condition> conditions, ReadConditions(meta));
  if (conditions.empty()) return recovery;
  for (const Condition& condition : conditions) {
    MetaBatch batch;
    batch.Delete(Table::kCondition, DentryKey(condition.parent, condition.cookie));
    TERRACE_TRY(Settle(meta, condition, batch, recovery));
    TERRACE_TRY(meta.Write(batch));
  }
  TERRACE_TRY(meta.Sync());
  return recovery;
}

}  // namespace terrace::fs
