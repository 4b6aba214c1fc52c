# SPDX-License-Identifier: Apache-2.0
"""Incidents in real programs: each is staged, its truth comes from the program or the kernel, and
one report is compared with it, once by cause and once by name.

An incident is a function that takes a kdtest.Test, stages it and returns a Staged. main() runs
them. What is known to be wrong is in the file `known`, with why: such a result passes while it is
wrong, and fails once it is right, so that its line is removed. `table` prints all results."""

import dataclasses
import json
import os
import pathlib
import re
import sys
import time
import types
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import kdgroup    # pylint: disable=wrong-import-position
import kdtest     # pylint: disable=wrong-import-position
from kdtest import MS, PROGRAM  # pylint: disable=wrong-import-position

KNOWN = HERE / "known"
RESULTS = kdtest.ROOT / "build" / "tests" / "incidents"
SAMPLE = 1.0   # seconds
POINTS = 0.05  # by which a share may differ from the truth
FLOOR = 0.02   # share of the window below which nobody is accused of anything
PATIENCE = 60  # seconds for a sample
# Who take a CPU from a thread. Others on the machine may do so at any time, and are then true
# culprits: they are passed over, for no longer than the threads waited for a CPU by schedstat.
TAKERS = {"task", "own_threads", "idle_cpu", "hardirq", "softirq", "stolen"}
NOBODY = ()
# What starts a program outside of the group that main() makes for all. In one of version 1 no thread
# may be of real time, unless its limit says so.
OUTSIDE = ("sh", "-c", f'! [ -d {kdgroup.CPU} ] || echo $$ >{kdgroup.CPU}/cgroup.procs; exec "$@"', "sh")
# Causes that are no row: it ran; nobody is blamed; nothing explains most of it.
RAN, NOTHING, UNEXPLAINED = "ran", "nothing", "unexplained"


@dataclasses.dataclass
class Staged:
    """An incident as it is staged."""
    pid: object    # the process to look at, or several
    truth: str     # in words, for the table
    causes: set    # keys of the report's verdict that are right
    who: tuple     # names that are right: (comm, PID or TID), or a text that the sentence has
    # How long it took between two times of CLOCK_MONOTONIC, summed over the threads that it kept, ns:
    # as these log it, with what they waited for a CPU; or a pair of bounds without that. None: the
    # program does not tell.
    took: typing.Optional[typing.Callable] = None
    threads: int = 1  # that are kept, for the share
    args: tuple = ("--sample-time", str(SAMPLE))  # for the program
    holds: typing.Callable = lambda: True  # whether it is staged, asked before and after the sample
    meanwhile: typing.Optional[typing.Callable] = None  # called when it is watched


# --- Truth ---

# The beginning of a script that is a part of an incident; what it waits for, it logs.
PRELUDE = """
import os, sys, time
def name(text):
    open("/proc/self/comm", "w").write(text)
def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
class waiting:
    def __enter__(self): print("began", time.monotonic_ns(), flush=True)
    def __exit__(self, *_): print("ended", time.monotonic_ns(), flush=True)
def ready(*words):
    print("ready", *words, flush=True)
"""


class Script(kdtest.Child):
    """A part of an incident, in Python, by its text; constructed once it says that it is ready."""

    def __init__(self, test, text, *args, wrapper=(), **options):
        super().__init__([*wrapper, sys.executable, "-c", PRELUDE + text, *args], **options)
        test.start(self)
        self.words = self.line("ready", PATIENCE).split()[1:]


def logged(child):
    """How much of the time between two moments a process was waiting, by the lines "began NS" and
    "ended NS" that it prints: a function."""
    def took(start, stop):
        total, began = 0, None
        for word, at in re.findall(r"^(began|ended) (\d+)$", child.stdout, re.MULTILINE):
            if word == "began":
                began = int(at)
            elif began is not None:
                total += max(0, min(stop, int(at)) - max(start, began))
                began = None
        return total + (max(0, stop - max(start, began)) if began is not None else 0)
    return took


def throughout(start, stop):
    """It lasts from edge to edge."""
    return stop - start


