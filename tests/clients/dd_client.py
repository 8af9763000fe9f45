# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""dd with O_DIRECT: whole megabytes, an odd tail, and sizes that no device would take."""

import os

from mounted_store import ClientTest, run

SIZE = (256 << 20) + 402_848


class DdTest(ClientTest):

    def setUp(self):
        super().setUp()
        self.source = self.plain / "source"
        block = os.urandom(8 << 20)
        with open(self.source, "wb") as file:
            for number in range(SIZE // len(block) + 1):
                file.write(block[number:] + block[:number])
            file.truncate(SIZE)

    def dd(self, *operands):
        run("dd", "status=none", *operands)

    def test_write_and_read_with_o_direct(self):
        copy = self.mount / "copy"
        self.dd(f"if={self.source}", f"of={copy}", "bs=1M", "oflag=direct", "conv=fsync")

        def check():
            self.assertEqual(copy.stat().st_size, SIZE)
            self.dd(f"if={copy}", f"of={self.plain}/back", "bs=4M", "iflag=direct")
            run("cmp", self.source, self.plain / "back")
            run("cmp", self.source, copy)
        self.after_remount(check)

    def test_any_size_with_o_direct(self):
        copy, size = self.mount / "copy", 20_000_000
        self.dd(f"if={self.source}", f"of={copy}", "bs=100000", f"count={size // 100000}",
                "oflag=direct")
        # Over it, at an odd place, through the page cache.
        self.dd(f"if={self.source}", f"of={copy}", "bs=777", "seek=1001", "count=5",
                "conv=notrunc")
        with open(self.source, "rb") as file:
            expected = bytearray(file.read(size))
        expected[777 * 1001:777 * 1006] = expected[:777 * 5]

        def check():
            self.dd(f"if={copy}", f"of={self.plain}/back", "bs=99999", "iflag=direct")
            self.assertTrue((self.plain / "back").read_bytes() == expected)
            self.assertTrue(copy.read_bytes() == expected)
        self.after_remount(check)
