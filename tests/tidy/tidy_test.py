#!/usr/bin/env python3
# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Goal: each rule of tidy.py finds what it is for, and nothing else.

Method: a small clean tree in memory, changed in one place per case, written to a temporary folder.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import functions
import tidy
from source import CppFile

LICENCE = "// Copyright 2026 The TerraceFS Authors\n// SPDX-License-Identifier: Apache-2.0\n"
CMAKE_LICENCE = LICENCE.replace("//", "#")
HEADER = LICENCE + "#pragma once\n"

CLEAN = {
    "CMakeLists.txt": CMAKE_LICENCE,
    "base/CMakeLists.txt": CMAKE_LICENCE + "add(a.cc a.h mutex.h result.h)\n",
    "base/README.md": "Read `a.h`.\n",
    "base/a.cc": LICENCE + '#include "base/a.h"\n#include <xxhash.h>\n#include <vector>\n',
    "base/a.h": HEADER,
    "base/mutex.h": HEADER + "#include <mutex>\nstd::mutex mu;\n",
    "base/result.h": HEADER + "#include <tl/expected.hpp>\n",
    "io/CMakeLists.txt": CMAKE_LICENCE + "add(memory_region.h ring.cc)\n",
    "io/README.md": "Bytes.\n",
    "io/memory_region.h": HEADER + '#include "base/a.h"\n',
    "io/ring.cc": LICENCE + "#include <liburing.h>\n#include <sys/mman.h>\n"
                  "int F() { return ::read(0, 0, 0) + errno; }\n",
    "cache/CMakeLists.txt": CMAKE_LICENCE + "add(pool.h)\n",
    "cache/README.md": "Extents.\n",
    "cache/pool.h": HEADER + "// Pool: buffers.\n//\n"
                    "// Invariants (CheckInvariants(); tests/cache/pool_test.cc)\n"
                    "//   POOL-1  Every page is free or used.\n"
                    "void CheckInvariants();\n",
    "fs/CMakeLists.txt": CMAKE_LICENCE + "add(open.h meta/store.cc)\n",
    "fs/README.md": "Files.\n",
    "fs/open.h": HEADER + '#include "cache/pool.h"\n#include "io/memory_region.h"\n',
    "fs/meta/store.cc": LICENCE + "#include <rocksdb/db.h>\n",
    "mount/CMakeLists.txt": CMAKE_LICENCE + "add(session.cc)\n",
    "mount/README.md": "FUSE.\n",
    "mount/session.cc": LICENCE + "#include <fuse_lowlevel.h>\n#include <errno.h>\n"
                        '#include "fs/open.h"\n#include "io/memory_region.h"\n',
    "tools/CMakeLists.txt": CMAKE_LICENCE + "add(main.cc)\n",
    "tools/README.md": "Verbs.\n",
    "tools/main.cc": LICENCE + "#include <CLI/CLI.hpp>\n#include \"base/a.h\"\n",
    "tests/README.md": "Tests.\n",
    "tests/cache/CMakeLists.txt": CMAKE_LICENCE + "add(pool_test.cc)\n",
    "tests/cache/pool_test.cc": LICENCE + '#include <gtest/gtest.h>\n#include "cache/pool.h"\n'
                                "// Breaks POOL-1.\n",
    "docs/a.md": "See [the base](../base/a.h) and [that](https://example.org/x).\n",
}


def findings(changes):
    """What tidy says of the clean tree with these files put in (None: left out)."""
    files = {path: text for path, text in {**CLEAN, **changes}.items() if text is not None}
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            target = pathlib.Path(root) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return tidy.check(root)


def added(path, text):
    return {path: CLEAN[path] + text}


class Case(unittest.TestCase):
    def assert_clean(self, changes):
        self.assertEqual([str(finding) for finding in findings(changes)], [])

    def assert_found(self, changes, rule, path, line, what=""):
        found = findings(changes)
        self.assertEqual([(f.path, f.line, f.rule) for f in found], [(path, line, rule)],
                         "\n".join(map(str, found)))
        self.assertIn(what, str(found[0]))


