# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""numpy: archives that are patched while they are written, and arrays mapped into memory."""

import numpy

from mounted_store import ClientTest

ELEMENTS = 32 << 20  # of 8 bytes: 256 MiB


class NumpyTest(ClientTest):

    def setUp(self):
        super().setUp()
        self.array = numpy.random.default_rng(1).integers(0, 2**62, ELEMENTS)

    def test_save_and_load(self):
        path = self.mount / "array.npy"
        numpy.save(path, self.array)

        def check():
            self.assertTrue(numpy.array_equal(self.array, numpy.load(path)))
            self.assertTrue(numpy.array_equal(self.array, numpy.load(path, mmap_mode="r")))
        self.after_remount(check)

    def test_savez(self):
        path = self.mount / "archive.npz"
        parts = {"first": self.array[:ELEMENTS // 2], "empty": self.array[:0],
                 "second": self.array[ELEMENTS // 2:]}
        numpy.savez(path, **parts)

        def check():
            with numpy.load(path) as archive:
                for name, part in parts.items():
                    self.assertTrue(numpy.array_equal(part, archive[name]), name)
        self.after_remount(check)

    def test_memmap(self):
        path = self.mount / "mapped.bin"
        mapped = numpy.memmap(path, dtype=numpy.int64, mode="w+", shape=(ELEMENTS,))
        mapped[:ELEMENTS // 2] = self.array[:ELEMENTS // 2]
        mapped.flush()
        mapped[ELEMENTS // 2:] = self.array[ELEMENTS // 2:]
        del mapped  # munmap: the kernel writes the rest out

        def check():
            whole = numpy.fromfile(path, dtype=numpy.int64)
            self.assertTrue(numpy.array_equal(self.array, whole))
            shared = numpy.memmap(path, dtype=numpy.int64, mode="r", shape=(ELEMENTS,))
            self.assertTrue(numpy.array_equal(self.array, shared))
        self.after_remount(check)

    def test_memmap_changed_in_places(self):
        path = self.mount / "changed.npy"
        numpy.save(path, self.array)
        mapped = numpy.load(path, mmap_mode="r+")
        places = slice(0, ELEMENTS, 100_003)
        self.array[places] = mapped[places] = 7
        mapped.flush()
        del mapped
        self.after_remount(
            lambda: self.assertTrue(numpy.array_equal(self.array, numpy.load(path))))
