# SPDX-License-Identifier: Apache-2.0
"""The cost of an event when the target is the process itself, or 64 or 1,000 processes; and the
cost of an event of a process outside the target: by the load's own clock, in turns."""

import contextlib
import subprocess

from benchlib import LOAD_CPU, LONG, QUICK, Load, kernel_delay

ROUNDS, SLICES, SLICE_MS = (2, 10, 10) if QUICK else (3, 20, 10)
COUNTS = (1, 64, 1000)
KINDS = ("getppid", "pingpong")


@contextlib.contextmanager
def sleepers(count):
    """PIDs of so many idle processes."""
    made = []
    try:
        made = [subprocess.Popen(["sleep", "infinity"]) for _ in range(count)]
        yield [process.pid for process in made]
    finally:
        for process in made:
            process.kill()
        for process in made:
            process.wait()


def ns_each(load, pids):
    """{load: ns each} in the cheapest slice, while these processes are the target."""
    with contextlib.ExitStack() as stack:
        if pids:
            process = stack.enter_context(
                kernel_delay(",".join(map(str, pids)), "--sample-time", LONG))
            process.line(b"# Start sampling")
        return {kind: min(load.ns_each(kind, SLICE_MS) for _ in range(SLICES)) for kind in KINDS}


def measure(table):
    table.section("several processes as one target: what an event costs")
    with Load() as load, sleepers(max(COUNTS)) as others:
        targets = {f"target of {count:,}": [load.pid, *others[:count - 1]] for count in COUNTS}
        # Not the target: 64 other processes are.
        targets["not one of a target of 64"] = others[:64]
        rounds = [{name: ns_each(load, pids) for name, pids in {"absent": [], **targets}.items()}
                  for _ in range(ROUNDS)]
    for kind in KINDS:
        for name in targets:
            table.row(f"  {kind} on CPU {LOAD_CPU}, {name}: added",
                      [each[name][kind] - each["absent"][kind] for each in rounds], "ns")
        for count in COUNTS[1:]:
            table.row(f"  {kind}, of {count:,} to one process",
                      [each[f"target of {count:,}"][kind] / each["target of 1"][kind]
                       for each in rounds], "")
