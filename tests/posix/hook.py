#!/usr/bin/env python3
# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Moves the daemon of a mount: hook.py VERB PROGRAM STORE MOUNT_POINT [OPTION...].

start  mounts the store, unless it is mounted and answers; a dead mount is taken away first
stop   unmounts it and returns when the daemon has ended
kill   ends the daemon with SIGKILL; the dead mount stays
stats  prints how many WRITE requests were served
"""

import json
import os
import select
import signal
import subprocess
import sys

SECONDS_MAX = 60


def status(program, mount_point):
    done = subprocess.run([program, "status", "--json", mount_point], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def wait_for_end(engine):
    """Returns when the process is gone, and so the connection to the kernel."""
    poll = select.poll()
    poll.register(engine, select.POLLIN)
    if not poll.poll(SECONDS_MAX * 1000):
        sys.exit(f"the daemon still runs after {SECONDS_MAX} s")


def main():
    verb, program, store, mount_point, *options = sys.argv[1:]
    now = status(program, mount_point)
    if verb == "start":
        if not now:
            # What a dead daemon left: programs may still use it.
            lazy = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
            subprocess.run([*lazy, mount_point], stderr=subprocess.DEVNULL, check=False)
            subprocess.run([program, "mount", "--store", store, *options, mount_point], check=True)
        return
    if not now:
        sys.exit(f"nothing answers at {mount_point}")
    if verb == "stats":
        print(now["requests"].get("write", 0))
        return
    engine = os.pidfd_open(now["engine_pid"])
    if verb == "kill":
        signal.pidfd_send_signal(engine, signal.SIGKILL)
    else:
        subprocess.run([program, "umount", mount_point], check=True)
    wait_for_end(engine)


if __name__ == "__main__":
    main()
