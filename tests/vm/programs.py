#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs in a virtual machine, one after the other, each in a child of this
one Python, which has what they import: there it takes seconds to start another.

usage: programs.py [--once] PROGRAM[:CASE]..., by their paths below tests/

Each is set off by lines of its own: "@begin NAME" and "@end STATUS SECONDS". One that
fails is run once more when all have run, unless told not to: the machine may have stood still
for a while beneath what else runs, and its clocks disagree after that."""

import contextlib
import os
import pathlib
import runpy
import select
import signal
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
PATIENCE = 900   # seconds for one program
LEAVE = 5        # more, to clean up
TIMED_OUT = 124  # status of such a one
BEGIN, END = "@begin ", "@end "
ONCE = "--once"


def ended(process, timeout):
    """Whether a child ends within this time."""
    handle = os.pidfd_open(process)
    try:
        return bool(select.select([handle], [], [], timeout)[0])
    finally:
        os.close(handle)


def status_of(process):
    """Waits for a child's end, and kills it if it takes too long."""
    late = not ended(process, PATIENCE)
    for number in (signal.SIGTERM, signal.SIGKILL) if late else ():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, number)
        if ended(process, LEAVE):
            break
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return TIMED_OUT if late else status


def become(name):
    """In a child: makes it what a shell would start for this program and its cases; returns the
    path."""
    path, *cases = name.split(":")
    path = TESTS / path
    os.setsid()
    os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
    sys.argv = [str(path), *cases]
    sys.path[0] = str(path.parent)
    return path


def run_all(names):
    """Returns None in the parent when all have run; and in each child the path that it is to run."""
    queue = [name for name in names if name != ONCE]
    retried = 0 if ONCE in names else len(queue)
    for number, name in enumerate(queue):
        print(f"{BEGIN}{name}", flush=True)
        began = time.monotonic()
        process = os.fork()
        if not process:
            return become(name)
        status = status_of(process)
        print(f"\n{END}{status} {time.monotonic() - began:.0f}", flush=True)
        if status and number < retried:
            queue.append(name)
    return None


if __name__ == "__main__":
    sys.path.insert(1, str(TESTS / "integration"))
    import kdtrigger  # noqa: F401  pylint: disable=unused-import
    program = run_all(sys.argv[1:])
    if program:
        runpy.run_path(str(program), run_name="__main__")
