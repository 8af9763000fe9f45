// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// What a mount writes to devices and metadata goes through one gate, so that a power loss cuts all
// of it at one moment. Behind the closed gate the dying mount is told that all is well.
#include "tests/support/volume_fixture.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "fs/condition_recovery.h"
#include "fs/meta/key_format.h"
#include "fs/meta/rocks_meta_store.h"
#include "fs/recovery.h"
#include "fs/stored_map.h"

namespace terrace::fs {

namespace {

constexpr char kStoreId[] = "a-store-for-tests";
constexpr uint64_t kNameSeed = 0x5eed;

}  // namespace

class TestVolume::Gate {
 public:
  SharedMutex mu;
  bool closed TERRACE_GUARDED_BY(mu) = false;
  Mutex hook_mu;
  std::function<void(const MetaBatch&)> before_write TERRACE_GUARDED_BY(hook_mu);
};

class TestVolume::GatedFile final : public io::File {
 public:
  GatedFile(std::shared_ptr<io::FaultyFile> base, std::shared_ptr<Gate> gate)
      : base_(std::move(base)), gate_(std::move(gate)) {}

  void Read(uint64_t offset_bytes, std::vector<iovec> pieces, io::IoDone done) override {
    base_->Read(offset_bytes, std::move(pieces), std::move(done));
  }
  void Write(uint64_t offset_bytes, std::vector<iovec> pieces, io::IoDone done) override {
    // done runs outside the gate: it may go on to the metadata.
    auto answer = std::make_shared<Answer>();
    {
      ReaderLock lock(gate_->mu);
      if (gate_->closed) {
        answer->Arrive({}, done);
      } else {
        base_->Write(offset_bytes, std::move(pieces),
                     [answer, done](Status status) { answer->Arrive(std::move(status), done); });
      }
    }
    answer->Leave(done);
  }
  Status Sync() override {
    ReaderLock lock(gate_->mu);
    return gate_->closed ? Status{} : base_->Sync();
  }
  uint64_t size_bytes() const override { return base_->size_bytes(); }
  Status Grow(uint64_t size_bytes) override { return base_->Grow(size_bytes); }
  uint64_t room_bytes() const override { return base_->room_bytes(); }
  const std::string& path() const override { return base_->path(); }

 private:
  // The completion came while the request was made, or comes later from a paused device.
  struct Answer {
    Mutex mu;
    std::optional<Status> status TERRACE_GUARDED_BY(mu);
    bool left TERRACE_GUARDED_BY(mu) = false;

    void Arrive(Status arrived, const io::IoDone& done) {
      {
        MutexLock lock(mu);
        if (!left) {
          status = std::move(arrived);
          return;
        }
      }
      done(std::move(arrived));
    }
    void Leave(const io::IoDone& done) {
      {
        MutexLock lock(mu);
        left = true;
        if (!status) return;
      }
      done(*status);
    }
  };

  const std::shared_ptr<io::FaultyFile> base_;
  const std::shared_ptr<Gate> gate_;
};

class TestVolume::GatedMeta final : public MetaStore {
 public:
  GatedMeta(MetaStore& base, std::shared_ptr<Gate> gate) : base_(base), gate_(std::move(gate)) {}

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override {
    return base_.Get(table, key);
  }
  Result<std::vector<std::optional<std::string>>> GetMany(
      Table table, const std::vector<std::string>& keys) override {
    return base_.GetMany(table, keys);
  }
  Status Write(const MetaBatch& batch) override {
    std::function<void(const MetaBatch&)> hook;
    {
      MutexLock lock(gate_->hook_mu);
      hook = gate_->before_write;
    }
    if (hook) hook(batch);
    ReaderLock lock(gate_->mu);
    return gate_->closed ? Status{} : base_.Write(batch);
  }
  Status Sync() override {
    ReaderLock lock(gate_->mu);
    return gate_->closed ? Status{} : base_.Sync();
  }
  Status EmptyLog() override {
    ReaderLock lock(gate_->mu);
    return gate_->closed ? Status{} : base_.EmptyLog();
  }
  std::unique_ptr<MetaCursor> Scan(Table table, std::string_view begin,
                                   std::string_view end) override {
    return base_.Scan(table, begin, end);
  }
  std::unique_ptr<MetaCursor> ScanFromFloor(Table table, std::string_view key,
                                            std::string_view floor, std::string_view end) override {
    return base_.ScanFromFloor(table, key, floor, end);
  }

