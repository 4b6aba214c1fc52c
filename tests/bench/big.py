# SPDX-License-Identifier: Apache-2.0
"""A program of 1 GB with 1,000,000 symbols: a trigger in it, and stacks from it."""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from benchlib import BUILD, MB, QUICK, ROOT, Missing, Process, kernel_delay, memory

ROUNDS = 3 if QUICK else 4
SECONDS_GOAL, MB_GOAL = 0.5, 40
NAME = "_ZN7network"  # with which those of its functions begin

# Of a program that a large process starts, wait4() has the memory of that one, too: this is a
# small one.
SMALL = """
import os, sys, time
began = time.monotonic()
pid = os.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(time.monotonic() - began, usage.ru_maxrss * 1024, file=sys.stderr)
sys.exit(status != 0)
"""


def check(pid):
    """Seconds, and the peak memory in bytes of the program or a child of it."""
    done = subprocess.run([sys.executable, "-IS", "-c", SMALL, BUILD / "kernel_delay", "-p",
                           str(pid), "--check", "--start-trigger", "up:the_last_function"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise Missing("the trigger was not found")
    seconds, peak = map(float, done.stderr.split()[-2:])
    return seconds, peak


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def stacks(target):
    """The peak memory in bytes of the child that resolves symbols, for the stack of a wait."""
    with kernel_delay(target.pid, "--sample-time", "500ms", "--off-cpu=1us", "--wait-filter",
                      "*", "--sample-count", "100") as process:
        process.line(b"# Start sampling")
        target.proc.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        target.proc.send_signal(signal.SIGCONT)
        while NAME not in process.line()[1]:
            pass
        return max(memory(child) for child in children(process.pid))


def measure(table):
    with tempfile.TemporaryDirectory() as directory:
        big = pathlib.Path(directory) / "big"
        subprocess.run([sys.executable, ROOT / "tests" / "bench" / "big_elf.py", big],
                       check=True, stdout=subprocess.DEVNULL)
        with Process([big], name="big") as process:
            time.sleep(0.2)
            checked = [check(process.pid) for _ in range(ROUNDS)]
            resolved = [stacks(process) for _ in range(ROUNDS)]
    table.section("a trigger in a program of 1 GB with 1,000,000 symbols (--check)")
    table.row("time", [seconds for seconds, _ in checked], "s", 3, SECONDS_GOAL, "1 GB: time")
    table.row("peak memory", [peak / MB for _, peak in checked], "MB", 1, MB_GOAL,
              "1 GB: memory")
    table.section("a stack of it")
    table.row("peak memory of the child that reads symbols", [peak / MB for peak in resolved],
              "MB", 1, MB_GOAL, "1 GB: memory for stacks")
