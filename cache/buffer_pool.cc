// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// The pool is a row of 1 MiB blocks, each a buddy tree of nine orders (4 KiB << 0 to << 8) that
// never merges beyond its block. Free blocks stand on intrusive lists, one per order, last in
// first out, so that memory which is warm in the caches is handed out again first.
//
// Whole 1 MiB blocks have three lists instead of one: used before, prefaulted, untouched. They
// are numbered behind each other, so that "the first list that is not empty, from the wanted
// order upwards" is one bit scan and prefers split blocks to whole ones and warm memory to
// fresh (which is 4 to 10 times slower). Untouched blocks are taken from the top of the pool,
// while the prefaulter comes from the bottom: they meet once, at the end.
//
// Per page there are 9 bytes: two links, in use only where a free block begins, and one state.
#include "cache/buffer_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>

#include "base/assert.h"
#include "base/log.h"

namespace terrace::cache {
namespace {

constexpr int kOrderMax = 8;
constexpr uint32_t kBlockPages = 1U << kOrderMax;
constexpr uint64_t kBudgetMin = 16 * kMiB;
// Page numbers are 32 bits wide, and two values of them are spare.
constexpr uint64_t kBudgetMax = 8 * kTiB;
constexpr uint64_t kStateBytesPerPage = 9;
// One step of the prefaulter: short enough that neither page faults nor mmap calls of other
// threads, nor the destructor, wait long for it.
constexpr uint64_t kPrefaultStepBytes = 2 * kMiB;
static_assert(kBlockPages * kBlockSize == kExtentSizeMax);
static_assert(BufferPool::kPrefaultChunkBytes % kPrefaultStepBytes == 0);

uint64_t HeaderRegionBytes(uint64_t pages) { return RoundUp(pages * sizeof(BufferHeader), kMiB); }

uint64_t BudgetOf(uint64_t blocks) {
  uint64_t pages = blocks * kBlockPages;
  return pages * (kBlockSize + kStateBytesPerPage) + HeaderRegionBytes(pages);
}

// The most whole blocks that fit the budget together with what describes them (POOL-4).
uint64_t BlocksWithin(uint64_t budget_bytes) {
  constexpr uint64_t kBytesPerPage = kBlockSize + kStateBytesPerPage + sizeof(BufferHeader);
  uint64_t blocks = budget_bytes / (kBlockPages * kBytesPerPage);
  while (blocks > 0 && BudgetOf(blocks) > budget_bytes) blocks--;
  return blocks;
}

}  // namespace

struct BufferPool::FreeLists {
  // Lists 0 to 7 hold free blocks of that order; the other three hold whole 1 MiB blocks.
  static constexpr int kUsedBefore = kOrderMax;
  static constexpr int kPrefaulted = kOrderMax + 1;
  static constexpr int kUntouched = kOrderMax + 2;
  static constexpr int kLists = kOrderMax + 3;
  // The state of a page is the list of the free block that begins there, or one of these.
  static constexpr uint8_t kBufferHead = 0xfe;  // a live buffer begins here
  static constexpr uint8_t kInside = 0xff;      // inside a free block or a live buffer
  static constexpr uint32_t kNil = std::numeric_limits<uint32_t>::max();

  struct Link {
    uint32_t next;
    uint32_t previous;
  };
  static_assert(sizeof(Link) + sizeof(uint8_t) == kStateBytesPerPage);

  explicit FreeLists(uint32_t pages)
      : links(std::make_unique_for_overwrite<Link[]>(pages)),
        states(std::make_unique_for_overwrite<uint8_t[]>(pages)) {
    heads.fill(kNil);
    std::fill_n(states.get(), pages, kInside);
    for (uint32_t page = 0; page < pages; page += kBlockPages) Push(kUntouched, page);
  }

  static int OrderOf(int list) { return std::min(list, kOrderMax); }

  void Push(int list, uint32_t page) {
    uint32_t head = heads[list];
    links[page] = {.next = head, .previous = kNil};
    if (head != kNil) links[head].previous = page;
    heads[list] = page;
    nonempty |= 1U << list;
    states[page] = static_cast<uint8_t>(list);
  }

