# SPDX-License-Identifier: Apache-2.0
"""Programs on a terminal."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import kdtest

ROWS, COLUMNS = 24, 100


class Terminal:
    """A program in the foreground of a terminal of its own."""

    def __init__(self, test, *args, **environment):
        self.master, slave = pty.openpty()
        test.stack.callback(os.close, self.master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        fixed = {name: value for name, value in os.environ.items()
                 if name not in ("PAGER", "LESS", "NO_COLOR", "SUDO_UID", "PKEXEC_UID", "DOAS_USER")}

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(arg) for arg in (kdtest.PROGRAM, *args)], stdin=slave, stdout=slave, stderr=slave,
            env={**fixed, "TERM": "xterm", **environment}, preexec_fn=lead)
        test.stack.callback(self.end)
        os.close(slave)
        self.shown = ""

    def read(self, until=None, patience=kdtest.PATIENCE):
        """What is shown until that text appears, or until the end."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and not (until and until in self.shown):
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    break
            elif self.process.poll() is not None:
                break
        return self.shown

    def press(self, keys):
        os.write(self.master, keys.encode())

    def press_to_end(self, keys):
        """Repeats the key: a program may ignore it while still busy with an interrupt."""
        deadline = time.monotonic() + kdtest.PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self.press(keys)
            self.read(patience=1)

    def wait(self):
        self.read()
        return self.process.wait(kdtest.PATIENCE)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
