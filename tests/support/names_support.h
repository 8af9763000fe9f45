// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for tests of names and metadata: a namespace on any MetaStore, whose files have no bytes
// but can be told that they were written and that a commit made them durable.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "fs/conditions.h"
#include "fs/id_source.h"
#include "fs/inode_table.h"
#include "fs/meta/key_format.h"
#include "fs/meta/memory_meta_store.h"
#include "fs/meta/rocks_meta_store.h"
#include "fs/names.h"
#include "fs/xattrs.h"

namespace terrace::fs {

// A directory on disk, removed with its content at the end.
class MetaTempDirectory {
 public:
  MetaTempDirectory() {
    const char* base = ::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/var/tmp") + "/terrace-meta-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << name;
    path_ = name;
  }
  ~MetaTempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MetaTempDirectory(const MetaTempDirectory&) = delete;
  MetaTempDirectory& operator=(const MetaTempDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

enum class StoreKind { kMemory, kRocks };

inline std::string StoreKindName(const testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::kMemory ? "Memory" : "Rocks";
}

// A MetaStore of either kind and the directory it lives in.
class AnyMetaStore {
 public:
  explicit AnyMetaStore(StoreKind kind) : kind_(kind) { Reopen(); }
  MetaStore& operator*() { return *store_; }
  MetaStore* operator->() { return store_.get(); }
  // Rocks: closes and opens it. Memory: nothing.
  void Reopen() {
    if (kind_ == StoreKind::kMemory) {
      if (!store_) store_ = std::make_unique<MemoryMetaStore>();
      return;
    }
    store_.reset();
    auto opened = RocksMetaStore::Open(directory_.path(), {.create_if_missing = true});
    ASSERT_TRUE(opened) << opened.error().context;
    store_ = std::move(*opened);
  }

 private:
  const StoreKind kind_;
  MetaTempDirectory directory_;
  std::unique_ptr<MetaStore> store_;
};

inline constexpr uint64_t kTestSeed = 0x5eed;

// Names and what it needs, on a store that outlives it.
class TestNamespace {
 public:
  explicit TestNamespace(MetaStore& meta, size_t idle_inodes_max = 64)
      : meta(meta), inodes(meta, idle_inodes_max) {
    auto opened = IdSource::Open(meta);
    EXPECT_TRUE(opened);
    ids = std::move(*opened);
    names = std::make_unique<Names>(
        Names::Dependencies{.meta = meta,
                            .inodes = inodes,
                            .ids = *ids,
                            .conditions = conditions,
                            .clock = clock,
                            .name_hash_seed = kTestSeed,
                            .make_durable = [this](InodeId inode) { return MakeDurable(inode); },
                            .reap = [this](InodeId inode) { Reap(inode); }});
    Status root = names->EnsureRoot({.uid = 0, .gid = 0});
    EXPECT_TRUE(root);
  }

  // The file's bytes change; they are in memory only.
  void Write(InodeId id, uint64_t size_bytes = 4096) {
    auto inode = inodes.Get(id);
    ASSERT_TRUE(inode);
    auto sequence = ids->NextSequence();
    ASSERT_TRUE(sequence);
    WriterLock lock((*inode)->mu);
    (*inode)->data_sequence = *sequence;
    (*inode)->record.size_bytes = size_bytes;
    (*inode)->record_dirty = true;
  }

  // What a commit does: size, sequence and conditions in one batch.
  Status MakeDurable(InodeId id) {
    {
      MutexLock lock(notes_mu);
      made_durable.push_back(id);
    }
    TERRACE_TRY(make_durable_result);
    TERRACE_ASSIGN_OR_RETURN(InodeRef inode, inodes.Get(id));
    std::vector<Condition> closed;
    {
      WriterLock lock(inode->mu);
      inode->record.durable_sequence = inode->data_sequence;
      inode->durable_size_bytes = inode->record.size_bytes;
      MetaBatch batch;
      closed = conditions.CloseSatisfied(batch, id, inode->data_sequence);
      batch.Put(Table::kInode, InodeKey(id), EncodeInodeRecord(inode->StorableLocked()));
      TERRACE_TRY(meta.Write(batch));
      inode->record_dirty = false;
    }
    for (const Condition& condition : closed) {
      if (condition.predecessor != kNoInode) names->PredecessorReleased(condition.predecessor);
    }
    return {};
  }

  void Reap(InodeId id) {
    {
      MutexLock lock(notes_mu);
      reaped.push_back(id);
    }
    MetaStore& store = reaper_store != nullptr ? *reaper_store : meta;
    MetaBatch batch;
    ASSERT_TRUE(DeleteXattrs(store, batch, id, 1000));
    batch.Delete(Table::kInode, InodeKey(id));
    batch.Delete(Table::kOrphan, InodeKey(id));
    ASSERT_TRUE(store.Write(batch));
    inodes.Drop(id);
  }

  // Makes something and lets the kernel forget it, so that it does not stay known.
  Result<InodeId> MakeForgotten(InodeId parent, std::string_view name, uint32_t mode) {
    NodeSpec spec{.mode = mode, .symlink_target = S_ISLNK(mode) ? "target" : ""};
    TERRACE_ASSIGN_OR_RETURN(const Attributes made, names->Make(parent, name, spec, caller));
    names->Forget(made.inode, 1);
    return made.inode;
  }
  InodeId File(InodeId parent, std::string_view name) {
    auto made = MakeForgotten(parent, name, S_IFREG | 0644);
    EXPECT_TRUE(made) << name;
    return made ? *made : kNoInode;
  }
  InodeId Directory(InodeId parent, std::string_view name) {
    auto made = MakeForgotten(parent, name, S_IFDIR | 0755);
    EXPECT_TRUE(made) << name;
    return made ? *made : kNoInode;
  }

  // Look-up without a trace. kNoInode: not there.
  InodeId Find(InodeId parent, std::string_view name) {
    auto found = names->Lookup(parent, name);
    if (!found) return kNoInode;
    names->Forget(found->inode, 1);
    return found->inode;
  }
  Attributes Stat(InodeId inode) {
    auto attributes = names->AttributesForEntry(inode);
    EXPECT_TRUE(attributes);
    if (!attributes) return {};
    names->Forget(inode, 1);
    return *attributes;
  }
  // The names of a directory, without "." and "..".
  std::set<std::string> List(InodeId directory) {
    std::set<std::string> found;
    Status listed = names->List(directory, 2, [&](const DirectoryEntry& entry) {
      EXPECT_TRUE(found.insert(std::string(entry.name)).second) << "visited twice";
      return true;
    });
    EXPECT_TRUE(listed);
    return found;
  }

  MetaStore& meta;
  ManualClock clock{1'000'000'000};
  Caller caller{.uid = 1000, .gid = 1000};
  InodeTable inodes;
  Conditions conditions;
  std::unique_ptr<IdSource> ids;
  std::unique_ptr<Names> names;
  MetaStore* reaper_store = nullptr;  // where Reap works; null: meta
  Mutex notes_mu;                     // for tests with threads, which append to these
  std::vector<InodeId> made_durable;
  std::vector<InodeId> reaped;
  Status make_durable_result;
};

// The code of a failed Result, for EXPECT_EQ; none when it succeeded.
template <typename T>
std::optional<Errc> CodeOf(const Result<T>& result) {
  if (result) return std::nullopt;
  return result.error().code;
}

// `count` names of 8 bytes (at most some 400) with one hash: XXH3-64 of 8 bytes is a bijection, so
// that names can be computed from wanted hashes. Only the seed keeps others from doing this.
std::vector<std::string> CollidingNames(size_t count, uint64_t seed = kTestSeed);

}  // namespace terrace::fs
