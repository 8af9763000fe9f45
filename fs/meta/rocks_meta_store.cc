// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The only file that includes RocksDB. Choices, with the reason:
//
// - Point-in-time recovery (the default): after a power loss the log's tail may be torn, or even
//   have a hole, because nothing was synced; what comes before the damage is a prefix of the
//   batches, which is the contract. RocksDB syncs a closed log before it publishes a table file
//   that was flushed from it (more than one column family), so that tables never run ahead.
// - Table files carry XXH3 checksums per block, verified on every read; sizes of all files are
//   compared with the manifest when the store opens.
// - Column families are created only with a fresh store: an existing store that lacks one is
//   damaged, and must not be completed with an empty table.
// - Index and filter blocks live in the block cache, so that one number bounds all of it. Tables
//   that answer many look-ups of missing keys have bloom filters, in memory as well.
// - A reserve of free space (fs/meta/space_guard.h) keeps appends and flushes from failing. If
//   one does fail, the log is not synced again before RocksDB has resumed with a new one: Debian's
//   build has its assertions on, and one of them is against that. The same assertion ends the
//   process when RocksDB's own LOG file can't grow, so there is none: its warnings go to our log.
// - Files full of deletions are compacted early: a directory that was emptied is scanned for
//   entries when it is removed.
#include "fs/meta/rocks_meta_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_batch.h>
#include <rocksdb/write_buffer_manager.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <system_error>

#include "base/assert.h"
#include "base/log.h"
#include "base/units.h"
#include "fs/meta/space_guard.h"

