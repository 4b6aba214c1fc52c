# SPDX-License-Identifier: Apache-2.0
"""Interprocessor interrupts on the CPU of a target that never sleeps: the difference between a
window, including its opening, closing and report, and an equally long idle time before it, both
with the tool attached."""

import pathlib
import re
import time

from benchlib import CPUS, LOAD_CPU, QUICK, Load, kernel_delay

PAIRS = 4 if QUICK else 10
SAMPLE, INTERVAL = 0.28, 0.6  # seconds
LENGTH = 0.4  # of each time watched
AFTER_REPORT = 0.15  # from one sample's end to the next idle time

KINDS = {
    "call-function": re.compile(r"CAL:|IPI\d+:.*Function call"),
    "reschedule": re.compile(r"RES:|IPI\d+:.*Rescheduling"),
    "TLB": re.compile(r"TLB:"),
    "local timer": re.compile(r"LOC:|.*arch_timer"),
}
GOALS = {"call-function": 0, "reschedule": 0, "TLB": 0}


def counts():
    """Interrupts so far on the load's CPU."""
    lines = pathlib.Path("/proc/interrupts").read_text().split("\n")
    column = 1 + lines[0].split().index(f"CPU{LOAD_CPU}")
    found = {}
    for line in lines[1:]:
        for kind, pattern in KINDS.items():
            if pattern.match(line.strip()):
                found[kind] = found.get(kind, 0) + int(line.split()[column])
    return found


def counts_at(moment):
    time.sleep(max(0.0, moment - time.monotonic()))
    return counts()


def difference(before, after):
    return {kind: after[kind] - before[kind] for kind in before}


def measure(table):
    pairs = []
    with Load() as load:
        load.begin("spin", 600_000)
        # The program itself must keep away from the target's CPU.
        with kernel_delay(load.pid, "--sample-count", PAIRS + 1, "--sample-time", f"{SAMPLE}s",
                          "--sample-interval", f"{INTERVAL}s", cpus=CPUS) as process:
            for _ in range(PAIRS):
                idle_from = process.line(b"# Stop sampling")[0] + AFTER_REPORT
                a = counts_at(idle_from)
                b = counts_at(idle_from + LENGTH)
                c = counts_at(idle_from + 2 * LENGTH)
                pairs.append((difference(a, b), difference(b, c)))
        load.kill()
    table.section(f"interrupts on the target's CPU in {LENGTH} s with a window of {SAMPLE} s, "
                  f"less those in {LENGTH} s without; {PAIRS} pairs")
    for kind in (kind for kind in KINDS if kind in pairs[0][0]):
        table.row(kind, [window[kind] - idle[kind] for idle, window in pairs], "", 0,
                  GOALS.get(kind))
        table.row("  in the time without a window", [idle[kind] for idle, _ in pairs], "", 0)
