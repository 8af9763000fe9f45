// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/id_source.h"

#include "base/bytes.h"
#include "fs/meta/system_keys.h"

namespace terrace::fs {

namespace {

// Numbers per reservation: one Sync for so many. A power loss skips at most these.
constexpr uint64_t kInodeStep = 1 << 16;
constexpr uint64_t kExtentStep = 1 << 20;
constexpr uint64_t kSequenceStep = 1 << 22;
// So that every committed byte gives its inode a durable sequence above 0: it can be 1 less than
// that of the first change that is still missing (fs/committer.cc).
constexpr uint64_t kFirstSequence = 2;

// The first number that was never reserved.
Result<uint64_t> ReadReservation(MetaStore& meta, const char* key, uint64_t first) {
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> stored, meta.Get(Table::kSystem, key));
  if (!stored) return first;
  ByteReader reader(*stored);
  std::optional<uint64_t> end = reader.Take<uint64_t>();
  if (!end || !reader.empty() || *end < first) {
    return Fail(Errc::kCorrupt, "reservation of numbers " + std::string(key));
  }
  return *end;
}

}  // namespace

Result<std::unique_ptr<IdSource>> IdSource::Open(MetaStore& meta) {
  std::unique_ptr<IdSource> source(new IdSource(meta));
  struct Kind {
    Range* range;
    const char* key;
    uint64_t step;
    uint64_t first;
  };
  const Kind kinds[] = {
      {&source->inodes_, kInodesReservedKey, kInodeStep, kRootInode.value() + 1},
      {&source->extents_, kExtentsReservedKey, kExtentStep, 1},
      {&source->sequences_, kSequencesReservedKey, kSequenceStep, kFirstSequence},
  };
  for (const Kind& kind : kinds) {
    TERRACE_ASSIGN_OR_RETURN(const uint64_t end, ReadReservation(meta, kind.key, kind.first));
    kind.range->next = end;
    kind.range->reserved_end = end;
    kind.range->key = kind.key;
    kind.range->step = kind.step;
  }
  return source;
}

Result<InodeId> IdSource::NextInode() {
  TERRACE_ASSIGN_OR_RETURN(const uint64_t number, Next(inodes_));
  return InodeId(number);
}

Result<ExtentId> IdSource::NextExtent() {
  TERRACE_ASSIGN_OR_RETURN(const uint64_t number, Next(extents_));
  return ExtentId(number);
}

Result<Sequence> IdSource::NextSequence() {
  TERRACE_ASSIGN_OR_RETURN(const uint64_t number, Next(sequences_));
  return Sequence(number);
}

Result<uint64_t> IdSource::Next(Range& range) {
  const uint64_t number = range.next.fetch_add(1, std::memory_order_relaxed);
  if (number >= range.reserved_end.load(std::memory_order_acquire)) {
    TERRACE_TRY(Reserve(range, number));
  }
  return number;
}

Status IdSource::Reserve(Range& range, uint64_t wanted) {
  MutexLock lock(mu_);
  uint64_t end = range.reserved_end.load(std::memory_order_relaxed);
  if (wanted < end) return {};  // another caller was faster
  while (end <= wanted) end += range.step;
  std::string value;
  AppendLittleEndian(value, end);
  MetaBatch batch;
  batch.Put(Table::kSystem, range.key, std::move(value));
  TERRACE_TRY(meta_.Write(batch));
  TERRACE_TRY(meta_.Sync());
  range.reserved_end.store(end, std::memory_order_release);
  return {};
}

}  // namespace terrace::fs
