// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include "fs/inode.h"

#include "fs/file_data.h"

namespace terrace::fs {

Inode::Inode(InodeRecord initial)
    : id(initial.id),
      record(std::move(initial)),
      durable_size_bytes(record.size_bytes),
      data_sequence(record.durable_sequence),
      durable_bytes_promised(record.durable_sequence > Sequence()) {}

Inode::~Inode() = default;

bool Inode::IsIdleLocked() const {
  if (record_dirty || !DataIsDurableLocked()) return false;
  if (record.size_bytes != durable_size_bytes) return false;
  if (data == nullptr) return true;
  const bool is_open = data->reader_count > 0 || data->writer_count > 0;
  return !is_open && data->tail == nullptr && !data->write_error;
}

Attributes Inode::AttributesLocked() const {
  Attributes attributes;
  attributes.inode = id;
  attributes.mode = record.mode;
  attributes.nlink = record.nlink;
  attributes.uid = record.uid;
  attributes.gid = record.gid;
  attributes.rdev = record.rdev;
  attributes.size_bytes = record.size_bytes;
  attributes.allocated_bytes = record.allocated_bytes;
  attributes.atime_ns = record.atime_ns;
  attributes.mtime_ns = record.mtime_ns;
  attributes.ctime_ns = record.ctime_ns;
  attributes.btime_ns = record.btime_ns;
  return attributes;
}

InodeRecord Inode::StorableLocked() const {
  InodeRecord storable = record;
  storable.size_bytes = durable_size_bytes;
  return storable;
}

}  // namespace terrace::fs
