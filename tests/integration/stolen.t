#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""The time that the hypervisor takes from a virtual machine, against the kernel's own counts of it:
those of /proc/stat, and the gaps noticed by a thread that reads the clock all the time."""

import json
import os
import pathlib
import re


import kdreport
import kdtest
from kdtest import MS, SECOND

TICK = SECOND // os.sysconf("SC_CLK_TCK")  # of /proc/stat
SWITCH = 40_000  # ns
US = 1000
NOTE = "does not show what the hypervisor takes"


def has_clock():
    """Whether the kernel has reported stolen time since boot."""
    return kdtest.steal_ns() > 0


def is_virtual():
    return re.search(r"^flags\s*:.*\bhypervisor\b", pathlib.Path("/proc/cpuinfo").read_text(),
                     re.MULTILINE)


def sample_of(test, load, seconds, *options):
    """A report and its sample. The condition is true if there is stolen time."""
    path = test.directory() / "sample.json"
    done = test.program("-p", load.pid, "--sample-time", seconds, "-o", "text", "--full",
                        "-o", f"json:{path}", "--fail-if", "stolen.total>=1us", *options)
    report, sample = kdreport.parse(done.stdout)[0], json.loads(path.read_text())
    test.books(report)
    stolen = [thread["ledger"]["stolen_ns"] for thread in sample["threads"]]
    test.eq(done.status, 4 if max(stolen) >= US else 0, "the condition")
    test.eq([thread.ns["stolen by hypervisor"] for thread in report.threads], stolen,
            "text and JSON have the same")
    return report, sample


def stolen_of(thread):
    """Time stolen from a thread that never sleeps, and from whoever had the CPU while it waited."""
    ready = {row["kind"]: row["woken_ns"] + row["preempted_ns"] for row in thread["ready_by"]}
    return (thread["ledger"]["stolen_ns"] + ready.get("stolen", 0),
            ready.get("unexplained", 0))


def bounds_of(log, window):
    """How much the CPU's count has grown inside the window, and around it. A count is only up to
    date at ticks, so the readings next to the edges are excluded from the former and included in
    the latter."""
    before = [ticks for _, to, ticks in log if to <= window["start_ns"]]
    inside = [ticks for start, to, ticks in log
              if start >= window["start_ns"] and to <= window["end_ns"]]
    after = [ticks for start, _, ticks in log if start >= window["end_ns"]]
    least = inside[-2] - inside[1] - 1 if len(inside) > 3 else 0
    most = after[min(1, len(after) - 1)] - before[max(0, len(before) - 2)] + 1
    return max(least, 0) * TICK, most * TICK


def case_counts(test):
    """Threads that never sleep, one on each CPU: time stolen from a CPU is stolen from its thread,
    or from the threads that it waits for."""
    if not has_clock():
        raise kdtest.Skip("nothing has ever been stolen here")
    load = test.workload("stolen", *sorted(os.sched_getaffinity(0)))
    report, sample = sample_of(test, load, 4)
    log = load.logs()
    load.end()
    found = certain = 0
    for thread in sample["threads"]:
        if thread["tid"] not in log:
            continue
        least, most = bounds_of(log[thread["tid"]], sample["window"])
        got, unexplained = stolen_of(thread)
        # Of a switch that the kernel hides a tick is missing, or the beginning of a wait.
        hidden = unexplained + sample.get("resynced", 0) * TICK
        test.between(got, least - hidden, most,
                     f"{got / MS:.1f} ms, as /proc/stat says: {least / MS:.0f} to {most / MS:.0f}")
        ledger = thread["ledger"]
        ran = sum(ledger[f"{state}_ns"] for state in (
            "user", "kernel", "page_fault", "reclaim", "hardirq", "softirq"))
        # Else all that was stolen from it, but for what may have been around the edges. At a switch
        # the kernel may take the clock of some microseconds ago.
        switches = thread["involuntary_switches"] * SWITCH
        test.between(ran - ledger["sum_exec_runtime_ns"], -ran, most - least + 2 * TICK + switches,
                     "the kernel does not count it as run time, either")
        found += got
        certain += least - unexplained
    test.ok(not any(NOTE in notice for notice in report.notices), "no note says it is not known")
    certain -= sample.get("resynced", 0) * TICK
    test.ok(found >= certain, f"{found / MS:.1f} ms of at least {certain / MS:.1f} ms")
    if certain <= 0:
        raise kdtest.Skip("too little was stolen meanwhile to tell that it is not missed")


def case_interruptions(test):
    """Time stolen from a thread shows up as one gap in it or several: between two readings of the
    kernel's count, the first of which may be a tick old."""
    if not has_clock():
        raise kdtest.Skip("nothing has ever been stolen here")
    load = test.workload("gaps", kdtest.last_cpu(), 5, 2 * US)
    _, sample = sample_of(test, load, 2, "--interruptions=20us")
    gaps = load.ask("log")["gaps"]
    rows = [row for row in sample["interruptions"] if row["cause"] == "stolen"]
    felt = [sum(max(0, min(until, row["until_ns"]) - max(since, row["since_ns"] - TICK))
                for since, until in gaps) for row in rows]
    short = [(row, gap) for row, gap in zip(rows, felt) if gap < 0.9 * row["ns"] - 10 * US]
    test.ok(not short, f"the thread felt all {len(rows)}", *short[:3])
    thread = kdtest.thread_of(sample, int(load.ready[0]))
    sums = thread["interruptions"].get("stolen", {"total_ns": 0})
    test.ok(sums["total_ns"] >= sum(row["stolen_ns"] for row in rows), "they are in the sums", sums)
    edges = thread.get("stolen", {"max_ns": 0})["max_ns"]
    test.between(sums["total_ns"], thread["ledger"]["stolen_ns"] - 2 * edges - TICK,
                 thread["ledger"]["stolen_ns"] + TICK, "which are the ledger's but for the edges")
    if not rows:
        raise kdtest.Skip("nothing was stolen meanwhile")


def case_no_clock(test):
    """Without a hypervisor there is nothing to report; otherwise a note, or the time."""
    load = test.workload("roles", "poll")
    report = test.capture(load.pid).close(test)
    noted = any(NOTE in notice for notice in report.notices)
    test.ok(not noted or (is_virtual() and not has_clock()), "a note only where it is missing",
            *report.notices)
    test.ok(not noted or not any(thread.ns["stolen by hypervisor"] for thread in report.threads),
            "and then nothing is shown")


kdtest.main(case_counts, case_interruptions, case_no_clock)
