# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the groups: rounds, sides in turn, ceilings of the same minutes."""

import time

import driver
import host
import table


class Measuring:
    def __init__(self, settings, lab, say):
        self.settings = settings
        self.lab = lab
        self.say = say

    def group(self, group, results):
        """Fills results[group.id]: rounds [{side: {figure: record}}], skipped, failed, seconds."""
        result = {"what": group.what, "rounds": [], "skipped": {}, "failed": "interrupted"}
        results[group.id] = result
        began = time.monotonic()
        self.say(f"{group.id}: {group.what}")
        try:
            with self.lab.started(group.sides, result["skipped"]) as ready:
                self._rounds(group, ready, result)
                self._memory(ready, result)
                if group.long:
                    self._memory_after_remount(ready, result)
                result["failed"] = None
        except (host.Failed, OSError) as error:
            result["failed"] = str(error)
            self.say(f"{group.id}: failed: {error}")
            if host.INTERRUPTED.is_set():
                raise KeyboardInterrupt from error
        for name, reason in result["skipped"].items():
            self.say(f"{group.id}: skipped {name}: {reason}")
        result["seconds"] = round(time.monotonic() - began, 1)

    def _rounds(self, group, ready, result):
        device = self.lab.device(self._size(group))
        reason = device.why_not() if group.ceilings else None
        if reason:
            result["skipped"]["device"] = reason
        names = list(ready)
        for number in range(group.rounds or self.settings.rounds + 1):
            discarded = number == 0 and not group.rounds
            turned = names[number % len(names):] + names[:number % len(names)] if names else []
            records = {name: self._side(group, ready, name) for name in turned}
            if group.ceilings and not reason:
                records["device"] = self._ceilings(group, device)
            self.say(f"{group.id}: round {number}{' (discarded)' if discarded else ''}: "
                     + summary(records, group))
            if not discarded:
                result["rounds"].append(records)
        for side in ready.values():
            if not group.long:      # a store of so many files is removed as a whole
                side.remove_inputs()
        device.remove()

    def _side(self, group, ready, name):
        """One side's turn, with nothing left to write out of anybody's before."""
        records = {}
        for workload in group.workloads:
            for other in ready.values():
                other.settle()
            run = driver.Run(ready[name], self._words(group, ready[name], workload))
            records.update(run.go())
        wait = records.get("overwrite.rewritten.wait")
        if wait:
            wait["windows_rewritten_share"] = wait["rewritten_extents"] / self._size(group)
        return records

    def _size(self, group):
        size = self.settings.size_mib
        return min(size, group.size_mib_max) if group.size_mib_max else size

    def _words(self, group, side, workload):
        if group.program == "torch":
            return [self.settings.python, self.lab.bench / "clients/torch_save.py",
                    side.directory, "--mib", self._size(group)]
        words = [self.settings.build / "tools/bench/terrace_bench", side.directory,
                 "--only", workload, "--label", side.name, "--size-mib", self._size(group),
                 "--files", self.settings.files, "--many-files", self.settings.many_files,
                 "--keep-inputs"]
        return words + (["--forgets"] if side.forgets else [])

    def _ceilings(self, group, device):
        found = {}
        for what in group.ceilings:
            jobs = device.measure(what)
            found[what] = {"figure": what, "gb_per_s": max(jobs.values()), "jobs": jobs}
        return found

    def _memory(self, ready, result):
        """The most that each daemon had in memory beside its pool, over all rounds."""
        last = result["rounds"][-1] if result["rounds"] else {}
        for name, side in ready.items():
            if side.memory is None or name not in last:
                continue
            by_mappings = host.resident_by_mappings(side.process.pid)
            peak = max(side.memory.peak, by_mappings)
            last[name]["resident"] = {"figure": "resident", "peak_mib": peak / 2**20,
                                      "by_mappings_at_end_mib": by_mappings / 2**20}

    def _memory_after_remount(self, ready, result):
        """The same after a new daemon opened the store as it is now."""
        for name, side in ready.items():
            side.stop()
            side.start()
            records = result["rounds"][-1][name]
            records["remounted"] = {"figure": "remounted", "peak_mib": side.memory.peak / 2**20}


def summary(records, group):
    """One line for the eye: the first figures of each side."""
    parts = []
    for side, figures in records.items():
        shown = []
        for figure in list(figures.values())[:5]:
            if "gb_per_s" in figure:
                shown.append(f"{figure['figure']} {figure['gb_per_s']:.2f} GB/s")
            elif "ops_per_s" in figure:
                shown.append(f"{figure['figure'].split('.')[-1]} {figure['ops_per_s']:,.0f}/s")
        parts.append(f"{side}: {', '.join(shown)}")
    return "; ".join(parts) or f"{group.id}: no side"


# ---- Figures -------------------------------------------------------------------------------------

def values(result, figure):
    """The figure in every round that has it, as (round, value)."""
    found = []
    for number, records in enumerate(result["rounds"]):
        record = records.get(figure.side, {}).get(figure.name, {})
        if figure.key in record:
            found.append((number, record[figure.key]))
    return found


def spread(numbers):
    """(median, least, most), or None."""
    if not numbers:
        return None
    ordered = sorted(numbers)
    half = len(ordered) // 2
    median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return median, ordered[0], ordered[-1]


def judge(results, bar):
    """What the report says of one bar."""
    result = results.get(bar.group)
    if result is None:
        return None
    ours = dict(values(result, bar.ours))
    said = {"group": bar.group, "what": bar.what, "limit": bar.limit, "at_most": bar.at_most,
            "unit": bar.unit, "ours": spread(ours.values()), "beside": None, "ratio": None,
            "beside_name": None, "reached": None}
    measured = ours
    if bar.beside is not None:
        beside = dict(values(result, bar.beside))
        said["beside"] = spread(beside.values())
        said["beside_name"] = table.TITLES.get(bar.beside[:2], bar.beside.side)
        measured = {number: ours[number] / beside[number] for number in ours
                    if beside.get(number)}
        said["ratio"] = spread(measured.values())
    middle = spread(measured.values())
    if middle is None:
        said["why_not"] = result["failed"] or _missing(result, bar)
    else:
        value = round(middle[0], 6)
        said["reached"] = value <= bar.limit if bar.at_most else value >= bar.limit
    return said


def _missing(result, bar):
    for figure in filter(None, (bar.beside, bar.ours)):
        if figure.side in result["skipped"]:
            return f"skipped {figure.side}: {result['skipped'][figure.side]}"
    return "not measured"


def not_cold(results):
    """Cold runs in which the drive read less than the file: they were not cold."""
    found = []
    for group, result in results.items():
        for number, records in enumerate(result["rounds"]):
            for side, figures in records.items():
                for name in table.COLD:
                    share = figures.get(name, {}).get("device_read_share")
                    if share is not None and share < 0.98:
                        found.append({"group": group, "round": number, "side": side,
                                      "figure": name, "device_read_share": round(share, 3)})
    return found