class Includes(Case):
    def test_clean_tree(self):
        self.assert_clean({})

    def test_upward(self):
        self.assert_found(added("base/result.h", '#include "io/memory_region.h"\n'),
                          "include-edge", "base/result.h", 5, "may include only: base")
        self.assert_found(added("io/ring.cc", '#include "cache/pool.h"\n'),
                          "include-edge", "io/ring.cc", 6)
        self.assert_found(added("cache/pool.h", '#include "fs/names.h"\n')
                          | added("fs/CMakeLists.txt", "add(names.h)\n") | {"fs/names.h": HEADER},
                          "include-edge", "cache/pool.h", 9)

    def test_mount_sees_no_cache_and_of_io_only_memory_regions(self):
        self.assert_found(added("mount/session.cc", '#include "cache/pool.h"\n'),
                          "include-edge", "mount/session.cc", 7)
        self.assert_found({**added("mount/session.cc", '#include "io/ring.h"\n'),
                           "io/ring.h": HEADER,
                           "io/CMakeLists.txt": CLEAN["io/CMakeLists.txt"] + "add(ring.h)\n"},
                          "include-edge", "mount/session.cc", 7)

    def test_nothing_includes_tests(self):
        self.assert_found({**added("tools/main.cc", '#include "tests/cache/fake.h"\n'),
                           "tests/cache/fake.h": HEADER,
                           "tests/cache/CMakeLists.txt": CMAKE_LICENCE + "fake.h pool_test.cc\n"},
                          "include-edge", "tools/main.cc", 5, "nothing includes tests/")

    def test_not_from_the_root(self):
        self.assert_found(added("base/a.cc", '#include "a.h"\n'), "include-edge", "base/a.cc", 6)
        self.assert_found(added("base/a.cc", "#include <base/a.h>\n"),
                          "include-edge", "base/a.cc", 6)

    def test_missing_header_and_source_as_header(self):
        self.assert_found(added("base/a.cc", '#include "base/b.h"\n'),
                          "include-edge", "base/a.cc", 6, "does not exist")
        self.assert_found(added("tools/main.cc", '#include "base/a.cc"\n'),
                          "include-edge", "tools/main.cc", 5, "not a header")

    def test_build_info_has_one_reader(self):
        text = '#include "generated/build_info.h"\n'
        self.assert_found(added("tools/main.cc", text), "include-edge", "tools/main.cc", 5)
        self.assert_clean({"base/version.cc": LICENCE + text,
                           **added("base/CMakeLists.txt", "add(version.cc)\n")})

    def test_commented_include_does_not_count(self):
        self.assert_clean(added("base/a.h", '/*\n#include "fs/open.h"\n*/\n'))

    def test_cycle(self):
        self.assert_found({"base/a.h": HEADER + '#include "base/b.h"\n',
                           "base/b.h": HEADER + '#include "base/a.h"\n',
                           **added("base/CMakeLists.txt", "add(b.h)\n")},
                          "include-cycle", "base/b.h", 4, "base/a.h -> base/b.h -> base/a.h")

    def test_third_party_outside_its_folder(self):
        for header, path, line in (("rocksdb/db.h", "fs/open.h", 6),
                                   ("rocksdb/db.h", "io/ring.cc", 6),
                                   ("liburing.h", "cache/pool.h", 9), ("fuse.h", "fs/open.h", 6),
                                   ("fuse3/fuse_opt.h", "tools/main.cc", 5),
                                   ("CLI/App.hpp", "mount/session.cc", 7),
                                   ("spdlog/spdlog.h", "fs/meta/store.cc", 4),
                                   ("xxhash.h", "io/ring.cc", 6), ("zstd.h", "cache/pool.h", 9),
                                   ("toml++/toml.h", "io/ring.cc", 6),
                                   ("nlohmann/json.hpp", "base/a.cc", 6),
                                   ("tl/expected.hpp", "fs/open.h", 6),
                                   ("gtest/gtest.h", "tools/main.cc", 5)):
            with self.subTest(header):
                self.assert_found(added(path, f"#include <{header}>\n"), "third-party", path, line)

    def test_only_one_file_knows_rocksdb(self):
        self.assert_found({"fs/meta/zz.cc": CLEAN["fs/meta/store.cc"],
                           **added("fs/CMakeLists.txt", "add(meta/zz.cc)\n")},
                          "third-party", "fs/meta/zz.cc", 3, "already included by fs/meta/store.cc")

    def test_json_in_headers_only_as_a_declaration(self):
        self.assert_clean(added("fs/open.h", "#include <nlohmann/json_fwd.hpp>\n")
                          | added("mount/session.cc", "#include <nlohmann/json.hpp>\n"))
        self.assert_found(added("fs/open.h", "#include <nlohmann/json.hpp>\n"),
                          "third-party", "fs/open.h", 6)

    def test_unknown_library(self):
        self.assert_found(added("io/ring.cc", "#include <boost/asio.hpp>\n"),
                          "third-party", "io/ring.cc", 6, "neither standard nor in the table")


