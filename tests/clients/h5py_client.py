# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""HDF5: locks, holes, and a superblock that is rewritten in place."""

import subprocess
import sys

import h5py
import numpy

from mounted_store import ClientTest

ROWS, COLUMNS = 16384, 4096  # float32: 256 MiB


class H5pyTest(ClientTest):

    def setUp(self):
        super().setUp()
        self.path = self.mount / "data.h5"
        self.data = numpy.random.default_rng(1).random((ROWS, COLUMNS), dtype=numpy.float32)

    def check(self):
        with h5py.File(self.path, "r") as file:
            self.assertTrue(numpy.array_equal(self.data, file["data"][...]))

    def test_write_in_chunks(self):
        with h5py.File(self.path, "w") as file:
            file.create_dataset("data", data=self.data, chunks=(64, COLUMNS))
        self.after_remount(self.check)

    def test_append_and_change(self):
        half = ROWS // 2
        with h5py.File(self.path, "w") as file:
            file.create_dataset("data", data=self.data[:half], chunks=(64, COLUMNS),
                                maxshape=(None, COLUMNS))
        self.store.remount()
        self.data[::1000] = 7
        with h5py.File(self.path, "a") as file:
            data = file["data"]
            data.resize(ROWS, axis=0)
            data[half:] = self.data[half:]
            data[:half:1000] = self.data[:half:1000]
        self.after_remount(self.check)

    def test_a_second_writer_is_locked_out(self):
        with h5py.File(self.path, "w", locking=True) as file:
            file.create_dataset("data", data=self.data[:1])
            file.flush()
            # Another process: HDF5 knows its own files.
            program = f"import h5py; h5py.File({str(self.path)!r}, 'r+', locking=True)"
            second = subprocess.run([sys.executable, "-c", program], check=False,
                                    capture_output=True, text=True)
            self.assertNotEqual(second.returncode, 0)
            self.assertIn("lock", second.stderr)
