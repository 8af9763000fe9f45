# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""rsync -a twice: the second run, and one after a remount, find nothing to do."""

import os

from mounted_store import ClientTest, age_folders, make_tree, run


class RsyncTest(ClientTest):

    def rsync(self, *flags):
        """What it changed, a line each."""
        return run("rsync", "-aHX", "--itemize-changes", *flags, f"{self.source}/",
                   f"{self.mount}/copy/")

    def test_twice(self):
        self.source = make_tree(self.plain / "source")
        self.assertNotEqual(self.rsync(), "")
        self.assertEqual(self.rsync(), "")
        self.assert_same_tree(self.source, self.mount / "copy")
        self.store.remount()
        self.assertEqual(self.rsync(), "")
        self.assertEqual(self.rsync("--checksum"), "")
        self.assert_same_tree(self.source, self.mount / "copy")

    def test_changes_in_place(self):
        self.source = make_tree(self.plain / "source")
        self.rsync()
        with open(self.source / "checkpoint.bin", "r+b") as file:
            file.seek(20 << 20)
            file.write(b"changed")
            file.truncate(44 << 20)
        os.unlink(self.source / "folder 0" / "deep" / "file0.bin")
        age_folders(self.source)
        self.rsync("--inplace", "--no-whole-file", "--delete")
        self.after_remount(lambda: self.assert_same_tree(self.source, self.mount / "copy"))