class Calls(Case):
    def test_sleep_is_found_everywhere(self):
        for call in ("std::this_thread::sleep_for(x);", "sleep_until (t);", "usleep(5);",
                     "sleep(1);", "::sleep(1);", "nanosleep(&t, 0);"):
            with self.subTest(call):
                self.assert_found(added("tests/cache/pool_test.cc", call + "\n"),
                                  "sleep", "tests/cache/pool_test.cc", 6)
        self.assert_found(added("mount/session.cc", "void F() { usleep(1); }\n"),
                          "sleep", "mount/session.cc", 7)
        self.assert_found({"tests/a.py": "import time\ntime.sleep(1)\n"}, "sleep", "tests/a.py", 2)

    def test_what_only_looks_like_sleep(self):
        self.assert_clean(added("io/ring.cc", '// sleep(1) wakes\nauto s = "sleep(1)";\n'
                                "void G() { timer.sleep(1); no_sleep(2); }\n"))

    def test_documented_exception(self):
        text = "# comment\nsleep | mount/session.cc | the kernel has no event for this\n"
        broken = added("mount/session.cc", "void F() { usleep(1); }\n")
        self.assert_clean({**broken, "tests/tidy/exceptions.txt": text})
        self.assert_found({"tests/tidy/exceptions.txt": text}, "exception",
                          "tests/tidy/exceptions.txt", 2, "no longer breaks sleep")
        self.assert_found({"tests/tidy/exceptions.txt": "sleep | mount/session.cc |\n"},
                          "exception", "tests/tidy/exceptions.txt", 1)
        self.assert_found({"tests/tidy/exceptions.txt": "function-length | base/a.cc | long\n"},
                          "exception", "tests/tidy/exceptions.txt", 1, "has no exceptions")

    def test_raw_mutex_and_thread(self):
        for text in ("std::mutex m;", "std::lock_guard l(m);", "std::condition_variable c;",
                     "pthread_mutex_t m;", "std::shared_mutex m;"):
            with self.subTest(text):
                self.assert_found(added("fs/open.h", text + "\n"), "raw-mutex", "fs/open.h", 6)
        self.assert_found(added("fs/open.h", "std::thread t;\n"), "raw-thread", "fs/open.h", 6)
        self.assert_found(added("fs/open.h", "void F() { t.detach(); }\n"),
                          "raw-thread", "fs/open.h", 6)
        self.assert_clean(added("fs/open.h", "std::once_flag f;\nstd::thread::id i;\n"))
        self.assert_clean(added("tests/cache/pool_test.cc", "std::thread t;\n"))

    def test_errno(self):
        for text in ("int e = errno;", "int e = ENOENT;"):
            with self.subTest(text):
                self.assert_found(added("fs/open.h", text + "\n"), "errno", "fs/open.h", 6)
        self.assert_found(added("base/a.cc", "#include <cerrno>\n"), "errno", "base/a.cc", 6)
        self.assert_clean(added("tools/main.cc", "int e = errno;\n"))

    def test_syscalls(self):
        for text in ("int F() { return ::fsync(1); }", "int F() { return mmap(0); }",
                     "#include <unistd.h>", "#include <sys/mman.h>", "auto f = ioctl(1, 2);"):
            with self.subTest(text):
                self.assert_found(added("cache/pool.h", text + "\n"), "syscall", "cache/pool.h", 9)
        self.assert_found(added("fs/open.h", "int F() { return ::pwrite(1); }\n"),
                          "syscall", "fs/open.h", 6)
        self.assert_clean(added("cache/pool.h", "int F() { return file.read(1) + p->write(2) + "
                                "File::open(3) + Read(4) + reopen(5); }\n"))
        self.assert_clean(added("cache/pool.h", "#include <sys/uio.h>\n"))
        self.assert_clean(added("fs/open.h", "int F() { return ::mkdir(1); }\n"))

    def test_throw_and_unfinished(self):
        self.assert_found(added("fs/open.h", "void F() { throw 1; }\n"), "throw", "fs/open.h", 6)
        self.assert_found(added("fs/open.h", "// FIX" "ME: later\n"), "unfinished", "fs/open.h", 6)


