#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel with PREEMPT_RT: threads that do the work of interrupts use the CPU like others, and are
named. Their run times come from the kernel's own trace, as their schedstat includes the cost of
switching to them."""

import json
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdtest  # noqa: E402
from kdtest import MS  # noqa: E402

TRACING = pathlib.Path("/sys/kernel/tracing")
INSTANCE = TRACING / "instances" / "kdtest"
SWITCH = re.compile(r".* (\d+)\.(\d{6}): sched_switch: .*prev_pid=(\d+) .* next_pid=(\d+) ")
FILES = "usr/lib/x86_64-linux-gnu/*.so*"  # by virtio from outside: each read is interrupts
RUNS, PREEMPTIONS = 300, 12  # ms of one; how many there are
NAME = 15  # characters of a name that the kernel keeps


class Trace:
    """The kernel's trace of switches to and from threads of interrupts, with CLOCK_MONOTONIC."""

    def __init__(self, test):
        INSTANCE.mkdir()
        test.stack.callback(INSTANCE.rmdir)
        (INSTANCE / "trace_clock").write_text("mono")
        event = INSTANCE / "events" / "sched" / "sched_switch"
        (event / "filter").write_text('prev_comm ~ "irq/*" || next_comm ~ "irq/*"')
        (event / "enable").write_text("1")

    def runs(self, start, end):
        """{TID: ns} that each thread ran between two times."""
        (INSTANCE / "tracing_on").write_text("0")
        since, found = {}, {}
        for match in map(SWITCH.match, (INSTANCE / "trace").read_text(errors="replace").splitlines()):
            if not match:
                continue
            at, prev, following = int(match[1] + match[2]) * 1000, int(match[3]), int(match[4])
            if prev in since:
                ran = min(at, end) - max(since.pop(prev), start)
                found[prev] = found.get(prev, 0) + max(ran, 0)
            since[following] = at
        return found


def read_files(seconds):
    """Reads uncached files for some time."""
    until = time.monotonic() + seconds
    for path in pathlib.Path("/").glob(FILES):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("1")
        path.read_bytes()
        if time.monotonic() > until:
            break


def case_threads_of_interrupts(test):
    load, path = test.workload("roles", "spin:0"), test.directory() / "sample"
    trace = Trace(test)
    capture = test.capture(load.pid, "--full", "-o", "-", "-o", f"json:{path}")
    read_files(2)
    test.books(capture.close(test))
    sample = json.loads(path.read_text())
    thread = next(thread for thread in sample["threads"] if thread["tid"] == load.tid("spin")[0])
    ran = trace.runs(sample["window"]["start_ns"], sample["window"]["end_ns"])
    names = {int(file.parent.name): name for file in pathlib.Path("/proc").glob("[0-9]*/comm")
             if (name := file.read_text().strip()).startswith("irq/")}
    busiest = max(names, key=lambda tid: ran.get(tid, 0))
    rows = {row["tid"]: row for row in thread["ready_by"] if "tid" in row}
    test.ok(busiest in rows, f"{names[busiest]} had the CPU", rows, ran)
    row = rows.get(busiest, {})
    test.eq([row.get(key) for key in ("name", "policy", "kernel")],
            [names[busiest][:NAME], "SCHED_FIFO", True], "and is named as what it is")
    # Interrupts that come meanwhile are listed as such.
    test.between(row.get("preempted_ns", 0), ran[busiest] * 0.85, ran[busiest] * 1.05,
                 "for as long as it ran")


def case_interrupted_softirq(test):
    """A thread that sends handles its packets in softirqs of its own, in which it may lose its CPU:
    time off the CPU does not count as theirs."""
    load = test.workload("roles", f"fifo:0:{RUNS}:{2 * RUNS}", "udp:1000000000:0")
    udp, waited = load.tid("udp")[0], 0
    capture = test.capture(load.pid)
    load.send("go")
    time.sleep(PREEMPTIONS * 2 * RUNS / 1000)
    report = capture.close(test)
    test.books(report)
    thread = report.thread(udp)
    test.ok(thread.tables["THREAD SWITCHES"].involuntary > PREEMPTIONS / 2,
            "it was kept from its CPU", thread.tables)
    test.ok(thread.softirqs["net_rx"].count > 1000, "and received packets", thread.softirqs)
    test.between(thread.softirqs["net_rx"].max, 0, RUNS * MS / 2, "of which none took so long")


kdtest.main(case_threads_of_interrupts, case_interrupted_softirq)
