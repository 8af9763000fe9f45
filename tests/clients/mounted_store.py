# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""A mounted store for one test, and the comparison of what is in it."""

import filecmp
import json
import os
import pathlib
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

# Half of what a client here writes, so that its bytes don't just stay in DRAM.
DRAM = "128M"
STORE_SIZE = "6G"
UNMOUNT_SECONDS_MAX = 60

filecmp.BUFSIZE = 1 << 20


def terrace_binary():
    """The program under test; CTest names it, by hand it is the release build."""
    root = pathlib.Path(__file__).resolve().parents[2]
    return os.environ.get("TERRACE_BINARY", str(root / "build/release/terrace"))


def missing_for_mounts():
    """Why nothing can be mounted here, or None."""
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse may not be used by this user"
    if os.geteuid() != 0 and not shutil.which("fusermount3"):
        return "no fusermount3"
    return None


def run(*command, **options):
    """Runs a program; a failure shows what it printed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)
    output = done.stdout.decode(errors="replace") if isinstance(done.stdout, bytes) else done.stdout
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{output}")
    return output


class MountedStore:
    """A store in a directory of its own, mounted until close().

    run_client.py cleans up after a process that could not close it. `options` are further words
    for `terrace mount`.
    """

    def __init__(self, *options, dram=DRAM, store_size=STORE_SIZE):
        parent = os.environ.get("TERRACE_TEST_DIR", "/var/tmp")
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="terrace-clients.", dir=parent))
        self.mount_point = self.base / "mount"
        self.plain = self.base / "plain"     # on the disk itself, for comparison
        self.mount_point.mkdir()
        self.plain.mkdir()
        self.options = ["--dram", dram, "--store-size", store_size, *options]
        self._engine = None                  # a pidfd: it can't come to mean another process
        self.mount()

    def mount(self):
        run(terrace_binary(), "mount", "--store", self.base / "store", *self.options,
            self.mount_point)
        self.follow_engine()

    def follow_engine(self):
        """Takes note of the daemon that serves the mount now; others may have started it."""
        if self._engine is not None:
            os.close(self._engine)
            self._engine = None
        self._engine = os.pidfd_open(self.status()["engine_pid"])

    def unmount(self):
        run(terrace_binary(), "umount", self.mount_point)
        self._wait_for_engine(UNMOUNT_SECONDS_MAX)

    def remount(self):
        """Unmounts, and mounts again: nothing is in DRAM or in the kernel's caches then."""
        self.unmount()
        self.mount()

    def status(self):
        return json.loads(run(terrace_binary(), "status", "--json", self.mount_point))

    def _wait_for_engine(self, seconds_max):
        poll = select.poll()
        poll.register(self._engine, select.POLLIN)
        if not poll.poll(seconds_max * 1000):
            raise AssertionError(f"the daemon still runs {seconds_max} s after the unmount")
        os.close(self._engine)
        self._engine = None

    def close(self):
        """Leaves nothing behind, whatever state things are in."""
        try:
            if os.path.ismount(self.mount_point) or self._engine is not None:
                self._end()
        finally:
            shutil.rmtree(self.base, ignore_errors=True)

    def _end(self):
        polite = subprocess.run([terrace_binary(), "umount", str(self.mount_point)], check=False,
                                capture_output=True, timeout=UNMOUNT_SECONDS_MAX)
        if polite.returncode != 0:
            lazy = (["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"])
            subprocess.run(lazy + [str(self.mount_point)], check=False, capture_output=True)
        if self._engine is None:
            return
        try:
            self._wait_for_engine(UNMOUNT_SECONDS_MAX)
        except AssertionError:
            signal.pidfd_send_signal(self._engine, signal.SIGKILL)
            raise


class ClientTest(unittest.TestCase):
    """A test with a store of its own, mounted at self.mount."""

    def setUp(self):
        reason = missing_for_mounts()
        if reason:
            self.skipTest(reason)
        self.store = MountedStore()
        self.addCleanup(self.store.close)
        self.mount = self.store.mount_point
        self.plain = self.store.plain

    def after_remount(self, check):
        """What a client wrote is right now, and after an unmount and a mount."""
        check()
        self.store.remount()
        check()

    def assert_same_tree(self, expected, actual):
        wanted, found = describe_tree(expected), describe_tree(actual)
        self.assertEqual(sorted(wanted), sorted(found))
        for name, entry in wanted.items():
            self.assertEqual(entry, found[name], name)
        for path in sorted(pathlib.Path(expected).rglob("*")):
            other = pathlib.Path(actual) / path.relative_to(expected)
            if path.is_file() and not path.is_symlink():
                self.assertTrue(filecmp.cmp(path, other, shallow=False), f"{other} differs")


def describe_tree(top):
    """Everything about a tree but contents: what `cp -a` and its like promise to keep."""
    top = pathlib.Path(top)
    entries, names_of_inode = {}, {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        status = path.lstat()
        entry = {"mode": stat.filemode(status.st_mode), "owner": (status.st_uid, status.st_gid),
                 "mtime_ns": status.st_mtime_ns}
        if path.is_symlink():
            entry["target"] = os.readlink(path)
        else:
            entry["xattrs"] = {one: os.getxattr(path, one) for one in os.listxattr(path)}
        if path.is_file() and not path.is_symlink():
            entry["size"] = status.st_size
            names_of_inode.setdefault(status.st_ino, []).append(name)
        entries[name] = entry
    for names in names_of_inode.values():
        for name in names:
            entries[name]["hard_links"] = names
    return entries


def make_tree(top):
    """A directory as people have them: many sizes, links, a sparse file, attributes, old times."""
    top = pathlib.Path(top)
    top.mkdir()
    pattern = os.urandom(1 << 20)
    for number, size in enumerate((0, 1, 511, 4096, 65536, 1 << 20, (1 << 20) + 1, 7 << 20)):
        folder = top / f"folder {number % 3}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        repeats = size // len(pattern) + 1
        (folder / f"file{number}.bin").write_bytes((pattern * repeats)[number:number + size])
    small = top / "small"
    small.mkdir()
    for number in range(500):
        (small / f"{number:04}.txt").write_text(f"file {number}\n" * (number % 50))
    (top / "checkpoint.bin").write_bytes(pattern * 48 + b"tail")
    with open(top / "sparse.bin", "wb") as file:
        file.write(b"head")
        file.seek(64 << 20)
        file.write(b"middle")
        file.truncate(96 << 20)
    os.link(small / "0007.txt", top / "another name")
    for name, target in (("relative link", "small/0001.txt"), ("dangling link", "/nowhere/at all")):
        os.symlink(target, top / name)
        # rsync keeps the times of links, but their whole seconds alone.
        os.utime(top / name, (1_100_000_000, 1_100_000_001), follow_symlinks=False)
    os.setxattr(small / "0002.txt", "user.origin", b"here\0there")
    os.chmod(small / "0003.txt", 0o440)
    os.chmod(small / "0004.txt", 0o755)
    os.utime(small / "0005.txt", ns=(1_000_000_000_123_456_789, 1_000_000_000_987_654_321))
    age_folders(top)
    return top


def age_folders(top):
    """Gives every folder old times in whole seconds, which is what rsync compares of folders."""
    for folder in [top, *top.rglob("*/")]:
        if folder.is_dir() and not folder.is_symlink():
            os.utime(folder, (1_200_000_000, 1_200_000_000 + len(folder.name)))
