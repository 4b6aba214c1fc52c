# SPDX-License-Identifier: Apache-2.0
"""The cost that --interruptions adds to each interrupt, on a CPU with 20,000 per second: kernel
timers interrupt a thread that counts its turns in user mode. The extra time of an interrupt
lengthens the turns, compared with those without the program in the same round."""

import time

import attached
import interrupts
from benchlib import BUILD, LOAD_CPU, QUICK, Load, Process

ROUNDS, SLICES = (2, 5) if QUICK else (3, 8)
SLICE_MS = 20  # others that come to the CPU stay away from most of such a time
TIMERS, PERIOD_US = 2, 100
OPTION = "--interruptions"

CONDITIONS = {
    "absent": None,
    "kernel_delay recording": attached.start_recording,
    f"the same with {OPTION}": lambda load, _: attached.start_recording(load, _, OPTION),
    "absent again": None,  # drift of the machine is the same before and after
}


def storm():
    process = Process([BUILD / "workloads" / "staged", f"ticks:{LOAD_CPU}:{PERIOD_US}:{TIMERS}"])
    process.line(b"ready")
    process.send("go")
    process.line(b"{")
    return process


def measure_one(load, start):
    """ns per turn in the fastest slice, and interrupts per ns."""
    process = start(load, None) if start else None
    try:
        before, began = interrupts.counts()["local timer"], time.monotonic_ns()
        least = min(load.ns_each("probed", SLICE_MS) for _ in range(SLICES))
        came = interrupts.counts()["local timer"] - before
        return least, came / (time.monotonic_ns() - began)
    finally:
        if process:
            process.stop()


def bare(each):
    return (each["absent"][0] + each["absent again"][0]) / 2


def added(each, name):
    """ns per interrupt."""
    ns, came = each[name]
    return (1 - bare(each) / ns) / came


def measure(table):
    with Load() as load, storm():
        rounds = [{name: measure_one(load, start) for name, start in CONDITIONS.items()}
                  for _ in range(ROUNDS)]
    table.section(f"interrupts of a thread on CPU {LOAD_CPU}")
    table.row("interrupts", [each["absent"][1] * 1e9 for each in rounds], "/s", 0)
    names = list(CONDITIONS)[1:-1]
    table.say("  slowdown, in the same round")
    for name in names:
        table.row(f"  {name}", [each[name][0] / bare(each) for each in rounds], "x", 3)
    table.say("  added to each interrupt")
    for name in names:
        table.row(f"  {name}", [added(each, name) for each in rounds], "ns", 0)
