# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""sqlite: byte-range locks, journals, and a write-ahead log with a shared mapping."""

import contextlib
import os
import sqlite3

from mounted_store import ClientTest

TRANSACTIONS = 200


class SqliteTest(ClientTest):

    def connect(self):
        connection = sqlite3.connect(self.mount / "data.db", timeout=0)
        return contextlib.closing(connection)

    def values(self, connection):
        return dict(connection.execute("select k, v from t"))

    def write_in(self, mode):
        expected = {}
        with self.connect() as writer, self.connect() as reader:
            self.assertEqual(writer.execute(f"pragma journal_mode={mode}").fetchone()[0], mode)
            writer.execute("create table t(k integer primary key, v blob)")
            for key in range(TRANSACTIONS):
                expected[key] = os.urandom(3000)
                writer.execute("insert into t values(?, ?)", (key, expected[key]))
                writer.commit()
                if key % 50 == 0:
                    self.assertEqual(self.values(reader), expected)
            # A second writer is locked out while the first is in a transaction.
            writer.execute("delete from t where k < 10")
            with self.assertRaises(sqlite3.OperationalError):
                reader.execute("insert into t values(-1, null)")
            writer.rollback()
            self.assertEqual(self.values(reader), expected)

        def check():
            with self.connect() as connection:
                self.assertEqual(connection.execute("pragma integrity_check").fetchone()[0], "ok")
                self.assertEqual(self.values(connection), expected)
        self.after_remount(check)

    def test_rollback_journal(self):
        self.write_in("delete")

    def test_write_ahead_log(self):
        self.write_in("wal")
