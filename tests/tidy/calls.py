# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""What may not be said: calls, types and words that are banned, everywhere or in some folders."""

import fnmatch
import re
import typing

from source import Finding

# Calls that move data or make memory belong to io/ alone; the rest are syscalls all the same.
_DATA_SYSCALLS = (
    "open openat openat2 creat read write pread pwrite readv writev preadv pwritev preadv2 "
    "pwritev2 mmap mmap64 munmap mremap madvise mlock mlock2 munlock msync memfd_create "
    "shm_open fallocate posix_fallocate posix_fadvise ftruncate truncate fsync fdatasync syncfs "
    "sync_file_range sendfile splice vmsplice tee copy_file_range process_vm_readv io_submit "
    "fopen fread fwrite").split()
_OTHER_SYSCALLS = (
    "syscall ioctl fcntl close dup dup2 dup3 lseek stat fstat lstat fstatat statx statfs "
    "fstatfs statvfs fstatvfs access faccessat unlink unlinkat rename renameat renameat2 link "
    "linkat symlink symlinkat mkdir mkdirat rmdir readlink readlinkat opendir readdir fdopendir "
    "chmod fchmod chown fchown utimensat flock getxattr setxattr socket bind listen accept "
    "accept4 connect send sendto sendmsg recv recvfrom recvmsg poll ppoll select epoll_wait "
    "epoll_create1 epoll_ctl eventfd timerfd_create signalfd pipe pipe2 fork vfork execv execve "
    "execvp clone kill waitpid wait4 mount umount umount2 getrlimit setrlimit prctl sysconf "
    "clock_gettime gettimeofday nanosleep getrandom getentropy").split()
_ERRNO_NAMES = (
    "E2BIG EACCES EAGAIN EBADF EBUSY ECANCELED ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK "
    "EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTUNREACH EINPROGRESS EINTR EINVAL EIO EISDIR ELOOP "
    "EMFILE EMLINK EMSGSIZE ENAMETOOLONG ENETUNREACH ENFILE ENODATA ENODEV ENOENT ENOEXEC "
    "ENOLCK ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTSUP ENOTTY ENXIO EOPNOTSUPP "
    "EOVERFLOW EPERM EPIPE ERANGE EROFS ESPIPE ESRCH ESTALE ETIMEDOUT ETXTBSY EUCLEAN "
    "EWOULDBLOCK EXDEV").split()


def _call(*names):
    """A call of a C function: `read(` or `::read(`, but not `file.read(` or `std::read(`."""
    joined = "|".join(names)
    return re.compile(rf"(?:(?<![\w.:>~])|(?<![\w>])::\s*)(?:{joined})\s*\(")


class Ban(typing.NamedTuple):
    rule: str
    pattern: re.Pattern
    folders: tuple          # where it holds
    but: tuple              # patterns of paths where it does not
    todo: str


_EVERYWHERE = ("base", "io", "cache", "fs", "mount", "tools", "tests")
_PRODUCT = _EVERYWHERE[:-1]

BANS = (
    Ban("sleep",
        re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\s*\(|"
                   r"(?:(?<![\w.:>])|(?<![\w>])::\s*)sleep\s*\("),
        _EVERYWHERE, (),
        "wait for the event: a CondVar, a latch, a named sync point, or a manual clock"),
    Ban("raw-mutex",
        re.compile(r"\bstd::(?:(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex|"
                   r"condition_variable(?:_any)?|lock_guard|unique_lock|scoped_lock|shared_lock)\b|"
                   r"\bpthread_(?:mutex|rwlock|cond|spin)_\w+"),
        _EVERYWHERE, ("base/mutex.h",),
        "use Mutex, SharedMutex, CondVar and their locks of base/mutex.h, which clang checks"),
    Ban("raw-thread", re.compile(r"\bstd::j?thread\b(?!\s*::)|\bpthread_create\b|\.detach\s*\("),
        _PRODUCT, ("base/thread.h",),
        "use Thread of base/thread.h: named, owned, joined"),
    Ban("errno",
        re.compile(r"\berrno\b|\b(?:" + "|".join(_ERRNO_NAMES) + r")\b"),
        ("base", "cache", "fs"), (),
        "errno lives in io/, mount/ and tools/ only; pass an Errc on"),
    Ban("syscall", _call(*_DATA_SYSCALLS, *_OTHER_SYSCALLS), ("cache",), (),
        "cache/ makes no syscall; ask io/ for it"),
    Ban("syscall", _call(*_DATA_SYSCALLS), ("fs",), (),
        "what moves data or makes memory lives in io/; call it there"),
    Ban("throw", re.compile(r"\bthrow\b"), _PRODUCT, (),
        "our code does not throw; return a Result"),
)

# sys/uio.h is let through for its struct iovec.
_CACHE_HEADERS = re.compile(r"(?!sys/(?:uio|types)\.h)(?:sys|linux|asm|net|netinet|arpa)/.*|"
                            r"(?:unistd|fcntl|poll|dirent|aio|syscall|spawn|mntent)\.h")
_ERRNO_HEADERS = ("cerrno", "errno.h", "linux/errno.h", "asm/errno.h")


def check(tree):
    for file in tree.cpp:
        yield from _banned_text(file)
        yield from _banned_headers(file)
        yield from _banned_words(file)
    for path in tree.scripts_of_tests():
        if not path.endswith(".py"):
            continue
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            if re.match(r"[^#\"']*\btime\.sleep\s*\(", line):
                yield Finding(path, number, "sleep", "a test sleeps",
                              "wait for the event: poll what the test waits for with a deadline, "
                              "in one helper that tests/tidy/exceptions.txt names")


def _banned_text(file):
    for ban in BANS:
        if file.folder not in ban.folders:
            continue
        if any(fnmatch.fnmatchcase(file.path, pattern) for pattern in ban.but):
            continue
        for match in ban.pattern.finditer(file.code_without_directives):
            said = match.group().rstrip("( ").strip()
            yield Finding(file.path, file.line_at(match.start()), ban.rule, f"'{said}'", ban.todo)


def _banned_headers(file):
    for include in file.includes:
        if include.quoted:
            continue
        if file.folder == "cache" and _CACHE_HEADERS.fullmatch(include.name):
            yield Finding(file.path, include.line, "syscall", f"<{include.name}> in cache/",
                          "cache/ makes no syscall; ask io/ for it")
        if file.folder in ("base", "cache", "fs") and include.name in _ERRNO_HEADERS:
            yield Finding(file.path, include.line, "errno", f"<{include.name}>",
                          "errno lives in io/, mount/ and tools/ only; pass an Errc on")


def _banned_words(file):
    for match in re.finditer(r"\b(?:FIXME|TODO|XXX)\b", file.comments):
        yield Finding(file.path, file.line_at(match.start()), "unfinished", f"'{match.group()}'",
                      "finish it, or open an issue and say here what is so and why")
