# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Lab: makes the sides that a group needs, all below one working directory, and undoes them.

Whatever happens, what was started is stopped: every side goes onto a stack before it starts.
"""

import contextlib
import pathlib
import shutil
import tempfile

import host
import sides

EMULATED_MB_PER_S = 200
EMULATED_GIB = 8
TITLES = {
    "terrace": "TerraceFS", "terrace_quiet": "TerraceFS", "ext4": "plain directory",
    "passthrough_hp": "passthrough_hp", "null": "null daemon", "tmpfs": "tmpfs",
    "one_drive": "TerraceFS, one drive", "four_drives": "TerraceFS, four drives",
}


class Lab:
    def __init__(self, settings, bench_directory):
        self.settings = settings
        self.bench = pathlib.Path(bench_directory)
        self.stack = contextlib.ExitStack()
        self.work = None

    def __enter__(self):
        work = tempfile.mkdtemp(prefix="terrace-bench.", dir=self.settings.dir)
        self.work = pathlib.Path(work).resolve()
        return self

    def __exit__(self, *_reason):
        """Removes the working directory, unless something in it is still mounted."""
        self.stack.close()
        left = host.mounts_below(self.work)
        if left:
            raise host.Failed(f"still mounted, so {self.work} stays: {' '.join(left)}")
        shutil.rmtree(self.work, ignore_errors=True)

    def make(self, name):
        """A side by its name in the table."""
        if name in ("one_drive", "four_drives"):
            return self._on_drives(name)
        title, directory = TITLES[name], self.work / name
        if name == "ext4":
            return sides.Side(name, title, directory)
        if name == "tmpfs":
            return sides.Tmpfs(name, title, directory)
        if name == "null":
            return sides.ReceiveAndDrop(name, title, directory,
                                        self.settings.build / "tools/bench/receive_and_drop")
        if name == "passthrough_hp":
            return sides.PassthroughHp(name, title, directory, self.settings.passthrough_hp,
                                       self.work / "passthrough_hp.source")
        options = "write_back_delay=1h" if name == "terrace_quiet" else None
        return self._terrace(name, [self.work / f"{name}.store"], dram=self.settings.dram,
                             options=options)

    def _terrace(self, name, stores, **flags):
        given = [flags.get("options"), self.settings.options]
        flags["options"] = ",".join(filter(None, given)) or None
        return sides.Terrace(name, TITLES[name], self.work / name,
                             self.settings.build / "terrace", stores, **flags)

    def _on_drives(self, name):
        """Both sides get the same DRAM, small enough that both fit beside each other."""
        drives = sides.EmulatedDrives(self.bench / "emulated_drives", self.work / f"{name}.drives",
                                      4 if name == "four_drives" else 1, EMULATED_MB_PER_S,
                                      EMULATED_GIB)
        self.stack.callback(drives.down)
        drives.up()
        return self._terrace(name, drives.devices, dram=self.settings.dram or "4G",
                             meta=self.work / f"{name}.meta")

    @contextlib.contextmanager
    def started(self, names, skipped):
        """The sides of a group, by name; those that cannot be had are added to `skipped`."""
        ready = {}
        try:
            for name in names:
                side = self.make(name)
                reason = side.why_not()
                if reason:
                    skipped[name] = reason
                    continue
                self.stack.callback(side.stop)
                side.start()
                ready[name] = side
            yield ready
        finally:
            self.stack.close()

    def device(self, size_mib):
        return sides.Device(self.bench, self.work / "device", size_mib)