  void Unlink(int list, uint32_t page) {
    TERRACE_ASSERT(states[page] == list);
    Link link = links[page];
    if (link.next != kNil) links[link.next].previous = link.previous;
    if (link.previous != kNil) {
      links[link.previous].next = link.next;
    } else {
      heads[list] = link.next;
      if (link.next == kNil) nonempty &= ~(1U << list);
    }
    states[page] = kInside;
  }

  // Returns: the first page of 1 << order pages, or kNil.
  uint32_t Take(int order) {
    uint32_t candidates = nonempty >> order << order;
    if (candidates == 0) return kNil;
    int list = std::countr_zero(candidates);
    uint32_t page = heads[list];
    Unlink(list, page);
    for (int half = OrderOf(list) - 1; half >= order; half--) Push(half, page + (1U << half));
    states[page] = kBufferHead;
    return page;
  }

  void GiveBlock(uint32_t page, int order) {
    TERRACE_ASSERT(states[page] == kInside);
    while (order < kOrderMax) {
      uint32_t buddy = page ^ (1U << order);
      if (states[buddy] != order) break;
      Unlink(order, buddy);
      page = std::min(page, buddy);
      order++;
    }
    Push(order, page);
  }

  // Gives a run of pages of one 1 MiB block back, as the largest aligned blocks it is made of.
  void Give(uint32_t first, uint32_t count) {
    while (count > 0) {
      int order = std::min(std::countr_zero(first), static_cast<int>(std::bit_width(count)) - 1);
      GiveBlock(first, order);
      first += 1U << order;
      count -= 1U << order;
    }
  }

  // The lists hold every free block, each on the list of its state.
  void CheckLinks(uint64_t free_blocks) const {
    for (int list = 0; list < kLists; list++) {
      TERRACE_ASSERT((heads[list] != kNil) == ((nonempty >> list & 1) == 1));
      uint32_t previous = kNil;
      for (uint32_t page = heads[list]; page != kNil; page = links[page].next) {
        TERRACE_ASSERT(states[page] == list);
        TERRACE_ASSERT(links[page].previous == previous);
        TERRACE_ASSERT(free_blocks > 0);
        free_blocks--;
        previous = page;
      }
    }
    TERRACE_ASSERT(free_blocks == 0);
  }