def threads_ran(*pids):
    """{(PID, TID): (run time, time ready)} by schedstat, ns."""
    found = {}
    for pid in pids:
        for tid in kdtest.threads_of(pid):
            try:
                found[pid, tid] = kdtest.schedstat(pid, tid)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def settles(pid, *functions):
    """Returns once a process sleeps in one of these kernel functions."""
    kdtest.wait_until(lambda: any(kdtest.waits_in(pid, function) for function in functions), PATIENCE)


def holders(path):
    """PIDs of those who have a lock of a file, by /proc/locks: not of those who wait for one."""
    return {int(pid) for pid in re.findall(
        rf"^\d+: \w+ +\w+ +\w+ +(\d+) \w+:\w+:{os.stat(path).st_ino} ",
        pathlib.Path("/proc/locks").read_text(), re.MULTILINE)}


# --- Report ---

class Report:
    """One sample: what it says first, and whom it blames."""

    def __init__(self, test, staged):
        pids = staged.pid if isinstance(staged.pid, (list, tuple, set)) else [staged.pid]
        path = test.directory() / "sample.json"
        before = threads_ran(*pids)
        child = test.child([PROGRAM, "-p", ",".join(map(str, pids)), "--summary", *staged.args,
                            "-o", "text", "-o", f"json:{path}"])
        if staged.meanwhile:
            if any(arg.startswith(("--start-trigger", "--long-poll")) for arg in staged.args):
                kdtest.wait_until(lambda: "armed @" in child.stderr or child.proc.poll() is not None,
                                  PATIENCE)
            else:
                child.line("# Start sampling", PATIENCE)
            staged.meanwhile()
        status = child.wait(PATIENCE)
        after = threads_ran(*pids)
        if status:
            raise RuntimeError(f"kernel_delay ended with {status}: {child.stderr}")
        self.json = kdtest.samples_of(path)[0]
        window = self.json["window"]
        self.start, self.stop = window["start_ns"], window["end_ns"]
        self.window = self.stop - self.start
        self.ready = sum(ready - before.get(thread, (0, 0))[1]
                         for thread, (_, ready) in after.items())
        self.text = child.stdout[max(0, child.stdout.find("# Sample dump")):]
        joined = re.sub(r"\n {8}", " ", self.text)
        self.sentences = re.findall(r"^VERDICT (.*)$", joined, re.MULTILINE)
        self.said = self.sentences[0] if self.sentences else ""
        self.rows = self.json["verdict"]
        self.largest = self.json.get("largest_culprit")
        self.unexplained = self.json["unexplained_ns"]
        self.ran = self.json["busy_ns"] - self.json["kept_ns"]

    def others(self, staged):
        """Rows that are none of the incident: those who took a CPU for no longer than the kernel
        says that the threads waited for one."""
        # The kernel does not count the waiting of who is preempted on the way to sleep.
        passed, left = [], 1.2 * self.ready + MS
        for row in self.rows:
            if row["cause"] in TAKERS - staged.causes and row["ns"] <= left:
                left -= row["ns"]
                passed.append(row)
        return passed

    def first(self, staged):
        """What comes first: a row, or RAN, NOTHING or UNEXPLAINED."""
        others = self.others(staged)
        rows = [row for row in self.rows if row not in others]
        if self.largest and {part["cause"] for part in self.largest["causes"]} & \
                {row["cause"] for row in rows}:
            rows.insert(0, self.largest)
        ns = rows[0]["ns"] if rows else 0
        if RAN in staged.causes and self.ran >= max(ns, self.unexplained):
            return RAN
        taken = max((row["ns"] for row in others), default=0)
        if self.unexplained > max(ns, taken, FLOOR * self.window, MS):
            return UNEXPLAINED
        if not rows or "nothing kept it from running" in self.said.lower():
            return NOTHING
        return rows[0]


def cause_of(first):
    """The causes of what comes first."""
    if isinstance(first, str):
        return {first}
    return {first["cause"]} if "cause" in first else {first["causes"][0]["cause"]}


