# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the functions of a C++ file by matching braces.

No parser: at the level of a file, a namespace or a class, the text before a `{` (its *head*) says
what the brace opens. Inside a function nothing is looked at, so that its lambdas and local classes
count as its own lines.
"""

import re
import typing

_ACCESS = re.compile(r"\s*(?:public|private|protected)\s*$")
_TYPE = re.compile(r"(?:(?:static|typedef|inline|constexpr|const|extern)\s+)*"
                   r"(?:class|struct|union|enum)\b")
_ENDS_LIKE_FUNCTION = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|&&?)\s*)*$")
_NAME = re.compile(r"(operator\s*(?:\(\)|[^\s(]+)|~?\w+)\s*\(")


class Function(typing.NamedTuple):
    name: str
    first_line: int
    last_line: int

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


class Unbalanced(Exception):
    """The braces of the file do not match; `line` is where the scan gave up."""

    def __init__(self, line):
        super().__init__(line)
        self.line = line


def find_functions(file):
    return _Scan(file.code_without_directives).run()


class _Scan:
    def __init__(self, code):
        self.code = code
        self.found = []

    def run(self):
        end = self._scope(0, top=True)
        if end != len(self.code):
            raise Unbalanced(self._line(end - 1))
        return self.found

    def _line(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def _match(self, start):
        """The offset of the brace that closes the one at start."""
        depth = 0
        for match in re.compile(r"[{}]").finditer(self.code, start):
            depth += 1 if match.group() == "{" else -1
            if depth == 0:
                return match.start()
        raise Unbalanced(self._line(start))

    def _scope(self, at, top=False):
        """Scans the declarations of a file, namespace or class; returns the offset after it."""
        code, head_start, parens, opened = self.code, at, 0, at
        while at < len(code):
            char = code[at]
            if char in "([":
                parens += 1
            elif char in ")]":
                parens -= 1
            elif char == ";" and parens <= 0:
                head_start = at + 1
            elif char == ":" and _ACCESS.match(code[head_start:at]):
                head_start = at + 1
            elif char == "}":
                return at + 1
            elif char == "{" and parens > 0:
                at = self._match(at)
            elif char == "{":
                at, head_start = self._brace(head_start, at)
                continue
            at += 1
        if not top:
            raise Unbalanced(self._line(opened - 1))
        return at

    def _brace(self, head_start, at):
        """Deals with what opens at `at`; returns where to go on and where the next head begins."""
        head = self.code[head_start:at]
        kind = classify(head)
        if kind == "scope":
            end = self._scope(at + 1)
            return end, end
        end = self._match(at)
        if kind == "initialiser":
            return end + 1, head_start
        first = head_start + len(head) - len(head.lstrip())
        name = _NAME.search(_without_template(head))
        self.found.append(Function(name.group(1) if name else "(unnamed)", self._line(first),
                                   self._line(end)))
        return end + 1, end + 1


def classify(head):
    """What a brace after this head opens: 'scope', 'function' or 'initialiser'."""
    head = _without_template(head).strip()
    while head.startswith("[["):
        head = head[head.find("]]") + 2:].strip()
    if re.search(r"\bnamespace\b", head) or re.fullmatch(r'extern\s*"\s*"', head):
        return "scope"
    if _TYPE.match(head) and not _ENDS_LIKE_FUNCTION.search(head):
        return "scope"
    flat = _without_nested(re.sub(r"operator\s*(?:\(\)|[^\s(\w]+)", "operator", head))
    if "=" in flat:
        return "function" if re.search(r"=\s*\[", flat) else "initialiser"  # a lambda
    if "(" not in head:
        return "initialiser"
    # The members of a constructor's initialiser list have braces too: `: a_{1}, b_{2} {`.
    after = flat[flat.find("()") + 2:]
    in_initialiser_list = re.search(r"(?<!:):(?!:)", after)
    if in_initialiser_list and re.search(r"[\w>]\s*$", flat):
        return "initialiser"
    return "function"


def _without_template(head):
    """Drops leading `template <...>`, whose angle brackets may hold anything."""
    match = re.match(r"\s*template\s*<", head)
    while match:
        depth, at = 1, match.end()
        while at < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
        match = re.match(r"\s*template\s*<", head)
    return head


def _without_nested(text):
    """`f(a, (b)) : x{1}` becomes `f() : x{}`."""
    kept, depth = [], 0
    for char in text:
        if char in ")]}":
            depth -= 1
        if depth <= 0:
            kept.append(char)
        if char in "([{":
            depth += 1
    return "".join(kept)