def function_of(lines, head="void F() {"):
    return head + "\n" + "  g();\n" * (lines - 2) + "}\n"


class Layout(Case):
    def test_function_length(self):
        self.assert_clean(added("base/a.cc", function_of(70)))
        self.assert_found(added("base/a.cc", function_of(71)), "function-length", "base/a.cc", 6,
                          "F has 71 lines")

    def test_functions_in_all_places(self):
        for head, tail in (("namespace a {\nnamespace {\nvoid F() {", "}}"),
                           ("class A final : public B<int> {\n public:\n  void F() {", "};"),
                           ("struct S {\n  int x = 1;\n};\nstatic S F(S a = {}) {", ""),
                           ("A::A(int a) noexcept : B(a), c_{a}, d_{{1}, 2} {", ""),
                           ("A::A(int a)\n    : b_(B{.x = a}), c_{.y = a, .z = F} {", ""),
                           ("template <typename T, int N = 3>\nauto F(T t) -> Result<T> {", ""),
                           ("bool A::operator==(const A& o) const {", ""),
                           ("auto f = [](int a) {", ";"),
                           ("TEST_F(A, Works) {", ""),
                           ("extern \"C\" {\nvoid F() {", "}"),
                           ("class TERRACE_CAPABILITY(\"mutex\") M {\n  M() {", "};"),
                           ("enum class E { kA = 1, kB };\nint F() {", "")):
            with self.subTest(head):
                text = head + "\n" + "  if (x) { y('}', \"}\"); }  // }\n" * 69 + "}" + tail + "\n"
                found = findings(added("base/a.cc", text))
                self.assertEqual([f.rule for f in found], ["function-length"], found)

    def test_what_is_no_function(self):
        text = ("constexpr int kTable[] = {\n" + "  f(1),\n" * 80 + "};\n"
                "class A {\n" + "  void F();\n" * 80 + "};\n"
                "std::array<int, 2> kMore{\n" + "  2,\n" * 80 + "};\n"
                "A::A() : b_{.x = 1} {}\n" + "int f();\n" * 80 +
                "#define M(x) \\\n  do {  \\\n  } \\\nwhile (0)\n")
        self.assert_clean(added("base/a.cc", text))

    def test_names_and_lines_of_functions(self):
        text = ("int A::F(int x) const {\n  return 1'000;\n}\n\n// {\n"
                "const char* s = R\"x({ \" )x\";\nA::~A() {}\n")
        found = functions.find_functions(CppFile("base/a.cc", text))
        self.assertEqual([tuple(function) for function in found], [("F", 1, 3), ("~A", 7, 7)])

    def test_unbalanced_braces(self):
        for text in ("void F() {\n", "namespace a {\nint x;\n", "}\n"):
            with self.subTest(text):
                self.assert_found(added("base/a.cc", text), "function-length", "base/a.cc", 6)

    def test_file_length(self):
        text = CLEAN["base/a.cc"]
        self.assert_clean({"base/a.cc": text + "\n" * 595})
        self.assert_found({"base/a.cc": text + "\n" * 596}, "file-length", "base/a.cc", 601)

    def test_line_length(self):
        self.assert_clean(added("base/a.cc", "// " + "ä" * 97 + "\n"))
        self.assert_found(added("base/a.cc", "// " + "x" * 98 + "\n"),
                          "line-length", "base/a.cc", 6)
        self.assert_found(added("base/a.cc", "\tint x;\n"), "line-length", "base/a.cc", 6, "a tab")

    def test_licence_and_guard(self):
        self.assert_found({"base/a.h": "#pragma once\n"}, "licence", "base/a.h", 1)
        self.assert_found({"base/a.h": LICENCE}, "include-guard", "base/a.h", 1)
        self.assert_found({"io/CMakeLists.txt": "add(memory_region.h ring.cc)\n"},
                          "licence", "io/CMakeLists.txt", 1)

    def test_lists(self):
        self.assert_found({"fs/new.h": HEADER}, "cmake-list", "fs/new.h", 1, "no CMakeLists.txt")
        self.assert_found(added("fs/CMakeLists.txt", "# new.h\nadd(gone.cc)\n"),
                          "cmake-list", "fs/CMakeLists.txt", 5, "fs/gone.cc does not exist")
        self.assert_found(added("fs/CMakeLists.txt", "file(GLOB x *)\n"),
                          "cmake-list", "fs/CMakeLists.txt", 4, "a glob")
        self.assert_found(added("fs/CMakeLists.txt", "# new.h\n") | {"fs/new.h": HEADER},
                          "cmake-list", "fs/new.h", 1)


