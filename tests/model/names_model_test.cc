// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: Names answers and ends up as a plain tree in memory does, under any sequence of operations.
// Method: random operations on both, on each kind of store, with writes, commits, forgetting and
// remounts between them; each answer is compared, the whole tree now and then. The seed is printed;
// TERRACE_SEED repeats it, TERRACE_STEPS makes it longer.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <random>

#include "fs/names.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

// The model: what POSIX says, with nothing to make it fast or durable.
class ModelTree {
 public:
  struct Node {
    uint32_t type = S_IFDIR;
    uint32_t nlink = 2;
    InodeId parent = kRootInode;
    std::map<std::string, InodeId> entries;
  };
  using Code = std::optional<Errc>;  // none: success

  ModelTree() { nodes_[kRootInode] = {}; }

  const std::map<InodeId, Node>& nodes() const { return nodes_; }
  const Node& at(InodeId id) const { return nodes_.at(id); }
  void Erase(InodeId id) { nodes_.erase(id); }
  InodeId Find(InodeId parent, const std::string& name) const {
    const auto& entries = at(parent).entries;
    auto found = entries.find(name);
    return found == entries.end() ? kNoInode : found->second;
  }

  // Whether an entry may be added; the caller adds it with Add.
  Code CanMake(InodeId parent, const std::string& name) const {
    if (Find(parent, name) != kNoInode) return Errc::kExists;
    if (at(parent).nlink == 0) return Errc::kNotFound;
    return std::nullopt;
  }
  void Add(InodeId parent, const std::string& name, InodeId id, uint32_t type) {
    nodes_[id] = {type, S_ISDIR(type) ? 2u : 1u, parent, {}};
    nodes_[parent].entries[name] = id;
    if (S_ISDIR(type)) nodes_[parent].nlink++;
  }
  Code Link(InodeId id, InodeId parent, const std::string& name) {
    if (Code code = CanMake(parent, name)) return code;
    if (S_ISDIR(at(id).type)) return Errc::kPermission;
    if (at(id).nlink == 0) return Errc::kNotFound;
    nodes_[id].nlink++;
    nodes_[parent].entries[name] = id;
    return std::nullopt;
  }
  Code Unlink(InodeId parent, const std::string& name) {
    const InodeId id = Find(parent, name);
    if (id == kNoInode) return Errc::kNotFound;
    if (S_ISDIR(at(id).type)) return Errc::kIsDirectory;
    Detach(parent, name);
    return std::nullopt;
  }
  Code RemoveDirectory(InodeId parent, const std::string& name) {
    const InodeId id = Find(parent, name);
    if (id == kNoInode) return Errc::kNotFound;
    if (!S_ISDIR(at(id).type)) return Errc::kNotDirectory;
    if (!at(id).entries.empty()) return Errc::kNotEmpty;
    Detach(parent, name);
    return std::nullopt;
  }
  Code Rename(InodeId old_parent, const std::string& old_name, InodeId new_parent,
              const std::string& new_name, RenameFlags flags) {
    const InodeId source = Find(old_parent, old_name);
    const InodeId target = Find(new_parent, new_name);
    if (source == kNoInode) return Errc::kNotFound;
    if (target != kNoInode && flags.no_replace) return Errc::kExists;
    if (target == kNoInode && flags.exchange) return Errc::kNotFound;
    if (source == target) return std::nullopt;
    if (S_ISDIR(at(source).type) && LiesBelow(new_parent, source)) return Errc::kInvalid;
    if (flags.exchange) {
      if (S_ISDIR(at(target).type) && LiesBelow(old_parent, target)) return Errc::kInvalid;
    } else if (target != kNoInode) {
      const bool onto_directory = S_ISDIR(at(target).type);
      if (S_ISDIR(at(source).type) && !onto_directory) return Errc::kNotDirectory;
      if (!S_ISDIR(at(source).type) && onto_directory) return Errc::kIsDirectory;
      if (!at(target).entries.empty()) return Errc::kNotEmpty;
    }
    if (at(new_parent).nlink == 0) return Errc::kNotFound;
    Take(old_parent, old_name);
    if (flags.exchange) {
      Take(new_parent, new_name);
      Put(old_parent, old_name, target);
    } else if (target != kNoInode) {
      Detach(new_parent, new_name);
    }
    Put(new_parent, new_name, source);
    return std::nullopt;
  }

