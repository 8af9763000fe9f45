# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Shape: length of functions, files and lines, licence, include guard, CMake lists."""

import posixpath
import re

from functions import Unbalanced, find_functions
from source import Finding

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
LINE_COLUMNS_MAX = 100
LICENCE = ("Copyright 2026 The TerraceFS Authors", "SPDX-License-Identifier: Apache-2.0")


def check(tree):
    for file in tree.cpp:
        yield from _functions(file)
        yield from _file_length(file.path, file.lines)
        yield from _line_length(file.path, file.lines)
        yield from _licence(file.path, file.lines, "//")
        yield from _header(file)
    for path in tree.python() + tree.cmake_files():
        lines = tree.read(path).splitlines()
        yield from _file_length(path, lines)
        yield from _line_length(path, lines)
    for path in tree.cmake_files():
        yield from _licence(path, tree.read(path).splitlines(), "#")
    yield from _lists(tree)


def _functions(file):
    try:
        functions = find_functions(file)
    except Unbalanced as error:
        yield Finding(file.path, error.line, "function-length", "braces do not match here",
                      "balance them in every branch of #if")
        return
    for function in functions:
        if function.lines > FUNCTION_LINES_MAX:
            yield Finding(file.path, function.first_line, "function-length",
                          f"{function.name} has {function.lines} lines",
                          f"split it; a function has at most {FUNCTION_LINES_MAX}")


def _file_length(path, lines):
    if len(lines) > FILE_LINES_MAX:
        yield Finding(path, len(lines), "file-length", f"{len(lines)} lines",
                      f"split it by noun; a file has at most {FILE_LINES_MAX}, better 300")


def _line_length(path, lines):
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield Finding(path, number, "line-length", "a tab", "indent with spaces")
        if len(line) <= LINE_COLUMNS_MAX or "http://" in line or "https://" in line:
            continue
        if line.lstrip().startswith("#include"):
            continue
        yield Finding(path, number, "line-length", f"{len(line)} columns",
                      f"break the line; {LINE_COLUMNS_MAX} are the limit")


def _licence(path, lines, mark):
    want = [f"{mark} {line}" for line in LICENCE]
    if lines[:2] != want:
        yield Finding(path, 1, "licence", "the licence header is missing or differs",
                      f"begin the file with '{want[0]}' and '{want[1]}'")


def _header(file):
    if file.is_header and not re.search(r"^#pragma once$", file.code, re.MULTILINE):
        yield Finding(file.path, 1, "include-guard", "no #pragma once",
                      "add it before the includes")


def _lists(tree):
    """Every .cc and .h stands in a CMakeLists.txt of its folder or one above, and the reverse."""
    listed = {}
    for path in tree.cmake_lists():
        folder = posixpath.dirname(path)
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            line = line.split("#")[0]
            if re.search(r"\b(?:file\s*\(\s*GLOB|aux_source_directory)", line, re.IGNORECASE):
                yield Finding(path, number, "cmake-list", "a glob", "list the files by name")
            for token in re.findall(r"[\w./+-]+\.(?:cc|h)\b", line):
                name = posixpath.normpath(posixpath.join(folder, token))
                listed.setdefault(name, (path, number))
    for file in tree.cpp:
        if file.path not in listed:
            where = posixpath.join(file.path.split("/")[0], "CMakeLists.txt")
            yield Finding(file.path, 1, "cmake-list", "no CMakeLists.txt lists this file",
                          f"add it to {where} (or to the one beside it), or remove it")
    for name, (path, number) in sorted(listed.items()):
        if not tree.exists(name) and "${" not in name:
            yield Finding(path, number, "cmake-list", f"{name} does not exist",
                          "correct or remove the entry")
