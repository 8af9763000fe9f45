// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/posix_acl.h"

#include <algorithm>

#include "base/bytes.h"

namespace terrace::fs {

namespace {

constexpr uint32_t kVersion = 2;

tl::unexpected<Error> Malformed() { return Fail(Errc::kInvalid, "access control list"); }

}  // namespace

Result<PosixAcl> PosixAcl::Parse(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.Take<uint32_t>() != kVersion) return Malformed();
  PosixAcl acl;
  while (!reader.empty()) {
    const auto tag = reader.Take<uint16_t>();
    const auto permissions = reader.Take<uint16_t>();
    const auto id = reader.Take<uint32_t>();
    if (!id || *permissions > 7) return Malformed();
    acl.entries_.push_back({static_cast<Tag>(*tag), *permissions, *id});
  }
  TERRACE_TRY(acl.Check());
  return acl;
}

Status PosixAcl::Check() const {
  auto count = [this](Tag tag) {
    return std::count_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.tag == tag; });
  };
  const bool ordered =
      std::is_sorted(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.tag < b.tag; });
  const auto named = count(Tag::kUser) + count(Tag::kNamedGroup);
  const auto known = named + count(Tag::kOwner) + count(Tag::kGroup) + count(Tag::kMask) +
                     count(Tag::kOther);
  const bool complete =
      count(Tag::kOwner) == 1 && count(Tag::kGroup) == 1 && count(Tag::kOther) == 1;
  const bool mask_fits = count(Tag::kMask) <= 1 && (named == 0 || count(Tag::kMask) == 1);
  if (!ordered || !complete || !mask_fits) return Malformed();
  if (known != static_cast<std::ptrdiff_t>(entries_.size())) return Malformed();
  return {};
}

std::string PosixAcl::Encode() const {
  std::string bytes;
  AppendLittleEndian(bytes, kVersion);
  for (const Entry& entry : entries_) {
    AppendLittleEndian(bytes, static_cast<uint16_t>(entry.tag));
    AppendLittleEndian(bytes, entry.permissions);
    AppendLittleEndian(bytes, entry.id);
  }
  return bytes;
}

size_t PosixAcl::ShownAsGroup() const {
  auto index_of = [this](Tag tag) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.tag == tag; });
    return static_cast<size_t>(found - entries_.begin());
  };
  const size_t mask = index_of(Tag::kMask);
  return mask < entries_.size() ? mask : index_of(Tag::kGroup);
}

uint32_t PosixAcl::ModeBits() const {
  // Owner first, others last: Check saw to it.
  const uint32_t owner = entries_.front().permissions;
  const uint32_t other = entries_.back().permissions;
  return owner << 6 | uint32_t{entries_[ShownAsGroup()].permissions} << 3 | other;
}

void PosixAcl::SetModeBits(uint32_t mode) {
  entries_.front().permissions = static_cast<uint16_t>(mode >> 6 & 7);
  entries_[ShownAsGroup()].permissions = static_cast<uint16_t>(mode >> 3 & 7);
  entries_.back().permissions = static_cast<uint16_t>(mode & 7);
}

}  // namespace terrace::fs
