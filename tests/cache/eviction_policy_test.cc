// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: what was asked for again outlives what only streamed through (EVICT-1 to EVICT-4).
// Method: single steps, a simulated pool with scans beside hot sets, a random model.
#include "cache/eviction_policy.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "base/units.h"

namespace terrace::cache {
namespace {

using Node = EvictionPolicy::Node;

constexpr uint32_t kExtent = kExtentSizeMax;

// The order in which everything would leave now, without pins.
std::vector<Node*> Order(EvictionPolicy& policy) {
  std::vector<Node*> order;
  for (Node* node = policy.Victim(); node != nullptr; node = policy.Victim(node)) {
    order.push_back(node);
  }
  return order;
}

TEST(EvictionPolicy, IsEmptyAtFirst) {
  EvictionPolicy policy(kGiB);
  EXPECT_EQ(policy.Victim(), nullptr);
  Node node;
  policy.Remove(node);  // not linked: nothing happens
  EXPECT_FALSE(node.linked());
  policy.CheckInvariants();
}

TEST(EvictionPolicy, ProbationIsFirstInFirstOut) {
  EvictionPolicy policy(kGiB);
  std::array<Node, 4> nodes;
  for (Node& node : nodes) policy.Add(node, kExtent);
  EXPECT_EQ(Order(policy), (std::vector<Node*>{&nodes[0], &nodes[1], &nodes[2], &nodes[3]}));
  policy.Touch(nodes[0], /*same_pass=*/true);
  EXPECT_EQ(policy.Victim(), &nodes[0]);
  EXPECT_EQ(policy.probation_bytes(), 4U * kExtent);  // EVICT-2
  EXPECT_EQ(policy.protected_bytes(), 0U);
  for (Node& node : nodes) policy.Remove(node);
  EXPECT_EQ(policy.probation_bytes(), 0U);
  policy.CheckInvariants();
}

TEST(EvictionPolicy, ASecondUsePromotesAndTheLeastRecentLeavesFirst) {
  EvictionPolicy policy(kGiB);
  std::array<Node, 3> nodes;
  for (Node& node : nodes) policy.Add(node, kExtent);
  for (Node& node : nodes) policy.Touch(node, false);
  EXPECT_EQ(policy.protected_bytes(), 3U * kExtent);
  policy.Touch(nodes[0], false);
  EXPECT_EQ(Order(policy), (std::vector<Node*>{&nodes[1], &nodes[2], &nodes[0]}));
  policy.CheckInvariants();
}

// Many small reads of one extent in a row are one use, whoever says otherwise.
TEST(EvictionPolicy, CorrelatedUsesCountAsOne) {
  EvictionPolicy policy(kGiB);
  Node node;
  Node other;
  policy.Add(node, kExtent);
  for (int i = 0; i < 10; i++) policy.Touch(node, false);
  EXPECT_EQ(policy.protected_bytes(), 0U);
  policy.Add(other, kExtent);
  for (int i = 0; i < 10; i++) policy.Touch(node, true);
  EXPECT_EQ(policy.protected_bytes(), 0U);
  policy.Touch(other, true);
  policy.Touch(node, false);
  EXPECT_EQ(policy.protected_bytes(), kExtent);
}

TEST(EvictionPolicy, UsesWhileDirtyCountWhenItBecomesClean) {
  EvictionPolicy policy(kGiB);
  Node read_while_dirty;
  Node only_written;
  policy.Touch(read_while_dirty, false);
  EXPECT_FALSE(read_while_dirty.linked());
  policy.Add(read_while_dirty, kExtent);
  policy.Add(only_written, kExtent);
  EXPECT_EQ(policy.protected_bytes(), kExtent);
  EXPECT_EQ(policy.Victim(), &only_written);
  policy.CheckInvariants();
}

TEST(EvictionPolicy, TheFirstReadOfAPrefetchedExtentIsItsFirstUse) {
  EvictionPolicy policy(kGiB);
  Node node;
  Node other;
  policy.AddPrefetched(node, kExtent);
  policy.AddPrefetched(other, kExtent);
  policy.Touch(node, false);
  policy.Touch(other, false);
  EXPECT_EQ(policy.protected_bytes(), 0U);
  policy.Touch(node, false);
  EXPECT_EQ(policy.protected_bytes(), kExtent);
  policy.CheckInvariants();
}

TEST(EvictionPolicy, RemovalForgetsTheUses) {
  EvictionPolicy policy(kGiB);
  Node node;
  Node other;
  policy.Add(other, kExtent);
  policy.Add(node, kExtent);
  policy.Touch(other, false);
  policy.Touch(node, false);
  policy.Remove(node);
  EXPECT_FALSE(node.linked());
  policy.Add(node, kExtent);
  EXPECT_EQ(policy.probation_bytes(), kExtent);
  EXPECT_EQ(policy.protected_bytes(), kExtent);
}

TEST(EvictionPolicy, SkippingPinnedNodesReachesEveryNodeOnce) {
  EvictionPolicy policy(10 * kMiB);
  for (size_t promoted : {0, 3, 8, 10}) {
    std::deque<Node> nodes(10);
    for (Node& node : nodes) policy.Add(node, kExtent);
    for (size_t i = 0; i < promoted; i++) policy.Touch(nodes[i], false);
    std::vector<Node*> order = Order(policy);
    EXPECT_EQ(order.size(), nodes.size());
    EXPECT_EQ(std::set<Node*>(order.begin(), order.end()).size(), nodes.size());
    for (Node& node : nodes) policy.Remove(node);
  }
}

// EVICT-4: what was used twice earliest goes back through probation.
TEST(EvictionPolicy, ProtectedKeepsToItsShare) {
  EvictionPolicy policy(100 * kMiB);
  std::deque<Node> nodes(100);
  for (Node& node : nodes) policy.Add(node, kExtent);
  for (Node& node : nodes) policy.Touch(node, false);
  EXPECT_EQ(policy.protected_bytes(), 80 * kMiB);
  EXPECT_EQ(policy.probation_bytes(), 20 * kMiB);
  policy.CheckInvariants();
  policy.Touch(nodes[0], false);  // demoted, and used once more
  policy.CheckInvariants();
  EXPECT_EQ(Order(policy).back(), &nodes[20]);
}

TEST(EvictionPolicy, ANodeLargerThanTheShareIsStillHeld) {
  EvictionPolicy policy(kMiB);
  Node node;
  Node small;
  policy.Add(small, 4 * kKiB);
  policy.Add(node, kExtent);
  policy.Touch(small, false);
  policy.Touch(node, false);
  EXPECT_EQ(policy.protected_bytes(), kExtent);
  EXPECT_EQ(policy.probation_bytes(), 4 * kKiB);
  policy.CheckInvariants();
}

// EVICT-3, at every fill: a fifth of what is held is left to probation.
TEST(EvictionPolicy, VictimsComeFromProbationWhileItHoldsMoreThanItsShare) {
  EvictionPolicy policy(100 * kMiB);
  std::deque<Node> nodes(100);
  for (Node& node : nodes) policy.Add(node, kExtent);
  for (size_t i = 0; i < 75; i++) policy.Touch(nodes[i], false);
  while (Node* victim = policy.Victim()) {
    uint64_t probation = policy.probation_bytes();
    uint64_t total = probation + policy.protected_bytes();
    policy.Remove(*victim);
    bool from_probation = policy.probation_bytes() < probation;
    EXPECT_EQ(from_probation, probation > total * 20 / 100) << probation << " of " << total;
    policy.CheckInvariants();
  }
}

// A pool that reads extents by number, evicts as the policy says and counts hits.
class Pool {
 public:
  explicit Pool(uint64_t capacity_bytes) : capacity_(capacity_bytes), policy_(capacity_bytes) {}
  ~Pool() {
    for (auto& [key, node] : held_) policy_.Remove(*node);
  }

