// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/stored_map.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/units.h"
#include "fs/meta/key_format.h"

namespace terrace::fs {

namespace {

constexpr uint8_t kStoredEntryVersion = 1;

std::string EntryName(InodeId inode, uint64_t offset) {
  return "map entry of inode " + std::to_string(inode.value()) + " at offset " +
         std::to_string(offset);
}

// Reads entries from a cursor until it ends. visit(offset, entry).
template <typename Visit>
Status VisitEntries(InodeId inode, MetaCursor& cursor, const Visit& visit) {
  for (; cursor.Valid(); cursor.Next()) {
    std::string_view key = cursor.key();
    if (key.size() != 16) return Fail(Errc::kCorrupt, "map key of " + EntryName(inode, 0));
    uint64_t offset = ReadBigEndian64(key.substr(8));
    Result<StoredEntry> entry = DecodeStoredEntry(cursor.value());
    if (!entry) return Wrap(entry.error(), EntryName(inode, offset));
    visit(offset, *entry);
  }
  return cursor.status();
}

}  // namespace

std::string EncodeStoredEntry(const StoredEntry& entry) {
  std::string bytes;
  AppendLittleEndian(bytes, kStoredEntryVersion);
  AppendLittleEndian(bytes, entry.size);
  AppendLittleEndian(bytes, entry.extent_offset);
  AppendLittleEndian(bytes, entry.extent.value());
  return bytes;
}

Result<StoredEntry> DecodeStoredEntry(std::string_view bytes) {
  ByteReader reader(bytes);
  auto version = reader.Take<uint8_t>();
  auto size = reader.Take<uint32_t>();
  auto extent_offset = reader.Take<uint32_t>();
  auto extent = reader.Take<uint64_t>();
  if (!extent || !reader.empty() || *version != kStoredEntryVersion) {
    return Fail(Errc::kCorrupt, "map entry does not decode");
  }
  bool fits = *size > 0 && *size <= kExtentSizeMax && *extent_offset <= kExtentSizeMax - *size;
  if (!fits || *extent == 0) return Fail(Errc::kCorrupt, "map entry out of range");
  return StoredEntry{*size, *extent_offset, ExtentId(*extent)};
}

Result<std::vector<LoadedEntry>> LoadStoredMap(MetaStore& meta, InodeId inode) {
  std::vector<LoadedEntry> loaded;
  auto cursor = meta.Scan(Table::kMap, InodeKey(inode), InodeKey(InodeId(inode.value() + 1)));
  TERRACE_TRY(VisitEntries(inode, *cursor, [&](uint64_t offset, const StoredEntry& entry) {
    loaded.push_back({offset, entry, {}});
  }));
  constexpr size_t kKeysPerCall = 512;
  for (size_t first = 0; first < loaded.size(); first += kKeysPerCall) {
    size_t count = std::min(kKeysPerCall, loaded.size() - first);
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; i++) keys.push_back(ExtentKey(loaded[first + i].entry.extent));
    TERRACE_ASSIGN_OR_RETURN(auto values, meta.GetMany(Table::kExtent, keys));
    for (size_t i = 0; i < count; i++) {
      LoadedEntry& entry = loaded[first + i];
      std::string what = "extent of " + EntryName(inode, entry.offset);
      if (!values[i]) return Fail(Errc::kCorrupt, what + " is missing");
      Result<io::ExtentRecord> record = io::DecodeExtentRecord(*values[i]);
      if (!record) return Wrap(record.error(), what);
      if (entry.entry.extent_offset + entry.entry.size > record->size_bytes) {
        return Fail(Errc::kCorrupt, what + " is too short");
      }
      entry.record = std::move(*record);
    }
  }
  return loaded;
}

// An extent that has a record, and by how much its count changes.
struct ExtentDeltas::Known {
  ExtentId extent;
  int32_t delta = 0;
  io::ExtentRecord record;

  bool IsShared() const { return delta > 0 || record.reference_count > 1; }
};

// Conditional locking is beyond what the compiler's analysis can follow.
void ExtentDeltas::Lock(Mutex& mu) TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  mu.Lock();
  held_ = &mu;
}

void ExtentDeltas::Unlock() TERRACE_NO_THREAD_SAFETY_ANALYSIS {
  if (held_ != nullptr) held_->Unlock();
  held_ = nullptr;
}

Result<std::vector<ExtentDeltas::Known>> ExtentDeltas::ReadKnown(MetaStore& meta) const {
  std::vector<Known> known;
  std::vector<std::string> keys;
  for (const auto& [extent, delta] : deltas_) {
    if (delta == 0 || fresh_.contains(extent)) continue;
    known.push_back({extent, delta, {}});
    keys.push_back(ExtentKey(extent));
  }
  TERRACE_ASSIGN_OR_RETURN(auto values, meta.GetMany(Table::kExtent, keys));
  for (size_t i = 0; i < known.size(); i++) {
    const std::string what = "extent " + std::to_string(known[i].extent.value());
    if (!values[i]) return Fail(Errc::kCorrupt, what + " has no record");
    Result<io::ExtentRecord> record = io::DecodeExtentRecord(*values[i]);
    if (!record) return Wrap(record.error(), what);
    known[i].record = std::move(*record);
  }
  return known;
}

