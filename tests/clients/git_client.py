# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""git: clone into the mount and inside it (hard links), commit, collect garbage, check."""

import os

from mounted_store import ClientTest, run


class GitTest(ClientTest):

    def git(self, folder, *words):
        # Nobody's own settings.
        environment = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
        return run("git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost",
                   "-c", "gc.auto=0", *words, env=environment)

    def make_repository(self, folder):
        folder.mkdir()
        self.git(folder, "init", "--quiet", "--initial-branch=main")
        for commit in range(4):
            for number in range(150):
                place = folder / f"d{number % 10}"
                place.mkdir(exist_ok=True)
                (place / f"{number}.txt").write_text(f"{commit} {number}\n" * 100)
            (folder / "weights.bin").write_bytes(os.urandom(4 << 20))
            self.git(folder, "add", "--all")
            self.git(folder, "commit", "--quiet", "--message", f"commit {commit}")

    def check(self, folder, commits):
        self.git(folder, "fsck", "--full", "--strict")
        self.assertEqual(self.git(folder, "status", "--porcelain"), "")
        count = self.git(folder, "rev-list", "--count", "HEAD")
        self.assertEqual(count.strip(), str(commits))

    def test_clone_and_work(self):
        origin, clone, inner = self.plain / "origin", self.mount / "clone", self.mount / "inner"
        self.make_repository(origin)
        self.git(self.mount, "clone", "--quiet", str(origin), str(clone))
        self.git(self.mount, "clone", "--quiet", "--local", str(clone), str(inner))
        self.check(clone, 4)
        (inner / "new file").write_text("new\n")
        self.git(inner, "add", "--all")
        self.git(inner, "commit", "--quiet", "--message", "one more")
        self.git(inner, "gc", "--quiet", "--prune=now")

        def check():
            self.check(clone, 4)
            self.check(inner, 5)
            run("diff", "--recursive", "--exclude=.git", origin, clone)
        self.after_remount(check)
