// Copyright 2026 The TerraceFS Authors
// SPDX-License-Identifier: Apache-2.0

// receive_and_drop: the ceiling of every FUSE daemon on this machine, in the same minute.
//
// It receives writes into a memfd pool that is in memory already, without a copy, and forgets them;
// it answers reads from that pool, with whatever lies there. Names and sizes are kept, bytes are
// not. Direct I/O, parallel direct writes, requests of 1 MiB, the bare protocol of the kernel
// (linux/fuse.h): what is left is what the kernel and its one copy cost.
//
//   receive_and_drop MOUNTPOINT [THREADS]     in the foreground, as root; ends when unmounted
//
// Each thread has a region of the pool of its own, so that nothing is shared but the table of
// names.
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"
#include "base/units.h"

namespace terrace::bench {
namespace {

constexpr uint32_t kMaxWrite = kMiB;
constexpr size_t kSlotSize = kMaxWrite + kBlockSize;
constexpr size_t kPoolSize = 2 * kGiB;
constexpr int kThreadsDefault = 2;
constexpr int kThreadsMax = 64;
constexpr uint64_t kTimeoutSeconds = 3600;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "receive_and_drop: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// The memory that writes arrive in and reads are answered from.
class Pool {
 public:
  explicit Pool(int threads) : slots_per_thread_(kPoolSize / kSlotSize / threads) {
    int descriptor = memfd_create("receive_and_drop", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, kPoolSize) != 0) Die("making the pool");
    void* mapped = mmap(nullptr, kPoolSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) Die("mapping the pool");
    memory_ = static_cast<std::byte*>(mapped);
    madvise(memory_, kPoolSize, MADV_HUGEPAGE);  // only a hint
    std::memset(memory_, 1, kPoolSize);
  }

  std::byte* Slot(int thread, size_t number) const {
    return memory_ + (thread * slots_per_thread_ + number % slots_per_thread_) * kSlotSize;
  }
  std::byte* At(uint64_t offset, size_t size) const {
    return memory_ + offset % (kPoolSize - size) / kBlockSize * kBlockSize;
  }

 private:
  const size_t slots_per_thread_;
  std::byte* memory_ = nullptr;
};

// Names and sizes. A node is never freed; the number of a node is its index, the root is 1.
class Names {
 public:
  struct Node {
    explicit Node(uint32_t node_mode) : mode(node_mode) {}
    const uint32_t mode;
    std::atomic<uint64_t> size{0};
  };

  Names() {
    nodes_.emplace_back(0u);
    nodes_.emplace_back(static_cast<uint32_t>(S_IFDIR | 0755));
  }

  // 0: not there.
  uint64_t Find(uint64_t parent, const std::string& name) {
    MutexLock lock(mu_);
    auto found = names_.find({parent, name});
    return found == names_.end() ? 0 : found->second;
  }
  uint64_t Make(uint64_t parent, const std::string& name, uint32_t mode) {
    MutexLock lock(mu_);
    nodes_.emplace_back(mode);
    return names_[{parent, name}] = nodes_.size() - 1;
  }
  bool Remove(uint64_t parent, const std::string& name) {
    MutexLock lock(mu_);
    return names_.erase({parent, name}) != 0;
  }
  bool Rename(std::pair<uint64_t, std::string> from, std::pair<uint64_t, std::string> to) {
    MutexLock lock(mu_);
    auto found = names_.find(from);
    if (found == names_.end()) return false;
    uint64_t node = found->second;
    names_.erase(found);
    names_[to] = node;
    return true;
  }
  // Nodes of a deque do not move.
  Node& Get(uint64_t node) {
    MutexLock lock(mu_);
    return nodes_[std::min<uint64_t>(node, nodes_.size() - 1)];
  }

 private:
  Mutex mu_;
  std::deque<Node> nodes_ TERRACE_GUARDED_BY(mu_);
  std::map<std::pair<uint64_t, std::string>, uint64_t> names_ TERRACE_GUARDED_BY(mu_);
};

// One thread that takes requests and answers them.
class Server {
 public:
  Server(int device, Pool& pool, Names& names, int thread)
      : device_(device), pool_(pool), names_(names), thread_(thread) {}

