# SPDX-License-Identifier: Apache-2.0
"""Staged delays: first screens of several processes at once, and whether the first that each
blames is the right one, with the right share.

Whoever else uses the machine is a true culprit, too. Those who take a CPU from the threads are
passed over where they are not what is staged: for no longer than the threads waited for one, or
were interrupted."""

import json
import os
import re
import signal

import kdtest
from kdtest import MS, PROGRAM

# So that hardly anyone is met but threads of real time, of other tests.
# In a machine of one CPU there is nobody else, and the program needs it, too.
BEFORE_OTHERS = () if kdtest.one_cpu() else ("chrt", "-f", "30")


OWN_PROGRAMS = ("kernel_delay", "python3") if kdtest.one_cpu() else ()
WAITED = ("ready_woken_ns", "ready_preempted_ns", "throttled_ns")
RAN = ("user_ns", "kernel_ns", "page_fault_ns", "reclaim_ns", "guest_ns",
       "hardirq_ns", "softirq_ns")
# Those who take a CPU; also each other's, where threads of other tests have the other one.
TAKERS = {"task", "own_threads", "rt_limit", "hardirq", "softirq"}


class Screen:
    """What the program says of a process while others are watched, too: started on construction,
    ready after end()."""

    def __init__(self, test, pid, seconds):
        self.test, self.pid = test, pid
        self.path = test.directory() / "sample.json"
        self.child = test.child([PROGRAM, "-p", pid, "--sample-time", seconds, "--summary", "-o",
                                 "text", "-o", f"json:{self.path}"])

    def opened(self):
        self.child.line("# Start sampling")
        self.steal = kdtest.steal_ns()

    def end(self, name):
        status = self.child.wait()
        self.steal = kdtest.steal_ns() - self.steal
        self.test.eq((status, self.child.stderr), (0, ""), f"{name}: a sample is taken")
        self.json = json.loads(self.path.read_text())
        ledgers = {thread["tid"]: thread["ledger"] for thread in self.json["threads"]
                   if "tid" in thread}
        # In the window; of the run time the kernel's own count.
        self.ready, self.busy = ({tid: sum(ledger.get(key, 0) for key in keys)
                                  for tid, ledger in ledgers.items()} for keys in (WAITED, RAN))
        self.ran = {tid: ledger.get("sum_exec_runtime_ns") or self.busy[tid]
                    for tid, ledger in ledgers.items()}
        self.late = {thread["tid"]: thread.get("overslept", {}).get("late_total_ns", 0)
                     for thread in self.json["threads"] if "tid" in thread}
        self.faults = {tid: ledger["page_fault_ns"] for tid, ledger in ledgers.items()}
        self.interrupted = sum(ledger["hardirq_ns"] + ledger["softirq_ns"]
                               for ledger in ledgers.values())
        # Who has a CPU has it in interrupts, too, which others' waits are not charged to it.
        self.besides = sum(row["woken_ns"] + row["preempted_ns"] for thread in self.json["threads"]
                           for row in thread.get("ready_by", ())
                           if row["kind"] in ("hardirq", "softirq", "stolen"))
        self.text = self.child.stdout[self.child.stdout.index("# Sample dump"):]
        self.start, self.stop = (self.json["window"][key] for key in ("start_ns", "end_ns"))
        joined = re.sub(r"\n {8}", " ", self.text)
        # The hypervisor may be a true culprit at any time, and is none that a test has staged.
        # Nor are the test and the program, which in a machine of one CPU have to take that.
        # Sentences without a culprit come where they are larger.
        others = ["hypervisor", " ran: user ", " unexplained: ", " outside system calls",
                  *(f"on which {name}[" for name in OWN_PROGRAMS)]
        self.verdict = [line for line in re.findall(r"^VERDICT (.*)$", joined, re.MULTILINE)
                        if not any(other in line for other in others)]
        self.blamed = [row for row in self.json["verdict"] if row["cause"] != "stolen" and
                       (row["cause"] != "task" or row["who"].get("comm") not in OWN_PROGRAMS)]

    def staged(self, fits):
        """The first row that fits, which may only be preceded by others who took a CPU for as long
        as the threads were without one, and those that waited for these meanwhile; and by late
        timers of an emulated machine; else the first row, or None."""
        took, most = 0, 2 * sum(self.ready.values()) + 1.1 * self.interrupted + MS
        for row in self.blamed:
            if fits(row):
                return row
            if kdtest.VM and row["cause"] == "timer":
                continue
            took += row["ns"]
            if row["cause"] not in TAKERS or took > most:
                break
        return self.blamed[0] if self.blamed else None

    def words(self, row):
        """The sentence of a row, if there is room for it."""
        largest, rows = self.json.get("largest_culprit"), self.blamed
        if largest:
            causes = {part["cause"] for part in largest["causes"]}
            rows = [None, *(each for each in rows if each["cause"] not in causes or
                            each["who"].get("comm") != largest["who"].get("comm"))]
        at = rows.index(row) if row in rows else len(self.verdict)
        return self.verdict[at] if at < len(self.verdict) else None

    def inside(self, waits):
        """The part of logged waits that lies in the window."""
        return sum(max(0, min(wait[-1], self.stop) - max(wait[0], self.start)) for wait in waits)

    def steps(self, log):
        """The logged steps that lie in the window."""
        return [ns for at, ns in enumerate(log["steps"])
                if self.start <= log["from"] + at * MS < self.stop]

    def logged(self, log):
        """The sum of the logged steps in the window."""
        return sum(self.steps(log))


