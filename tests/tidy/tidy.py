#!/usr/bin/env python3
# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Checks the rules of CONTRIBUTING.md that a machine can check; see README.md beside this file.

usage: tidy.py [ROOT]        exit status: 0 nothing found, 1 findings, 2 usage
Findings are printed one a line as `file:line: rule: what: what to do`.
"""

import pathlib
import sys

import calls
import includes
import layout
import papers
from source import Finding, Tree

EXCEPTIONS = "tests/tidy/exceptions.txt"
# No exceptions: a rule that bends here is worth nothing (CONTRIBUTING.md).
NO_EXCEPTIONS = ("function-length", "file-length", "exception")


def load_exceptions(tree):
    """(rule, path) -> line, and findings about the file itself."""
    allowed, findings = {}, []
    if not tree.exists(EXCEPTIONS):
        return allowed, findings
    for number, line in enumerate(tree.read(EXCEPTIONS).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|", 2)]
        if len(parts) != 3 or not all(parts):
            findings.append(Finding(EXCEPTIONS, number, "exception", "not 'rule | path | reason'",
                                    "give all three"))
        elif parts[0] in NO_EXCEPTIONS:
            findings.append(Finding(EXCEPTIONS, number, "exception",
                                    f"{parts[0]} has no exceptions", "split the code instead"))
        else:
            allowed[parts[0], parts[1]] = number
    return allowed, findings


def check(root):
    tree = Tree(root)
    allowed, findings = load_exceptions(tree)
    used = set()
    for module in (includes, calls, layout, papers):
        for finding in module.check(tree):
            if (finding.rule, finding.path) in allowed:
                used.add((finding.rule, finding.path))
            else:
                findings.append(finding)
    for (rule, path), number in allowed.items():
        if (rule, path) not in used:
            findings.append(Finding(EXCEPTIONS, number, "exception",
                                    f"{path} no longer breaks {rule}", "remove the line"))
    return sorted(set(findings))


def main(arguments):
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[2]
    findings = check(root)
    for finding in findings:
        print(finding)
    if findings:
        print(f"tidy: {len(findings)} findings; the rules are in CONTRIBUTING.md", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
