# SPDX-License-Identifier: Apache-2.0
"""The extra cost of events compared with another build of kernel_delay, given by BASE=PATH: both
watch the same process at the same time. Measured by the kernel's own count of the programs' run
time; which of the two is attached first changes from round to round."""

import contextlib
import os
import pathlib
import statistics

from benchlib import (BUILD, LOAD_CPU, LONG, QUICK, Load, Missing, Process, kernel_delay, names,
                      run_times)

BASE = os.environ.get("BASE")
ROUNDS, MS = (4, 100) if QUICK else (8, 300)
NOBODY = 0xFFFFFFFF  # no process has this number
FEWEST = 100  # events of a round that make a figure

NOTHING = 3  # ns that cannot be told from none
SWITCH = ("sched_switch",)
# what, threads that wait for the load's CPU (None: the load itself is watched), load,
# tracepoints whose programs are added up, by how much that may be more
BUDGETS = (
    ("switch of others, nobody waits", 0, "pingpong", SWITCH, 10),
    ("switch of others, one thread waits", 1, "pingpong", SWITCH, 120),
    ("switch of others, eight threads wait", 8, "pingpong", SWITCH, 350),
    ("wake-up", None, "pingpong", ("sched_waking", "sched_wakeup"), 35),
    ("switch to or from a futex wait", None, "futex", SWITCH, 120),
    ("getppid", None, "getppid", ("sys_enter", "sys_exit"), NOTHING),
)


class Waiters(Process):
    """Threads that wait for the load's CPU: they get it only when nobody else wants it."""

    def __init__(self, count):
        roles = [f"spin:{LOAD_CPU}"] * count or ["poll"]
        super().__init__([BUILD / "workloads" / "roles", *roles])
        self.line(b"ready")
        for path in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            os.sched_setscheduler(int(path.name), os.SCHED_IDLE, os.sched_param(0))


def start(stack, variant, pid):
    """variant: the path of a program (None: this one), and its options."""
    program, *options = variant
    if program:
        process = Process([program, "-p", pid, "--sample-time", LONG, *options])
    else:
        process = kernel_delay(pid, "--sample-time", LONG, *options)
    stack.enter_context(process).line(b"# Start sampling")
    return process


def each(before, after, tracepoints):
    """ns per event, summed over the tracepoints."""
    total = 0
    for name in tracepoints:
        ns, runs = (now - then for now, then in zip(after[name], before[name]))
        if runs < FEWEST:
            raise Missing(f"{name} was hit only {runs} times")
        total += ns / runs
    return total


def measure_round(number, waiters, kind, tracepoints, variants):
    """ns of each of two variants."""
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(Load())
        # Counts for nothing, and switches counting on.
        stack.enter_context(Process([BUILD / "bench" / "floor", NOBODY])).line(b"ready")
        target = load if waiters is None else stack.enter_context(Waiters(waiters))
        order = variants if number % 2 else variants[::-1]
        running = {variant: start(stack, variant, target.pid) for variant in order}
        name_of = names()
        before = {variant: run_times(running[variant].pid, name_of) for variant in order}
        load.run(kind, MS)
        return [each(before[variant], run_times(running[variant].pid, name_of), tracepoints)
                for variant in variants]


def both_orders(figures):
    """Means of two rounds in both orders: the first to be attached also warms the caches."""
    return [(one + other) / 2 for one, other in zip(figures[::2], figures[1::2])]


def measure(table):
    table.section("BPF run time per event, beside that of BASE")
    if not BASE:
        raise Missing("BASE=PATH names no other build of kernel_delay to compare with")
    for what, waiters, kind, tracepoints, goal in BUDGETS:
        rounds = [measure_round(number, waiters, kind, tracepoints, ((BASE,), (None,)))
                  for number in range(ROUNDS)]
        old = statistics.median(base for base, _ in rounds)
        table.row(what, [new for _, new in rounds], "ns")
        table.row(f"  more than BASE's {old:.1f}",
                  both_orders([new - base for base, new in rounds]), "ns", 0, goal, what)
