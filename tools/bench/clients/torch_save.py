# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Real torch.save and torch.load on a directory, unmodified, with every tensor compared.

    python torch_save.py DIR [--mib 1024] [--driven]

Prints a JSON line per figure: torch.save, torch.save+fsync, torch.load (cold). With --driven it
speaks the protocol of tools/bench/workloads/bench.h: an event before each phase, a line in answer.
Each figure is checked outside its clock; wrong tensors are counted and end it with exit code 1.
"""

import argparse
import json
import os
import sys
import time

import torch

# A transformer's mix: a few large matrices, and many that are small or of an odd size.
SHAPES = ((4096, 4096), (4096,), (1024, 4096), (1,), (4097, 13), (2048, 6144), (129,))


class Client:
    def __init__(self, driven):
        self.driven = driven
        self.wrong_in_all = 0

    def event(self, name, figure):
        if self.driven:
            print(json.dumps({"event": name, "figure": figure}), flush=True)
            if not sys.stdin.readline():
                raise SystemExit("torch_save: nobody answered")
        elif name == "cold":
            os.sync()
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
                file.write("3\n")

    def measure(self, figure, size, work):
        self.event("begin", figure)
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
        self.event("end", figure)
        print(json.dumps({"figure": figure, "seconds": seconds, "bytes": size,
                          "gb_per_s": size / seconds / 1e9, "wrong": 0}), flush=True)
        return result

    def verify(self, figure, model, loaded):
        wrong = sum(name not in loaded or not same(tensor, loaded[name])
                    for name, tensor in model.items())
        self.wrong_in_all += wrong
        print(json.dumps({"verified": figure, "wrong": wrong}), flush=True)


def same(one, other):
    return one.dtype == other.dtype and torch.equal(one.view(torch.int16), other.view(torch.int16))


def make_model(mib):
    """Tensors of bfloat16 with bytes that do not compress."""
    generator = torch.Generator().manual_seed(17)
    model, size = {}, 0
    while size < mib << 20:
        shape = SHAPES[len(model) % len(SHAPES)]
        tensor = torch.randint(-2**15, 2**15, shape, dtype=torch.int16, generator=generator)
        model[f"layers.{len(model)}.weight"] = tensor.view(torch.bfloat16)
        size += tensor.numel() * 2
    return model, size


def save(model, path, sync):
    """As trainers do: into a temporary file, then over the one before."""
    temporary = path + ".tmp"
    with open(temporary, "wb") as file:
        torch.save(model, file)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--driven", action="store_true")
    arguments = parser.parse_args()
    client = Client(arguments.driven)
    folder = os.path.join(arguments.dir, "terrace_bench")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "checkpoint.pt")
    model, size = make_model(arguments.mib)
    for figure, sync in (("torch.save", False), ("torch.save+fsync", True)):
        client.measure(figure, size, lambda: save(model, path, sync))
        client.event("settle", figure)
        client.event("cold", figure)
        if not sync:
            client.verify(figure, model, torch.load(path))
            os.unlink(path)
    loaded = client.measure("torch.load", size, lambda: torch.load(path))
    client.verify("torch.load", model, loaded)
    os.unlink(path)
    return 1 if client.wrong_in_all else 0


if __name__ == "__main__":
    sys.exit(main())