namespace terrace::fs {

namespace {

struct TableTraits {
  const char* name;    // of the column family; stored, never changes
  bool point_lookups;  // bloom filters pay
};

// Indexed by Table.
constexpr std::array<TableTraits, kTableCount> kTables = {{
    {"system", false},
    {"inode", true},
    {"dentry", true},
    {"map", false},
    {"extent", true},
    {"xattr", true},
    {"orphan", false},
    {"condition", false},
}};

constexpr int kBackgroundThreadsMax = 2;
constexpr uint64_t kTableFileSizeBytes = 8 * kMiB;
constexpr uint64_t kLevelBaseBytes = 32 * kMiB;
constexpr uint64_t kWriteBufferPerTableBytes = 4 * kMiB;
constexpr uint64_t kManifestSizeBytesMax = 4 * kMiB;
constexpr size_t kLogLineSizeMax = 1024;  // bytes
// A table file with this many deletions among this many neighbouring keys is compacted.
constexpr size_t kDeletionWindowKeys = 8192;
constexpr size_t kDeletionTriggerKeys = 4096;

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// "metadata DIR: what: RocksDB's text" with the code on which callers act.
tl::unexpected<Error> ToError(const rocksdb::Status& status, const std::string& directory,
                              std::string_view what) {
  const std::string text = status.ToString();
  std::string context = "metadata " + directory + ": " + std::string(what) + ": ";
  if (status.IsNoSpace()) {
    return Fail(Errc::kNoSpace, context + text + ": free space on its file system");
  }
  if (status.IsCorruption() || status.IsPathNotFound() ||
      Contains(text, "Column families not opened") ||
      Contains(text, "Column family not found")) {
    return Fail(Errc::kCorrupt, context + "damaged (" + text +
                                    "): put back a copy of this directory, or give up what the "
                                    "store holds with `terrace format --force`");
  }
  if (status.IsIOError() && (Contains(text, "/LOCK: Resource temporarily unavailable") ||
                             Contains(text, "lock hold by current process"))) {
    return Fail(Errc::kBusy,
                context + "in use by another process (" + text + "): unmount that mount first");
  }
  if (status.IsIOError() && Contains(text, "Permission denied")) {
    return Fail(Errc::kPermission, context + text);
  }
  if (status.IsNotSupported()) return Fail(Errc::kReadOnly, context + "opened read-only");
  if (status.IsShutdownInProgress()) return Fail(Errc::kShutdown, context + text);
  return Fail(Errc::kIo, context + text);
}

// RocksDB's warnings and errors become lines of our log.
class ForwardedLog final : public rocksdb::Logger {
 public:
  ForwardedLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[kLogLineSizeMax];
    std::vsnprintf(line, sizeof line, format, arguments);
    // Open returns its error, and whoever refuses to go on logs it.
    if (Contains(line, "DB::Open() failed")) return;
    LogWarning("metadata store: " + std::string(line));
  }
};

rocksdb::DBOptions MakeDbOptions(const RocksMetaOptions& options, bool fresh) {
  rocksdb::DBOptions db;
  db.create_if_missing = fresh;
  db.create_missing_column_families = fresh;
  db.paranoid_checks = true;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.track_and_verify_wals_in_manifest = true;
  db.max_background_jobs = kBackgroundThreadsMax;
  db.max_subcompactions = 1;
  db.max_open_files = options.open_files_max;
  db.max_total_wal_size = options.wal_bytes_max;
  db.db_write_buffer_size = options.write_buffer_bytes;
  db.bytes_per_sync = kMiB;
  db.max_manifest_file_size = kManifestSizeBytesMax;
  db.info_log = std::make_shared<ForwardedLog>();
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  // Writers spin for each other by default, which takes a core from whoever works.
  db.enable_write_thread_adaptive_yield = false;
  return db;
}

rocksdb::CompressionType BestCompression() {
  for (rocksdb::CompressionType type : rocksdb::GetSupportedCompressions()) {
    if (type == rocksdb::kLZ4Compression) return type;
  }
  return rocksdb::kNoCompression;
}

rocksdb::ColumnFamilyOptions MakeTableOptions(const TableTraits& traits,
                                              const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = cache;
  blocks.cache_index_and_filter_blocks = true;
  blocks.cache_index_and_filter_blocks_with_high_priority = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = false;
  blocks.checksum = rocksdb::kXXH3;
  blocks.block_size = 4 * kKiB;
  if (traits.point_lookups) {
    blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    blocks.whole_key_filtering = true;
    blocks.optimize_filters_for_memory = true;
  }
  rocksdb::ColumnFamilyOptions table;
  table.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  table.write_buffer_size = kWriteBufferPerTableBytes;
  table.max_write_buffer_number = 3;
  table.level0_file_num_compaction_trigger = 4;
  table.target_file_size_base = kTableFileSizeBytes;
  table.max_bytes_for_level_base = kLevelBaseBytes;
  table.level_compaction_dynamic_level_bytes = true;
  table.compression = BestCompression();
  if (traits.point_lookups) {
    table.memtable_whole_key_filtering = true;
    table.memtable_prefix_bloom_size_ratio = 0.02;
  }
  table.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(kDeletionWindowKeys, kDeletionTriggerKeys));
  return table;
}

Result<SpaceOnDisk> SpaceOf(const std::string& directory) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(directory, error);
  if (error) return FailErrno(error.value(), "free space of " + directory);
  return SpaceOnDisk{.capacity_bytes = space.capacity, .available_bytes = space.available};
}

// Whether `directory` holds files of RocksDB although CURRENT, which names the newest, is gone.
bool HoldsRemains(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".sst") || name.starts_with("MANIFEST-")) return true;
  }
  return false;
}

}  // namespace

struct RocksMetaStore::Database {
  explicit Database(std::string path)
      : directory(std::move(path)), space([this] { return SpaceOf(directory); }) {}

  const std::string directory;
  SpaceGuard space;
  std::atomic<bool> log_failed{false};  // a write failed: the log must not be synced as it is
  std::shared_ptr<rocksdb::Cache> cache;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;

  ~Database() {
    if (!db) return;
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      rocksdb::Status destroyed = db->DestroyColumnFamilyHandle(handle);
      static_cast<void>(destroyed);  // it only drops a reference
    }
  }
  rocksdb::ColumnFamilyHandle* HandleOf(Table table) const {
    return handles[static_cast<size_t>(table)];
  }
};

