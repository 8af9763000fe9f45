# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""torch.save and torch.load, in the ways in which programs call them."""

import os

import torch

from models import assert_same_model, make_model
from mounted_store import ClientTest


class TorchTest(ClientTest):

    def setUp(self):
        super().setUp()
        self.model = make_model()
        self.path = self.mount / "model.pt"

    def check(self):
        assert_same_model(self, self.model, torch.load(self.path))

    def check_every_way_to_load(self):
        self.check()
        with open(self.path, "rb") as file:
            assert_same_model(self, self.model, torch.load(file))
        with self.subTest("mapped"):
            try:
                loaded = torch.load(self.path, mmap=True)
            except TypeError:
                self.skipTest(f"torch {torch.__version__} cannot map what it loads")
            assert_same_model(self, self.model, loaded)

    def test_save_to_a_path(self):
        torch.save(self.model, self.path)
        self.after_remount(self.check_every_way_to_load)

    def test_save_to_a_file_object(self):
        with open(self.path, "wb") as file:
            torch.save(self.model, file)
        self.after_remount(self.check)

    def test_save_with_fsync_and_rename(self):
        for seed in (1, 2):  # the second replaces the first
            self.model = make_model(seed)
            temporary = self.mount / "model.tmp"
            with open(temporary, "wb") as file:
                torch.save(self.model, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
            self.check()
        self.assertEqual(os.listdir(self.mount), ["model.pt"])
        self.after_remount(self.check)

    def test_overwrite_in_place(self):
        torch.save(make_model(seed=2, size_bytes=300 << 20), self.path)
        torch.save(self.model, self.path)
        self.after_remount(self.check)
