"""Runs one test module and fails when it leaves a process or a file behind.

    run_clean.py [--seconds N] MODULE.py [arguments of unittest]

The module runs with a TMPDIR of its own (0700) and with tests/support importable. This process is a child subreaper, so that
whatever the tests start and forget, however detached, ends up below it and is found, listed, ended and counted as a failure.
"""

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
sys.path.insert(0, str(SUPPORT))

from holdfast_test import processes  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 1.0  # for processes that were killed and are on their way out


def become_subreaper():
    """Orphans below this process become its children instead of init's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a child subreaper")


def start_module(module, arguments, scratch):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    if "HOLDFAST_BINARY" in os.environ:
        environment["HOLDFAST_BINARY"] = os.path.abspath(os.environ["HOLDFAST_BINARY"])  # the module runs in its own folder
    environment["TMPDIR"] = scratch
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join([str(SUPPORT), str(module.parent)])
    command = [sys.executable, "-X", "faulthandler", "-m", "unittest", "-v", *arguments, module.stem]
    return subprocess.Popen(command, env=environment, cwd=module.parent, stdin=subprocess.DEVNULL)


def reap_until(pid):
    """Waits for `pid`, reaping adopted processes meanwhile as init would, and returns its wait status."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return status


def reap_adopted():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def left_processes():
    """What still lives below this process after a moment to settle."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        reap_adopted()
        left = processes.descendants(os.getpid())
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def end_left(left):
    """Names what is left and ends it, until nothing comes after (an ended process hands its children on)."""
    for _ in range(10):
        for identity in left:
            print(f"run_clean: left process {identity.pid}: {processes.command_line(identity.pid)}", file=sys.stderr)
        processes.end_all(left)
        reap_adopted()
        left = processes.descendants(os.getpid())
        if not left:
            return


def left_files(scratch):
    """What the module left in its TMPDIR: the entries there, each with the number of files below it."""
    left = []
    for entry in sorted(os.scandir(scratch), key=lambda entry: entry.name):
        count = sum(len(files) for _, _, files in os.walk(entry.path)) if entry.is_dir(follow_symlinks=False) else 0
        left.append(f"{entry.path} ({count} files below)" if count else entry.path)
    return left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=110.0, help="the module is aborted with its traceback after that")
    parser.add_argument("module", type=Path)
    options, arguments = parser.parse_known_args()
    module = options.module.resolve()
    become_subreaper()
    is_clean = True
    with tempfile.TemporaryDirectory(prefix="hf-") as scratch:  # mkdtemp makes it 0700
        child = start_module(module, arguments, scratch)
        # Not a kill: faulthandler answers SIGABRT with the traceback of every thread.
        alarm = threading.Timer(options.seconds, lambda: os.kill(child.pid, signal.SIGABRT))
        alarm.start()
        status = reap_until(child.pid)
        alarm.cancel()
        left = left_processes()
        if left:
            is_clean = False
            end_left(left)
        for path in left_files(scratch):
            is_clean = False
            print(f"run_clean: left file {path}", file=sys.stderr)
    if status != 0:
        print(f"run_clean: {module.name} ended with {os.waitstatus_to_exitcode(status)}", file=sys.stderr)
    return 0 if status == 0 and is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
