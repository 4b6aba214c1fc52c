# SPDX-License-Identifier: Apache-2.0
"""The live view in a real terminal."""

import re

from kdtest import MS, PROGRAM
from kdtmux import Tmux

BEFORE = "what was here before"
UNITS = {"s": 1000 * MS, "ms": MS, "us": MS / 1000, "ns": 1}
TIME = r"([\d.]+) (s|ms|us|ns)"
STATE = ("alternate_on", "cursor_flag", "keypad_flag", "keypad_cursor_flag", "wrap_flag")


class View(Tmux):
    """kernel_delay --live in a shell."""

    def __init__(self, test, target, *args, before="", **how):
        super().__init__(test, **how)
        self.test, self.pid = test, None
        self.settings = self.command("stty -a")
        self.before = self.state(*STATE)
        self.type(f"clear; echo {BEFORE}; {before} {PROGRAM} --live -p {target} "
                  f"{' '.join(map(str, args))}; echo status=$?", "Enter")

    def begun(self):
        """The time at which a window is shown."""
        self.test.ok(self.until_shown(r"^ kernel_delay: .*window \d+ .*by \w+"), "a window is shown",
                self.screen())
        self.pid = self.child("kernel_delay")
        return self

    def shown_window(self):
        return int(re.search(r"window (\d+)", self.lines()[0])[1])

    def next_window(self):
        seen = self.shown_window()
        return self.until(lambda: self.shown_window() > seen)

    def row(self, name):
        """The thread's row in the list: (ns that it was kept from running, its bar)."""
        found = re.search(rf"^ *\d+ {name} +{TIME} +\S+ % (.*)$", self.screen(), re.MULTILINE)
        return found and (float(found[1]) * UNITS[found[2]], found[3].strip())

    def check_gone(self, how, status=0, says=""):
        """The shell goes on, with its screen restored."""
        test = self.test
        if status is None:
            test.ok(self.until(lambda: self.child("kernel_delay") is None), f"{how}: it ends")
        else:
            test.ok(self.until_shown(rf"^status={status}$"),
                    f"{how}: it ends with status {status}", self.screen())
        # The terminal may come to see what it wrote last when it has gone.
        self.until(lambda: self.state(*STATE) == self.before)
        test.eq(self.state(*STATE), self.before, f"{how}: the terminal's modes are as before")
        self.until(lambda: BEFORE in self.screen() and "q quit" not in self.screen())
        test.ok(BEFORE in self.screen() and "q quit" not in self.screen(),
                f"{how}: so is what it shows", self.screen())
        test.ok(not says or says in self.screen(), f"{how}: why is said", self.screen())
        test.eq(self.command("stty -a"), self.settings, f"{how}: so are its settings")