  // Returns when the mount is gone.
  void Run() {
    for (size_t number = 0;; number++) {
      payload_ = pool_.Slot(thread_, number);
      iovec parts[2] = {{&head_, sizeof head_}, {payload_, kSlotSize}};
      ssize_t size = readv(device_, parts, 2);
      if (size < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) continue;
      if (size < 0) return;
      Serve(static_cast<size_t>(size));
    }
  }

 private:
  // A header and as much as a WRITE has before its payload, which so begins on a page.
  struct Head {
    fuse_in_header header;
    fuse_write_in write;
  };

  void Serve(size_t size) {
    if (head_.header.opcode == FUSE_WRITE) return Write();
    // The arguments of the others are in one piece again: they are short.
    arguments_.assign(reinterpret_cast<char*>(&head_.write), sizeof head_.write);
    if (size > sizeof head_) {
      arguments_.append(reinterpret_cast<char*>(payload_), size - sizeof head_);
    }
    arguments_.resize(std::max(arguments_.size(), kArgumentsSizeMin));
    ServeOther();
  }

  void ServeOther() {
    const uint64_t node = head_.header.nodeid;
    switch (head_.header.opcode) {
      case FUSE_INIT: return Init();
      case FUSE_LOOKUP: return Lookup(arguments_.c_str());
      case FUSE_GETATTR: return ReplyAttributes(node);
      case FUSE_SETATTR: return SetAttributes();
      case FUSE_CREATE: return Create();
      case FUSE_MKDIR: return MakeDirectory();
      case FUSE_OPEN: return ReplyOpen(FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES);
      case FUSE_OPENDIR: return ReplyOpen(0);
      case FUSE_READ: return Read();
      case FUSE_READDIR: return Reply(nullptr, 0);  // a directory looks empty
      case FUSE_UNLINK:
      case FUSE_RMDIR: return ReplyError(names_.Remove(node, arguments_.c_str()) ? 0 : ENOENT);
      case FUSE_RENAME: return Rename(sizeof(fuse_rename_in));
      case FUSE_RENAME2: return Rename(sizeof(fuse_rename2_in));
      case FUSE_FLUSH:
      case FUSE_FSYNC:
      case FUSE_FSYNCDIR:
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR: return ReplyError(0);
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: return;  // have no answer
      default: return ReplyError(ENOSYS);
    }
  }

  template <typename T>
  const T& Arguments() const {
    return *reinterpret_cast<const T*>(arguments_.data());
  }

  void Write() {
    Names::Node& node = names_.Get(head_.header.nodeid);
    const uint64_t end = head_.write.offset + head_.write.size;
    uint64_t size = node.size.load();
    while (size < end && !node.size.compare_exchange_weak(size, end)) {
    }
    fuse_write_out written{};
    written.size = head_.write.size;
    Reply(&written, sizeof written);
  }

  void Read() {
    const auto& read = Arguments<fuse_read_in>();
    const uint64_t end = names_.Get(head_.header.nodeid).size.load();
    const uint64_t left = read.offset < end ? end - read.offset : 0;
    const size_t size = std::min<uint64_t>(read.size, left);
    Reply(pool_.At(read.offset, size), size);
  }

  void Init() {
    const auto& offered = Arguments<fuse_init_in>();
    fuse_init_out accepted{};
    accepted.major = FUSE_KERNEL_VERSION;
    accepted.minor = FUSE_KERNEL_MINOR_VERSION;
    accepted.max_readahead = offered.max_readahead;
    accepted.flags = offered.flags & (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_MAX_PAGES |
                                      FUSE_PARALLEL_DIROPS | FUSE_ATOMIC_O_TRUNC);
    accepted.max_background = 64;
    accepted.congestion_threshold = 48;
    accepted.max_write = kMaxWrite;
    accepted.time_gran = 1;
    accepted.max_pages = kMaxWrite / kBlockSize;
    Reply(&accepted, sizeof accepted);
  }

  fuse_attr AttributesOf(uint64_t number) {
    Names::Node& node = names_.Get(number);
    fuse_attr attributes{};
    attributes.ino = number;
    attributes.size = node.size.load();
    attributes.mode = node.mode;
    attributes.nlink = 1;
    attributes.blksize = kBlockSize;
    return attributes;
  }

