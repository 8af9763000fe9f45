// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/name_slots.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "fs/meta/key_format.h"

namespace terrace::fs {

namespace {

// The type byte: the S_IFMT bits, shifted, and a flag.
constexpr int kTypeShift = 12;
constexpr uint8_t kTypeMask = 0x0f;
constexpr uint8_t kSiblingsFlag = 0x80;

constexpr size_t kSlotCount = 256;

uint64_t FirstCookie(uint64_t cookie) { return cookie & ~uint64_t{0xff}; }

}  // namespace

std::string EncodeStoredName(const StoredName& entry) {
  std::string value;
  value.reserve(sizeof(uint64_t) + 1 + entry.name.size());
  AppendLittleEndian(value, entry.inode.value());
  uint8_t type = static_cast<uint8_t>((entry.type & S_IFMT) >> kTypeShift);
  if (entry.has_siblings) type |= kSiblingsFlag;
  AppendLittleEndian(value, type);
  value += entry.name;
  return value;
}

Result<StoredName> DecodeStoredName(std::string_view bytes) {
  ByteReader reader(bytes);
  auto inode = reader.Take<uint64_t>();
  auto type = reader.Take<uint8_t>();
  if (!type) return Fail(Errc::kCorrupt, "directory entry: too short");
  StoredName entry{.inode = InodeId(*inode),
                   .type = static_cast<uint32_t>(*type & kTypeMask) << kTypeShift,
                   .has_siblings = (*type & kSiblingsFlag) != 0,
                   .name = reader.rest()};
  if (entry.name.empty() != (entry.inode == kNoInode)) {
    return Fail(Errc::kCorrupt, "directory entry: a name without an inode or the reverse");
  }
  return entry;
}

Result<NameSlots> NameSlots::Load(MetaStore& meta, InodeId parent, uint64_t cookie) {
  NameSlots slots(parent, FirstCookie(cookie));
  TERRACE_ASSIGN_OR_RETURN(std::optional<std::string> first,
                           meta.Get(Table::kDentry, DentryKey(parent, slots.first_cookie_)));
  if (!first) return slots;
  TERRACE_TRY(slots.AddStored(0, *first));
  if (!slots.slots_[0].had_siblings) return slots;
  auto cursor = meta.Scan(Table::kDentry, DentryKey(parent, slots.first_cookie_ + 1),
                          DentryKey(parent, slots.first_cookie_ + kSlotCount));
  for (; cursor->Valid(); cursor->Next()) {
    TERRACE_TRY(slots.AddStored(static_cast<uint8_t>(cursor->key().back()), cursor->value()));
  }
  TERRACE_TRY(cursor->status());
  return slots;
}

Status NameSlots::AddStored(uint8_t number, std::string_view value) {
  TERRACE_ASSIGN_OR_RETURN(const StoredName entry, DecodeStoredName(value));
  slots_.push_back({.number = number,
                    .inode = entry.inode,
                    .type = entry.type,
                    .name = std::string(entry.name),
                    .stored = true,
                    .had_siblings = entry.has_siblings});
  return {};
}

bool NameSlots::IsFor(InodeId parent, uint64_t cookie) const {
  return parent == parent_ && FirstCookie(cookie) == first_cookie_;
}

NameSlots::Entry NameSlots::EntryOf(const Slot& slot) const {
  return {.cookie = first_cookie_ | slot.number, .inode = slot.inode, .type = slot.type};
}

std::optional<NameSlots::Entry> NameSlots::Find(std::string_view name) const {
  for (const Slot& slot : slots_) {
    if (slot.inode != kNoInode && slot.name == name) return EntryOf(slot);
  }
  return std::nullopt;
}

std::optional<NameSlots::Entry> NameSlots::AtCookie(uint64_t cookie) const {
  for (const Slot& slot : slots_) {
    if (slot.inode != kNoInode && (first_cookie_ | slot.number) == cookie) return EntryOf(slot);
  }
  return std::nullopt;
}

Result<uint64_t> NameSlots::Add(std::string_view name, InodeId inode, uint32_t type) {
  TERRACE_DCHECK(!Find(name));
  size_t at = 0;  // of the first free slot: a vacant one, or where the numbers have a gap
  while (at < slots_.size() && slots_[at].number == at && slots_[at].inode != kNoInode) at++;
  if (at == kSlotCount) return Fail(Errc::kNoSpace, "too many names of one hash in a directory");
  if (at == slots_.size() || slots_[at].number != at) {
    Slot slot{.number = static_cast<uint8_t>(at)};
    slots_.insert(slots_.begin() + static_cast<ptrdiff_t>(at), std::move(slot));
  }
  Slot& slot = slots_[at];
  slot.inode = inode;
  slot.type = type & S_IFMT;
  slot.name = name;
  slot.changed = true;
  return first_cookie_ | slot.number;
}

NameSlots::Slot& NameSlots::SlotAt(uint64_t cookie) {
  auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.inode != kNoInode && (first_cookie_ | slot.number) == cookie;
  });
  TERRACE_ASSERT(found != slots_.end());
  return *found;
}

void NameSlots::Set(uint64_t cookie, InodeId inode, uint32_t type) {
  Slot& slot = SlotAt(cookie);
  slot.inode = inode;
  slot.type = type & S_IFMT;
  slot.changed = true;
}

void NameSlots::Remove(uint64_t cookie) {
  Slot& slot = SlotAt(cookie);
  slot.inode = kNoInode;
  slot.type = 0;
  slot.name.clear();
  slot.changed = true;
}

void NameSlots::Emit(MetaBatch& batch) const {
  const bool siblings = std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.number != 0 && slot.inode != kNoInode;
  });
  for (const Slot& slot : slots_) {
    const bool needed = slot.inode != kNoInode || (slot.number == 0 && siblings);
    const bool has_siblings = slot.number == 0 && siblings;
    if (!slot.changed && has_siblings == slot.had_siblings && needed == slot.stored) continue;
    std::string key = DentryKey(parent_, first_cookie_ | slot.number);
    if (needed) {
      batch.Put(Table::kDentry, std::move(key),
                EncodeStoredName({slot.inode, slot.type, has_siblings, slot.name}));
    } else if (slot.stored) {
      batch.Delete(Table::kDentry, std::move(key));
    }
  }
}

}  // namespace terrace::fs
