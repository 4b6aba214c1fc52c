# SPDX-License-Identifier: Apache-2.0
"""A window that ends while a thread waits, and is read when the wait is over: the program is
stopped in between."""

import json
import signal
import time

import kdtest


class Held:
    """A process whose threads wait for as long as the test wants, and the run that watches it."""

    def __init__(self, test, *options):
        self.test, self.load = test, test.workload("held")
        self.path = test.directory() / "report.json"
        self.run = test.child([
            kdtest.PROGRAM, "-p", self.load.pid, "--start-trigger", "t:syscalls:sys_enter_getppid",
            "--stop-trigger", "t:syscalls:sys_enter_getuid", "--sample-count", 1, *options,
            "-o", f"json:{self.path}"])
        kdtest.wait_until(lambda: "armed @" in self.run.stderr)

    def begin(self, command, name):
        """Starts a thread; returns its TID, and the time from which it does what it was started
        for."""
        self.load.send(command)
        began = int(self.load.line())
        (tid,) = kdtest.wait_until(lambda: self.load.tid(name))
        return tid, began

    def asleep(self, tid):
        """Waits until a thread sleeps; returns a time of CLOCK_MONOTONIC by which it certainly
        does."""
        kdtest.wait_until(lambda: kdtest.state_of(self.load.pid, tid) == "S")
        return time.monotonic_ns()

    def open(self):
        self.load.send("open")
        self.load.line("opened")

    def close(self):
        """Stops the program and ends the window; returns the two times between which it ended."""
        self.run.signal(signal.SIGSTOP)
        kdtest.wait_until(lambda: kdtest.state_of(self.run.pid, self.run.pid) == "T")
        self.load.send("close")
        return map(int, self.load.line().split())

    def release(self):
        """Ends the waits."""
        self.load.send("release")
        self.load.line("released")

    def read(self):
        """Lets the program go on; returns the sample."""
        self.run.signal(signal.SIGCONT)
        self.test.eq(self.run.wait(), 0, "the run ends well") or self.test.remark(self.run.stderr)
        return json.loads(self.path.read_text().splitlines()[0])

    @staticmethod
    def thread(sample, tid):
        (found,) = [row for row in sample["threads"] if row["tid"] == tid]
        return found