class Papers(Case):
    def test_invariant_without_test(self):
        self.assert_found({"tests/cache/pool_test.cc": LICENCE}, "invariant", "cache/pool.h", 7,
                          "no test cites POOL-1")
        self.assert_found({"docs/invariants.md": "| **COMMIT-1** | data before the map |\n"},
                          "invariant", "docs/invariants.md", 1, "no test cites COMMIT-1")

    def test_undeclared_invariant(self):
        self.assert_found(added("tests/cache/pool_test.cc", "// Breaks POOL-7.\n"),
                          "invariant", "tests/cache/pool_test.cc", 6, "POOL-7 is not declared")
        self.assert_found(added("fs/open.h", "// Keeps POOL-12.\n"), "invariant", "fs/open.h", 6)

    def test_what_is_no_invariant(self):
        self.assert_clean(added("fs/open.h", "// UTF-8 and SHA-256.\nint x = SIZE-1;\n"))

    def test_docs_and_scripts_count(self):
        self.assert_clean({"docs/invariants.md": "- **COMMIT-1**: as POOL-1, for maps\n",
                           "tests/a.py": "# COMMIT-1\n"})

    def test_invariant_declared_twice(self):
        self.assert_found({"docs/invariants.md": "POOL-1 again\n"}, "invariant",
                          "docs/invariants.md", 1, "already declared by cache/pool.h")

    def test_links_of_a_block(self):
        text = CLEAN["cache/pool.h"]
        self.assert_found({"cache/pool.h": text.replace("void CheckInvariants();\n", "")},
                          "invariant", "cache/pool.h", 6, "no CheckInvariants()")
        self.assert_found({"cache/pool.h": text.replace("pool_test", "gone_test")},
                          "invariant", "cache/pool.h", 6, "gone_test.cc does not exist")
        self.assert_found({"cache/pool.h": text.replace(" (CheckInvariants(); tests/cache/"
                                                        "pool_test.cc)", "")},
                          "invariant", "cache/pool.h", 6, "names no test")

    def test_metrics(self):
        source = LICENCE + '// {"old_name", 1}\nstatic const Json kA = {{"reads", 1}};\n'
        names = {"mount/status_json.cc": source,
                 **added("mount/CMakeLists.txt", "add(status_json.cc)\n")}
        doc = "# Metrics\n\n| name | says |\n| `.reads` | reads |\n"
        self.assert_clean({**names, "docs/metrics.md": doc})
        self.assert_found(names, "metric", "mount/status_json.cc", 4)
        self.assert_found({**names, "docs/metrics.md": doc + "| `.writes` | |\n"},
                          "metric", "docs/metrics.md", 5)

    def test_readmes(self):
        self.assert_found({"fs/README.md": None}, "readme", "fs/README.md", 1, "missing")
        self.assert_clean({"fs/meta/README.md": "x\n" * 40})
        self.assert_found({"fs/meta/README.md": "x\n" * 41}, "readme", "fs/meta/README.md", 41)
        self.assert_found({"fs/README.md": "First `opened.h`.\n"}, "readme", "fs/README.md", 1)

    def test_links(self):
        self.assert_found({"docs/a.md": "[x](gone.md)\n"}, "link", "docs/a.md", 1)
        self.assert_clean({"docs/a.md": "[x](#here) `[x](gone.md)`\n```\n[x](gone.md)\n```\n"})


class CommandLine(unittest.TestCase):
    def run_tidy(self, *arguments):
        program = pathlib.Path(tidy.__file__)
        return subprocess.run([sys.executable, "-B", str(program), *arguments],
                              capture_output=True, text=True, check=False)

    def test_exit_status_and_format(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(self.run_tidy(root).returncode, 0)
            (pathlib.Path(root) / "base").mkdir()
            result = self.run_tidy(root)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\Abase/README\.md:1: readme: missing: say what .+\n\Z")
        self.assertEqual(self.run_tidy("--help").returncode, 2)


if __name__ == "__main__":
    unittest.main()