  bool Read(uint64_t key) {
    if (auto found = held_.find(key); found != held_.end()) {
      policy_.Touch(*found->second, false);
      return true;
    }
    policy_.Add(MakeRoomFor(key), kExtent);
    return false;
  }
  void Prefetch(uint64_t key) {
    if (held_.count(key) == 0) policy_.AddPrefetched(MakeRoomFor(key), kExtent);
  }
  // Returns: the hits among `count` extents read in order.
  uint64_t ReadFile(uint64_t first, uint64_t count) {
    uint64_t hits = 0;
    for (uint64_t key = first; key < first + count; key++) hits += Read(key) ? 1 : 0;
    return hits;
  }
  EvictionPolicy& policy() { return policy_; }

 private:
  struct Keyed : Node {
    uint64_t key = 0;
  };
  Node& MakeRoomFor(uint64_t key) {
    while (policy_.probation_bytes() + policy_.protected_bytes() + kExtent > capacity_) {
      auto* victim = static_cast<Keyed*>(policy_.Victim());
      policy_.Remove(*victim);
      held_.erase(victim->key);
    }
    auto& node = held_[key] = std::make_unique<Keyed>();
    node->key = key;
    return *node;
  }

  const uint64_t capacity_;
  EvictionPolicy policy_;
  std::map<uint64_t, std::unique_ptr<Keyed>> held_;
};

constexpr uint64_t kPoolExtents = 6 * 1024;   // 6 GiB
constexpr uint64_t kScanExtents = 60 * 1024;  // 60 GiB
constexpr uint64_t kHotFirst = 1'000'000;

TEST(EvictionPolicySimulation, AScanLeavesTheHotSetAlone) {
  for (uint64_t hot : {uint64_t{1000}, kPoolExtents / 2, kPoolExtents * 79 / 100}) {
    Pool pool(kPoolExtents * kExtent);
    pool.ReadFile(kHotFirst, hot);
    EXPECT_EQ(pool.ReadFile(kHotFirst, hot), hot);
    EXPECT_EQ(pool.ReadFile(0, kScanExtents), 0U);
    EXPECT_EQ(pool.ReadFile(kHotFirst, hot), hot) << "of " << hot;
    pool.policy().CheckInvariants();
  }
}

// The scanner's bytes are there before it asks for them, and are still only used once.
TEST(EvictionPolicySimulation, APrefetchedScanLeavesTheHotSetAlone) {
  Pool pool(kPoolExtents * kExtent);
  const uint64_t hot = kPoolExtents / 2;
  const uint64_t window = 32;
  pool.ReadFile(kHotFirst, hot);
  pool.ReadFile(kHotFirst, hot);
  for (uint64_t key = 0; key < kScanExtents; key++) {
    pool.Prefetch(key + window);
    EXPECT_EQ(pool.Read(key), key >= window);
  }
  EXPECT_EQ(pool.policy().protected_bytes(), hot * kExtent);
  EXPECT_EQ(pool.ReadFile(kHotFirst, hot), hot);
}

TEST(EvictionPolicySimulation, AHotSetThatArrivesDuringAScanIsKept) {
  Pool pool(kPoolExtents * kExtent);
  const uint64_t hot = 500;
  uint64_t scanned = 0;
  uint64_t hits = 0;
  for (int pass = 0; pass < 20; pass++) {
    scanned += pool.ReadFile(scanned, kScanExtents / 20) + kScanExtents / 20;
    hits += pool.ReadFile(kHotFirst, hot);
  }
  EXPECT_EQ(hits, 19 * hot);
}

TEST(EvictionPolicySimulation, AFileThatFitsAndIsReadTwiceStays) {
  for (uint64_t size : {uint64_t{2}, uint64_t{100}, kPoolExtents}) {
    Pool pool(kPoolExtents * kExtent);
    pool.ReadFile(kHotFirst, size);
    for (int pass = 0; pass < 3; pass++) EXPECT_EQ(pool.ReadFile(kHotFirst, size), size);
  }
}

// A file larger than protected's share loses at most what is beyond it to a scan.
TEST(EvictionPolicySimulation, AScanTakesOnlyWhatIsBeyondTheShare) {
  Pool pool(kPoolExtents * kExtent);
  pool.ReadFile(kHotFirst, kPoolExtents);
  pool.ReadFile(kHotFirst, kPoolExtents);
  pool.ReadFile(0, kScanExtents);
  uint64_t kept = pool.policy().protected_bytes() / kExtent;
  EXPECT_GE(kept, kPoolExtents * 80 / 100 - 1);
  EXPECT_LE(pool.policy().probation_bytes() / kExtent, kPoolExtents - kept);
}

// An old hot set does not keep a new one out, and gives way to it.
TEST(EvictionPolicySimulation, ANewHotSetReplacesTheOld) {
  Pool pool(kPoolExtents * kExtent);
  const uint64_t hot = kPoolExtents * 75 / 100;
  const uint64_t part = kPoolExtents / 10;
  for (int pass = 0; pass < 5; pass++) pool.ReadFile(kHotFirst, hot);
  const uint64_t fresh = 2 * kHotFirst;
  for (uint64_t at = 0; at < hot; at += part) {
    for (int pass = 0; pass < 2; pass++) pool.ReadFile(fresh + at, part);
  }
  EXPECT_GE(pool.ReadFile(fresh, hot), hot * 95 / 100);
}

// The same rules on two plain lists, with sums instead of counters.
class PlainLists {
 public:
  struct Item : Node {
    uint32_t bytes = 0;
    uint32_t uses = 0;
  };
  explicit PlainLists(uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  void Add(Item& item) {
    AddPrefetched(item);
    last_ = &item;
    Use(item);
  }
  void AddPrefetched(Item& item) { probation_.push_back(&item); }
  void Touch(Item& item, bool same_pass) {
    bool counts = &item != last_ && !same_pass;
    last_ = &item;
    if (counts) Use(item);
  }
  void Remove(Item& item) {
    probation_.remove(&item);
    protected_.remove(&item);
    item.uses = 0;
    if (last_ == &item) last_ = nullptr;
  }
  uint64_t probation_bytes() const { return Sum(probation_); }
  uint64_t protected_bytes() const { return Sum(protected_); }
  std::vector<Node*> Order() const {
    uint64_t share = (probation_bytes() + protected_bytes()) * 20 / 100;
    bool probation_first = probation_bytes() > share;  // EVICT-3
    const std::list<Item*>& first = probation_first ? probation_ : protected_;
    const std::list<Item*>& second = probation_first ? protected_ : probation_;
    std::vector<Node*> order(first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    return order;
  }

 private:
  static uint64_t Sum(const std::list<Item*>& list) {
    uint64_t bytes = 0;
    for (const Item* item : list) bytes += item->bytes;
    return bytes;
  }
  void Use(Item& item) {
    if (++item.uses < 2 || !item.linked()) return;
    probation_.remove(&item);
    protected_.remove(&item);
    protected_.push_back(&item);
    while (Sum(protected_) > capacity_ * 80 / 100 && protected_.size() > 1) {  // EVICT-4
      protected_.front()->uses = 1;
      probation_.splice(probation_.end(), protected_, protected_.begin());
    }
  }

  const uint64_t capacity_;
  std::list<Item*> probation_;
  std::list<Item*> protected_;
  Item* last_ = nullptr;  // the most recently used one
};

// EVICT-1 to EVICT-4 after every step of a random run.
class EvictionPolicyModel : public testing::TestWithParam<uint64_t> {};

TEST_P(EvictionPolicyModel, AgreesWithPlainLists) {
  std::mt19937_64 random(GetParam());
  EvictionPolicy policy(20 * kMiB);
  PlainLists model(20 * kMiB);
  std::array<PlainLists::Item, 60> items;
  for (int step = 0; step < 20000; step++) {
    PlainLists::Item& item = items[random() % items.size()];
    uint64_t action = random() % 8;
    if (action < 3 && !item.linked()) {
      item.bytes = static_cast<uint32_t>((1 + random() % 256) * kBlockSize);
      if (action == 0) {
        policy.AddPrefetched(item, item.bytes);
        model.AddPrefetched(item);
      } else {
        policy.Add(item, item.bytes);
        model.Add(item);
      }
    } else if (action < 7) {
      bool same_pass = random() % 3 == 0;
      policy.Touch(item, same_pass);
      model.Touch(item, same_pass);
    } else {
      policy.Remove(item);
      model.Remove(item);
    }
    policy.CheckInvariants();
    ASSERT_EQ(policy.probation_bytes(), model.probation_bytes());  // EVICT-2
    ASSERT_EQ(policy.protected_bytes(), model.protected_bytes());  // EVICT-2
    ASSERT_EQ(Order(policy), model.Order()) << "step " << step;    // EVICT-1, EVICT-3
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EvictionPolicyModel, testing::Range(uint64_t{1}, uint64_t{5}));

TEST(EvictionPolicyDeathTest, BrokenCallersAreStopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EvictionPolicy policy(kGiB);
  Node node;
  Node stranger;
  policy.Add(node, kExtent);
  EXPECT_DEATH(policy.Add(node, kExtent), "linked");
  EXPECT_DEATH(policy.Victim(&stranger), "linked");
  EXPECT_DEATH(policy.Add(stranger, 0), "bytes > 0");
}

}  // namespace
}  // namespace terrace::cache