def share_is_right(staged, report, first):
    """Whether it has the share of the window that is true, where that is known."""
    if not staged.took:
        return True, ""
    truth = staged.took(report.start, report.stop)
    # What it logs as waiting ends when it has a CPU again.
    least, most = truth if isinstance(truth, tuple) else (truth - report.ready, truth)
    if isinstance(first, str):
        ns = report.ran if first == RAN else 0
    else:  # of all who did this, where it was now one, now another
        others = report.others(staged)
        ns = sum(row["ns"] for row in report.rows if row["cause"] in staged.causes and row not in others)
    of = report.window * staged.threads
    words = f"{ns / of:.1%} of the window, in truth {least / of:.1%}" + \
        (f" to {most / of:.1%}" if most != least else "")
    return least / of - POINTS <= ns / of <= most / of + POINTS, words


def name_is_right(staged, report, first):
    """Whether the first sentence, or its row, names one of those who did it; if nobody did,
    whether it accuses nobody."""
    if not staged.who:
        return not any(row["who"] for row in accused(staged, report))
    is_row = not isinstance(first, str)
    who = first["who"] if is_row else {}
    at = first.get("at", {}).get("what", "") if is_row else ""
    for name in staged.who:
        if isinstance(name, tuple):
            comm, number = name
            if f"{comm}[{number}]" in report.said or number in (who.get("pid"), who.get("tid")):
                return True
        elif name in report.said or name == who.get("comm") or name in at:
            return True
    return False


def accused(staged, report):
    """Those whom a report of a healthy process blames above the floor."""
    others = report.others(staged)
    return [row for row in report.rows if row not in others and
            row["ns"] > max(FLOOR * report.window, MS)]


# --- Judgement ---

AT_TIMES = "at times: "  # a reason of one that may be right, too


def known():
    """{(incident, result): why} of results that are wrong for the time being."""
    found = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            name, result, why = line.split(None, 2)
            found[name, result] = why
    return found


def check(test, name, result, right, *remarks):
    why = known().get((name, result))
    if why is None:
        test.ok(right, result, *remarks)
    elif right and not why.startswith(AT_TIMES):
        test.ok(False, f"{result} is right now: remove its line from {KNOWN.name}", why)
    else:
        test.ok(True, f"{result}, known to be wrong: {why}", *remarks)


def judge(test, name, staged):
    began = time.monotonic()
    if not staged.holds():
        raise RuntimeError("it is not staged")
    report = Report(test, staged)
    if not staged.holds():
        raise RuntimeError("it did not last")
    first = report.first(staged)
    share, words = share_is_right(staged, report, first)
    cause = bool(cause_of(first) & staged.causes) and share
    if NOTHING in staged.causes:  # it is healthy
        blamed = accused(staged, report)
        cause = first != UNEXPLAINED and not blamed
        words = ", ".join(f"{row['cause']} {row['ns'] / MS:.1f} ms" for row in blamed)
    named = name_is_right(staged, report, first)
    remarks = (f"truth: {staged.truth}", f"said: {report.said}",
               f"first: {' '.join(cause_of(first))} {words}", *report.rows[:3])
    check(test, name, "cause", cause, *remarks)
    check(test, name, "name", named, *remarks)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(
        {"family": pathlib.Path(sys.argv[0]).stem, "incident": name, "truth": staged.truth,
         "said": report.said, "cause": cause, "name": named, "share": words,
         "first": sorted(cause_of(first)), "seconds": time.monotonic() - began}))


def case_of(function):
    def case(test):
        (RESULTS / f"{function.__name__}.json").unlink(missing_ok=True)
        with kdtest.RealTime.alone():  # no other test's threads of real time have the CPUs
            judge(test, function.__name__, function(test))
    case.__name__ = f"case_{function.__name__}"
    return case


def main(*functions):
    """Runs incidents, each a case. All that they start gets more of the CPUs than others do who use
    them at the same time, and who would be the largest culprit."""
    with kdgroup.heavy_group() as join:
        join(types.SimpleNamespace(pid=os.getpid()))
        kdtest.main(*map(case_of, functions))
