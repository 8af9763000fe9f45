# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""torch.distributed.checkpoint: shards with fsync, published by the rename of `.metadata`."""

import unittest

import torch

from models import assert_same_model, make_model
from mounted_store import ClientTest

try:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
    MISSING = None if hasattr(dcp, "save") else "this torch has no checkpoint.save"
except ImportError as error:
    MISSING = f"this torch has no distributed checkpoints: {error}"


@unittest.skipIf(MISSING, MISSING)
class DistributedCheckpointTest(ClientTest):

    def save(self, model, folder):
        writer = FileSystemWriter(folder, thread_count=2)
        dcp.save({"model": model}, storage_writer=writer, no_dist=True)

    def load_like(self, model, folder):
        loaded = {"model": {name: torch.zeros_like(one) for name, one in model.items()}}
        dcp.load(loaded, storage_reader=FileSystemReader(folder), no_dist=True)
        return loaded["model"]

    def test_save_and_load(self):
        model, folder = make_model(), self.mount / "step-1"
        self.save(model, folder)
        self.assertTrue((folder / ".metadata").exists())
        self.after_remount(
            lambda: assert_same_model(self, model, self.load_like(model, folder)))

    def test_save_over_an_older_checkpoint(self):
        folder = self.mount / "latest"
        for seed in (1, 2):
            model = make_model(seed, size_bytes=128 << 20)
            self.save(model, folder)
        self.assertFalse((folder / ".metadata.tmp").exists())
        self.after_remount(
            lambda: assert_same_model(self, model, self.load_like(model, folder)))
