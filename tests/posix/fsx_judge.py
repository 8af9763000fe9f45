# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Goal: whatever is done to one file, in whatever order, it holds what it should.

Method: fsx with every operation it has, on small files (dense overlaps) and on files of up to
64 MiB (several extents), while DRAM is flushed and evicted all the time. The seed of a failure is
printed; run_fsx takes it.
"""

import subprocess
import sys
import threading

from mounted_store import MountedStore, terrace_binary

PROGRAM = "fsx"

# The size of the file, and of one operation, at most.
SHAPES = {"small": (1 << 18, 1 << 16), "large": (64 << 20, 2 << 20)}

CONFIGURATION = """\
flen = {file_size_max}
[opsize]
max = {operation_size_max}
min = 0
[weights]
close_open = 1
invalidate = 1
mapread = 10
mapwrite = 10
read = 10
write = 10
truncate = 5
fsync = 1
fdatasync = 1
punch_hole = 3
posix_fallocate = 3
copy_file_range = 5
sendfile = 5
"""


def missing():
    """Why it can't run here, or None."""
    return None


def keep_moving(mount_point, stop):
    """Has bytes written to the devices and dropped from DRAM until told to stop."""
    while not stop.is_set():
        for verb in (["flush"], ["evict", "--dram"]):
            subprocess.run([terrace_binary(), *verb, mount_point], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
        stop.wait(0.1)  # between two rounds, so that there is something to move


def run_fsx(program, store, shape, seed, operations):
    file_size_max, operation_size_max = SHAPES[shape]
    configuration = store.base / "fsx.toml"
    configuration.write_text(
        CONFIGURATION.format(file_size_max=file_size_max, operation_size_max=operation_size_max),
        encoding="utf-8")
    stop = threading.Event()
    mover = threading.Thread(target=keep_moving, args=(str(store.mount_point), stop))
    mover.start()
    try:
        done = subprocess.run(
            [program, "-f", configuration, "-S", str(seed), "-N", str(operations), "-P", store.base,
             store.mount_point / "file"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    finally:
        stop.set()
        mover.join()
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-8000:]}\nfsx: {shape}, seed {seed}: exit {done.returncode}")


def run_all(program, mode, seeds, operations):
    """Each seed on both shapes; `operations` by shape."""
    for seed in seeds:
        for shape in SHAPES:
            store = MountedStore("-o", f"cache={mode}")
            try:
                run_fsx(program, store, shape, seed, operations[shape])
            finally:
                store.close()
            print(f"fsx, {mode}, {shape}, seed {seed}: {operations[shape]} operations passed",
                  flush=True)


def judge(program, mode):
    run_all(program, mode, seeds=[1], operations={"small": 5000, "large": 2000})
