# SPDX-License-Identifier: Apache-2.0
"""The CPU share of the live view: its process's own run time, by the kernel's count, while all
threads of the target work in each window, compared with the same samples without the view."""

import contextlib
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import termios
import threading
import time

from benchlib import BUILD, PATIENCE, QUICK, Missing, Process, Threads

THREADS, GOAL = 100, 1  # percent of one CPU
SIZES = ((24, 80), (60, 200))
WINDOWS = 2 if QUICK else 4
GO_EACH = 0.1  # s: how often each thread works
FIRST = b"VERDICT"  # on the screen: there is a window


def cpu_ns(pid):
    return sum(int(path.joinpath("schedstat").read_text().split()[0])
               for path in pathlib.Path(f"/proc/{pid}/task").iterdir())


class View:
    """kernel_delay --live on a terminal of its own."""

    def __init__(self, pid, size):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.proc = subprocess.Popen(  # pylint: disable=consider-using-with
            [BUILD / "kernel_delay", "-p", str(pid), "--live"], stdin=slave, stdout=slave,
            stderr=slave, env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
            preexec_fn=lead)
        os.close(slave)
        self.drawn = 0  # bytes
        self.begun = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        passed = b""
        with contextlib.suppress(OSError):
            while True:
                data = os.read(self.master, 1 << 16)
                self.drawn += len(data)
                passed = passed[-len(FIRST):] + data
                if FIRST in passed:
                    self.begun.set()

    def close(self):
        self.proc.terminate()
        self.proc.wait(PATIENCE)
        self.reader.join(PATIENCE)
        os.close(self.master)


def shares_of(target, pid):
    """Percent of one CPU in each second, while all threads are at work."""
    shares = []
    for _ in range(WINDOWS):
        began, before = time.monotonic(), cpu_ns(pid)
        while time.monotonic() < began + 1:
            target.go()
            time.sleep(GO_EACH)
        shares.append((cpu_ns(pid) - before) / (time.monotonic() - began) / 1e7)
    return shares


def view_shares(size):
    """CPU shares in percent, and the bytes drawn per window."""
    with Threads(THREADS) as target:
        view = View(target.pid, size)
        try:
            if not view.begun.wait(PATIENCE):
                raise Missing("the live view shows nothing")
            drawn = view.drawn
            shares = shares_of(target, view.proc.pid)
            return shares, (view.drawn - drawn) / WINDOWS
        finally:
            view.close()


def plain_shares():
    """CPU shares for the same samples without the view: their first screens go nowhere."""
    with Threads(THREADS) as target, \
            Process([BUILD / "kernel_delay", "-p", target.pid, "--sample-time", "1",
                     "--sample-count", "0", "--summary"]) as process:
        process.line(b"VERDICT")
        return shares_of(target, process.pid)


def measure(table):
    table.section(f"the live view of {THREADS} threads, each at work ten times a second")
    for lines, columns in SIZES:
        shares, drawn = view_shares((lines, columns))
        table.row(f"{columns}x{lines}: of one CPU", shares, "%", 2, GOAL,
                  f"live view, {columns}x{lines}")
        table.say(f"  drawn in a window: {drawn:,.0f} bytes")
    table.row("the same samples without a view", plain_shares(), "%", 2)