  const std::unique_ptr<Link[]> links;
  const std::unique_ptr<uint8_t[]> states;
  std::array<uint32_t, kLists> heads;
  uint32_t nonempty = 0;  // bit per list
};

std::byte* Buffer::data() const {
  TERRACE_ASSERT(pool_ != nullptr);
  return pool_->memory_->data() + memory_offset();
}

BufferHeader& Buffer::header() const {
  TERRACE_ASSERT(pool_ != nullptr);
  return pool_->HeaderOf(first_);
}

void Buffer::Trim(uint64_t size_bytes) {
  TERRACE_ASSERT(size_bytes > 0);
  TERRACE_ASSERT(size_bytes <= this->size_bytes());
  auto keep = static_cast<uint32_t>(BlockCount(size_bytes));
  if (keep == count_) return;
  pool_->Free(first_, count_, keep);
  count_ = keep;
}

Buffer Buffer::SplitFront(uint64_t size_bytes) {
  TERRACE_ASSERT(size_bytes > 0);
  TERRACE_ASSERT(size_bytes <= this->size_bytes());
  auto front = static_cast<uint32_t>(BlockCount(size_bytes));
  Buffer split(pool_, first_, front);
  first_ += front;
  count_ -= front;
  if (count_ == 0) {
    pool_ = nullptr;
  } else {
    pool_->BeginBufferAt(first_);
  }
  return split;
}

void Buffer::Reset() {
  if (pool_ == nullptr) return;
  // The lock in Free orders this store before any use of the pages by their next owner.
  std::atomic<uint64_t>& sequence = header().sequence;
  if (sequence.load(std::memory_order_relaxed) != 0) sequence.store(0, std::memory_order_release);
  std::exchange(pool_, nullptr)->Free(first_, count_, 0);
}

Result<std::unique_ptr<BufferPool>> BufferPool::Create(const Options& options) {
  if (options.size_bytes < kBudgetMin) {
    return Fail(Errc::kInvalid, "DRAM pool: " + FormatSize(options.size_bytes) +
                                    " is too small; the least is " + FormatSize(kBudgetMin));
  }
  if (options.size_bytes > kBudgetMax) {
    return Fail(Errc::kInvalid, "DRAM pool: " + FormatSize(options.size_bytes) +
                                    " is too large; the most is " + FormatSize(kBudgetMax));
  }
  uint64_t blocks = BlocksWithin(RoundDown(options.size_bytes, kMiB));
  auto memory = io::MemoryRegion::Create("terrace-pool", blocks * kMiB);
  if (!memory) return Wrap(std::move(memory).error(), "DRAM pool");
  auto headers =
      io::MemoryRegion::Create("terrace-headers", HeaderRegionBytes(blocks * kBlockPages));
  if (!headers) return Wrap(std::move(headers).error(), "DRAM pool headers");
  return std::unique_ptr<BufferPool>(
      new BufferPool(std::move(*memory), std::move(*headers), options.prefault));
}

BufferPool::BufferPool(std::unique_ptr<io::MemoryRegion> memory,
                       std::unique_ptr<io::MemoryRegion> headers, bool prefault)
    : memory_(std::move(memory)),
      headers_(std::move(headers)),
      page_count_(static_cast<uint32_t>(memory_->size_bytes() / kBlockSize)),
      prefault_(prefault),
      free_(std::make_unique<FreeLists>(page_count_)) {
  TERRACE_ASSERT(uint64_t{page_count_} * sizeof(BufferHeader) <= headers_->size_bytes());
}

BufferPool::~BufferPool() {
  stopping_.store(true, std::memory_order_relaxed);
  prefault_thread_.Join();
  MutexLock lock(mu_);
  TERRACE_ASSERT(used_pages_ == 0);
}

BufferHeader& BufferPool::HeaderOf(uint32_t page) const {
  return reinterpret_cast<BufferHeader*>(headers_->data())[page];
}

std::optional<Buffer> BufferPool::TryAllocate(uint64_t size_bytes) {
  TERRACE_ASSERT(size_bytes > 0);
  TERRACE_ASSERT(size_bytes <= kExtentSizeMax);
  auto pages_needed = static_cast<uint32_t>(BlockCount(size_bytes));
  int order = static_cast<int>(std::bit_width(pages_needed - 1));
  uint32_t pages = 1U << order;
  uint32_t first;
  {
    MutexLock lock(mu_);
    first = free_->Take(order);
    if (first == FreeLists::kNil) return std::nullopt;
    used_pages_ += pages;
  }
  return Buffer(this, first, pages);
}

void BufferPool::Free(uint32_t first, uint32_t count, uint32_t keep) {
  TERRACE_ASSERT(count <= kBlockPages);
  TERRACE_ASSERT(keep < count);
  uint32_t freed = count - keep;
  MutexLock lock(mu_);
  TERRACE_ASSERT(free_->states[first] == FreeLists::kBufferHead);
  TERRACE_ASSERT(used_pages_ >= freed);
  if (keep == 0) free_->states[first] = FreeLists::kInside;
  free_->Give(first + keep, freed);
  used_pages_ -= freed;
}

void BufferPool::BeginBufferAt(uint32_t page) {
  MutexLock lock(mu_);
  TERRACE_ASSERT(free_->states[page] == FreeLists::kInside);
  free_->states[page] = FreeLists::kBufferHead;
}

void BufferPool::StartPrefault(std::function<void(std::byte*, size_t)> on_chunk) {
  TERRACE_ASSERT(!prefault_started_);
  prefault_started_ = true;
  if (!prefault_) return;
  prefault_thread_ =
      Thread("prefault", [this, on_chunk = std::move(on_chunk)] { Prefault(on_chunk); });
}

void BufferPool::Prefault(const std::function<void(std::byte*, size_t)>& on_chunk) {
  Thread::GiveWay();
  const uint64_t size = memory_->size_bytes();
  for (uint64_t chunk = 0; chunk < size; chunk += kPrefaultChunkBytes) {
    const uint64_t chunk_end = std::min(chunk + kPrefaultChunkBytes, size);
    for (uint64_t offset = chunk; offset < chunk_end; offset += kPrefaultStepBytes) {
      if (stopping_.load(std::memory_order_relaxed)) return;
      Status done = PrefaultStep(offset, std::min(kPrefaultStepBytes, chunk_end - offset));
      if (!done) {
        LogWarning("DRAM pool: prefault stops after " + FormatSize(offset) + " of " +
                   FormatSize(size) + ": " + Describe(done.error()));
        return;
      }
    }
    if (on_chunk) on_chunk(memory_->data() + chunk, chunk_end - chunk);
  }
}

// Populates whole blocks and their headers, without the lock and whether they are in use or
// not, and then moves the ones that nobody has touched yet to the prefaulted list.
Status BufferPool::PrefaultStep(uint64_t offset_bytes, uint64_t size_bytes) {
  constexpr uint64_t kPoolBytesPerHeaderByte = kBlockSize / sizeof(BufferHeader);
  TERRACE_TRY(headers_->Populate(offset_bytes / kPoolBytesPerHeaderByte,
                                 size_bytes / kPoolBytesPerHeaderByte));
  TERRACE_TRY(memory_->Populate(offset_bytes, size_bytes));
  {
    MutexLock lock(mu_);
    auto page = static_cast<uint32_t>(offset_bytes / kBlockSize);
    auto end = static_cast<uint32_t>((offset_bytes + size_bytes) / kBlockSize);
    for (; page < end; page += kBlockPages) {
      if (free_->states[page] != FreeLists::kUntouched) continue;
      free_->Unlink(FreeLists::kUntouched, page);
      free_->Push(FreeLists::kPrefaulted, page);
    }
  }
  prefaulted_bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  return {};
}

BufferPool::Counts BufferPool::counts() const {
  MutexLock lock(mu_);
  return Counts{.size_bytes = uint64_t{page_count_} * kBlockSize,
                .used_bytes = used_pages_ * kBlockSize,
                .prefaulted_bytes = prefaulted_bytes_.load(std::memory_order_relaxed),
                .huge_pages = memory_->huge_pages()};
}

void BufferPool::CheckInvariants() const {
  MutexLock lock(mu_);
  const FreeLists& lists = *free_;
  uint64_t free_pages = 0;
  uint64_t free_blocks = 0;
  uint64_t live_pages = 0;
  for (uint32_t page = 0; page < page_count_;) {
    uint8_t state = lists.states[page];
    TERRACE_ASSERT(state != FreeLists::kInside);  // POOL-1: whose would it be?
    uint32_t run = 1;
    while (page + run < page_count_ && lists.states[page + run] == FreeLists::kInside) run++;
    if (state == FreeLists::kBufferHead) {
      live_pages += run;  // POOL-1
      page += run;
      continue;
    }
    int order = FreeLists::OrderOf(state);
    TERRACE_ASSERT(run == 1U << order);  // POOL-1
    TERRACE_ASSERT(page % run == 0);     // POOL-2
    // POOL-2: a buddy that is free too would have been merged.
    if (order < kOrderMax) TERRACE_ASSERT(lists.states[page ^ run] != state);
    for (uint32_t i = page; i < page + run; i++) {
      TERRACE_ASSERT(HeaderOf(i).sequence.load(std::memory_order_relaxed) == 0);  // POOL-3
    }
    free_blocks++;
    free_pages += run;
    page += run;
  }
  TERRACE_ASSERT(live_pages == used_pages_);                // POOL-1
  TERRACE_ASSERT(free_pages + used_pages_ == page_count_);  // POOL-2
  lists.CheckLinks(free_blocks);
}

}  // namespace terrace::cache
