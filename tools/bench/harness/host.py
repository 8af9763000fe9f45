# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""This machine: commands, our own processes, drives, memory, and what the report says of them."""

import datetime
import os
import pathlib
import platform
import re
import select
import signal
import subprocess
import threading
import time

SECTOR = 512
COMMAND_SECONDS_MAX = 900
END_SECONDS_MAX = 30


# Set by the signal handler: a failure while tidying up must not hide that we were interrupted.
INTERRUPTED = threading.Event()


class Failed(Exception):
    """Something could not be done; the text says what and why."""


def run(*words, seconds_max=COMMAND_SECONDS_MAX, env=None):
    """Runs a command to its end; returns what it printed."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False, timeout=seconds_max, env=env,
                              stdin=subprocess.DEVNULL, start_new_session=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(words)}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no word"]
        raise Failed(f"{' '.join(words)}: exit {done.returncode}: {said[0]}")
    return done.stdout


def wait_until(what, condition, seconds_max):
    deadline = time.monotonic() + seconds_max
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {seconds_max} s")
        time.sleep(0.05)


# ---- Processes -----------------------------------------------------------------------------------

class Process:
    """A process that we started: a child, or a daemon by its id. Ended by its descriptor only, so
    that an id which was given to another process in the meantime is never hit."""

    def __init__(self, pid, child=None):
        self.pid = pid
        self._child = child
        self._descriptor = os.pidfd_open(pid)

    @classmethod
    def start(cls, *words, env=None, **streams):
        streams.setdefault("stdin", subprocess.DEVNULL)
        child = subprocess.Popen([str(word) for word in words], env=env, start_new_session=True,
                                 **streams)
        return cls(child.pid, child)

    def has_ended(self, seconds_max=0.0):
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        ended = bool(poll.poll(int(seconds_max * 1000)))
        if ended and self._child is not None:
            self._child.wait()
        return ended

    def end(self, seconds_max=END_SECONDS_MAX):
        """Waits, then asks, then insists."""
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                try:
                    signal.pidfd_send_signal(self._descriptor, number)
                except ProcessLookupError:
                    pass
            if self.has_ended(seconds_max):
                os.close(self._descriptor)
                return
        raise Failed(f"process {self.pid} does not end")


def cpu_seconds(pid):
    """User and system time of all threads so far."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    fields = text[text.rindex(")") + 2:].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- Memory --------------------------------------------------------------------------------------

def resident_beside_pool(pid):
    """Bytes of a process in memory without its shared memory: the pool is a memfd."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    found = dict(re.findall(r"^(RssAnon|RssFile):\s+(\d+) kB", text, re.MULTILINE))
    return sum(int(value) for value in found.values()) * 1024


def resident_by_mappings(pid):
    """The same by mapping: all of Rss but that of memfds. Slow; a check of the above."""
    total, counts = 0, True
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text(errors="replace").splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            counts = "/memfd:" not in line
        elif counts and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


class MemorySampler:
    """Looks at a process every tenth of a second, and keeps the most that it saw."""

    def __init__(self, pid):
        self.peak = 0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while True:
            try:
                self.peak = max(self.peak, resident_beside_pool(self._pid))
            except OSError:
                return
            if self._stop.wait(0.1):
                return

    def stop(self):
        self._stop.set()
        self._thread.join()


# ---- Drives and caches ---------------------------------------------------------------------------

class Drives:
    """The block devices below a side, and what they have moved so far."""

    def __init__(self, *paths):
        numbers = set()
        for path in paths:
            status = os.stat(path)
            is_device = os.path.exists(path) and (status.st_mode & 0o170000) == 0o060000
            number = status.st_rdev if is_device else status.st_dev
            numbers.add(f"{os.major(number)}:{os.minor(number)}")
        found = [pathlib.Path("/sys/dev/block") / number / "stat" for number in sorted(numbers)]
        self._files = [path for path in found if path.exists()]

    @property
    def known(self):
        return bool(self._files)

    def moved(self):
        """(bytes read, bytes written)"""
        fields = [path.read_text(encoding="ascii").split() for path in self._files]
        return (sum(int(field[2]) for field in fields) * SECTOR,
                sum(int(field[6]) for field in fields) * SECTOR)


def drop_kernel_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3\n")


def is_mounted(path):
    return any(line.split(" ")[4] == str(path).replace(" ", "\\040") for line in _mountinfo())


def mounts_below(path):
    start = str(path).replace(" ", "\\040") + "/"
    return [line.split(" ")[4] for line in _mountinfo() if line.split(" ")[4].startswith(start)]


def _mountinfo():
    return pathlib.Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()


def unmount(path, seconds_max=20):
    """Unmounts what we mounted; what stays busy is taken out of sight at least."""
    deadline = time.monotonic() + seconds_max
    while is_mounted(path):
        done = subprocess.run(["umount", str(path)], capture_output=True, check=False)
        if done.returncode == 0:
            continue
        if time.monotonic() > deadline:
            run("umount", "-l", path)
            return
        time.sleep(0.2)


# ---- What the report says ------------------------------------------------------------------------

def describe(directory, root):
    """Hardware, kernel, date, commit: what a published figure has to carry."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(root),
        "processor": _first(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo"),
        "processors": os.cpu_count(),
        "memory_gib": round(int(_first(r"^MemTotal:\s+(\d+)", "/proc/meminfo")) / 2**20, 1),
        "kernel": platform.release(),
        "file_system": run("findmnt", "-n", "-o", "FSTYPE", "-T", directory).strip(),
        "drive": run("findmnt", "-n", "-o", "SOURCE", "-T", directory).strip(),
    }


def _first(pattern, path):
    found = re.search(pattern, pathlib.Path(path).read_text(errors="replace"), re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def _commit(root):
    try:
        commit = run("git", "-C", root, "rev-parse", "--short=12", "HEAD").strip()
        dirty = run("git", "-C", root, "status", "--porcelain", "-uno").strip()
    except Failed:
        return "unknown"
    return commit + (" with changes" if dirty else "")
