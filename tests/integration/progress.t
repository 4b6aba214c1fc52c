#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long runs tell people at a terminal how long they will take and how much is left, and tell nobody
else. The test works out from the output what a terminal shows."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

import kdtest

NOTE = re.compile(r"kernel_delay: sampling for (.*), until (?:\d+-\d+-\d+ )?(\d+):(\d+):(\d+); "
                  r"Ctrl-C ends it and prints the (report|last sample)")
LEFT = re.compile(r"(?:sample (\d+)(?: of (\d+)|)[,:] )?(?:(\d+) min )?(\d+) s left")
UNIT = {"d": 86400, "h": 3600, "min": 60, "s": 1}
DAY = 86400
STYLE = re.compile(r"\x1b\[[\d;]*m")  # such as bold (ECMA-48, 8.3.117)
CUT = re.compile(r"\x1b(?:\[[\d;]*)?$")  # it has not been read to its end


class Screen:
    """What is visible once all the output has been written, whether bold or not."""

    def __init__(self):
        self.lines, self.column = [""], 0

    def write(self, text):
        for char in STYLE.sub("", text):
            if char == "\n":
                self.lines.append("")
            elif char == "\r":
                self.column = 0
            else:
                line = self.lines[-1].ljust(self.column)
                self.lines[-1] = line[:self.column] + char + line[self.column + 1:]
                self.column += 1

    def shown(self):
        return [line.rstrip() for line in self.lines if line.strip()]