 private:
  MetaStore& base_;
  const std::shared_ptr<Gate> gate_;
};

TestVolume::TestVolume(const Options& options) : options_(options) {
  if (options_.real) {
    directory_ = std::make_unique<io::IoTempDirectory>();
  } else {
    for (size_t i = 0; i < options_.device_count; i++) {
      auto memory = std::make_unique<io::MemoryFile>(options_.device_size_bytes,
                                                     "memory" + std::to_string(i));
      Disk disk;
      disk.memory = memory.get();
      disk.faulty = std::make_shared<io::FaultyFile>(std::move(memory));
      disks_.push_back(std::move(disk));
    }
    TrackMeta(std::make_unique<MemoryMetaStore>());
  }
  Mount();
}

TestVolume::~TestVolume() {
  if (volume_ != nullptr) (void)Unmount();
}

void TestVolume::TrackMeta(std::unique_ptr<MemoryMetaStore> meta) {
  meta_fault_.reset();
  memory_meta_ = std::move(meta);
  memory_meta_->TrackPowerLoss();
  meta_fault_ = std::make_unique<FaultyMetaStore>(*memory_meta_);
}

std::unique_ptr<io::ExtentStore> TestVolume::OpenStore() {
  std::vector<std::unique_ptr<io::Device>> devices;
  for (size_t i = 0; i < options_.device_count; i++) {
    std::unique_ptr<io::File> file;
    if (options_.real) {
      file = io::MakeUringFile(*directory_ / ("device" + std::to_string(i)),
                               options_.device_size_bytes);
    } else {
      file = std::make_unique<GatedFile>(disks_[i].faulty, gate_);
    }
    auto superblock =
        io::MakeSuperblock(static_cast<uint32_t>(i), static_cast<uint32_t>(options_.device_count));
    devices.push_back(std::make_unique<io::Device>(DeviceId(static_cast<uint16_t>(i)),
                                                   std::move(file), superblock,
                                                   options_.device_size_bytes));
  }
  return std::make_unique<io::ExtentStore>(std::move(devices));
}

std::unique_ptr<MetaStore> TestVolume::OpenMeta() {
  if (!options_.real) return std::make_unique<GatedMeta>(*meta_fault_, gate_);
  auto opened = RocksMetaStore::Open(*directory_ / "meta", {.create_if_missing = fresh_});
  if (!opened) {
    ADD_FAILURE() << opened.error().context;
    return nullptr;
  }
  return std::move(*opened);
}

void TestVolume::Mount() {
  gate_ = std::make_shared<Gate>();
  Volume::Parts parts;
  parts.clock = std::make_unique<SystemClock>();
  parts.meta = OpenMeta();
  ASSERT_NE(parts.meta, nullptr);
  meta_view_ = parts.meta.get();
  parts.store = OpenStore();
  parts.conditions = std::make_unique<Conditions>();
  Status identity = CheckStoreIdentity(*parts.meta, kStoreId, "directory", fresh_);
  ASSERT_TRUE(identity.has_value()) << identity.error().context;
  auto recovered = RecoverConditions(*parts.meta);
  ASSERT_TRUE(recovered.has_value()) << recovered.error().context;
  Status rebuilt = RebuildFreeSpace(*parts.meta, *parts.store);
  ASSERT_TRUE(rebuilt.has_value()) << rebuilt.error().context;
  auto orphans = ListOrphans(*parts.meta);
  ASSERT_TRUE(orphans.has_value()) << orphans.error().context;
  auto ids = IdSource::Open(*parts.meta);
  ASSERT_TRUE(ids.has_value()) << ids.error().context;
  parts.ids = std::move(*ids);
  auto pool = cache::BufferPool::Create({.size_bytes = options_.pool_bytes, .prefault = false});
  ASSERT_TRUE(pool.has_value()) << pool.error().context;
  parts.pool = std::move(*pool);
  parts.store_id = kStoreId;
  parts.name_hash_seed = kNameSeed;
  parts.write_back_delay_ms = options_.write_back_delay_ms;
  parts.dirty_high_water = options_.dirty_high_water;
  volume_ = std::make_unique<Volume>(std::move(parts));
  Status root = volume_->names().EnsureRoot({.uid = 0, .gid = 0});
  ASSERT_TRUE(root.has_value()) << root.error().context;
  volume_->Start(*orphans);
  fresh_ = false;
}

Status TestVolume::Unmount() {
  Status stopped = volume_->Stop();
  volume_.reset();
  meta_view_ = nullptr;
  return stopped;
}

void TestVolume::Remount() {
  Status stopped = Unmount();
  EXPECT_TRUE(stopped.has_value()) << stopped.error().context;
  Mount();
}

void TestVolume::LosePower(const ChooseKept& choose) {
  std::unique_ptr<MemoryMetaStore> survivor;
  {
    WriterLock lock(gate_->mu);
    gate_->closed = true;
    survivor = memory_meta_->AfterPowerLoss(choose(memory_meta_->UnsyncedBatches()));
    for (Disk& disk : disks_) disk.memory->LoseUnsynced();
  }
  // What a paused device kept ends now, without effect.
  for (Disk& disk : disks_) disk.memory->Resume();
  (void)Unmount();
  for (Disk& disk : disks_) disk.memory->LoseUnsynced();
  TrackMeta(std::move(survivor));
  Mount();
}

void TestVolume::SetBeforeMetaWrite(std::function<void(const MetaBatch&)> before_write) {
  MutexLock lock(gate_->hook_mu);
  gate_->before_write = std::move(before_write);
}

InodeId TestVolume::Create(std::string_view name, InodeId parent) {
  auto made = names().Make(parent, name, {.mode = S_IFREG | 0644, .rdev = 0, .symlink_target = {}},
                           {.uid = 0, .gid = 0});
  EXPECT_TRUE(made.has_value()) << made.error().context;
  return made ? made->inode : kNoInode;
}

Result<InodeId> TestVolume::Lookup(std::string_view name, InodeId parent) {
  TERRACE_ASSIGN_OR_RETURN(Attributes found, names().Lookup(parent, name));
  names().Forget(found.inode, 1);
  return found.inode;
}

Status TestVolume::Remove(std::string_view name, InodeId inode) {
  TERRACE_TRY(names().Unlink(kRootInode, name));
  names().Forget(inode, 1);
  return {};
}

Status TestVolume::Rename(std::string_view from, std::string_view to) {
  return names().Rename(kRootInode, from, kRootInode, to, {});
}

Status TestVolume::Write(InodeId inode, uint64_t offset, std::string_view bytes) {
  ReceiveArea area;
  do {
    std::string_view part = bytes.substr(0, kExtentSizeMax);
    files().PrepareReceive(area);
    size_t received = 0;
    for (const iovec& piece : area.pieces()) {
      size_t size = std::min(piece.iov_len, part.size() - received);
      std::memcpy(piece.iov_base, part.data() + received, size);
      received += size;
    }
    StatusLatch done;
    files().Write(
        {.inode = inode, .offset = offset, .size_bytes = static_cast<uint32_t>(part.size())}, area,
        [&](Status status) { done.Set(std::move(status)); });
    TERRACE_TRY(done.Wait());
    offset += part.size();
    bytes.remove_prefix(part.size());
  } while (!bytes.empty());
  return {};
}

Result<std::string> TestVolume::Read(InodeId inode, uint64_t offset, uint64_t size_bytes) {
  std::string bytes;
  while (size_bytes > 0) {
    auto part = static_cast<uint32_t>(std::min<uint64_t>(size_bytes, kExtentSizeMax));
    cache::ReadOutcome outcome;
    files().Read({.inode = inode, .offset = offset, .size_bytes = part}, outcome.Callback());
    TERRACE_TRY(outcome.Wait());
    std::string got = cache::Join(outcome.bytes);
    bytes += got;
    if (got.size() < part) break;
    offset += part;
    size_bytes -= part;
  }
  return bytes;
}

Result<std::string> TestVolume::ReadAll(InodeId inode) { return Read(inode, 0, SizeOf(inode)); }

std::string TestVolume::Content(std::string_view name) {
  auto inode = Lookup(name);
  if (!inode) return std::string(ErrcName(inode.error().code));
  auto bytes = ReadAll(*inode);
  return bytes ? *bytes : Describe(bytes.error());
}

Status TestVolume::Sync(InodeId inode) {
  StatusLatch done;
  files().Sync(inode, [&](Status status) { done.Set(std::move(status)); });
  return done.Wait();
}

Status TestVolume::SyncDirectory(InodeId inode) {
  StatusLatch done;
  files().SyncDirectory(inode, [&](Status status) { done.Set(std::move(status)); });
  return done.Wait();
}

Status TestVolume::FlushAll() {
  StatusLatch done;
  volume_->FlushAll([&](Status status) { done.Set(std::move(status)); });
  return done.Wait();
}

uint64_t TestVolume::SizeOf(InodeId inode) {
  auto attributes = volume_->attributes().Get(inode);
  return attributes ? attributes->size_bytes : 0;
}

size_t TestVolume::CommittedEntries(InodeId inode) {
  auto cursor = meta().Scan(Table::kMap, InodeKey(inode), InodeKey(InodeId(inode.value() + 1)));
  size_t count = 0;
  for (; cursor->Valid(); cursor->Next()) count++;
  return count;
}

size_t TestVolume::RowsOf(Table table) {
  size_t count = 0;
  for (auto cursor = meta().Scan(table, {}, {}); cursor->Valid(); cursor->Next()) count++;
  return count;
}

void TestVolume::CheckReferences(MetaStore& meta, uint64_t& used_blocks) {
  std::map<uint64_t, uint32_t> named;
  std::map<uint64_t, uint64_t> last_end;  // by inode: entries do not overlap
  for (auto cursor = meta.Scan(Table::kMap, {}, {}); cursor->Valid(); cursor->Next()) {
    auto entry = DecodeStoredEntry(cursor->value());
    ASSERT_TRUE(entry.has_value());
    named[entry->extent.value()]++;
    uint64_t inode = ReadBigEndian64(cursor->key());
    uint64_t offset = ReadBigEndian64(cursor->key().substr(8));
    EXPECT_GE(offset, last_end[inode]) << "inode " << inode;
    last_end[inode] = offset + entry->size;
  }
  for (auto cursor = meta.Scan(Table::kExtent, {}, {}); cursor->Valid(); cursor->Next()) {
    auto record = io::DecodeExtentRecord(cursor->value());
    ASSERT_TRUE(record.has_value());
    uint64_t extent = ReadBigEndian64(cursor->key());
    EXPECT_EQ(record->reference_count, named[extent]) << "extent " << extent;
    EXPECT_GT(record->reference_count, 0u) << "extent " << extent;
    used_blocks += BlockCount(record->size_bytes);
    named.erase(extent);
  }
  EXPECT_TRUE(named.empty()) << "extents without a record";
}

void TestVolume::CheckConsistency() {
  Remount();
  uint64_t used_blocks = 0;
  CheckReferences(meta(), used_blocks);
  // Mounting marked each block of each record once, or it would have failed.
  uint64_t used_bytes = 0;
  for (const io::DeviceStatus& device : volume_->GetStatus().devices) {
    used_bytes += device.used_bytes - io::kReservedBlocks * kBlockSize;
  }
  EXPECT_EQ(used_bytes, used_blocks * kBlockSize);
}

}  // namespace terrace::fs
