# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""The table: which workloads run on which sides together, and the bars.

A group is what runs in the same minutes: in each round every side once, the order turned from
round to round, and the ceilings. A bar compares two figures of one group round by round, or holds
one figure against a number.
"""

import typing


class Group(typing.NamedTuple):
    id: str
    what: str
    sides: tuple
    workloads: tuple
    ceilings: tuple = ()      # of the device, by fio: read, write
    program: str = "bench"    # or torch
    rounds: int = 0           # 0: as the command line says, the first discarded
    size_mib_max: int = 0     # 0: as the command line says
    long: bool = False        # only with --long, or if it is named
    extra: bool = False       # has no bar: only with --all, or if it is named


class Figure(typing.NamedTuple):
    """One number of each round: key `key` of what workloads call `name`, on that side."""
    side: str
    name: str
    key: str = "gb_per_s"


class Bar(typing.NamedTuple):
    group: str
    what: str
    ours: Figure
    beside: typing.Optional[Figure] = None    # None: `limit` is a plain number
    limit: float = 1.0
    at_most: bool = False                     # the limit is the most, not the least
    unit: str = "GB/s"


GROUPS = (
    Group("save1", "one writer, 1 MiB at odd offsets, until close returned",
          ("terrace", "ext4", "null", "passthrough_hp"), ("save1",)),
    Group("save2", "the same, with fsync", ("terrace", "ext4"), ("save2",), ("write",)),
    Group("save4", "8 writers with fsync, then .metadata by rename",
          ("terrace", "ext4"), ("save4",), ("write",)),
    Group("load1", "one reader, cold, then hot (load3)",
          ("terrace", "ext4", "null"), ("load1",), ("read",)),
    Group("kv2", "16 readers of files of 4 MiB, cold", ("terrace", "ext4"), ("kv2",), ("read",)),
    Group("kv3", "files of 256 KiB by temp + rename, then read; 4 threads",
          ("terrace", "passthrough_hp", "ext4"), ("kv3",)),
    Group("meta1", "names in one directory, one thread",
          ("terrace", "passthrough_hp", "ext4"), ("meta1",)),
    Group("meta4", "names in one directory, four threads",
          ("terrace", "passthrough_hp", "ext4"), ("meta4",)),
    Group("drives", "four emulated drives against one, 200 MB/s each",
          ("four_drives", "one_drive"), ("save2", "load1"), size_mib_max=2048),
    Group("torch", "real torch.save and torch.load", ("terrace", "ext4", "tmpfs"),
          ("torch",), program="torch", size_mib_max=1024),
    Group("overwrite", "1 GiB overwritten at random in 4 KiB pieces, then read in order",
          ("terrace",), ("overwrite",), size_mib_max=1024),
    Group("memory", "very many files, a tenth of them dirty", ("terrace_quiet",), ("many",),
          rounds=1, long=True),
    Group("load2", "through mmap, cold, then hot", ("terrace", "ext4"), ("load2",), ("read",),
          extra=True),
    Group("kv1", "one reader of files of 4 MiB, cold", ("terrace", "ext4"), ("kv1",), ("read",),
          extra=True),
    Group("small1", "4 KiB a call", ("terrace", "ext4", "passthrough_hp"), ("small1",),
          extra=True),
    Group("copy1", "cp inside the mount", ("terrace", "ext4"), ("copy1",), extra=True),
    Group("mix1", "save1 while kv2 runs", ("terrace", "ext4"), ("mix1",), extra=True),
    Group("memcpy", "what one core copies: no file at all", ("ext4",), ("memcpy",), extra=True),
)


def _against(group, figure, side, least, what=None, key="gb_per_s", unit="GB/s"):
    """A bar of ours against another side in the same figure."""
    return Bar(group, what or figure, Figure("terrace", figure, key),
               Figure(side, figure, key), least, unit=unit)


def _names(group, operation, least):
    return _against(group, f"{group}.{operation}", "passthrough_hp", least, key="ops_per_s",
                    unit="/s")


def _requests(operation, most):
    figure = Figure("terrace", f"meta1.{operation}", "requests_per_operation")
    return Bar("meta1", f"requests per {operation}", figure, None, most, True, "")


_READ = Figure("device", "read")
_WRITE = Figure("device", "write")

BARS = (
    _against("save1", "save1", "ext4", 1.5),
    _against("save1", "save1", "null", 0.85),
    Bar("save1", "CPU seconds of the daemon per GB written",
        Figure("terrace", "save1", "cpu_seconds_per_gb"),
        Figure("passthrough_hp", "save1", "cpu_seconds_per_gb"), 1.0, True, "s/GB"),
    _against("save2", "save2", "ext4", 1.0),
    Bar("save2", "save2", Figure("terrace", "save2"), _WRITE, 0.85),
    _against("save4", "save4", "ext4", 1.0),
    Bar("save4", "save4", Figure("terrace", "save4"), _WRITE, 0.85),
    Bar("load1", "load1, cold", Figure("terrace", "load1"), _READ, 0.9),
    _against("load1", "load1", "ext4", 1.0, "load1, cold"),
    _against("load1", "load3", "null", 0.8, "load3, hot"),
    Bar("kv2", "kv2, cold", Figure("terrace", "kv2"), _READ, 0.9),
    _against("kv3", "kv3w", "passthrough_hp", 2.0, key="ops_per_s", unit="/s"),
    _names("meta1", "create", 2.0),
    _names("meta1", "rename", 1.2),
    _names("meta1", "unlink", 1.2),
    _names("meta4", "create", 2.0),
    _names("meta4", "rename", 1.2),
    _names("meta4", "unlink", 1.2),
    # LOOKUP of a name that nobody asked for yet, CREATE, FLUSH, RELEASE.
    _requests("create", 4.05),
    _requests("stat", 0.05),
    # The same LOOKUP of the new name, and RENAME.
    _requests("rename", 2.05),
    _requests("unlink", 1.05),
    Bar("drives", "save2, four drives", Figure("four_drives", "save2"),
        Figure("one_drive", "save2"), 3.6),
    Bar("drives", "load1, four drives", Figure("four_drives", "load1"),
        Figure("one_drive", "load1"), 3.6),
    _against("torch", "torch.save", "ext4", 1.0),
    _against("torch", "torch.save", "tmpfs", 1.0),
    Bar("torch", "bytes copied by the engine per byte of a torch.save",
        Figure("terrace", "torch.save", "copied_per_byte"), None, 0.02, True, ""),
    Bar("overwrite", "overwritten at random, rewritten, read in order",
        Figure("terrace", "overwrite.rewritten"), Figure("terrace", "overwrite.in_order"), 0.8),
    Bar("overwrite", "1 MiB windows of its map rewritten, of all",
        Figure("terrace", "overwrite.rewritten.wait", "windows_rewritten_share"), None, 1.0,
        unit=""),
    Bar("memory", "resident beside the DRAM budget, many files",
        Figure("terrace_quiet", "resident", "peak_mib"), None, 300.0, True, "MiB"),
    Bar("memory", "the same after a remount",
        Figure("terrace_quiet", "remounted", "peak_mib"), None, 300.0, True, "MiB"),
)

# Figures of a cold start: what the drive did not read meanwhile was not cold.
COLD = ("load1", "load2", "kv1", "kv2", "overwrite.in_order", "overwrite.rewritten")

# What people call the other side of a bar, where its name alone would not do.
TITLES = {
    ("device", "read"): "device, reads",
    ("device", "write"): "device, writes",
    ("terrace", "overwrite.in_order"): "the file as first written",
}


def groups_wanted(only, everything, long):
    """The groups that the command line asks for, in the order of the table."""
    if only:
        return [group for group in GROUPS if group.id in only]
    return [group for group in GROUPS
            if (long or not group.long) and (everything or not group.extra)]
