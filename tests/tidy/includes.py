# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Includes: which way they point, and where third-party headers may be."""

import fnmatch
import re
import typing

from source import FOLDERS, Finding

# What each folder may include, beside itself. A name with a slash is one file.
MAY_INCLUDE = {
    "base": (),
    "io": ("base",),
    "cache": ("base", "io"),
    "fs": ("base", "io", "cache"),
    "mount": ("base", "fs", "io/memory_region.h"),
    "tools": ("base", "io", "cache", "fs", "mount"),
    "tests": ("base", "io", "cache", "fs", "mount", "tools"),
}

# The header that the build writes, and the one file that shows it to the others.
GENERATED = "generated/build_info.h"
GENERATED_READER = "base/version.cc"


class ThirdParty(typing.NamedTuple):
    name: str
    headers: tuple      # patterns
    places: tuple       # patterns of files that may include it; tests may include everything
    files_max: int      # in each folder; 0: any number


THIRD_PARTY = (
    ThirdParty("RocksDB", ("rocksdb/*",), ("fs/meta/*.cc",), 1),
    ThirdParty("liburing", ("liburing.h", "liburing/*"), ("io/*",), 0),
    ThirdParty("libcurl", ("curl/*",), ("io/*",), 0),
    ThirdParty("zstd", ("zstd.h", "zstd_*.h", "zdict.h"), ("io/*",), 0),
    ThirdParty("libfuse", ("fuse*.h", "fuse3/*"), ("mount/*",), 0),
    ThirdParty("CLI11", ("CLI/*",), ("tools/*",), 0),
    ThirdParty("spdlog", ("spdlog/*", "fmt/*"), ("base/*.cc",), 0),
    ThirdParty("xxHash", ("xxhash.h", "xxh3.h"), ("base/*.cc",), 0),
    ThirdParty("tl::expected", ("tl/*",), ("base/result.h",), 0),
    # Any header may declare the type; the parser, slow to compile, stays in .cc files.
    ThirdParty("nlohmann-json", ("nlohmann/json_fwd.hpp",), ("fs/*", "mount/*", "tools/*"), 0),
    ThirdParty("nlohmann-json", ("nlohmann/*",), ("fs/*.cc", "mount/*.cc", "tools/*.cc"), 0),
    ThirdParty("toml++", ("toml++/*", "toml.hpp"), ("mount/*.cc", "tools/*.cc"), 1),
    ThirdParty("GoogleTest", ("gtest/*", "gmock/*"), (), 0),
    ThirdParty("Google Benchmark", ("benchmark/*",), ("tools/bench/*",), 0),
)

# Everything else in angle brackets is C++ (no dot), the kernel, or one of these of the C library.
_C_LIBRARY = frozenset(
    "aio alloca assert byteswap ctype cpuid dirent dlfcn elf endian err errno execinfo fcntl "
    "fnmatch ftw getopt glob grp immintrin inttypes libgen limits locale malloc math mntent "
    "netdb paths poll pthread pwd regex sched search semaphore setjmp signal spawn stdarg "
    "stdatomic stddef stdint stdio stdlib string strings syscall sysexits syslog termios time "
    "ucontext unistd utime utmp wait wchar x86intrin".split())
_KERNEL = ("sys/", "linux/", "asm/", "asm-generic/", "net/", "netinet/", "arpa/", "bits/")


def check(tree):
    yield from _edges(tree)
    yield from _third_party(tree)
    yield from _cycles(tree)


def _edges(tree):
    for file in tree.cpp:
        for include in file.includes:
            finding = _judge(tree, file, include)
            if finding:
                what, todo = finding
                yield Finding(file.path, include.line, "include-edge", what, todo)


def _judge(tree, file, include):
    name, top = include.name, include.name.split("/")[0]
    if name == GENERATED:
        if file.path == GENERATED_READER:
            return None
        return (f"\"{name}\" is included", f"only {GENERATED_READER} may; call what it offers")
    if not include.quoted:
        if "/" in name and top in FOLDERS and tree.exists(name):
            return (f"<{name}> is ours, in angle brackets", "use double quotes")
        return None
    if "/" not in name or top not in FOLDERS:
        return (f"\"{name}\" is not spelt from the root of the repository",
                "write \"folder/file.h\"; third-party headers take angle brackets")
    if not tree.exists(name):
        return (f"\"{name}\" does not exist", "correct the path or add the header")
    if not name.endswith(".h"):
        return (f"\"{name}\" is not a header", "declare what is needed in a .h")
    if top == "tests" and file.folder != "tests":
        return (f"\"{name}\" belongs to the tests", "nothing includes tests/")
    if top == file.folder or top in MAY_INCLUDE[file.folder] or name in MAY_INCLUDE[file.folder]:
        return None
    allowed = " ".join((file.folder,) + MAY_INCLUDE[file.folder])
    return (f"{file.folder}/ includes \"{name}\"",
            f"{file.folder}/ may include only: {allowed}; move the code, or declare an interface "
            "here that the upper layer implements")


def _third_party(tree):
    users = {}
    for file in tree.cpp:
        if file.folder == "tests":
            continue
        for include in file.includes:
            if include.quoted or include.name.split("/")[0] in FOLDERS:
                continue
            library = _library_of(include.name)
            if library is None:
                if not _is_standard(include.name):
                    yield Finding(file.path, include.line, "third-party",
                                  f"<{include.name}> is neither standard nor in the table",
                                  "use what the table has, or add it to tests/tidy/includes.py "
                                  "and CONTRIBUTING.md with the one folder that may include it")
            elif not any(fnmatch.fnmatchcase(file.path, place) for place in library.places):
                where = " ".join(library.places) or "tests/*"
                yield Finding(file.path, include.line, "third-party",
                              f"{library.name} is included outside its place",
                              f"only {where} may; wrap it there")
            elif library.files_max:
                files = users.setdefault((library.name, file.folder), [])
                if file.path not in files:
                    files.append(file.path)
                if len(files) > library.files_max:
                    yield Finding(file.path, include.line, "third-party",
                                  f"{library.name} is already included by {files[0]}",
                                  f"let that file be the only one of {file.folder}/ that knows it")


def _library_of(name):
    for library in THIRD_PARTY:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in library.headers):
            return library
    return None


def _is_standard(name):
    if name.startswith(_KERNEL):
        return True
    if name.startswith("sanitizer/"):
        return True
    return bool(re.fullmatch(r"[a-z_0-9]+", name)) or name.removesuffix(".h") in _C_LIBRARY


def _cycles(tree):
    """Headers of one folder that include each other, which the table of folders can't see."""
    state = {}
    for file in tree.cpp:
        yield from _visit(tree, file.path, [], state)


def _visit(tree, path, stack, state):
    if state.get(path) == "done":
        return
    state[path] = "open"
    for include in tree.cpp_by_path[path].includes:
        if not include.quoted or include.name not in tree.cpp_by_path:
            continue
        if state.get(include.name) == "open":
            way = " -> ".join(stack[stack.index(include.name):] if include.name in stack else [])
            way = " -> ".join(filter(None, (way, path, include.name)))
            yield Finding(path, include.line, "include-cycle", way,
                          "take what both need into a third header, or declare it forward")
        else:
            yield from _visit(tree, include.name, stack + [path], state)
    state[path] = "done"
