# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Runs one workload on one side, and puts what the side counted beside each figure.

The workload prints an event before each phase and waits for our answer, so that everything around
its clock is done here: see tools/bench/workloads/bench.h.
"""

import json
import subprocess

import host
import sides

# Counters whose difference over the clock goes into the record.
DIFFERENCES = ("cpu_seconds", "copied_bytes", "accepted_bytes", "rewritten_extents",
               "device_read_bytes", "device_written_bytes")


class Run:
    """One run of one program that speaks our protocol."""

    def __init__(self, side, words):
        self.side = side
        self.words = [*words, "--driven"]
        self.records = {}
        self._began = {}        # figure: counters at its begin
        self._interval = None   # (begin, end) of the clock that ran last
        self._rewrite_began = None

    def go(self):
        process = host.Process.start(*self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)
        child = process._child
        try:
            for line in child.stdout:
                self._take(json.loads(line), child)
        except BrokenPipeError:
            pass                # it ended; its exit code says why
        finally:
            child.stdin.close()
            child.stdout.close()
            process.end(seconds_max=5)
        if child.returncode != 0:
            raise host.Failed(f"{' '.join(map(str, self.words))}: exit {child.returncode}")
        return self.records

    def _take(self, line, child):
        if "event" in line:
            getattr(self, "_on_" + line["event"])(line["figure"])
            child.stdin.write("go\n")
            child.stdin.flush()
        elif "figure" in line:
            self._record(line)
        elif line.get("wrong"):
            raise host.Failed(f"{line.get('verified')}: {line['wrong']} MiB or files differ")

    def _on_cold(self, _figure):
        self.side.cold()

    def _on_begin(self, figure):
        self._began[figure] = self.side.counters()
        self._interval = (self._began[figure], None)

    def _on_end(self, _figure):
        self._interval = (self._interval[0], self.side.counters())

    def _on_settle(self, figure):
        """Until everything is on the drives: what the daemon spent belongs to the figure."""
        ended = self._interval[1] if self._interval else None
        self.side.settle()
        settled = self.side.counters()
        record = self.records.get(figure)
        if record is None or ended is None:
            return
        record["settle_seconds"] = settled["time"] - ended["time"]
        for name in ("cpu_seconds", "device_written_bytes"):
            if name in settled and name in self._began[figure]:
                record["settled_" + name] = settled[name] - self._began[figure][name]
        add_ratios(record)

    def _on_rewrite(self, figure):
        before = self.side.counters()
        self.side.await_rewriting()
        after = self.side.counters()
        self.records[figure + ".wait"] = {
            "figure": figure + ".wait",
            "seconds": max(0.0, after["time"] - before["time"] - sides.REWRITE_QUIET_SECONDS),
            "rewritten_extents": after.get("rewritten_extents", 0) - self._rewritten_before()}

    def _rewritten_before(self):
        began = self._began.get("overwrite.write") or {}
        return began.get("rewritten_extents", 0)

    def _record(self, line):
        if line.get("wrong"):
            raise host.Failed(f"{line['figure']}: {line['wrong']} MiB or files differ")
        before, after = self._interval
        for name in DIFFERENCES:
            if name in before and name in after:
                line[name] = after[name] - before[name]
        if "requests" in before:
            line["requests"] = {name: count - before["requests"].get(name, 0)
                                for name, count in after["requests"].items()
                                if count != before["requests"].get(name, 0)}
            line["dirty_bytes"] = after["dirty_bytes"]
        add_ratios(line)
        self.records[line["figure"]] = line


def add_ratios(record):
    """The counters per byte and per operation, as the bars want them."""
    size, operations = record.get("bytes", 0), record.get("operations", 0)
    if size and "settled_cpu_seconds" in record:
        record["cpu_seconds_per_gb"] = record["settled_cpu_seconds"] / (size / 1e9)
    if record.get("accepted_bytes"):
        record["copied_per_byte"] = record["copied_bytes"] / record["accepted_bytes"]
    if size and "device_read_bytes" in record:
        record["device_read_share"] = record["device_read_bytes"] / size
    if operations and "requests" in record:
        record["requests_per_operation"] = sum(record["requests"].values()) / operations
