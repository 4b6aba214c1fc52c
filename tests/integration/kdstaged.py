# SPDX-License-Identifier: Apache-2.0
"""Staged delays: first screens of several processes at once, and whether the first that each
blames is the right one, with the right share."""

import contextlib
import json
import re
import signal

import kdtest
from kdtest import MS, PATIENCE, PROGRAM

# Whoever else uses the CPUs is a true culprit, too: those who are not to meet any go before them.
# In a machine of one CPU there is nobody else, and the program needs it, too.
BEFORE_OTHERS = () if kdtest.one_cpu() else ("chrt", "-f", "30")


OWN_PROGRAMS = ("kernel_delay", "python3") if kdtest.one_cpu() else ()


class Screen:
    """What the program says of a process while others are watched, too: begun when made,
    ready after end()."""

    def __init__(self, test, pid, seconds):
        self.test, self.pid = test, pid
        self.path = test.directory() / "sample.json"
        self.child = test.child([PROGRAM, "-p", pid, "--sample-time", seconds, "--summary", "-o",
                                 "text", "-o", f"json:{self.path}"])

    def opened(self):
        self.child.line("# Start sampling")
        self.before, self.steal = self.counts(), kdtest.steal_ns()

    def counts(self):
        """{TID: (run time, time that it waited for a CPU)}, by the kernel."""
        found = {}
        for tid in kdtest.threads_of(self.pid):
            with contextlib.suppress(OSError):
                found[tid] = kdtest.schedstat(self.pid, tid)
        return found

    def end(self, name):
        self.child.line("# Stop sampling")
        after, self.steal = self.counts(), kdtest.steal_ns() - self.steal
        status = self.child.wait()
        self.test.eq((status, self.child.stderr), (0, ""), f"{name}: a sample is taken")
        self.ran, self.ready = ({tid: now[at] - self.before[tid][at] for tid, now in after.items()
                                 if tid in self.before} for at in (0, 1))
        self.json = json.loads(self.path.read_text())
        self.text = self.child.stdout[self.child.stdout.index("# Sample dump"):]
        self.start, self.stop = (self.json["window"][key] for key in ("start_ns", "end_ns"))
        joined = re.sub(r"\n {8}", " ", self.text)
        # The hypervisor may be a true culprit at any time, and is none that a test has staged.
        # Nor are the test and the program, which in a machine of one CPU have to take that.
        others = ["hypervisor", *(f"on which {name}[" for name in OWN_PROGRAMS)]
        self.verdict = [line for line in re.findall(r"^VERDICT (.*)$", joined, re.MULTILINE)
                        if not any(other in line for other in others)]
        self.blamed = [row for row in self.json["verdict"] if row["cause"] != "stolen" and
                       (row["cause"] != "task" or row["who"].get("comm") not in OWN_PROGRAMS)]

    def inside(self, waits):
        """The part of logged waits that lies in the window."""
        return sum(max(0, min(wait[-1], self.stop) - max(wait[0], self.start)) for wait in waits)

    def logged(self, log):
        """The sum of logged steps that lie in the window."""
        return sum(ns for at, ns in enumerate(log["steps"])
                   if self.start <= log["from"] + at * MS < self.stop)


def watch(test, targets, seconds, while_open=None):
    """{name: Screen} of {name: workload}, taken at the same time; seconds None: for as long as
    while_open() takes."""
    screens = {name: Screen(test, load.pid, seconds or PATIENCE)
               for name, load in targets.items()}
    for screen in screens.values():
        screen.opened()
    if while_open:
        while_open()
    for screen in () if seconds else screens.values():
        screen.child.signal(signal.SIGINT)
    for name, screen in screens.items():
        screen.end(name)
    return screens


def check_first(test, name, screen, causes, *words):
    """The first that is blamed, which has to be of one of these causes, and in words."""
    got = [row["cause"] for row in screen.blamed]
    if not test.ok(got and got[0] in causes, f"{name}: the first one is {' or '.join(causes)}",
                   screen.text, got):
        return None
    test.ok(all(word in screen.verdict[0] for word in words), f"{name}: in words", *screen.verdict)
    return screen.blamed[0]


def bounds(screen, truth, lost=0):
    """Within 3 points of the busy time, or 10 % of the truth, which may have lost some of it to
    others who had the CPU, and to the hypervisor. In a machine of one CPU, where the test itself
    is among these, twice as much."""
    slack = max(0.03 * screen.json["busy_ns"], 0.1 * truth) + (kdtest.SLACK - 1) * 2 * MS
    slack *= 2 if kdtest.one_cpu() else 1
    return truth - slack - lost - screen.steal, truth + slack


def check_share(test, name, screen, ns, truth, lost=0):
    return test.between(ns, *bounds(screen, truth, lost), f"{name}: as long as it was")