class Watched:
    """A run whose messages, and perhaps its report, are on a terminal."""

    def __init__(self, test, *args, report=False, background=False):
        self.master, slave = pty.openpty()
        test.stack.callback(os.close, self.master)
        self.path = test.directory() / "report"

        def own_terminal():
            os.setsid()
            fcntl.ioctl(2, termios.TIOCSCTTY, 0)

        shell = ("bash", "-c", 'set -m; "$@" & wait', "bash") if background else ()
        argv = kdtest.in_full([str(arg) for arg in (*shell, kdtest.PROGRAM, *args)])
        self.began = time.time()
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                argv, stdin=subprocess.DEVNULL, stdout=slave if report else out, stderr=slave,
                preexec_fn=own_terminal)
        test.stack.callback(self.process.kill)
        os.close(slave)
        self.screen, self.raw, self.cut = Screen(), "", ""
        self.noted = None  # when the first line was there
        self.quiet = time.time()  # nothing more was there then
        self.seen = []  # lines that tell what is left, each written between two times

    def read(self):
        while True:
            now = time.time()
            if not select.select([self.master], [], [], 0)[0]:
                self.quiet = now
                return
            try:
                text = self.cut + os.read(self.master, 65536).decode()
            except OSError:
                return  # nobody has it open any more
            whole = CUT.sub("", text)
            self.cut = text[len(whole):]
            self.raw += whole
            self.screen.write(whole)
            if not self.noted and NOTE.search(self.raw):
                self.noted = time.time()
            if LEFT.fullmatch(self.screen.shown()[-1] if self.screen.shown() else ""):
                self.seen.append((self.quiet, time.time(), self.screen.shown()[-1]))

    def pids(self):
        found = []
        for pid in kdtest.processes_named("kernel_delay"):
            with contextlib.suppress(ProcessLookupError):  # others run it, too
                if os.getsid(pid) == self.process.pid:
                    found.append(pid)
        return found

    def samples(self):
        """Whether it has given up its privileges, as it does before the window, or has ended."""
        with contextlib.suppress(OSError):
            return self.process.poll() is not None or "2" in {
                kdtest.status_field(pid, "Seccomp") for pid in self.pids()}
        return False

    def end(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        status = self.process.wait(kdtest.PATIENCE)
        self.read()
        return status


def seconds(text):
    words = text.split()
    return sum(int(number) * UNIT[unit] for number, unit in zip(words[::2], words[1::2]))


def check_note(test, what, run, length):
    """The duration as given, and the time of day at which the run will be over."""
    note = NOTE.search(run.raw)
    if not test.ok(note, f"{what}: says how long it takes", run.raw):
        return None
    test.eq(seconds(note[1]), length, f"{what}: that long")
    until = sum(int(note[1 + i]) * 60 ** (3 - i) for i in (1, 2, 3))
    clock = time.localtime(run.began + length)
    late = (until - (clock.tm_hour * 3600 + clock.tm_min * 60 + clock.tm_sec)) % DAY
    # The program looks at the clock when all is loaded. Somebody may set it back a bit.
    test.ok(late <= run.noted - run.began + 1 or late >= DAY - 2, f"{what}: until then", note[0], f"{late} s after {time.asctime(clock)}")
    return note[5]


def left(line):
    """(number of the sample or None, seconds)"""
    sample, _, minutes, rest = LEFT.fullmatch(line).groups()
    return sample and int(sample), 60 * int(minutes or 0) + int(rest)


def check_left(test, what, run):
    """The remaining time shrinks as time goes by."""
    if not test.ok(len(run.seen) >= 2, f"{what}: and what is left", run.raw):
        return
    first, last = run.seen[0], run.seen[-1]
    test.between(left(first[2])[1] - left(last[2])[1], last[0] - first[1] - 1,
                 last[1] - first[0] + 1, f"{what}: by as much as passes")


def check_samples(test, what, run, count, each):
    """A run whose samples may be late: the remaining time grows by the delay."""
    wrong = [line for _, at, line in run.seen for number, seconds_ in (left(line),)
             if not count * each - (at - run.began) - 1 <= seconds_ <= (count - number + 1) * each + 1]
    test.ok(len(run.seen) >= 2 and not wrong, f"{what}: and what is left", run.raw, wrong)


def case_terminal(test):
    load = test.workload("roles", "poll")
    json = test.directory() / "samples.json"
    one, many, run_end, triggered, both, quiet, short, behind = runs = [
        Watched(test, load.pid, *args, **options) for args, options in (
            (("--sample-time", "500"), {}),
            (("--sample-time", "1", "--sample-count", "80", "--sample-interval", "0.5"), {}),
            (("--sample-time", "1", "--sample-count", "0", "--duration", "700s", "-o",
              f"json:{json}"), {}),
            (("--long-poll=10min", "--duration", "700s"), {}),
            (("--sample-time", "500"), {"report": True}),
            (("--sample-time", "500", "--quiet"), {}),
            (("--sample-time", "4"), {}),
            (("--sample-time", "500"), {"background": True}))]
    piped = test.start(kdtest.Child([kdtest.PROGRAM, "-p", load.pid, "--sample-time", "500"]))
    deadline = time.monotonic() + kdtest.PATIENCE
    while time.monotonic() < deadline and min(len(run.seen) for run in runs[:5]) < 2:
        for run in runs:
            run.read()
        time.sleep(0.05)
    piped.line("# Start sampling")
    for run in (quiet, short, behind):
        kdtest.wait_until(run.samples)
    piped.signal(signal.SIGINT)
    test.eq([run.end() for run in runs], [0] * 8, "all end well")
    test.eq(check_note(test, "one sample", one, 500), "report", "and that Ctrl-C prints it")
    test.ok(all(re.fullmatch(r"\d min \d+ s left", line) for *_, line in one.seen), "in minutes",
            one.seen)
    test.eq(check_note(test, "many", many, 80 * 1.5 // 1), "last sample", "what Ctrl-C does")
    test.ok(all(re.match(r"sample \d+ of 80, ", line) for *_, line in many.seen),
            "many: and which it is", many.seen)
    check_note(test, "the run's end", run_end, 700)
    check_samples(test, "many", many, 80, 1.5)
    for what, run in (("one sample", one), ("the run's end", run_end), ("triggers", triggered),
                      ("one with its report", both)):
        check_left(test, what, run)
    for what, run in (("one sample", one), ("many", many), ("the run's end", run_end)):
        test.eq(len(run.screen.shown()), 1, f"{what}: only the first line stays")
    test.eq(one.path.read_text().count("# Sample dump"), 1, "the report is where it belongs")
    test.ok("left" not in one.path.read_text(), "without that")
    shown = "\n".join(line.rstrip() for line in both.screen.lines)
    test.ok(" left" not in shown and "# Stop sampling" in shown, "a report on the same terminal "
            "takes its place", shown[:500])
    test.eq(len(kdtest.kdreport.parse(shown[shown.index("# Start"):] + "\n")), 1, "and is whole")
    test.eq((quiet.raw, short.raw), ("", ""), "nothing with --quiet, nor of four seconds")
    test.ok("sampling" not in behind.raw and "left" not in behind.raw, "nor in the background",
            behind.raw)
    test.eq(behind.path.read_text().count("# Sample dump"), 1, "where it works as ever")
    test.eq((piped.wait(), piped.stderr), (0, ""), "nor where there is no terminal")


kdtest.main(case_terminal)