  fuse_entry_out EntryOf(uint64_t number) {
    fuse_entry_out entry{};
    entry.nodeid = number;
    entry.entry_valid = kTimeoutSeconds;
    entry.attr = AttributesOf(number);
    return entry;
  }

  void ReplyAttributes(uint64_t number) {
    fuse_attr_out out{};
    out.attr = AttributesOf(number);
    Reply(&out, sizeof out);
  }

  void SetAttributes() {
    const auto& set = Arguments<fuse_setattr_in>();
    if ((set.valid & FATTR_SIZE) != 0) names_.Get(head_.header.nodeid).size = set.size;
    ReplyAttributes(head_.header.nodeid);
  }

  void Lookup(const char* name) {
    uint64_t number = names_.Find(head_.header.nodeid, name);
    if (number == 0) return ReplyError(ENOENT);
    fuse_entry_out entry = EntryOf(number);
    Reply(&entry, sizeof entry);
  }

  void MakeDirectory() {
    const char* name = arguments_.data() + sizeof(fuse_mkdir_in);
    fuse_entry_out entry = EntryOf(names_.Make(head_.header.nodeid, name, S_IFDIR | 0755));
    Reply(&entry, sizeof entry);
  }

  void Create() {
    const char* name = arguments_.data() + sizeof(fuse_create_in);
    struct {
      fuse_entry_out entry;
      fuse_open_out open;
    } out{};
    out.entry = EntryOf(names_.Make(head_.header.nodeid, name, S_IFREG | 0644));
    out.open.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
    Reply(&out, sizeof out);
  }

  // Both requests begin with the number of the new parent.
  void Rename(size_t arguments_size) {
    const uint64_t new_parent = Arguments<fuse_rename_in>().newdir;
    const std::string from = arguments_.data() + arguments_size;
    const std::string to = arguments_.data() + arguments_size + from.size() + 1;
    bool renamed = names_.Rename({head_.header.nodeid, from}, {new_parent, to});
    ReplyError(renamed ? 0 : ENOENT);
  }

  void ReplyOpen(uint32_t flags) {
    fuse_open_out out{};
    out.open_flags = flags;
    Reply(&out, sizeof out);
  }

  void ReplyError(int error) {
    fuse_out_header header{sizeof header, -error, head_.header.unique};
    Send(header, nullptr, 0);
  }

  void Reply(void* bytes, size_t size) {
    fuse_out_header header{static_cast<uint32_t>(sizeof header + size), 0, head_.header.unique};
    Send(header, bytes, size);
  }

  // A request that was interrupted (ENOENT), or a mount that is gone, wants no answer any more.
  void Send(fuse_out_header& header, void* bytes, size_t size) {
    iovec parts[2] = {{&header, sizeof header}, {bytes, size}};
    [[maybe_unused]] ssize_t sent = writev(device_, parts, size != 0 ? 2 : 1);
  }

  // So that the arguments of any request can be looked at, however short it was.
  static constexpr size_t kArgumentsSizeMin = 512;

  const int device_;
  Pool& pool_;
  Names& names_;
  const int thread_;
  Head head_{};
  std::byte* payload_ = nullptr;
  std::string arguments_;
};

int Main(const char* mount_point, int threads) {
  Pool pool(threads);
  int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) Die("opening /dev/fuse");
  const std::string options =
      "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";
  if (mount("receive_and_drop", mount_point, "fuse.receive_and_drop", MS_NOSUID | MS_NODEV,
            options.c_str()) != 0) {
    Die("mounting (it takes root)");
  }
  Names names;
  std::vector<Thread> others;
  for (int i = 0; i < threads; i++) {
    others.emplace_back("receiver-" + std::to_string(i),
                        [&, i] { Server(device, pool, names, i).Run(); });
  }
  return 0;
}

}  // namespace
}  // namespace terrace::bench

int main(int argc, char** argv) {
  int threads = argc > 2 ? std::atoi(argv[2]) : terrace::bench::kThreadsDefault;
  if (argc < 2 || threads < 1 || threads > terrace::bench::kThreadsMax) {
    std::fprintf(stderr, "usage: receive_and_drop MOUNTPOINT [THREADS=%d]\n",
                 terrace::bench::kThreadsDefault);
    return 2;
  }
  return terrace::bench::Main(argv[1], threads);
}