Result<ExtentDeltas::Retired> ExtentDeltas::Emit(MetaStore& meta, MetaBatch& batch) {
  for (const auto& [extent, fresh] : fresh_) {
    auto delta = deltas_.find(extent);
    // Named and unnamed again in one batch?
    if (delta == deltas_.end() || delta->second <= 0) continue;
    io::ExtentRecord record = fresh;
    record.reference_count = static_cast<uint32_t>(delta->second);
    batch.Put(Table::kExtent, ExtentKey(extent), io::EncodeExtentRecord(record));
  }
  TERRACE_ASSIGN_OR_RETURN(std::vector<Known> known, ReadKnown(meta));
  if (std::any_of(known.begin(), known.end(), [](const Known& one) { return one.IsShared(); })) {
    Lock(meta.shared_extents_mu());
    TERRACE_ASSIGN_OR_RETURN(known, ReadKnown(meta));
  }
  Retired retired;
  for (Known& one : known) {
    const int64_t count = int64_t{one.record.reference_count} + one.delta;
    if (count < 0) {
      return Fail(Errc::kCorrupt, "extent " + std::to_string(one.extent.value()) +
                                      " has a reference count below zero");
    }
    if (count == 0) {
      batch.Delete(Table::kExtent, ExtentKey(one.extent));
      retired.emplace_back(one.extent, std::move(one.record));
    } else {
      one.record.reference_count = static_cast<uint32_t>(count);
      batch.Put(Table::kExtent, ExtentKey(one.extent), io::EncodeExtentRecord(one.record));
    }
  }
  return retired;
}

Status MapEdit::Put(uint64_t offset, const StoredEntry& entry) {
  TERRACE_TRY(Clear(offset, offset + entry.size));
  after_[offset] = entry;
  return {};
}

Status MapEdit::Clear(uint64_t offset, uint64_t end) {
  TERRACE_TRY(Load(offset, end));
  ClearLoaded(offset, end);
  return {};
}

// Reads the stored entries that touch [offset, end) into before_ and after_, once.
Status MapEdit::Load(uint64_t offset, uint64_t end) {
  auto at = loaded_.upper_bound(offset);
  if (at != loaded_.begin() && std::prev(at)->second >= end) return {};
  // A little more than asked: the next change is often the neighbour.
  uint64_t stop = end > UINT64_MAX - kExtentSizeMax ? UINT64_MAX : end + kExtentSizeMax;
  std::string until =
      stop == UINT64_MAX ? InodeKey(InodeId(inode_.value() + 1)) : MapKey(inode_, stop);
  auto cursor = meta_.ScanFromFloor(Table::kMap, MapKey(inode_, offset), InodeKey(inode_), until);
  if (!cursor->Valid() && cursor->status()) {
    cursor = meta_.Scan(Table::kMap, MapKey(inode_, offset), until);
  }
  TERRACE_TRY(VisitEntries(inode_, *cursor, [&](uint64_t start, const StoredEntry& entry) {
    // What an earlier load brought is newer in after_ than in the store.
    if (before_.emplace(start, entry).second) after_.emplace(start, entry);
  }));
  // Join with the loaded ranges that this one touches.
  uint64_t first = offset;
  at = loaded_.upper_bound(first);
  if (at != loaded_.begin() && std::prev(at)->second >= first) at = std::prev(at);
  while (at != loaded_.end() && at->first <= stop) {
    first = std::min(first, at->first);
    stop = std::max(stop, at->second);
    at = loaded_.erase(at);
  }
  loaded_[first] = stop;
  return {};
}

void MapEdit::ClearLoaded(uint64_t offset, uint64_t end) {
  auto at = after_.upper_bound(offset);
  if (at != after_.begin() && std::prev(at)->first + std::prev(at)->second.size > offset) {
    at = std::prev(at);
  }
  while (at != after_.end() && at->first < end) {
    uint64_t start = at->first;
    StoredEntry entry = at->second;
    uint64_t stop = start + entry.size;
    at = after_.erase(at);
    if (start < offset) {
      after_[start] = {static_cast<uint32_t>(offset - start), entry.extent_offset, entry.extent};
    }
    if (stop > end) {
      auto cut = static_cast<uint32_t>(end - start);
      after_[end] = {entry.size - cut, entry.extent_offset + cut, entry.extent};
      break;
    }
  }
}

void MapEdit::Emit(MetaBatch& batch, ExtentDeltas& deltas) const {
  for (const auto& [offset, entry] : before_) {
    auto now = after_.find(offset);
    if (now != after_.end() && now->second == entry) continue;
    deltas.Change(entry.extent, -1);
    if (now == after_.end()) batch.Delete(Table::kMap, MapKey(inode_, offset));
  }
  for (const auto& [offset, entry] : after_) {
    auto then = before_.find(offset);
    if (then != before_.end() && then->second == entry) continue;
    deltas.Change(entry.extent, 1);
    batch.Put(Table::kMap, MapKey(inode_, offset), EncodeStoredEntry(entry));
  }
}

bool MapEdit::NamedBefore(ExtentId extent, uint64_t offset, uint64_t end) const {
  return std::any_of(before_.lower_bound(offset), before_.lower_bound(end),
                     [&](const auto& entry) { return entry.second.extent == extent; });
}

}  // namespace terrace::fs
