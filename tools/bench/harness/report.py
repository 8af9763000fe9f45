# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""The report: bench.json, and Markdown tables for docs/benchmarks.md."""

import json

import measuring

COLUMNS = ("terrace", "terrace_quiet", "four_drives", "one_drive", "ext4", "tmpfs",
           "passthrough_hp", "null", "device")


def write_json(path, description, settings, results, bars):
    document = {"description": description, "settings": settings, "bars": bars,
                "not_cold": measuring.not_cold(results), "groups": results}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def markdown(description, settings, results, bars):
    parts = [_heading(description, settings), _bars(bars), _figures(results),
             _resident(results), _left_out(results)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _heading(description, settings):
    return (f"{description['date']}, commit {description['commit']}; "
            f"{description['processors']} x {description['processor']}, "
            f"{description['memory_gib']} GiB, kernel {description['kernel']}, "
            f"{description['file_system']} on {description['drive']}; "
            f"checkpoints of {settings['size_mib']} MiB, {settings['files']:,} names; "
            f"median [least most] of {settings['rounds']} rounds after one that was discarded.\n\n"
            f"    {settings['command']}")


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def spread_text(spread, unit=""):
    if spread is None:
        return "-"
    middle, least, most = spread
    text = number(middle) + ("" if least == most else f" [{number(least)} {number(most)}]")
    return f"{text} {unit}".strip()


def _bars(bars):
    if not bars:
        return ""
    lines = ["| what | TerraceFS | beside | ratio | bar | reached |",
             "| --- | ---: | ---: | ---: | ---: | --- |"]
    for bar in bars:
        beside = "-"
        if bar["beside"] is not None:
            beside = f"{bar['beside_name']} {spread_text(bar['beside'], bar['unit'])}"
        limit = ("<= " if bar["at_most"] else ">= ") + f"{bar['limit']:g}"
        reached = {True: "yes", False: "**no**", None: "see below"}[bar["reached"]]
        lines.append(f"| {bar['what']} | {spread_text(bar['ours'], bar['unit'])} | {beside} | "
                     f"{spread_text(bar['ratio'])} | {limit} | {reached} |")
    return "\n".join(lines)


def _all_figures(results):
    """{figure: {side: [values]}} with the unit, for the second table."""
    found = {}
    for group, result in results.items():
        for records in result["rounds"]:
            for side, figures in records.items():
                for name, record in figures.items():
                    key = "gb_per_s" if "gb_per_s" in record else "ops_per_s"
                    if key not in record:
                        continue
                    title = f"{group}: device {name}" if side == "device" else name
                    if group == "drives":
                        title = f"drives: {name}"
                    unit = "GB/s" if key == "gb_per_s" else "/s"
                    row = found.setdefault((title, unit), {})
                    row.setdefault(side, []).append(record[key])
    return found


def _figures(results):
    found = _all_figures(results)
    columns = [side for side in COLUMNS if any(side in row for row in found.values())]
    if not columns:
        return ""
    lines = ["| figure | " + " | ".join(columns) + " |",
             "| --- |" + " ---: |" * len(columns)]
    for (title, unit), row in found.items():
        cells = [spread_text(measuring.spread(row.get(side, ()))) for side in columns]
        lines.append(f"| {title}, {unit} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _resident(results):
    lines = ["| daemon, in the group | resident beside its pool at most, MiB |", "| --- | ---: |"]
    for group, result in results.items():
        for records in result["rounds"]:
            for side, figures in records.items():
                if "resident" in figures:
                    peak = figures["resident"]["peak_mib"]
                    lines.append(f"| {side}, {group} | {number(peak)} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _left_out(results):
    lines = []
    for group, result in results.items():
        if result["failed"]:
            lines.append(f"- {group} failed: {result['failed']}")
        for side, reason in result["skipped"].items():
            lines.append(f"- {group}: {side} was skipped: {reason}")
    for one in measuring.not_cold(results):
        lines.append(f"- not cold: {one['figure']} on {one['side']}, round {one['round'] + 1}: the "
                     f"drive read {one['device_read_share']:.0%} of the file")
    return "Left out, or to be looked at:\n\n" + "\n".join(lines) if lines else ""
