// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/inode_record.h"

#include "base/bytes.h"

namespace terrace::fs {

namespace {

tl::unexpected<Error> Damaged(InodeId id, std::string_view what) {
  return Fail(Errc::kCorrupt,
              "record of inode " + std::to_string(id.value()) + ": " + std::string(what));
}

// Takes a field that the caller knows is there: the fixed part was measured before.
template <typename Int>
Int TakeFixed(ByteReader& reader) {
  return reader.Take<Int>().value_or(0);
}

constexpr size_t kFixedSize = 2 + 4 * sizeof(uint32_t) + 9 * sizeof(uint64_t) + sizeof(uint16_t);

constexpr uint8_t kHasXattrs = 1;

}  // namespace

std::string EncodeInodeRecord(const InodeRecord& record) {
  std::string out;
  out.reserve(kFixedSize + record.symlink_target.size());
  AppendLittleEndian(out, kInodeRecordVersion);
  AppendLittleEndian(out, record.mode);
  AppendLittleEndian(out, record.nlink);
  AppendLittleEndian(out, record.uid);
  AppendLittleEndian(out, record.gid);
  AppendLittleEndian(out, record.rdev);
  AppendLittleEndian(out, record.size_bytes);
  AppendLittleEndian(out, record.allocated_bytes);
  AppendLittleEndian(out, record.atime_ns);
  AppendLittleEndian(out, record.mtime_ns);
  AppendLittleEndian(out, record.ctime_ns);
  AppendLittleEndian(out, record.btime_ns);
  AppendLittleEndian(out, record.durable_sequence.value());
  AppendLittleEndian(out, record.parent.value());
  AppendLittleEndian(out, record.has_xattrs ? kHasXattrs : uint8_t{0});
  AppendLittleEndian(out, static_cast<uint16_t>(record.symlink_target.size()));
  out += record.symlink_target;
  return out;
}

Result<InodeRecord> DecodeInodeRecord(InodeId id, std::string_view bytes) {
  if (bytes.size() < kFixedSize) return Damaged(id, "too short");
  ByteReader reader(bytes);
  uint8_t version = TakeFixed<uint8_t>(reader);
  if (version != kInodeRecordVersion) {
    return Damaged(id, "version " + std::to_string(version) + ", expected " +
                           std::to_string(kInodeRecordVersion));
  }
  InodeRecord record;
  record.id = id;
  record.mode = TakeFixed<uint32_t>(reader);
  record.nlink = TakeFixed<uint32_t>(reader);
  record.uid = TakeFixed<uint32_t>(reader);
  record.gid = TakeFixed<uint32_t>(reader);
  record.rdev = TakeFixed<uint64_t>(reader);
  record.size_bytes = TakeFixed<uint64_t>(reader);
  record.allocated_bytes = TakeFixed<uint64_t>(reader);
  record.atime_ns = TakeFixed<int64_t>(reader);
  record.mtime_ns = TakeFixed<int64_t>(reader);
  record.ctime_ns = TakeFixed<int64_t>(reader);
  record.btime_ns = TakeFixed<int64_t>(reader);
  record.durable_sequence = Sequence(TakeFixed<uint64_t>(reader));
  record.parent = InodeId(TakeFixed<uint64_t>(reader));
  const uint8_t flags = TakeFixed<uint8_t>(reader);
  if ((flags & ~kHasXattrs) != 0) return Damaged(id, "flags");
  record.has_xattrs = (flags & kHasXattrs) != 0;
  if (TakeFixed<uint16_t>(reader) != reader.rest().size()) {
    return Damaged(id, "length of the symbolic link's target");
  }
  if (record.size_bytes > static_cast<uint64_t>(INT64_MAX)) return Damaged(id, "size");
  record.symlink_target = reader.rest();
  return record;
}

Attributes AttributesOf(const InodeRecord& record) {
  return {.inode = record.id,
          .mode = record.mode,
          .nlink = record.nlink,
          .uid = record.uid,
          .gid = record.gid,
          .rdev = record.rdev,
          .size_bytes = record.size_bytes,
          .allocated_bytes = record.allocated_bytes,
          .atime_ns = record.atime_ns,
          .mtime_ns = record.mtime_ns,
          .ctime_ns = record.ctime_ns,
          .btime_ns = record.btime_ns};
}

}  // namespace terrace::fs
