// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: names of one hash live beside each other, and one Get answers a look-up of a missing name.
// Method: computed collisions, random additions and removals against a map, damaged values.
#include "fs/name_slots.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "fs/meta/faulty_meta_store.h"
#include "fs/meta/key_format.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

const InodeId kParent(9);

class NameSlotsTest : public testing::Test {
 protected:
  NameSlots Load(std::string_view name) {
    auto slots = NameSlots::Load(meta_, kParent, NameCookie(name, kTestSeed));
    EXPECT_TRUE(slots);
    return *slots;
  }
  void Emit(const NameSlots& slots) {
    MetaBatch batch;
    slots.Emit(batch);
    ASSERT_TRUE(meta_.Write(batch));
  }
  size_t KeyCount() {
    size_t count = 0;
    auto cursor = inner_.Scan(Table::kDentry, {}, {});
    for (; cursor->Valid(); cursor->Next()) count++;
    return count;
  }

  MemoryMetaStore inner_;
  FaultyMetaStore meta_{inner_};
};

TEST_F(NameSlotsTest, CommonCaseIsOneGetAndOneKey) {
  NameSlots slots = Load("a");
  EXPECT_EQ(slots.Find("a"), std::nullopt);
  auto cookie = slots.Add("a", InodeId(5), S_IFREG | 0644);
  ASSERT_TRUE(cookie);
  EXPECT_EQ(*cookie, NameCookie("a", kTestSeed));
  Emit(slots);
  EXPECT_EQ(KeyCount(), 1u);
  const uint64_t gets = meta_.CallCount(MetaCall::kGet);
  EXPECT_EQ(Load("a").Find("a"), (NameSlots::Entry{*cookie, InodeId(5), S_IFREG}));
  EXPECT_EQ(meta_.CallCount(MetaCall::kGet), gets + 1);
  EXPECT_EQ(meta_.CallCount(MetaCall::kScan), 0u);
  slots = Load("a");
  slots.Set(*cookie, InodeId(6), S_IFDIR);
  Emit(slots);
  EXPECT_EQ(Load("a").AtCookie(*cookie)->inode, InodeId(6));
  slots = Load("a");
  slots.Remove(*cookie);
  Emit(slots);
  EXPECT_EQ(KeyCount(), 0u);
}

TEST_F(NameSlotsTest, UnchangedEmitsNothing) {
  MetaBatch batch;
  Load("a").Emit(batch);
  EXPECT_TRUE(batch.empty());
  NameSlots slots = Load("a");
  slots.Remove(slots.Add("a", InodeId(5), S_IFREG).value());
  slots.Emit(batch);
  EXPECT_TRUE(batch.empty());
}

TEST_F(NameSlotsTest, VacantFirstSlotStaysWhileSiblingsDo) {
  const auto names = CollidingNames(3);
  std::vector<uint64_t> cookies;
  for (size_t i = 0; i < 3; i++) {
    NameSlots slots = Load(names[i]);
    cookies.push_back(slots.Add(names[i], InodeId(10 + i), S_IFREG).value());
    Emit(slots);
  }
  EXPECT_EQ(cookies[1], cookies[0] + 1);
  NameSlots slots = Load(names[0]);
  slots.Remove(cookies[0]);
  Emit(slots);
  EXPECT_EQ(KeyCount(), 3u) << "slot 0 is vacant, not gone";
  EXPECT_EQ(Load(names[0]).Find(names[0]), std::nullopt);
  EXPECT_EQ(Load(names[0]).Find(""), std::nullopt);
  EXPECT_EQ(Load(names[2]).Find(names[2])->inode, InodeId(12));
  for (size_t i = 1; i < 3; i++) {
    slots = Load(names[i]);
    slots.Remove(cookies[i]);
    Emit(slots);
  }
  EXPECT_EQ(KeyCount(), 0u);
}

TEST_F(NameSlotsTest, RandomCollidingNamesAgreeWithAMap) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto names = CollidingNames(12);
  std::map<std::string, NameSlots::Entry> model;
  for (uint64_t step = 1; step < 3000; step++) {
    const std::string& name = names[random() % names.size()];
    NameSlots slots = Load(name);
    auto found = slots.Find(name);
    auto expected = model.find(name);
    ASSERT_EQ(found.has_value(), expected != model.end());
    if (!found) {
      const uint64_t cookie = slots.Add(name, InodeId(step), S_IFREG).value();
      for (const auto& [other, entry] : model) ASSERT_NE(entry.cookie, cookie);
      model[name] = {cookie, InodeId(step), S_IFREG};
    } else {
      ASSERT_EQ(*found, expected->second) << "an entry keeps its cookie";
      slots.Remove(found->cookie);
      model.erase(expected);
    }
    Emit(slots);
    ASSERT_GE(KeyCount(), model.size());
    ASSERT_LE(KeyCount(), model.empty() ? 0 : model.size() + 1);
  }
}

TEST_F(NameSlotsTest, FullHashIsNoSpace) {
  const auto names = CollidingNames(257);
  ASSERT_EQ(names.size(), 257u);
  NameSlots slots = Load(names[0]);
  for (size_t i = 0; i < 256; i++) ASSERT_TRUE(slots.Add(names[i], InodeId(i + 1), S_IFREG));
  EXPECT_EQ(CodeOf(slots.Add(names[256], InodeId(999), S_IFREG)), Errc::kNoSpace);
  Emit(slots);
  EXPECT_EQ(Load(names[0]).Find(names[255])->inode, InodeId(256));
}

TEST_F(NameSlotsTest, DamagedValuesAreCorrupt) {
  const std::string good = EncodeStoredName({InodeId(5), S_IFREG, false, "a"});
  const std::string nameless = EncodeStoredName({InodeId(5), S_IFREG, false, ""});
  const std::string inodeless = EncodeStoredName({kNoInode, S_IFREG, false, "a"});
  EXPECT_TRUE(DecodeStoredName(good));
  EXPECT_TRUE(DecodeStoredName(EncodeStoredName({kNoInode, 0, true, ""})));
  for (const std::string& bad : {std::string(), good.substr(0, 8), nameless, inodeless}) {
    EXPECT_EQ(CodeOf(DecodeStoredName(bad)), Errc::kCorrupt);
    MetaBatch batch;
    batch.Put(Table::kDentry, DentryKey(kParent, NameCookie("a", kTestSeed)), bad);
    ASSERT_TRUE(meta_.Write(batch));
    EXPECT_EQ(CodeOf(NameSlots::Load(meta_, kParent, NameCookie("a", kTestSeed))), Errc::kCorrupt);
  }
}

// A store on disk depends on these bytes: docs/format.md.
TEST_F(NameSlotsTest, BytesAreStable) {
  EXPECT_EQ(EncodeStoredName({InodeId(0x0102), S_IFDIR, true, "n"}),
            std::string("\x02\x01\0\0\0\0\0\0\x84n", 10));
}

}  // namespace
}  // namespace terrace::fs
