# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Sides: the file systems that are measured beside each other.

A side has a directory that workloads run in, and says how to start and stop it, how everything is
written out (`settle`), how nothing is left in a cache (`cold`), and what it has counted so far.
"""

import json
import os
import pathlib
import shutil
import time

import host

MIB = 1 << 20
MOUNT_SECONDS_MAX = 60
PREFAULT_SECONDS_MAX = 120
REWRITE_SECONDS_MAX = 600
REWRITE_QUIET_SECONDS = 15

# Requests that nobody waits for; the kernel sends them when it likes.
UNANSWERED = ("forget", "batch_forget", "interrupt")


class Side:
    """A plain directory, and what the others have in common."""

    forgets = False      # gives back other bytes than were written

    def __init__(self, name, title, directory):
        self.name = name
        self.title = title
        self.directory = pathlib.Path(directory)
        self.process = None       # the daemon, if there is one
        self.memory = None        # its sampler
        self._drives = None

    def why_not(self):
        """Why this side cannot be had here, or None."""
        return None

    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        self._drives = host.Drives(self.directory)

    def stop(self):
        if self.memory is not None:
            self.memory.stop()
            self.memory = None

    def settle(self):
        host.run("sync")

    def cold(self):
        host.drop_kernel_caches()

    def await_rewriting(self):
        """Background work on what was written is done."""

    def counters(self):
        found = {"time": time.monotonic()}
        if self._drives is not None and self._drives.known:
            found["device_read_bytes"], found["device_written_bytes"] = self._drives.moved()
        if self.process is not None:
            found["cpu_seconds"] = host.cpu_seconds(self.process.pid)
        return found

    def remove_inputs(self):
        """What workloads left for the next round."""
        if not self.forgets:
            shutil.rmtree(self.directory / "terrace_bench", ignore_errors=True)


class Tmpfs(Side):
    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        host.run("mount", "-t", "tmpfs", "-o", "size=75%", "terrace_bench", self.directory)

    def cold(self):
        pass             # it has nothing else than memory

    def stop(self):
        super().stop()
        host.unmount(self.directory)


class MountedByChild(Side):
    """A FUSE daemon that stays in the foreground, as a child of ours."""

    def __init__(self, name, title, directory, program):
        super().__init__(name, title, directory)
        self.program = program

    def why_not(self):
        return None if shutil.which(str(self.program)) else f"there is no {self.program}"

    def words(self):
        raise NotImplementedError

    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = host.Process.start(*self.words())
        host.wait_until(f"mounting {self.name}",
                        lambda: host.is_mounted(self.directory) or self._ended(),
                        MOUNT_SECONDS_MAX)
        self.memory = host.MemorySampler(self.process.pid)

    def _ended(self):
        if self.process.has_ended():
            raise host.Failed(f"{self.name}: the daemon ended at once")
        return False

    def stop(self):
        super().stop()
        host.unmount(self.directory)
        if self.process is not None:
            self.process.end()
            self.process = None


class PassthroughHp(MountedByChild):
    """libfuse's own fast example on a plain directory, the bytes going through the daemon."""

    def __init__(self, name, title, directory, program, source, flags=("--nopassthrough",)):
        super().__init__(name, title, directory, program)
        self.source = pathlib.Path(source)
        self.flags = flags

    def words(self):
        return (self.program, "--foreground", *self.flags, self.source, self.directory)

    def start(self):
        self.source.mkdir(parents=True, exist_ok=True)
        self._drives = host.Drives(self.source)
        super().start()


class ReceiveAndDrop(MountedByChild):
    """The null daemon: nothing that a FUSE daemon does can be faster."""

    forgets = True

    def words(self):
        return (self.program, self.directory)

    def settle(self):
        pass

    def cold(self):
        pass


