# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Goal: every test of pjdfstest passes on the mount, none is left out.

Method: two runs of the suite. The first has a second file system beside the mount (EXDEV); tests
that need a read-only file system (EROFS) come in a run of their own, because others of the suite
leave files open, so that nothing can be remounted any more (on ext4 too). `mount` must not look
for a helper of the file system to remount it, so the suite finds one that passes -i. Sockets have
room for short paths only, so the suite sees the mount in /mnt of a namespace of its own.
"""

import grp
import os
import pwd
import re
import shutil
import subprocess
import sys

from mounted_store import MountedStore

PROGRAM = "pjdfstest"
READ_ONLY_TESTS = "erofs"
TESTS_MIN = 398  # of version 0.2.2, with the features below

CONFIGURATION = """\
[features]
posix_fallocate = {{}}
rename_ctime = {{}}
utime_now = {{}}
utimensat = {{}}

[settings]
naptime = 0.01
allow_remount = {remount}

[dummy_auth]
entries = {users}
"""


def missing():
    """Why the suite can't run here, or None."""
    if os.geteuid() != 0:
        return "only root can change to other users and remount"
    if len(unprivileged_users()) < 2:
        return "there are not two unprivileged users"
    return None


def unprivileged_users():
    """Two users with a group of their own, as [name, group]."""
    users, groups = [], set()
    for user in sorted(pwd.getpwall(), key=lambda one: -one.pw_uid):
        try:
            group = grp.getgrgid(user.pw_gid).gr_name
        except KeyError:
            continue
        if user.pw_uid != 0 and user.pw_gid != 0 and group not in groups:
            groups.add(group)
            users.append([user.pw_name, group])
    return users[:2]


class Suite:
    def __init__(self, program, store):
        self.program = program
        self.base = store.base
        self.base.chmod(0o755)
        self.below = store.mount_point / "below"
        self.below.mkdir()
        self.below.chmod(0o755)
        self.second = self.base / "second"
        self.second.mkdir()
        self.second.chmod(0o777)
        tools = self.base / "tools"
        tools.mkdir()
        (tools / "mount").write_text(f'#!/bin/sh\nexec {shutil.which("mount")} -i "$@"\n',
                                     encoding="utf-8")
        (tools / "mount").chmod(0o755)
        self.environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
        if os.environ.get("TERRACE_LINK_MAX"):
            self.environment["LD_PRELOAD"] = os.environ["TERRACE_LINK_MAX"]

    def run(self, *patterns, remount):
        """Runs the tests; returns {test: outcome} and all that was printed."""
        users = str(unprivileged_users()).replace("'", '"')
        configuration = self.base / "pjdfstest.toml"
        configuration.write_text(
            CONFIGURATION.format(remount=str(remount).lower(), users=users), encoding="utf-8")
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /mnt && exec "$@"', self.below,
             self.program, "-c", configuration, "-p", "/mnt", "-s", self.second, *patterns],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        outcomes = dict(re.findall(r"^(\S+::\S+) +(ok|FAILED|skipped)$", done.stdout, re.M))
        return outcomes, done.stdout


def judge(program, mode):
    store = MountedStore("-o", f"cache={mode},allow_other")
    try:
        suite = Suite(program, store)
        outcomes, printed = suite.run(remount=False)
        read_only, printed_read_only = suite.run(READ_ONLY_TESTS, remount=True)
    finally:
        store.close()
    outcomes.update(read_only)
    counts = {word: sum(1 for one in outcomes.values() if one == word)
              for word in ("ok", "FAILED", "skipped")}
    print(f"pjdfstest, {mode}: {counts['ok']} passed, {counts['FAILED']} failed, "
          f"{counts['skipped']} skipped")
    if counts["ok"] < TESTS_MIN or counts["ok"] != len(outcomes):
        sys.exit(f"{printed}\n{printed_read_only}\n"
                 f"not ok: {[one for one, word in outcomes.items() if word != 'ok']}")
