# SPDX-License-Identifier: Apache-2.0
"""A shell in a real terminal: tmux, with nobody's configuration."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

import kdneeds
import kdtest


class Tmux:
    """One window with a shell in it, on a server of its own."""

    def __init__(self, test, columns=80, lines=24, **environment):
        self.tmux, self.shell = kdneeds.tool("tmux"), kdneeds.tool("bash")
        self.directory = test.directory()
        env = {name: value for name, value in os.environ.items()
               if name not in ("TMUX", "TMUX_PANE", "LANG", "LC_CTYPE")}
        env.update({"LC_ALL": "C.UTF-8", **environment})
        test.stack.callback(self.end)
        self.run("-f", "/dev/null", "-u", "new-session", "-d", "-x", columns, "-y", lines,
                 f"{self.shell} --norc --noprofile -i", env=env)
        self.until(lambda: self.lines()[0])

    def run(self, *args, **how):
        return subprocess.run([self.tmux, "-S", self.directory / "socket",
                               *(str(arg) for arg in args)], check=True, text=True,
                              encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              **how).stdout

    def end(self):
        subprocess.run([self.tmux, "-S", self.directory / "socket", "kill-server"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def lines(self):
        """What is on the screen."""
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def screen(self):
        return "\n".join(self.lines())

    def state(self, *names):
        """Variables of tmux, such as alternate_on."""
        return self.run("display-message", "-p", " ".join(f"#{{{name}}}" for name in names)).split()

    def press(self, *keys):
        """Presses keys, given by tmux's names or as characters."""
        self.run("send-keys", *keys)

    def type(self, text, *keys):
        self.run("send-keys", "-l", text)
        if keys:
            self.press(*keys)

    def resize(self, columns, lines):
        self.run("resize-window", "-x", columns, "-y", lines)

    def until(self, happened):
        """The first true result of a function; None if there never is one."""
        deadline = time.monotonic() + kdtest.PATIENCE
        while time.monotonic() < deadline:
            found = happened()
            if found:
                return found
            time.sleep(0.1)
        return None

    def until_shown(self, pattern):
        """Waits for a text on the screen, and returns the match."""
        return self.until(lambda: re.search(pattern, self.screen(), re.MULTILINE))

    def command(self, text):
        """Runs a command in the shell; returns its standard output."""
        path = self.directory / "said"
        path.unlink(missing_ok=True)
        self.type(f"{text} >{path}.new; mv {path}.new {path}", "Enter")
        self.until(path.exists)
        return path.read_text(encoding="utf-8")

    def child(self, name):
        """The PID of the shell's child with this name; None: there is none."""
        shell = int(self.state("pane_pid")[0])
        for path in pathlib.Path(f"/proc/{shell}/task/{shell}").glob("children"):
            for pid in map(int, path.read_text().split()):
                with contextlib.suppress(OSError):  # it may have ended
                    if kdtest.thread_name(pid, pid) == name:
                        return pid
        return None
