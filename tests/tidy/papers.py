# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Code and papers agree: invariants, metrics, READMEs, links."""

import posixpath
import re

from source import FOLDERS, PRODUCT_FOLDERS, Finding

README_LINES_MAX = 40

_ID = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]+-[0-9]+(?![\w-])")
# Words of that shape which are no invariants.
_NOT_INVARIANTS = frozenset("ASCII AVX BSD CRC CVE EOF GPL IEEE ISO LGPL MD RAID RFC SHA SSE UTC "
                            "UTF XXH XXH3 XXH128".split())
INVARIANTS_DOC = "docs/invariants.md"
METRICS_DOC = "docs/metrics.md"
METRICS_SOURCE = "mount/status_json.cc"


def check(tree):
    yield from _invariants(tree)
    yield from _metrics(tree)
    yield from _readmes(tree)
    yield from _links(tree)


def _is_invariant(name):
    return name.split("-")[0] not in _NOT_INVARIANTS


class Block:
    """The Invariants block of a header: its heading, what that names, and the ids below it."""

    def __init__(self, number):
        self.number = number
        self.heading = ""
        self.ids = []           # (id, line)

    @property
    def tests(self):
        return re.findall(r"\btests/[\w/.]+", self.heading)

    @property
    def has_own_check(self):
        """`(CheckInvariants(); ...)` is this header's; `CheckInvariants() of ...` is another's."""
        return re.search(r"CheckInvariants\(\)(?!\s+of\b)", self.heading) is not None


def invariant_blocks(file):
    """Comment lines that begin with an id, below `Invariants` in one comment."""
    block = None
    for number, line in enumerate(file.comments.splitlines(), 1):
        match = re.match(r"//+\s*(.*)", line.strip())
        if not match:
            if block:
                yield block
            block = None
            continue
        comment = match.group(1)
        name = _ID.match(comment)
        if re.match(r"Invariants\b", comment):
            if block:
                yield block
            block = Block(number)
        if block and name and _is_invariant(name.group()):
            block.ids.append((name.group(), number))
        elif block and not block.ids:
            block.heading += comment + " "
    if block:
        yield block


def declared_in_doc(tree):
    if not tree.exists(INVARIANTS_DOC):
        return
    for number, line in enumerate(tree.read(INVARIANTS_DOC).splitlines(), 1):
        match = re.match(r"[\s|#*`-]*(" + _ID.pattern + r")", line)
        if match and _is_invariant(match.group(1)):
            yield match.group(1), number


def _invariants(tree):
    declared = {}
    for path, name, number in _declarations(tree):
        if name in declared:
            yield Finding(path, number, "invariant", f"{name} is already declared by "
                          f"{declared[name][0]}", "give it a number of its own, or refer to it")
        declared.setdefault(name, (path, number))
    yield from _links_of_blocks(tree)

    cited = set()
    for path, name, number in _citations(tree):
        if path.startswith("tests/"):
            cited.add(name)
        if name not in declared:
            yield Finding(path, number, "invariant", f"{name} is not declared anywhere",
                          "declare it in the Invariants block of a header or in "
                          f"{INVARIANTS_DOC}, or correct the id (if it is none, add its first "
                          "word to _NOT_INVARIANTS in tests/tidy/papers.py)")
    for name, (path, number) in declared.items():
        if name not in cited:
            yield Finding(path, number, "invariant", f"no test cites {name}",
                          "write a test that tries to break it and names the id")


def _declarations(tree):
    for file in tree.product():
        if file.is_header:
            for block in invariant_blocks(file):
                for name, number in block.ids:
                    yield file.path, name, number
    for name, number in declared_in_doc(tree):
        yield INVARIANTS_DOC, name, number


