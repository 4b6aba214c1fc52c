# SPDX-License-Identifier: Apache-2.0
"""Processes that take the CPU from others, with marks of how long they had it."""

import contextlib
import json
import os
import pathlib
import time

import kdtest
from kdgroup import throttled_ns
from kdtest import MS

RUN = 100 * MS  # of each who takes the CPU, so that the target waits for long enough


class Herd:
    """Processes that compute, with the part of a workload's interface that observe() uses."""

    def __init__(self, test, cpu, count):
        self.load = test.workload("hogs", cpu, count)
        self.pids = [int(pid) for pid in self.load.ready]

    def mark(self):
        start = time.monotonic_ns()
        ran = {pid: time.clock_gettime_ns(kdtest.cpu_clock(pid)) for pid in self.pids}
        return kdtest.Mark(start, ran, time.monotonic_ns())

    def send(self, word):
        self.load.send(word)


class KernelThread:
    """A kernel thread, with the part of a workload's interface that observe() uses."""

    def __init__(self, name):
        self.tid = None
        for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):  # it may have ended
                if path.read_text(errors="replace").strip() == name:
                    self.tid = int(path.parent.name)
        if self.tid is None:
            raise kdtest.Skip(f"there is no {name}")

    def mark(self):
        start = time.monotonic_ns()
        ran, _ = kdtest.schedstat(self.tid, self.tid)
        return kdtest.Mark(start, {self.tid: ran}, time.monotonic_ns())


class Quota:
    """The time for which a group was throttled, with the part of a workload's interface that
    observe() uses."""

    def __init__(self, group):
        self.group = group

    def mark(self):
        start = time.monotonic_ns()
        return kdtest.Mark(start, {self.group: throttled_ns(self.group)}, time.monotonic_ns())


def hog(test, *roles, wrapper=()):
    """Threads that take a CPU once observe() releases them."""
    return test.workload("roles", *(f"+{role}" for role in roles), wrapper=wrapper)


def hidden_ns():
    """The run time of threads that a kernel may hide from tracing, on the machine where such a kernel
    was seen: those of process 1, including ended ones, and of the programs that it runs from memory
    (memfd). Their time is charged to whoever had the CPU before."""
    pids = [1]
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(path / "exe").startswith("/memfd:"):
                pids.append(int(path.name))
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += time.clock_gettime_ns(kdtest.cpu_clock(pid))
    return total


def begin(load):
    """Releases a target's threads: afterwards they wait for the CPU, or have it."""
    load.send("begin")
    kdtest.wait_until(lambda: all(kdtest.state_of(load.pid, tid) == "R" for tid in load.tid("spin")))


def have_run(ran):
    return min(ran.values()) >= RUN


def sums(test, sample):
    """Time taken by other processes and by the target's own threads: each thread's sums are those
    of its rows, and the sample's are those of all threads. Returns them by TID."""
    both = {"taken_by_others_ns": lambda row: row["kind"] == "rest" or
            (row["kind"] == "task" and not row.get("own")),
            "taken_by_own_threads_ns": lambda row: row["kind"] == "own" or
            (row["kind"] == "task" and row.get("own"))}
    for key, is_of in both.items():
        for thread in sample["threads"]:
            test.eq(thread[key], total(filter(is_of, thread["ready_by"])), f"{key} of its rows")
        test.eq(sample[key], sum(thread[key] for thread in sample["threads"]), f"{key} of all")
    return {thread["tid"]: tuple(thread[key] for key in both) for thread in sample["threads"]}


def observe(test, target, *others, until=have_run, options=(), status=0, freeze=True):
    """A report on the target, and bounds of the run times of the others' threads: what they ran
    while all the target's threads waited for the CPU, and all that they may have run in the window.
    It ends when until() is true of the lower bounds. freeze: the processes are then stopped."""
    path = test.directory() / "sample.json"
    capture = test.capture(target.pid, "-o", "text", "-o", f"json:{path}", *options)
    hidden, asleep = hidden_ns(), [other.mark() for other in others]
    begin(target)
    before = [other.mark() for other in others]
    for other in others:
        if other is not target and hasattr(other, "send"):
            other.send("begin")
    after = []

    def happened():
        after[:] = [other.mark() for other in others]
        return until({tid: ran - first.cpu[tid] for first, last in zip(before, after)
                      for tid, ran in last.cpu.items()})
    kdtest.wait_until(happened)
    report = capture.close(test, status, stop={
        pid for load in (target, *others) for pid in getattr(load, "pids", [getattr(load, "pid", 0)])
        if pid and freeze})
    report.errors, report.path = capture.stderr, path
    test.books(report)
    sample = report.sample = next(json.loads(line) for line in path.open()
                                  if '"type":"sample"' in line)
    rows = {thread["tid"]: thread["ready_by"] for thread in sample["threads"]}
    taken, hidden = sums(test, sample), hidden_ns() - hidden
    for thread in report.threads:  # the report has five rows, JSON all
        thread.all = rows.get(thread.tid, [])
        thread.others, thread.own = taken.get(thread.tid, (0, 0))
        thread.hidden = hidden
    bounds = {}
    report.outside = max(0, sample["window"]["end_ns"] - min(last.start for last in after))
    for first, second, last in zip(asleep, before, after):
        for tid, ran in last.cpu.items():
            bounds[tid] = (ran - second.cpu[tid], ran - first.cpu[tid] + report.outside)
    return report, bounds


def of(thread, **wanted):
    return [row for row in thread.all
            if all(row.get(key) == value for key, value in wanted.items())]


def total(rows):
    return sum(row["woken_ns"] + row["preempted_ns"] for row in rows)


def named(test, thread, who, bounds, text, points=0.03, **properties):
    """Checks the row of a thread, or of another process, that took this thread's time: within 3
    points of the whole wait, or 10 % of what it ran. So a culprit with less need not have a row:
    among many others it may have lost it, and what it had until then is the rest's."""
    rows = of(thread, **who)
    least, most = bounds
    slack = max(thread.culprits.total * points, most * 0.1) + thread.hidden
    # Its time has the interrupts that took its CPU from it, which have rows of their own.
    lost = sum(total(of(thread, kind=kind)) for kind in ("rest", "softirq", "hardirq"))
    test.between(total(rows), least - slack - lost, most + slack, f"{text} has its time") or \
        test.remark(*thread.all)
    for row in rows:
        test.eq({key: row.get(key) for key in properties}, properties, "and is called by its name")
    return rows


TICK = 10 * MS  # at most
HIDDEN = 5 * MS  # a slice: some kernels hide the switches of other processes' threads, too


def unexplained(test, report, thread):
    """Where the kernel hid switches of the target, it is unknown who had the CPU before."""
    test.between(total(of(thread, kind="unexplained")), 0,
                 thread.culprits.total / 50 + 20_000 + HIDDEN * report.unreported,
                 "all but 2 % is explained")
