# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""The source tree as the rules see it: files, their lines, and C++ text without comments."""

import functools
import pathlib
import re
import typing

# The folders in the order of the layers; an include points to the right, or stays.
PRODUCT_FOLDERS = ("tools", "mount", "fs", "cache", "io", "base")
FOLDERS = PRODUCT_FOLDERS + ("tests",)

_LITERAL_OR_COMMENT = re.compile(
    r"""//(?:\\\n|[^\n])*                                   # line comment
      | /\*.*?\*/                                           # block comment
      | (?<!\w)(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"   # raw string
      | "(?:\\.|[^"\\\n])*"                                 # string
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'                # character, not a digit separator
    """, re.VERBOSE | re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


class Finding(typing.NamedTuple):
    path: str
    line: int
    rule: str
    what: str
    todo: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.what}: {self.todo}"


class Include(typing.NamedTuple):
    line: int
    name: str
    quoted: bool


def blank(text):
    """The text with everything but line breaks replaced by spaces."""
    return re.sub(r"[^\n]", " ", text)


class CppFile:
    """One .cc or .h: its text, and the same text with parts blanked, so that offsets agree."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.folder = path.split("/")[0]
        self.is_header = path.endswith(".h")

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """Without comments and without the insides of literals; the quotes stay."""
        def replace(match):
            token = match.group()
            if token.startswith("/"):
                return blank(token)
            return token[0] + blank(token[1:-1]) + token[-1]
        return _LITERAL_OR_COMMENT.sub(replace, self.text)

    @functools.cached_property
    def code_without_directives(self):
        return _DIRECTIVE.sub(lambda match: blank(match.group()), self.code)

    @functools.cached_property
    def comments(self):
        return self._only(lambda token: token.startswith("/"))

    @functools.cached_property
    def comments_and_strings(self):
        return self._only(lambda token: True)

    def _only(self, wanted):
        pieces, end = [], 0
        for match in _LITERAL_OR_COMMENT.finditer(self.text):
            pieces.append(blank(self.text[end:match.start()]))
            token = match.group()
            pieces.append(token if wanted(token) else blank(token))
            end = match.end()
        pieces.append(blank(self.text[end:]))
        return "".join(pieces)

    @functools.cached_property
    def includes(self):
        found = []
        for match in _INCLUDE.finditer(self.text):
            # A directive inside a comment is no include.
            if "#" not in self.code[match.start():match.end()]:
                continue
            name = match.group(1) if match.group(1) is not None else match.group(2)
            found.append(Include(self.line_at(match.start(match.lastindex)), name,
                                 match.group(1) is not None))
        return found


class Tree:
    """A checkout. Everything is read once; paths are relative, with slashes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.cpp = [CppFile(path, self.read(path))
                    for path in self._find(FOLDERS, ("*.cc", "*.h"))]
        self.cpp_by_path = {file.path: file for file in self.cpp}

    def _find(self, folders, patterns):
        found = set()
        for folder in folders:
            for pattern in patterns:
                found.update(path.relative_to(self.root).as_posix()
                             for path in (self.root / folder).rglob(pattern) if path.is_file())
        return sorted(found)

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def exists(self, path):
        return (self.root / path).exists()

    def product(self):
        return [file for file in self.cpp if file.folder != "tests"]

    def cmake_lists(self):
        paths = self._find(FOLDERS, ("CMakeLists.txt",))
        return (["CMakeLists.txt"] if self.exists("CMakeLists.txt") else []) + paths

    def cmake_files(self):
        return self.cmake_lists() + self._find(("cmake",), ("*.cmake",))

    def scripts_of_tests(self):
        return self._find(("tests",), ("*.py", "*.sh"))

    def python(self):
        return self._find(FOLDERS + ("scripts",), ("*.py",))

    def markdown(self):
        top = sorted(path.name for path in self.root.glob("*.md"))
        return top + self._find(FOLDERS + ("docs", "scripts"), ("*.md",))