def watch(test, targets, seconds, while_open=None, logs=False, stop=(), calm=()):
    """{name: Screen} of {name: workload}, taken at the same time; seconds None: for as long as
    while_open() takes. logs: the workloads' logs are fetched as soon as their windows are read; the
    test then knows a wait that ends before that as a wait. stop: other processes to stop when the
    windows are over. calm: threads to be deprived of their priority then. These would only slow
    down the ends of the runs."""
    screens = {name: Screen(test, load.pid, seconds or kdtest.PATIENCE)
               for name, load in targets.items()}
    for screen in screens.values():
        screen.opened()
    if while_open:
        while_open()
    for screen in () if seconds else screens.values():
        screen.child.signal(signal.SIGINT)
    for screen in screens.values():
        screen.child.line("# Stop sampling")
    for tid in calm:
        os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
    for load in stop:
        load.signal(signal.SIGSTOP)
    left = dict(screens)
    while left:
        over = kdtest.wait_until(lambda: [name for name in left
                                          if left[name].child.proc.poll() is not None])
        for name in over:
            left.pop(name).log = targets[name].ask("log") if logs else None
    for name, screen in screens.items():
        screen.end(name)
    return screens


def check_first(test, name, screen, causes, *words, who=None):
    """The first one blamed, which has to have one of these causes (and this process), and these
    words."""
    def fits(row):
        return row["cause"] in causes and who in (None, row["who"].get("pid"))
    row = screen.staged(fits)
    got = [row["cause"] for row in screen.blamed]
    if not test.ok(row and fits(row), f"{name}: the first one is {' or '.join(causes)}",
                   screen.text, got):
        return None
    said = screen.words(row)
    test.ok(said is None or all(word in said for word in words), f"{name}: in words",
            *screen.verdict)
    return row


def bounds(screen, truth, lost=0, most=None):
    """Within 3 points of the busy time, or 10 % of the truth, some of which may have gone to others
    who had the CPU, and to the hypervisor. On a machine with one CPU, where the test itself is one
    of these, twice as much. most: the upper end, where the truth is only known as a range."""
    most = truth if most is None else most
    slack = max(0.03 * screen.json["busy_ns"], 0.1 * truth) + (kdtest.SLACK - 1) * 2 * MS
    slack *= 2 if kdtest.one_cpu() else 1
    return truth - slack - lost - screen.steal, most + slack


def check_share(test, name, screen, ns, truth, lost=0, most=None):
    return test.between(ns, *bounds(screen, truth, lost, most), f"{name}: as long as it was") or \
        test.remark(*screen.blamed[:6])