 private:
  bool LiesBelow(InodeId directory, InodeId ancestor) const {
    while (directory != ancestor && directory != kRootInode) directory = at(directory).parent;
    return directory == ancestor;
  }
  // Moves an entry out of and into a directory, with the link of its "..".
  void Take(InodeId parent, const std::string& name) {
    if (S_ISDIR(at(Find(parent, name)).type)) nodes_[parent].nlink--;
    nodes_[parent].entries.erase(name);
  }
  void Put(InodeId parent, const std::string& name, InodeId id) {
    nodes_[parent].entries[name] = id;
    if (!S_ISDIR(at(id).type)) return;
    nodes_[parent].nlink++;
    nodes_[id].parent = parent;
  }
  void Detach(InodeId parent, const std::string& name) {
    const InodeId id = Find(parent, name);
    Take(parent, name);
    Node& node = nodes_[id];
    node.nlink = S_ISDIR(node.type) ? 0 : node.nlink - 1;
  }

  std::map<InodeId, Node> nodes_;
};

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = ::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class NamesModelTest : public testing::TestWithParam<StoreKind> {
 protected:
  NamesModelTest() {
    names_ = CollidingNames(4);
    for (int i = 0; i < 8; i++) names_.push_back("name" + std::to_string(i));
    Mount();
  }

  void Mount() {
    ns_.reset();
    store_.Reopen();
    ns_ = std::make_unique<TestNamespace>(*store_, 4);
  }

  uint64_t Random(uint64_t below) { return random_() % below; }
  const std::string& AnyName() { return names_[Random(names_.size())]; }
  InodeId AnyOf(bool directory) {
    std::vector<InodeId> candidates;
    for (const auto& [id, node] : model_.nodes()) {
      // Nobody can name a removed inode unless the kernel still knows it.
      if (node.nlink == 0 && !known_.contains(id)) continue;
      if (S_ISDIR(node.type) == directory) candidates.push_back(id);
    }
    return candidates.empty() ? kNoInode : candidates[Random(candidates.size())];
  }

  // A reply handed the inode to the kernel, which keeps it or not.
  void Received(InodeId id) {
    known_[id]++;
    if (Random(3) != 0) ForgetOne(id);
  }
  void ForgetOne(InodeId id) {
    const uint64_t count = 1 + Random(known_[id]);
    ns_->names->Forget(id, count);
    if ((known_[id] -= count) == 0) known_.erase(id);
  }

  void StepMake() {
    const InodeId parent = AnyOf(true);
    const std::string& name = AnyName();
    const uint32_t types[] = {S_IFREG, S_IFREG, S_IFDIR, S_IFLNK};
    const uint32_t type = types[Random(4)];
    const auto expected = model_.CanMake(parent, name);
    const NodeSpec spec{.mode = type | 0700, .symlink_target = "somewhere"};
    const auto made = ns_->names->Make(parent, name, spec, ns_->caller);
    ASSERT_EQ(CodeOf(made), expected);
    if (!made) return;
    model_.Add(parent, name, made->inode, type);
    Received(made->inode);
  }
  void StepLink() {
    const InodeId id = AnyOf(Random(8) == 0);
    const InodeId parent = AnyOf(true);
    const std::string& name = AnyName();
    if (id == kNoInode) return;
    const auto linked = ns_->names->Link(id, parent, name);
    ASSERT_EQ(CodeOf(linked), model_.Link(id, parent, name));
    if (linked) Received(id);
  }
  void StepRemove() {
    const InodeId parent = AnyOf(true);
    const std::string& name = AnyName();
    if (Random(2) == 0) {
      ASSERT_EQ(CodeOf(ns_->names->Unlink(parent, name)), model_.Unlink(parent, name));
    } else {
      ASSERT_EQ(CodeOf(ns_->names->RemoveDirectory(parent, name)),
                model_.RemoveDirectory(parent, name));
    }
  }
  void StepRename() {
    const InodeId old_parent = AnyOf(true);
    const InodeId new_parent = Random(2) == 0 ? old_parent : AnyOf(true);
    const std::string& old_name = AnyName();
    const std::string& new_name = AnyName();
    RenameFlags flags;
    if (Random(4) == 0) flags.exchange = true;
    if (!flags.exchange && Random(4) == 0) flags.no_replace = true;
    ASSERT_EQ(CodeOf(ns_->names->Rename(old_parent, old_name, new_parent, new_name, flags)),
              model_.Rename(old_parent, old_name, new_parent, new_name, flags));
  }
  void StepLookup() {
    const InodeId parent = AnyOf(true);
    const std::string& name = AnyName();
    const auto found = ns_->names->Lookup(parent, name);
    const InodeId expected = model_.Find(parent, name);
    ASSERT_EQ(found ? found->inode : kNoInode, expected);
    if (!found) return;
    ASSERT_EQ(found->nlink, model_.at(expected).nlink);
    ASSERT_EQ(found->mode & S_IFMT, model_.at(expected).type);
    Received(expected);
  }
  void StepData() {
    const InodeId file = AnyOf(false);
    if (file == kNoInode || !S_ISREG(model_.at(file).type)) return;
    if (Random(2) == 0) {
      ns_->Write(file, 1 + Random(100000));
    } else {
      ASSERT_TRUE(ns_->MakeDurable(file));
    }
  }
  void StepForget() {
    if (known_.empty()) return;
    auto it = known_.begin();
    std::advance(it, Random(known_.size()));
    ForgetOne(it->first);
  }

  // Everything durable and forgotten, as at an unmount; then again from the store alone.
  void StepRemount() {
    while (!known_.empty()) ForgetOne(known_.begin()->first);
    for (const auto& [id, node] : model_.nodes()) {
      if (node.nlink > 0 && S_ISREG(node.type)) {
        ASSERT_TRUE(ns_->MakeDurable(id));
      }
    }
    ASSERT_EQ(ns_->conditions.size(), 0u);
    ASSERT_FALSE((*store_).Scan(Table::kOrphan, {}, {})->Valid()) << "an orphan was forgotten";
    std::vector<InodeId> reaped = ns_->reaped;
    std::sort(reaped.begin(), reaped.end());
    ASSERT_EQ(std::adjacent_find(reaped.begin(), reaped.end()), reaped.end()) << "reaped twice";
    std::vector<InodeId> dead;
    for (const auto& [id, node] : model_.nodes()) {
      if (node.nlink == 0) dead.push_back(id);
    }
    ASSERT_EQ(reaped, dead);
    for (InodeId id : dead) model_.Erase(id);
    Mount();
    CompareAll();
  }

  void CompareAll() {
    ns_->names->CheckInvariants();
    ns_->inodes.CheckInvariants();
    for (const auto& [id, node] : model_.nodes()) {
      if (node.nlink == 0) continue;
      ASSERT_EQ(ns_->Stat(id).nlink, node.nlink);
      if (!S_ISDIR(node.type)) continue;
      ASSERT_EQ(ns_->Find(id, ".."), node.parent);
      std::set<std::string> expected;
      for (const auto& [name, child] : node.entries) {
        ASSERT_EQ(ns_->Find(id, name), child);
        expected.insert(name);
      }
      ASSERT_EQ(ns_->List(id), expected);
    }
  }

  void Step() {
    const uint64_t dice = Random(1000);
    if (dice < 300) return StepMake();
    if (dice < 380) return StepLink();
    if (dice < 560) return StepRemove();
    if (dice < 780) return StepRename();
    if (dice < 860) return StepLookup();
    if (dice < 960) return StepData();
    if (dice < 996) return StepForget();
    StepRemount();
  }

  AnyMetaStore store_{GetParam()};
  std::unique_ptr<TestNamespace> ns_;
  ModelTree model_;
  std::map<InodeId, uint64_t> known_;  // look-ups that the kernel holds
  std::vector<std::string> names_;
  std::mt19937_64 random_;
};

INSTANTIATE_TEST_SUITE_P(Stores, NamesModelTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kRocks), StoreKindName);

TEST_P(NamesModelTest, RandomOperationsAgreeWithTheModel) {
  const uint64_t seed = FromEnvironment("TERRACE_SEED", std::random_device()());
  const uint64_t steps = FromEnvironment("TERRACE_STEPS", 6000);
  std::cout << "TERRACE_SEED=" << seed << std::endl;
  random_.seed(seed);
  for (uint64_t step = 0; step < steps; step++) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
    ns_->clock.AdvanceNs(1);
    ASSERT_NO_FATAL_FAILURE(Step());
    if (step % 500 == 0) {
      ASSERT_NO_FATAL_FAILURE(CompareAll());
    }
  }
  ASSERT_NO_FATAL_FAILURE(StepRemount());
}

}  // namespace
}  // namespace terrace::fs
