# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""tar: a round trip through archives in the mount."""

from mounted_store import ClientTest, make_tree, run

# Everything about a file, times to the nanosecond.
CREATE = ("tar", "--create", "--format=posix", "--xattrs", "--xattrs-include=*")
EXTRACT = ("tar", "--extract", "--xattrs", "--xattrs-include=*", "--same-permissions")


class TarTest(ClientTest):

    def round_trip(self, *flags):
        source = make_tree(self.plain / "source")
        archive, unpacked = self.mount / "archive.tar", self.mount / "unpacked"
        run(*CREATE, *flags, "--file", archive, "--directory", source, ".")
        unpacked.mkdir()
        run(*EXTRACT, "--file", archive, "--directory", unpacked)

        self.after_remount(lambda: self.assert_same_tree(source, unpacked))
        run("tar", "--compare", "--file", archive, "--directory", unpacked)
        return unpacked

    def test_round_trip(self):
        unpacked = self.round_trip()
        # tar complains about files that change while it reads them.
        run(*CREATE, "--file", self.mount / "again.tar", "--directory", unpacked, ".")

    def test_sparse_round_trip(self):
        unpacked = self.round_trip("--sparse")
        status = (unpacked / "sparse.bin").stat()
        self.assertEqual(status.st_size, 96 << 20)
        self.assertLess(status.st_blocks * 512, 2 << 20)
        self.assertLess((self.mount / "archive.tar").stat().st_size, 80 << 20)