def _links_of_blocks(tree):
    """The heading of a block names its CheckInvariants(), if the type has one, and its test."""
    for file in tree.product():
        for block in invariant_blocks(file) if file.is_header else ():
            if not block.ids:
                continue
            if not block.tests:
                yield Finding(file.path, block.number, "invariant", "the block names no test",
                              "write 'Invariants (CheckInvariants(); tests/.../..._test.cc)'")
            for test in block.tests:
                if not tree.exists(test):
                    yield Finding(file.path, block.number, "invariant", f"{test} does not exist",
                                  "write the test, or name the one that cites these")
            if block.has_own_check and "CheckInvariants" not in file.code:
                yield Finding(file.path, block.number, "invariant",
                              "the header has no CheckInvariants()",
                              "declare it and assert each of the block there")


def _citations(tree):
    texts = [(file.path, file.comments_and_strings) for file in tree.cpp]
    texts += [(path, tree.read(path)) for path in tree.scripts_of_tests()]
    for path, text in texts:
        if path.startswith("tests/tidy/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for match in _ID.finditer(line):
                if _is_invariant(match.group()):
                    yield path, match.group(), number


def _metrics(tree):
    """Names of the JSON in mount/status_json.cc and first cells of the table of docs/metrics.md."""
    in_source, in_doc = {}, {}
    if tree.exists(METRICS_SOURCE):
        file = tree.cpp_by_path[METRICS_SOURCE]
        for number, (code, line) in enumerate(zip(file.code.splitlines(), file.lines), 1):
            for match in re.finditer(r'\{"([a-z][a-z0-9_]*)",', line):
                if code[match.start()] == "{":
                    in_source.setdefault(match.group(1), number)
    if tree.exists(METRICS_DOC):
        for number, line in enumerate(tree.read(METRICS_DOC).splitlines(), 1):
            match = re.match(r"\s*\|\s*`((?:\.[a-z][a-z0-9_]*(?:\[\])?)+)`\s*\|", line)
            for name in re.findall(r"[a-z][a-z0-9_]*", match.group(1)) if match else ():
                in_doc.setdefault(name, number)
    for name in sorted(in_source.keys() - in_doc.keys()):
        yield Finding(METRICS_SOURCE, in_source[name], "metric", f"{METRICS_DOC} lacks {name}",
                      "add a row that begins with the path, as `.dram.hits`, in backquotes")
    for name in sorted(in_doc.keys() - in_source.keys()):
        yield Finding(METRICS_DOC, in_doc[name], "metric", f"{METRICS_SOURCE} lacks {name}",
                      "remove the row, or add the name there")



def _readmes(tree):
    for folder in FOLDERS:
        if tree.exists(folder) and not tree.exists(f"{folder}/README.md"):
            yield Finding(f"{folder}/README.md", 1, "readme", "missing",
                          "say what the folder owns, what it must not know, and its files in "
                          "reading order")
    for path in tree.markdown():
        folder = posixpath.dirname(path)
        if posixpath.basename(path) != "README.md":
            continue
        if path != "tests/README.md" and folder.split("/")[0] not in PRODUCT_FOLDERS:
            continue
        lines = tree.read(path).splitlines()
        if len(lines) > README_LINES_MAX:
            yield Finding(path, len(lines), "readme", f"{len(lines)} lines",
                          f"shorten it to {README_LINES_MAX}; more belongs to docs/")
        for number, line in enumerate(lines, 1):
            for name in re.findall(r"`([\w/]+\.(?:h|cc))`", line):
                if not tree.exists(posixpath.join(folder, name)) and not tree.exists(name):
                    yield Finding(path, number, "readme", f"`{name}` does not exist",
                                  "name the file as it is now called")


def _links(tree):
    for path in tree.markdown():
        in_code = False
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            if line.lstrip().startswith("```"):
                in_code = not in_code
            if in_code:
                continue
            line = re.sub(r"`[^`]*`", "", line)
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                name = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                if not tree.exists(name):
                    yield Finding(path, number, "link", f"{target} does not exist",
                                  "correct the link, or write what it points to")
