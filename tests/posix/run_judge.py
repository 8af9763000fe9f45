#!/usr/bin/env python3
# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Lets a judge that others wrote loose on a mount: run_judge.py JUDGE MODE.

JUDGE is a module here, <judge>_judge.py: pjdfstest, fsx, long_fsx; MODE is passthrough or
writeback. Judges are looked for in $TERRACE_PREFIX/judges/bin (scripts/setup --with-tests), then in
$PATH. The run is a process of its own; whatever becomes of it, its mounts, daemons and files are
removed, and leaving any of them behind is a failure. Exit codes: 0 passed, 77 skipped, 1 failed.
"""

import importlib
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

from mounted_store import missing_for_mounts  # noqa: E402
from run_client import SKIPPED, run_child  # noqa: E402

MODES = ("passthrough", "writeback")


def skip(name, reason):
    print(f"posix.{name}: Skipped\n{reason}", flush=True)
    sys.exit(SKIPPED)


def find_judge(program):
    """The path of an outside judge, or None."""
    prefix = os.environ.get("TERRACE_PREFIX", "/opt/terrace")
    return shutil.which(program, path=f"{prefix}/judges/bin:{os.environ.get('PATH', '')}")


def main():
    judge, mode = sys.argv[1:3]
    name = f"{judge}.{mode}"
    if mode not in MODES:
        sys.exit(f"{mode} is not one of {', '.join(MODES)}")
    module = importlib.import_module(f"{judge}_judge")
    program = find_judge(module.PROGRAM)
    if sys.argv[3:] == ["--child"]:
        module.judge(program, mode)
        return
    if not program:
        skip(name, f"{module.PROGRAM} is not installed (scripts/setup --with-tests installs it)")
    reason = missing_for_mounts() or module.missing()
    if reason:
        skip(name, reason)
    base = pathlib.Path(tempfile.mkdtemp(prefix=f"terrace-{judge}.",
                                         dir=os.environ.get("TERRACE_TEST_DIR", "/var/tmp")))
    base.chmod(0o755)  # judges change to other users
    command = [sys.executable, "-B", __file__, judge, mode, "--child"]
    sys.exit(0 if run_child(f"posix.{name}", command, base) == 0 else 1)


if __name__ == "__main__":
    main()
