// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include "mount/operations/context.h"
#include "mount/operations/operations.h"

namespace terrace::mount {

namespace {

// The kernel asks for at most this much; more is cut.
constexpr size_t kListingSizeMax = kMiB;

struct Listing {
  std::vector<char> bytes;
  size_t used = 0;

  explicit Listing(size_t size) : bytes(std::min(size, kListingSizeMax)) {}
  char* rest() { return bytes.data() + used; }
  size_t room() const { return bytes.size() - used; }
};

bool IsDotOrDotDot(std::string_view name) { return name == "." || name == ".."; }

void Opendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  info->fh = FileHandle{.inode = InodeId(inode), .read = true}.Encode();
  fuse_reply_open(request, info);
}

void Releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }

void Readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*) {
  Listing listing(size);
  std::string name;
  auto visit = [&](const fs::DirectoryEntry& entry) {
    name = entry.name;
    struct stat attributes {};
    attributes.st_ino = entry.inode.value();
    attributes.st_mode = entry.type;
    size_t needed = fuse_add_direntry(request, listing.rest(), listing.room(), name.c_str(),
                                      &attributes, static_cast<off_t>(entry.cookie));
    if (needed > listing.room()) return false;
    listing.used += needed;
    return true;
  };
  Status listed =
      ContextOf(request).volume.names().List(InodeId(inode), static_cast<uint64_t>(offset), visit);
  if (!listed) return ReplyError(request, listed.error());
  fuse_reply_buf(request, listing.bytes.data(), listing.used);
}

struct PlusEntry {
  std::string name;
  InodeId inode;
  uint32_t type;
  uint64_t cookie;
};

// As many entries as fit; their size depends on the name alone, so that no look-up is counted
// for an entry that would then be left out.
Status CollectFitting(fuse_req_t request, InodeId directory, uint64_t cookie, size_t room,
                      std::vector<PlusEntry>& entries) {
  return ContextOf(request).volume.names().List(
      directory, cookie, [&](const fs::DirectoryEntry& entry) {
        PlusEntry found{std::string(entry.name), entry.inode, entry.type, entry.cookie};
        size_t needed = fuse_add_direntry_plus(request, nullptr, 0, found.name.c_str(), nullptr, 0);
        if (needed > room) return false;
        room -= needed;
        entries.push_back(std::move(found));
        return true;
      });
}

void Readdirplus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*) {
  fs::Names& names = ContextOf(request).volume.names();
  Listing listing(size);
  std::vector<PlusEntry> entries;
  Status listed = CollectFitting(request, InodeId(inode), static_cast<uint64_t>(offset),
                                 listing.bytes.size(), entries);
  if (!listed) return ReplyError(request, listed.error());
  std::vector<InodeId> counted;
  for (const PlusEntry& entry : entries) {
    // Inode 0 in the entry: a name without attributes, not counted as a look-up.
    fuse_entry_param plus{};
    plus.attr.st_ino = entry.inode.value();
    plus.attr.st_mode = entry.type;
    if (!IsDotOrDotDot(entry.name)) {
      Result<fs::Attributes> attributes = names.AttributesForEntry(entry.inode);
      if (attributes) {
        plus = ToEntry(*attributes);
        counted.push_back(entry.inode);
      }
    }
    listing.used +=
        fuse_add_direntry_plus(request, listing.rest(), listing.room(), entry.name.c_str(), &plus,
                               static_cast<off_t>(entry.cookie));
  }
  if (fuse_reply_buf(request, listing.bytes.data(), listing.used) != 0) {
    for (InodeId uncounted : counted) names.Forget(uncounted, 1);
  }
}

}  // namespace

void RegisterDirectoryOperations(fuse_lowlevel_ops& table) {
  table.opendir = Opendir;
  table.releasedir = Releasedir;
  table.readdir = Readdir;
  table.readdirplus = Readdirplus;
}

}  // namespace terrace::mount
