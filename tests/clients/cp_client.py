# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""cp -a: into the mount, inside it, and back."""

from mounted_store import ClientTest, make_tree, run


class CpTest(ClientTest):

    def test_copy_a_tree(self):
        source = make_tree(self.plain / "source")
        run("cp", "-a", source, self.mount / "copy")
        run("cp", "-a", self.mount / "copy", self.mount / "copy of the copy")

        def check():
            self.assert_same_tree(source, self.mount / "copy")
            self.assert_same_tree(source, self.mount / "copy of the copy")
        self.after_remount(check)
        run("cp", "-a", self.mount / "copy", self.plain / "back")
        self.assert_same_tree(source, self.plain / "back")

    def test_a_sparse_copy_stays_sparse(self):
        source = make_tree(self.plain / "source") / "sparse.bin"
        run("cp", "--sparse=always", source, self.mount / "first")
        run("cp", "--sparse=auto", self.mount / "first", self.mount / "second")

        def check():
            for name in ("first", "second"):
                status = (self.mount / name).stat()
                self.assertEqual(status.st_size, 96 << 20)
                self.assertLess(status.st_blocks * 512, 2 << 20, name)
                run("cmp", source, self.mount / name)
        self.after_remount(check)