class Terrace(Side):
    def __init__(self, name, title, directory, program, stores, **flags):
        """flags: meta, dram, options; None is the program's default."""
        super().__init__(name, title, directory)
        self.program = program
        self.stores = [pathlib.Path(store) for store in stores]
        self.flags = flags

    def why_not(self):
        return None if shutil.which(str(self.program)) else f"there is no {self.program}: build it"

    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        words = [self.program, "mount"]
        for store in self.stores:
            words += ["--store", store]
        for flag, name in (("--meta", "meta"), ("--dram", "dram"), ("-o", "options")):
            if self.flags.get(name):
                words += [flag, self.flags[name]]
        host.run(*words, self.directory)
        self.process = host.Process(self.status()["engine_pid"])
        self.memory = host.MemorySampler(self.process.pid)
        self._drives = host.Drives(*self.stores)
        host.wait_until(f"prefaulting of {self.name}", self._is_prefaulted, PREFAULT_SECONDS_MAX)

    def _is_prefaulted(self):
        dram = self.status()["dram"]
        return dram.get("prefaulted_bytes", dram["size_bytes"]) >= dram["size_bytes"]

    def stop(self):
        super().stop()
        try:
            if host.is_mounted(self.directory):
                host.run(self.program, "umount", self.directory)
        finally:
            host.unmount(self.directory)
            if self.process is not None:
                self.process.end()
                self.process = None

    def status(self):
        return json.loads(host.run(self.program, "status", "--json", self.directory))

    def settle(self):
        host.run(self.program, "flush", self.directory)
        host.run("sync")

    def cold(self):
        self.settle()
        host.run(self.program, "evict", "--dram", self.directory)
        host.drop_kernel_caches()

    def await_rewriting(self):
        """Nothing was rewritten for some seconds, and nothing is dirty."""
        last, since = None, time.monotonic()
        deadline = since + REWRITE_SECONDS_MAX
        while time.monotonic() < min(since + REWRITE_QUIET_SECONDS, deadline):
            status = self.status()
            now = (status["rewritten_extents"], status["dram"]["dirty_bytes"] == 0)
            if now != last or not now[1]:
                last, since = now, time.monotonic()
            time.sleep(0.5)

    def counters(self):
        found = super().counters()
        status = self.status()
        found["copied_bytes"] = status["copied_bytes"]
        found["accepted_bytes"] = status["accepted_bytes"]
        found["rewritten_extents"] = status.get("rewritten_extents", 0)
        found["dirty_bytes"] = status["dram"]["dirty_bytes"]
        found["requests"] = {name: count for name, count in status["requests"].items()
                             if name not in UNANSWERED}
        return found


class EmulatedDrives:
    """Loop devices of equal, known speed; ours to undo."""

    def __init__(self, script, directory, count, mb_per_s, size_gib):
        self.script = script
        self.directory = pathlib.Path(directory)
        self.words = (count, mb_per_s, size_gib, directory)
        self.devices = []

    def up(self):
        self.devices = host.run(self.script, "up", *self.words).split()

    def down(self):
        host.run(self.script, "down", self.directory)
        self.devices = []


class Device:
    """The drive itself, by fio, without any file system's cache."""

    def __init__(self, jobs, directory, size_mib):
        self.jobs = pathlib.Path(jobs)
        self.directory = pathlib.Path(directory)
        self.size_mib = size_mib

    def why_not(self):
        return None if shutil.which("fio") else "fio is not installed"

    def measure(self, what):
        """Returns {name of the job: GB/s}; `what` is read or write."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if what == "read" and not (self.directory / "terrace_bench.device").exists():
            self._fio("write")
        return self._fio(what)

    def _fio(self, what):
        output = host.run("fio", "--output-format=json", f"--directory={self.directory}",
                          self.jobs / f"device_{what}_1m.fio",
                          env=dict(os.environ, SIZE_MIB=str(self.size_mib)))
        jobs = json.loads(output[output.index("{"):])["jobs"]
        return {job["jobname"]: job[what]["bw_bytes"] / 1e9 for job in jobs}

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
