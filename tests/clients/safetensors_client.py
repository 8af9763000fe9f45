# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""safetensors: the size first, whole tensors in one write, loading by mapping."""

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from models import assert_same_model, make_model
from mounted_store import ClientTest


class SafetensorsTest(ClientTest):

    def setUp(self):
        super().setUp()
        self.model = make_model()
        self.path = self.mount / "model.safetensors"

    def test_save_and_load(self):
        save_file(self.model, self.path, metadata={"step": "7"})

        def check():
            assert_same_model(self, self.model, load_file(self.path))
            with safe_open(self.path, framework="pt") as file:
                self.assertEqual(file.metadata(), {"step": "7"})
                loaded = {name: file.get_tensor(name) for name in reversed(list(file.keys()))}
            assert_same_model(self, self.model, loaded)
        self.after_remount(check)

    def test_a_mapped_file_is_replaced(self):
        save_file(self.model, self.path)
        mapped = load_file(self.path)
        newer = make_model(seed=2)
        save_file(newer, self.path)
        assert_same_model(self, self.model, mapped)
        del mapped
        self.after_remount(lambda: assert_same_model(self, newer, load_file(self.path)))
