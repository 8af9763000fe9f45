// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Names: directories: everything that finds, makes, moves, lists or removes a name.
//
// Role     The namespace on the metadata store. Each operation is one atomic batch, written at
//          once and unsynced; fsync and a timer sync it. Publishing a file whose bytes are not
//          durable leaves a condition (fs/conditions.h). The kernel has checked permissions.
// Threads  Thread-safe. Changes are serialised by names_mu_ (the metadata store has one log
//          anyway); look-ups and listings take no lock but the inode's.
// Errors   As in the methods' comments; each becomes the errno that ext4 gives.
//
// Invariants (CheckInvariants(), over the whole store; tests/fs/names_test.cc)
//   NAMES-1  nlink of a file is the number of its names; of a directory 2 + its subdirectories.
//   NAMES-2  An inode without a name is in the orphan table until it is freed.
//   NAMES-3  A directory is never its own ancestor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/attributes.h"
#include "fs/conditions.h"
#include "fs/id_source.h"
#include "fs/inode_table.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class NamespaceChange;
class NameSlots;

inline constexpr size_t kNameSizeMax = 255;       // bytes
inline constexpr uint32_t kLinkCountMax = 65000;  // names of a file, as ext4

// What Make makes. mode holds the type (S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR,
// S_IFBLK) and the permission bits before the umask.
struct NodeSpec {
  uint32_t mode = 0;
  uint64_t rdev = 0;
  std::string symlink_target{};  // 1 to 4095 bytes for S_IFLNK
};

struct DirectoryEntry {
  std::string_view name;
  InodeId inode;
  uint32_t type = 0;    // S_IFMT bits
  uint64_t cookie = 0;  // pass it to List to go on behind this entry
};

struct RenameFlags {
  bool no_replace = false;
  bool exchange = false;
};

class Names {
 public:
  struct Dependencies {
    MetaStore& meta;
    InodeTable& inodes;
    IdSource& ids;
    Conditions& conditions;
    const Clock& clock;
    uint64_t name_hash_seed;
    // Returns when the file's bytes are durable and committed. Blocks; called without locks.
    std::function<Status(InodeId)> make_durable;
    // The inode has no name, and neither the kernel nor a condition needs it.
    std::function<void(InodeId)> reap;
  };
  explicit Names(Dependencies dependencies);

  // Makes the root directory of a fresh store. Does nothing when it exists.
  Status EnsureRoot(Caller owner);

  // kNotFound, kNotDirectory, kNameTooLong. Counts one kernel look-up on success, as do Make
  // and Link. "." and ".." are answered (for exports).
  Result<Attributes> Lookup(InodeId parent, std::string_view name);
  // kExists, kNotFound (parent removed), kNoSpace, kTooManyLinks, kNameTooLong.
  Result<Attributes> Make(InodeId parent, std::string_view name, const NodeSpec& spec,
                          Caller caller);
  // O_TMPFILE: a file without a name, which goes with its last user unless Link gives it one.
  // kNotFound (parent removed), kNotDirectory, kNoSpace.
  Result<Attributes> MakeNameless(InodeId parent, uint32_t mode, Caller caller);
  // kExists, kTooManyLinks, kNotFound (also a file that lost its last name), kPermission (a
  // directory).
  Result<Attributes> Link(InodeId inode, InodeId new_parent, std::string_view new_name);
  // kNotFound, kIsDirectory.
  Status Unlink(InodeId parent, std::string_view name);
  // kNotFound, kNotDirectory, kNotEmpty, kInvalid (".").
  Status RemoveDirectory(InodeId parent, std::string_view name);
  // All errnos of renameat2(2). Both names may be the same inode: then nothing happens.
  Status Rename(InodeId old_parent, std::string_view old_name, InodeId new_parent,
                std::string_view new_name, RenameFlags flags);
  Result<std::string> ReadLink(InodeId inode);  // kInvalid: not a symbolic link

  // Visits entries behind `cookie` (0: from the start, "." and ".." first) until visit returns
  // false. An entry that is there all the while is visited exactly once per pass, whatever comes
  // and goes. A removed but open directory lists nothing.
  Status List(InodeId directory, uint64_t cookie,
              const std::function<bool(const DirectoryEntry&)>& visit);
  // For READDIRPLUS: the attributes of a listed inode, and one kernel look-up counted.
  Result<Attributes> AttributesForEntry(InodeId inode);

  // The kernel dropped `count` look-ups; frees an orphan that nobody needs any more.
  void Forget(InodeId inode, uint64_t count);
  // Called by the commit for each predecessor whose condition closed.
  void PredecessorReleased(InodeId inode);
  // Makes every conditional entry of the directory durable (fsync of a directory). Blocks.
  Status MakeEntriesDurable(InodeId directory);
  // Slow: reads all metadata (fs/namespace_check.h). For tests.
  void CheckInvariants();

 private:
  // What one attempt at an operation came to.
  struct Outcome {
    InodeId make_durable_first{};  // not done: make this durable without locks, then try again
    InodeId nameless{};            // done, and this inode has no name any more
  };
  struct RenameRequest {
    InodeId old_parent;
    std::string_view old_name;
    InodeId new_parent;
    std::string_view new_name;
    RenameFlags flags;
  };
  struct RenamePlan;  // what a rename found, and which inodes it touches

  Status Retry(const std::function<Result<Outcome>(int attempt)>& attempt);
  Result<Outcome> TryUnlink(InodeId parent, std::string_view name, int attempt)
      TERRACE_EXCLUDES(names_mu_);
  Result<Outcome> TryRename(const RenameRequest& request, int attempt) TERRACE_EXCLUDES(names_mu_);
  Result<RenamePlan> PlanRename(const RenameRequest& request) TERRACE_REQUIRES(names_mu_);
  Status CheckRename(const RenamePlan& plan) TERRACE_REQUIRES(names_mu_);
  // The inode that must be durable before the rename is allowed; kNoInode: none.
  InodeId UndurableBefore(const NamespaceChange& change, const RenamePlan& plan, int attempt);
  Status ApplyMove(NamespaceChange& change, RenamePlan& plan);
  Status ApplyExchange(NamespaceChange& change, RenamePlan& plan);
  // Whether `directory` is `ancestor` or lies below it.
  Result<bool> LiesBelow(InodeId directory, InodeId ancestor) TERRACE_REQUIRES(names_mu_);
  Result<bool> IsEmpty(InodeId directory) TERRACE_REQUIRES(names_mu_);
  // The record's nlink falls by one name (a directory's to 0); without any it is an orphan.
  Status DropName(NamespaceChange& change, const InodeRef& inode, int64_t now_ns);

  Result<NameSlots> LoadSlots(InodeId parent, std::string_view name);
  Result<InodeRecord> RecordOf(InodeId inode);
  Result<Attributes> AttributesAndLookup(InodeId inode);

  void NoteNameless(InodeId inode, bool linkable = false);
  // Whether O_TMPFILE made it and it never had a name.
  bool IsLinkable(InodeId inode);
  void ReapIfUnneeded(InodeId inode) TERRACE_EXCLUDES(names_mu_);

  Dependencies deps_;
  Mutex names_mu_;     // before any Inode::mu
  Mutex nameless_mu_;  // leaf
  // Inodes whose last name went during this mount and that were not handed to reap yet: the
  // kernel knows them, or a condition needs them. Whoever takes one out hands it to reap.
  // true: it is linkable.
  std::unordered_map<InodeId, bool> nameless_ TERRACE_GUARDED_BY(nameless_mu_);
};

}  // namespace terrace::fs
