// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// NamespaceChange: one atomic change of the namespace, in memory and in the store alike.
//
// Role     Locks the inodes that an operation touches, in ascending order of their ids; collects
//          one batch; Commit writes it with the changed records. What was not committed is undone
//          in memory by the destructor, so that memory never differs from the store.
// Owner    A local variable of an operation of Names, which holds names_mu_.
// Threads  Not thread-safe. Holds each inode's mu exclusively during its life; the static
//          analysis cannot follow a number of locks that is known at run time only.
// Errors   Commit: those of MetaStore::Write; everything is undone then.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "fs/conditions.h"
#include "fs/inode.h"
#include "fs/meta/meta_store.h"

namespace terrace::fs {

class NamespaceChange {
 public:
  static constexpr size_t kInodesMax = 4;

  // Null references and repetitions are left out.
  NamespaceChange(MetaStore& meta, Conditions& conditions, std::initializer_list<InodeRef> inodes);
  ~NamespaceChange();
  NamespaceChange(const NamespaceChange&) = delete;
  NamespaceChange& operator=(const NamespaceChange&) = delete;

  const InodeRecord& Look(const InodeRef& inode) const;
  bool DataIsDurable(const InodeRef& inode) const;
  // Not durable, and renaming it now could cost bytes that were promised to survive.
  bool MayLosePromise(const InodeRef& inode) const;
  Sequence DataSequence(const InodeRef& inode) const;
  Attributes AttributesOf(const InodeRef& inode) const;

  // The record to change; Commit writes it.
  InodeRecord& Edit(const InodeRef& inode);
  MetaBatch& batch() { return batch_; }
  void OpenCondition(const Condition& condition);
  void CloseCondition(InodeId parent, uint64_t cookie);

  Status Commit();

 private:
  struct Held {
    InodeRef inode;
    std::optional<InodeRecord> before;  // as it was before Edit
  };
  Held& HeldOf(const InodeRef& inode);
  void Undo();

  // Dependencies.
  MetaStore& meta_;
  Conditions& conditions_;
  // The change.
  std::array<Held, kInodesMax> held_;
  size_t held_count_ = 0;
  MetaBatch batch_;
  std::vector<Condition> opened_;
  std::vector<Condition> closed_;
  bool committed_ = false;
};

}  // namespace terrace::fs