namespace {

class RocksCursor final : public MetaCursor {
 public:
  // The bounds are kept here because RocksDB keeps pointers to them.
  struct Bounds {
    std::string lower;
    std::string upper;  // empty: none
  };
  RocksCursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* handle, const std::string& directory,
              Bounds bounds)
      : directory_(directory),
        bounds_(std::move(bounds)),
        lower_(bounds_.lower),
        upper_(bounds_.upper) {
    rocksdb::ReadOptions options;
    if (!bounds_.lower.empty()) options.iterate_lower_bound = &lower_;
    if (!bounds_.upper.empty()) options.iterate_upper_bound = &upper_;
    iterator_.reset(db.NewIterator(options, handle));
  }

  rocksdb::Iterator& iterator() { return *iterator_; }

  bool Valid() const override { return iterator_->Valid(); }
  void Next() override {
    TERRACE_ASSERT(Valid());
    iterator_->Next();
  }
  std::string_view key() const override { return ToView(iterator_->key()); }
  std::string_view value() const override { return ToView(iterator_->value()); }
  Status status() const override {
    rocksdb::Status status = iterator_->status();
    if (status.ok()) return {};
    return ToError(status, directory_, "read");
  }

 private:
  const std::string& directory_;
  const Bounds bounds_;
  const rocksdb::Slice lower_;
  const rocksdb::Slice upper_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

Result<bool> CheckDirectory(const std::string& directory, const RocksMetaOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(directory + "/CURRENT", error)) return false;
  if (HoldsRemains(directory)) {
    return ToError(rocksdb::Status::Corruption("the file CURRENT is missing"), directory, "open");
  }
  if (!options.create_if_missing || options.read_only) {
    return Fail(Errc::kNotFound, "metadata " + directory + ": there is no store in it");
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<RocksMetaStore>> RocksMetaStore::Open(const std::string& directory,
                                                             const RocksMetaOptions& options) {
  TERRACE_ASSIGN_OR_RETURN(const bool fresh, CheckDirectory(directory, options));
  auto database = std::make_unique<Database>(directory);
  rocksdb::Status status;
  try {
    rocksdb::LRUCacheOptions cache_options;
    cache_options.capacity = options.block_cache_bytes;
    cache_options.num_shard_bits = 3;
    cache_options.high_pri_pool_ratio = 0.3;
    database->cache = rocksdb::NewLRUCache(cache_options);
    std::vector<rocksdb::ColumnFamilyDescriptor> tables;
    // RocksDB wants its column family "default" opened too; it stays empty.
    for (const TableTraits& traits : kTables) {
      tables.emplace_back(traits.name, MakeTableOptions(traits, database->cache));
    }
    tables.emplace_back(rocksdb::kDefaultColumnFamilyName,
                        MakeTableOptions({"default", false}, database->cache));
    rocksdb::DB* db = nullptr;
    const rocksdb::DBOptions db_options = MakeDbOptions(options, fresh);
    status =
        options.read_only
            ? rocksdb::DB::OpenForReadOnly(db_options, directory, tables, &database->handles, &db)
            : rocksdb::DB::Open(db_options, directory, tables, &database->handles, &db);
    database->db.reset(db);
  } catch (const std::exception& exception) {
    return Fail(Errc::kIo, "metadata " + directory + ": open: " + exception.what());
  }
  if (!status.ok()) return ToError(status, directory, "open");
  return std::unique_ptr<RocksMetaStore>(new RocksMetaStore(std::move(database)));
}

RocksMetaStore::RocksMetaStore(std::unique_ptr<Database> database)
    : database_(std::move(database)) {}

RocksMetaStore::~RocksMetaStore() = default;

Result<std::optional<std::string>> RocksMetaStore::Get(Table table, std::string_view key) {
  std::string value;
  rocksdb::Status status =
      database_->db->Get(rocksdb::ReadOptions(), database_->HandleOf(table), ToSlice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return ToError(status, database_->directory, "read");
  return value;
}

Result<std::vector<std::optional<std::string>>> RocksMetaStore::GetMany(
    Table table, const std::vector<std::string>& keys) {
  std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> found(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  database_->db->MultiGet(rocksdb::ReadOptions(), database_->HandleOf(table), keys.size(),
                          slices.data(), found.data(), statuses.data());
  std::vector<std::optional<std::string>> values(keys.size());
  for (size_t i = 0; i < keys.size(); i++) {
    if (statuses[i].IsNotFound()) continue;
    if (!statuses[i].ok()) return ToError(statuses[i], database_->directory, "read");
    values[i] = found[i].ToString();
  }
  return values;
}

Status RocksMetaStore::Write(const MetaBatch& batch) {
  size_t size_bytes = 0;
  bool frees = false;
  for (const MetaBatch::Operation& operation : batch.operations()) {
    size_bytes += operation.key.size() + operation.value.size() + 16;
    frees = frees || operation.is_delete;
  }
  Status admitted = database_->space.Admit(size_bytes, frees);
  if (!admitted) return Wrap(std::move(admitted).error(), "metadata " + database_->directory);
  rocksdb::WriteBatch out(size_bytes + 16);
  rocksdb::Status status;
  for (const MetaBatch::Operation& operation : batch.operations()) {
    rocksdb::ColumnFamilyHandle* handle = database_->HandleOf(operation.table);
    status = operation.is_delete ? out.Delete(handle, operation.key)
                                 : out.Put(handle, operation.key, operation.value);
    if (!status.ok()) return ToError(status, database_->directory, "write");
  }
  status = database_->db->Write(rocksdb::WriteOptions(), &out);
  if (status.IsIOError()) {
    database_->log_failed = true;
    // RocksDB refuses every write after this one until it is told to look again.
    if (database_->db->Resume().ok()) {
      status = database_->db->Write(rocksdb::WriteOptions(), &out);
    }
  }
  if (!status.ok()) return ToError(status, database_->directory, "write");
  return {};
}

Status RocksMetaStore::Sync() {
  rocksdb::Status status;
  if (database_->log_failed) {
    // This way RocksDB looks at its state before it touches the log.
    rocksdb::WriteOptions synced;
    synced.sync = true;
    rocksdb::WriteBatch nothing;
    status = database_->db->Resume();
    if (status.ok()) status = database_->db->Write(synced, &nothing);
    if (status.ok()) database_->log_failed = false;
  } else {
    status = database_->db->FlushWAL(/*sync=*/true);
  }
  if (!status.ok()) return ToError(status, database_->directory, "sync");
  return {};
}

Status RocksMetaStore::EmptyLog() {
  TERRACE_TRY(Sync());
  const rocksdb::Status status =
      database_->db->Flush(rocksdb::FlushOptions(), database_->handles);
  // Everything is durable in the log as it is.
  if (!status.ok()) LogWarning("metadata store: tables were not written: " + status.ToString());
  return {};
}

std::unique_ptr<MetaCursor> RocksMetaStore::Scan(Table table, std::string_view begin,
                                                 std::string_view end) {
  auto cursor = std::make_unique<RocksCursor>(
      *database_->db, database_->HandleOf(table), database_->directory,
      RocksCursor::Bounds{std::string(begin), std::string(end)});
  cursor->iterator().Seek(ToSlice(begin));
  return cursor;
}

std::unique_ptr<MetaCursor> RocksMetaStore::ScanFromFloor(Table table, std::string_view key,
                                                          std::string_view floor,
                                                          std::string_view end) {
  auto cursor = std::make_unique<RocksCursor>(
      *database_->db, database_->HandleOf(table), database_->directory,
      RocksCursor::Bounds{std::string(floor), std::string(end)});
  cursor->iterator().SeekForPrev(ToSlice(key));
  return cursor;
}

RocksMetaMemory RocksMetaStore::MemoryInUse() const {
  RocksMetaMemory memory;
  memory.block_cache_bytes = database_->cache->GetUsage();
  for (size_t i = 0; i < kTableCount; i++) {
    uint64_t bytes = 0;
    if (database_->db->GetIntProperty(database_->handles[i],
                                      rocksdb::DB::Properties::kSizeAllMemTables, &bytes)) {
      memory.write_buffer_bytes += bytes;
    }
    if (database_->db->GetIntProperty(database_->handles[i],
                                      rocksdb::DB::Properties::kEstimateTableReadersMem, &bytes)) {
      memory.table_reader_bytes += bytes;
    }
  }
  return memory;
}

}  // namespace terrace::fs
