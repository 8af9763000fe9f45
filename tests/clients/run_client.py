# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the tests of one client: run_client.py NAME, for instance `run_client.py torch`.

The tests run in a process of their own: in the Python environment that scripts/setup made
($TERRACE_VENV, else $TERRACE_PREFIX/venv, else /opt/terrace/venv) if the client is a Python module,
or in this Python if that has it. Whatever becomes of that process, its mounts, daemons and files
are removed; leaving any of them behind is a failure.

A client that is missing is reported as `clients.NAME: Skipped` and its reason; so is one of which
every test was skipped. Exit codes: 0 passed, 77 skipped, 1 failed.
"""

import importlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
SECONDS_MAX = 240  # CTest's own limit comes later

# What a client needs beside this Python: modules, programs.
MODULES = {"torch": ["torch"], "dcp": ["torch"], "safetensors": ["torch", "safetensors"],
           "h5py": ["h5py"], "numpy": ["numpy"]}
PROGRAMS = {"cp": ["cp"], "dd": ["dd"], "git": ["git"], "rsync": ["rsync"], "tar": ["tar"]}


def skip(client, reason):
    print(f"clients.{client}: Skipped\n{reason}", flush=True)
    sys.exit(SKIPPED)


def python_for(client):
    """The Python to run the client in."""
    modules = MODULES.get(client)
    if not modules:
        return sys.executable
    prefix = os.environ.get("TERRACE_PREFIX", "/opt/terrace")
    own = os.path.join(os.environ.get("TERRACE_VENV", prefix + "/venv"), "bin/python")
    candidates = [python for python in (own, sys.executable) if os.access(python, os.X_OK)]
    for python in candidates:
        if subprocess.run([python, "-c", "import " + ", ".join(modules)], check=False,
                          capture_output=True).returncode == 0:
            return python
    return skip(client, f"no Python here has {' and '.join(modules)} (looked in "
                        f"{', '.join(candidates)}; scripts/setup --with-tests installs them)")


# ---- In the child -------------------------------------------------------------------------------

def run_tests(client):
    suite = unittest.defaultTestLoader.loadTestsFromModule(
        importlib.import_module(f"{client}_client"))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0:
        sys.exit(f"no test of {client}")
    if len(result.skipped) == result.testsRun:
        skip(client, result.skipped[0][1])


# ---- In the parent ------------------------------------------------------------------------------

def daemons_of(base):
    """Processes of the program under test that have the directory on their command line."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.path.basename(os.readlink(folder / "exe")).split()[0] == "terrace" and \
                    str(base).encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it ended, or is another user's
    return found


def mounts_of(base):
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        points = [line.split()[4] for line in table]
    return [point for point in points if point.startswith(f"{base}/")]


def clean_up(base):
    """Returns what was left behind. Daemons go first: requests that hang then end."""
    daemons, mounts = daemons_of(base), mounts_of(base)
    for daemon in daemons:
        try:
            pidfd = os.pidfd_open(daemon)
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)
        except OSError:
            pass
    unmount = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
    for mount in mounts:
        subprocess.run(unmount + [mount], check=False)
    shutil.rmtree(base, ignore_errors=True)
    return [f"daemon {daemon}" for daemon in daemons] + [f"mount {mount}" for mount in mounts]


def end_on_signal(number, _frame):
    sys.exit(128 + number)  # by way of the clean-up


def run_child(name, command, base, seconds_max=None):
    """Runs the command with its files below base; removes what is left. Returns: its exit code."""
    signal.signal(signal.SIGTERM, end_on_signal)
    environment = dict(os.environ, TERRACE_TEST_DIR=str(base), TMPDIR=str(base))
    child = subprocess.Popen(command, env=environment)
    try:
        return child.wait(seconds_max)
    except subprocess.TimeoutExpired:
        print(f"{name}: not done after {seconds_max} s", flush=True)
        child.kill()
        return 1
    finally:
        child.kill()  # if it still runs; then nothing mounts behind our back
        left = clean_up(base)
        child.wait()
        left += clean_up(base)  # what a program of the child was just about to do
        if left and child.returncode in (0, SKIPPED):
            sys.exit(f"{name}: left behind: {', '.join(left)}")


def main():
    client = sys.argv[1]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    if sys.argv[2:] == ["--child"]:
        run_tests(client)
        return
    for program in PROGRAMS.get(client, []):
        if not shutil.which(program):
            skip(client, f"{program} is not installed")
    python = python_for(client)
    base = pathlib.Path(tempfile.mkdtemp(prefix=f"terrace-{client}.",
                                         dir=os.environ.get("TERRACE_TEST_DIR", "/var/tmp")))
    code = run_child(f"clients.{client}", [python, "-B", __file__, client, "--child"], base,
                     SECONDS_MAX)
    sys.exit(code if code in (0, SKIPPED) else 1)


if __name__ == "__main__":
    main()
