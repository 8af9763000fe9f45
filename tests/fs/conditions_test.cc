// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: the index of open conditions and the table of them always say the same.
// Method: each operation, and its undoing, compared with what the batch wrote.
#include "fs/conditions.h"

#include <gtest/gtest.h>

#include "fs/meta/key_format.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

class ConditionsTest : public testing::Test {
 protected:
  void Write(const MetaBatch& batch) { ASSERT_TRUE(meta_.Write(batch)); }
  void Open(const Condition& condition) {
    MetaBatch batch;
    conditions_.Open(batch, condition);
    Write(batch);
  }
  size_t StoredCount() {
    size_t count = 0;
    auto cursor = meta_.Scan(Table::kCondition, {}, {});
    for (; cursor->Valid(); cursor->Next(), count++) {
      auto stored = DecodeCondition(cursor->key(), cursor->value());
      EXPECT_TRUE(stored);
      EXPECT_EQ(conditions_.AtName(stored->parent, stored->cookie), *stored);
    }
    return count;
  }

  MemoryMetaStore meta_;
  Conditions conditions_;
  const Condition first_{InodeId(1), 256, InodeId(10), Sequence(5), InodeId(7)};
  const Condition second_{InodeId(1), 512, InodeId(10), Sequence(8), kNoInode};
  const Condition third_{InodeId(2), 256, InodeId(11), Sequence(6), InodeId(7)};
};

TEST_F(ConditionsTest, EncodingRoundTripAndDamage) {
  const std::string key = DentryKey(first_.parent, first_.cookie);
  const std::string value = EncodeCondition(first_);
  EXPECT_EQ(DecodeCondition(key, value).value(), first_);
  for (size_t size = 0; size < value.size(); size++) {
    EXPECT_EQ(CodeOf(DecodeCondition(key, value.substr(0, size))), Errc::kCorrupt);
  }
  EXPECT_EQ(CodeOf(DecodeCondition(key, value + "x")), Errc::kCorrupt);
  EXPECT_EQ(CodeOf(DecodeCondition(key.substr(1), value)), Errc::kCorrupt);
}

// A store on disk depends on these bytes: docs/format.md.
TEST_F(ConditionsTest, BytesAreStable) {
  EXPECT_EQ(EncodeCondition(first_),
            std::string("\x0a\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0", 24));
}

TEST_F(ConditionsTest, OpensAndFinds) {
  for (const Condition& condition : {first_, second_, third_}) Open(condition);
  EXPECT_EQ(conditions_.size(), 3u);
  EXPECT_EQ(StoredCount(), 3u);
  EXPECT_EQ(conditions_.AtName(InodeId(1), 512), second_);
  EXPECT_EQ(conditions_.AtName(InodeId(1), 513), std::nullopt);
  EXPECT_EQ(conditions_.InDirectory(InodeId(1)).size(), 2u);
  EXPECT_EQ(conditions_.InDirectory(InodeId(3)).size(), 0u);
  EXPECT_TRUE(conditions_.IsPredecessor(InodeId(7)));
  EXPECT_FALSE(conditions_.IsPredecessor(InodeId(10)));
  EXPECT_FALSE(conditions_.IsPredecessor(kNoInode));
}

TEST_F(ConditionsTest, CommitClosesWhatItSatisfies) {
  for (const Condition& condition : {first_, second_, third_}) Open(condition);
  MetaBatch batch;
  EXPECT_TRUE(conditions_.CloseSatisfied(batch, InodeId(10), Sequence(4)).empty());
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(conditions_.CloseSatisfied(batch, InodeId(10), Sequence(5)),
            std::vector<Condition>{first_});
  Write(batch);
  EXPECT_EQ(StoredCount(), 2u);
  EXPECT_TRUE(conditions_.IsPredecessor(InodeId(7))) << "the third one still needs it";
  MetaBatch rest;
  EXPECT_EQ(conditions_.CloseSatisfied(rest, InodeId(11), Sequence(100)),
            std::vector<Condition>{third_});
  EXPECT_EQ(conditions_.CloseSatisfied(rest, InodeId(10), Sequence(100)),
            std::vector<Condition>{second_});
  Write(rest);
  EXPECT_FALSE(conditions_.IsPredecessor(InodeId(7)));
  EXPECT_EQ(conditions_.size(), 0u);
  EXPECT_EQ(StoredCount(), 0u);
}

TEST_F(ConditionsTest, ClosingANameAndUndo) {
  Open(first_);
  MetaBatch none;
  EXPECT_EQ(conditions_.CloseName(none, InodeId(9), 256), std::nullopt);
  EXPECT_TRUE(none.empty());
  MetaBatch failed;
  EXPECT_EQ(conditions_.CloseName(failed, InodeId(1), 256), first_);
  conditions_.Open(failed, second_);
  conditions_.UndoOpen(second_);  // the batch could not be written
  conditions_.UndoClose(first_);
  EXPECT_EQ(conditions_.size(), 1u);
  EXPECT_EQ(conditions_.AtName(InodeId(1), 256), first_);
  EXPECT_TRUE(conditions_.IsPredecessor(InodeId(7)));
  EXPECT_EQ(StoredCount(), 1u);
}

}  // namespace
}  // namespace terrace::fs
