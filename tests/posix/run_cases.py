#!/usr/bin/env python3
# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a collection of cases from public reports on a mount, by hand.

usage: run_cases.py RUNNER CASES.md MODE [CASE...]

RUNNER is the collection's own program, which takes the file of cases, a directory and
`--only CASE`, and finds commands in the environment (STOP, START, KILL, STATS, DPID, POOL_MB,
CAPPED) by which a case moves the daemon; they are `hook.py` here. MODE is passthrough or writeback.
Cases that fill a small store get one of 64 MiB. Exit status: the number of failed cases.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

from mounted_store import MountedStore, terrace_binary  # noqa: E402

POOL_MIB = 256
CAPPED_CASES = ("C12", "C63")
CAPPED_SIZE = "64M"


def hooks(store):
    """The environment in which a case finds the daemon of this store."""
    def hook(verb):
        words = [sys.executable, HERE / "hook.py", verb, terrace_binary(), store.base / "store",
                 store.mount_point, *store.options]
        script = store.base / f"hook-{verb}"
        quoted = " ".join("'" + str(word) + "'" for word in words)
        script.write_text(f"#!/bin/sh\nexec {quoted}\n", encoding="utf-8")
        script.chmod(0o755)
        return str(script)

    return {"START": hook("start"), "STOP": hook("stop"), "KILL": hook("kill"),
            "STATS": hook("stats"), "POOL_MB": str(POOL_MIB),
            "DPID": str(store.status()["engine_pid"])}


def run_case(runner, cases, mode, case):
    capped = case in CAPPED_CASES
    size = {"store_size": CAPPED_SIZE} if capped else {}
    store = MountedStore("-o", f"cache={mode},allow_other", dram=f"{POOL_MIB}M", **size)
    try:
        store.base.chmod(0o755)
        below = store.mount_point / "below"
        below.mkdir()
        environment = dict(os.environ, **hooks(store), **({"CAPPED": "1"} if capped else {}))
        done = subprocess.run(
            [sys.executable, runner, cases, below, "--only", case], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print("\n".join(line for line in done.stdout.splitlines()
                        if not re.match(r"\d+ passed, ", line)), flush=True)
        if done.returncode == 0:
            store.follow_engine()  # the case may have started another
        return done.returncode == 0
    finally:
        store.close()


def main():
    runner, cases, mode, *only = sys.argv[1:]
    with open(cases, encoding="utf-8") as file:
        every = re.findall(r"^### (C\d+) ", file.read(), re.M)
    wanted = only or every
    passed = [case for case in wanted if run_case(runner, cases, mode, case)]
    failed = [case for case in wanted if case not in passed]
    print(f"cases, {mode}: {len(passed)} passed, {len(failed)} failed {' '.join(failed)}")
    sys.exit(min(len(failed), 125))


if __name__ == "__main__":
    main()
