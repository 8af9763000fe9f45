// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// Goal: when the metadata store fails, an operation reports it and leaves memory and store as they
// were; threads that work in the same directories leave a consistent namespace.
// Method: every operation with each of its store calls failing in turn; then threads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "fs/meta/faulty_meta_store.h"
#include "fs/names.h"
#include "tests/support/names_support.h"

namespace terrace::fs {
namespace {

struct NamedOperation {
  std::string name;
  std::function<Status(TestNamespace&)> run;
};

// What programs and the store can see of a namespace.
struct Visible {
  std::set<std::string> names;
  std::vector<std::string> attributes;
  std::vector<std::string> rows;
  size_t conditions = 0;
  std::vector<InodeId> reaped;
  bool operator==(const Visible&) const = default;
};

std::string Describe(const Attributes& attributes) {
  std::string text = std::to_string(attributes.inode.value());
  for (int64_t number :
       {int64_t{attributes.mode}, int64_t{attributes.nlink},
        static_cast<int64_t>(attributes.size_bytes), attributes.mtime_ns, attributes.ctime_ns}) {
    text += ' ' + std::to_string(number);
  }
  return text;
}

Visible See(TestNamespace& ns, MetaStore& store) {
  Visible seen{.names = ns.List(kRootInode), .attributes = {}, .rows = {}, .reaped = ns.reaped};
  seen.attributes.push_back(Describe(ns.Stat(kRootInode)));
  for (const std::string& name : seen.names) {
    seen.attributes.push_back(name + ' ' + Describe(ns.Stat(ns.Find(kRootInode, name))));
  }
  for (Table table : {Table::kInode, Table::kDentry, Table::kOrphan, Table::kCondition}) {
    auto cursor = store.Scan(table, {}, {});
    for (; cursor->Valid(); cursor->Next()) {
      seen.rows.push_back(std::string(cursor->key()) + std::string(cursor->value()));
    }
  }
  seen.conditions = ns.conditions.size();
  return seen;
}

std::vector<NamedOperation> Operations() {
  const auto rename = [](std::string from, std::string to, RenameFlags flags) {
    return [=](TestNamespace& ns) {
      return ns.names->Rename(kRootInode, from, kRootInode, to, flags);
    };
  };
  return {
      {"make",
       [](TestNamespace& ns) -> Status {
         TERRACE_TRY(ns.names->Make(kRootInode, "new", {.mode = S_IFDIR | 0755}, ns.caller));
         return {};
       }},
      {"link",
       [](TestNamespace& ns) -> Status {
         TERRACE_ASSIGN_OR_RETURN(const Attributes file, ns.names->Lookup(kRootInode, "written"));
         const auto linked = ns.names->Link(file.inode, kRootInode, "link");
         ns.names->Forget(file.inode, linked ? 2 : 1);
         TERRACE_TRY(linked);
         return {};
       }},
      {"unlink", [](TestNamespace& ns) { return ns.names->Unlink(kRootInode, "conditional"); }},
      {"rmdir", [](TestNamespace& ns) { return ns.names->RemoveDirectory(kRootInode, "empty"); }},
      {"rename over", rename("written", "durable", {})},
      {"rename over conditional", rename("written", "conditional", {})},
      {"rename conditional", rename("conditional", "durable", {})},
      {"rename directory", rename("full", "empty", {})},
      {"exchange", rename("durable", "full", {.exchange = true})},
  };
}

void Prepare(TestNamespace& ns) {
  ns.Write(ns.File(kRootInode, "tmp"));
  ASSERT_TRUE(ns.names->Rename(kRootInode, "tmp", kRootInode, "conditional", {}));
  ns.Write(ns.File(kRootInode, "written"));
  ns.File(kRootInode, "durable");
  ns.Directory(kRootInode, "empty");
  ns.File(ns.Directory(kRootInode, "full"), "inside");
  ns.clock.AdvanceNs(7);
}

TEST(NamesFaults, FailedOperationChangesNothing) {
  for (const NamedOperation& operation : Operations()) {
    for (MetaCall call : {MetaCall::kWrite, MetaCall::kGet, MetaCall::kScan}) {
      for (uint64_t nth = 1;; nth++) {
        SCOPED_TRACE(operation.name + ", call " + std::to_string(static_cast<int>(call)) +
                     " number " + std::to_string(nth));
        MemoryMetaStore store;
        FaultyMetaStore faulty(store);
        TestNamespace ns(faulty);
        ns.reaper_store = &store;
        Prepare(ns);
        const Visible before = See(ns, store);
        faulty.FailNth(call, nth, Errc::kIo);
        const Status status = operation.run(ns);
        faulty.Heal();
        ns.names->CheckInvariants();
        if (status) break;  // it makes fewer calls than that
        EXPECT_EQ(status.error().code, Errc::kIo);
        EXPECT_TRUE(See(ns, store) == before);
        const Status again = operation.run(ns);
        EXPECT_TRUE(again) << "the same operation works afterwards";
        ns.names->CheckInvariants();
        ASSERT_LT(nth, 20u);
      }
    }
  }
}

TEST(NamesFaults, FailingReadsOfLookupAndListAreReported) {
  MemoryMetaStore store;
  FaultyMetaStore faulty(store);
  TestNamespace ns(faulty);
  const InodeId file = ns.File(kRootInode, "file");
  ns.inodes.Drop(file);
  for (uint64_t nth = 1; nth <= 2; nth++) {
    faulty.FailNth(MetaCall::kGet, nth, Errc::kCorrupt);
    EXPECT_EQ(CodeOf(ns.names->Lookup(kRootInode, "file")), Errc::kCorrupt);
    EXPECT_FALSE(ns.inodes.KnownToKernel(file)) << "no look-up is counted for an error";
  }
  faulty.FailNth(MetaCall::kScan, 1, Errc::kIo);
  const auto visit = [](const DirectoryEntry&) { return true; };
  EXPECT_EQ(CodeOf(ns.names->List(kRootInode, 0, visit)), Errc::kIo);
}

// Threads make, link, rename, remove and look up in a few directories.
TEST(NamesThreads, MixedOperationsLeaveAConsistentNamespace) {
  MemoryMetaStore store;
  TestNamespace ns(store, 8);
  std::vector<InodeId> directories = {kRootInode};
  for (int i = 0; i < 3; i++) {
    directories.push_back(ns.Directory(kRootInode, "d" + std::to_string(i)));
  }
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      const auto directory = [&] { return directories[random() % directories.size()]; };
      const auto name = [&] { return "n" + std::to_string(random() % 12); };
      for (int step = 0; step < 2500; step++) {
        switch (random() % 6) {
          case 0: {
            auto made = ns.names->Make(directory(), name(), {.mode = S_IFREG | 0644}, ns.caller);
            if (made) ns.names->Forget(made->inode, 1);
            break;
          }
          case 1: {
            auto found = ns.names->Lookup(directory(), name());
            if (!found) break;
            auto linked = ns.names->Link(found->inode, directory(), name());
            ns.names->Forget(found->inode, linked ? 2 : 1);
            break;
          }
          case 2: (void)ns.names->Unlink(directory(), name()); break;
          case 3:
            (void)ns.names->Rename(directory(), name(), directory(), name(),
                                   {.exchange = random() % 4 == 0});
            break;
          case 4: {
            auto found = ns.names->Lookup(directory(), name());
            if (!found) break;
            if (found->nlink == 0) failures++;
            ns.names->Forget(found->inode, 1);
            break;
          }
          case 5:
            (void)ns.names->List(directory(), 0, [&](const DirectoryEntry& entry) {
              if (entry.cookie <= 2) return true;
              auto attributes = ns.names->AttributesForEntry(entry.inode);
              if (attributes) ns.names->Forget(entry.inode, 1);
              return true;
            });
            break;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  ns.names->CheckInvariants();
  ns.inodes.CheckInvariants();
  // Nobody knows anything any more, so that every orphan was reaped.
  EXPECT_FALSE(store.Scan(Table::kOrphan, {}, {})->Valid());
}

}  // namespace
}  // namespace terrace::fs
