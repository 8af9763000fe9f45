# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""The checkpoint of scripts/quickstart: saves it, loads it and compares, prints the table.

    checkpoint.py save --mib N --ours DIR --plain DIR --result FILE
    checkpoint.py load --mib N --ours DIR --result FILE
    checkpoint.py table --saved FILE --loaded FILE --disk DIR

The model follows from its size alone, so that `load` can make it again, tensor by tensor, in a
process that has not seen the saved one. Runs with any torch from 1.13 on.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 6  # the first is not counted: memory that was never used before is slow


def shapes(mib):
    """Names, shapes and whether fp32: the layers of a transformer, until the size is reached."""
    hidden, left, layer = 2048 if mib >= 512 else 512, mib << 20, 0
    while left > 0:
        prefix = f"model.layers.{layer}."
        tensors = [(prefix + "norm.weight", (hidden,), True),
                   (prefix + "attention.qkv.weight", (3 * hidden, hidden), False),
                   (prefix + "attention.out.weight", (hidden, hidden), False),
                   (prefix + "attention.out.bias", (hidden,), True),
                   (prefix + "mlp.up.weight", (4 * hidden, hidden), False),
                   (prefix + "mlp.up.bias", (4 * hidden,), True),
                   (prefix + "mlp.down.weight", (hidden, 4 * hidden), False),
                   (prefix + "mlp.router.weight", (7, 65), True),
                   (prefix + "adam.exp_avg", (hidden, hidden // 2), True)]
        for name, shape, fp32 in tensors:
            yield name, shape, fp32
            left -= shape[0] * (shape[1] if len(shape) == 2 else 1) * (4 if fp32 else 2)
            if left <= 0:
                break
        layer += 1


def tensors(mib):
    """(name, tensor) one by one; every tensor has other bytes."""
    import torch
    words = 40 << 20  # more than any tensor has
    source = torch.randint(-2**15, 2**15, (words,), dtype=torch.int16,
                           generator=torch.Generator().manual_seed(1))
    for index, (name, shape, fp32) in enumerate(shapes(mib)):
        elements = shape[0] * (shape[1] if len(shape) == 2 else 1)
        wanted = elements * (2 if fp32 else 1)
        start = index * 7919 * 2 % (words - wanted)
        piece = source[start:start + wanted].clone()
        piece[0] = index
        yield name, piece.view(torch.float32 if fp32 else torch.bfloat16).reshape(shape)


def size_of(model):
    return sum(tensor.numel() * tensor.element_size() for tensor in model.values())


def path_of(directory, step):
    return os.path.join(directory, f"step-{step}.pt")


def save_once(model, directory, step):
    """Seconds until torch.save returned, and until the file was durable.

    As trainers do: every save is a new file, and the one before goes when the new one is safe.
    """
    import torch
    start = time.monotonic()
    torch.save(model, path_of(directory, step))
    returned = time.monotonic() - start
    descriptor = os.open(path_of(directory, step), os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    durable = time.monotonic() - start
    if step > 0:
        os.unlink(path_of(directory, step - 1))
        os.sync()
    return returned, durable


def save(arguments):
    import torch
    print(f"making {arguments.mib} MiB of tensors with torch {torch.__version__}", flush=True)
    model = dict(tensors(arguments.mib))
    print(f'$ torch.save(model, "{path_of(arguments.ours, 0)}")  # to {ROUNDS - 1}', flush=True)
    sides = {"ours": arguments.ours, "plain": arguments.plain}
    seconds = {side: [] for side in sides}
    for step in range(ROUNDS):
        # Each side goes first in every other round.
        for side in list(sides) if step % 2 else reversed(sides):
            taken = save_once(model, sides[side], step)
            if step > 0:
                seconds[side].append(taken)
    result = {"bytes": size_of(model), "tensors": len(model), "torch": torch.__version__}
    for side, taken in seconds.items():
        result[side] = {"returned": statistics.median(one[0] for one in taken),
                        "durable": statistics.median(one[1] for one in taken)}
    write_result(arguments.result, result)
    print(f"saved {len(model)} tensors, {ROUNDS} times on each side")


def load(arguments):
    import torch
    path = path_of(arguments.ours, ROUNDS - 1)
    print(f'$ torch.load("{path}")', flush=True)
    start = time.monotonic()
    loaded = torch.load(path)
    seconds = time.monotonic() - start
    count, different = 0, []
    for name, tensor in tensors(arguments.mib):
        count += 1
        other = loaded.get(name)
        # As integers: some random floats are NaN, which equal nothing.
        if other is None or other.dtype != tensor.dtype or other.shape != tensor.shape or \
                not torch.equal(other.view(torch.int16), tensor.view(torch.int16)):
            different.append(name)
    if different or count != len(loaded):
        sys.exit(f"{len(different)} of {count} tensors differ after the remount: {different[:5]}")
    write_result(arguments.result, {"seconds": seconds, "equal": count})
    print(f"loaded in {seconds:.2f} s; all {count} tensors are equal, bit for bit")


def write_result(path, result):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file)


def read_result(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def file_system_of(directory):
    found = subprocess.run(["stat", "-f", "-c", "%T", directory], capture_output=True, text=True,
                           check=False).stdout.strip()
    return {"ext2/ext3": "ext4"}.get(found, found) or "plain"


def table(arguments):
    saved, loaded = read_result(arguments.saved), read_result(arguments.loaded)

    def cell(seconds):
        return f"{seconds:6.2f} s {saved['bytes'] / seconds / 1e9:6.2f} GB/s"

    def ratio(what):
        return f"{saved['plain'][what] / saved['ours'][what]:5.2f} x"

    title = f"torch.save of {saved['bytes'] / 2**30:.2f} GiB, {saved['tensors']} tensors"
    plain = f"plain {file_system_of(arguments.disk)}"
    rows = [(title, "TerraceFS", plain, "speed-up"),
            ("until it returned", cell(saved["ours"]["returned"]),
             cell(saved["plain"]["returned"]), ratio("returned")),
            ("until durable (with fsync)", cell(saved["ours"]["durable"]),
             cell(saved["plain"]["durable"]), ratio("durable"))]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for number, row in enumerate(rows):
        print("| " + " | ".join([row[0].ljust(widths[0])] + [
            text.rjust(width) for text, width in zip(row[1:], widths[1:])]) + " |")
        if number == 0:
            print("| " + " | ".join(["-" * widths[0]] + [
                "-" * (width - 1) + ":" for width in widths[1:]]) + " |")
    print(f"\nMedian of {ROUNDS - 1} rounds, the two sides in turn, on the same disk. After the "
          f"remount torch.load took {loaded['seconds']:.2f} s,\nand all {loaded['equal']} tensors "
          "were equal, bit for bit.")


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, run, options in (("save", save, ("mib", "ours", "plain", "result")),
                               ("load", load, ("mib", "ours", "result")),
                               ("table", table, ("saved", "loaded", "disk"))):
        verb = verbs.add_parser(name)
        verb.set_defaults(run=run)
        for option in options:
            verb.add_argument(f"--{option}", required=True, type=int if option == "mib" else str)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
