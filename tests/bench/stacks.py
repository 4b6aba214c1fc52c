# SPDX-License-Identifier: Apache-2.0
"""The cost of stacks: to the target for each one taken, and for calls that are not slow; to this
program for each one resolved; and at the start of a run."""

import contextlib
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from benchlib import (BUILD, LOAD_CPU, LONG, QUICK, Load, Missing, Process, kernel_delay, names,
                      run_times)
from programs import NOBODY

KB = 1024
PERIOD, CALLS = 1_000_000, 100 if QUICK else 400  # ns between two recorded calls, and how many
SLEEP = 100_000  # ns
COST_ROUNDS = 2 if QUICK else 3
TRIES = 5
BELOW_ROUNDS, BELOW_MS = (3, 100) if QUICK else (4, 300)
BELOW_GOAL = 1.1
UNWIND_ROUNDS = 3 if QUICK else 9
BATCH = 250
UNWIND_GOAL = 20  # us
ATTACH_ROUNDS = 4 if QUICK else 11
OBJECTS, ATTACH_GOAL = 20, 100  # ms
FULL = 127 * KB  # what of 128 KB a stack can fill, which begins within a page


class StackLoad(Process):
    """tests/bench/stack_load.c on the last CPU."""

    def __init__(self, *mapped):
        super().__init__([BUILD / "bench" / "stack_load", LOAD_CPU, *mapped])
        self.line(b"ready")

    def run(self, kind, *numbers):
        """Returns the load's own measurement."""
        self.send(" ".join(map(str, (kind, *numbers))))
        return [float(number) for number in self.line()[1].split()]


def recording(load, *options):
    process = kernel_delay(load.pid, "--sample-time", LONG, *options)
    process.line(b"# Start sampling")
    return process


class Lost(Exception):
    """Records were lost because the reader did not get enough CPU time: lost ones cost less."""


def end_complete(process):
    """Ends the window."""
    process.proc.send_signal(signal.SIGINT)
    report = process.rest().decode(errors="replace")
    lost = re.search(r"^# WARNING: (.*missing in the lists)", report, re.MULTILINE)
    if lost:
        raise Lost(lost[1])


# --- What a recorded call costs ---

RECORDED = ("-s", "0", "-e", "getppid,clock_nanosleep", "--stack-trace-size=overhead=0")
NO_STACKS = "record without stacks"
KERNEL_STACK = "record with the kernel stack"
NO_RECORD = "no record"


def cost_kinds():
    """{title: (what the load does, bytes of its stack, options)}"""
    kinds = {
        NO_RECORD: ("calls", 4 * KB, ()),
        NO_STACKS: ("calls", 4 * KB, (*RECORDED, "--stack-trace-size", "0")),
        KERNEL_STACK: ("calls", 4 * KB, (*RECORDED, "--stack-trace-size=user-bytes=0")),
    }
    for size in (4, 16, 64, 128):
        kinds[f"and {size} KB of a stack of 160 KB"] = (
            "calls", 160 * KB, (*RECORDED, f"--stack-trace-size=user-bytes={size}K"))
    for size in (4 * KB, 16 * KB, 64 * KB, FULL):
        kinds[f"and a whole stack of {size // KB} KB"] = ("calls", size, RECORDED)
    return kinds


def wait_kinds():
    return {
        NO_RECORD: ("waits", 4 * KB, ()),
        NO_STACKS: ("waits", 4 * KB, (*RECORDED, "--stack-trace-size", "0")),
        KERNEL_STACK: ("waits", 4 * KB, (*RECORDED, "--stack-trace-size=user-bytes=0")),
        "and a whole stack of 16 KB": ("waits", 16 * KB, RECORDED),
    }


def cost_try(load, kind, size, options):
    period = PERIOD if kind == "calls" else SLEEP
    with recording(load, *options) as process:
        load.run(kind, size, 20, period)
        name_of = names()
        before = run_times(process.pid, name_of)
        each = load.run(kind, size, CALLS, period)[0]
        after = run_times(process.pid, name_of)
        end_complete(process)
    # No more than what the calls are seen by: other processes make events, too.
    shown = ("sys_exit",) if kind == "calls" else ("sys_exit", "sched_switch", "sched_waking")
    spent = sum(after[name][0] - before[name][0] for name in shown)
    return each, spent / CALLS


def cost_once(load, kind, size, options):
    """ns per call: as the load measures it, and of the programs by the kernel's count."""
    for _ in range(TRIES):
        try:
            return cost_try(load, kind, size, options)
        except Lost as error:
            lost = error
    raise Missing(f"{lost}, {TRIES} times")


def print_cost(table, rounds, kinds, number):
    for title in list(kinds)[1:]:
        table.row(f"  {title}", [each[title][number] - each[NO_RECORD][number]
                                 for each in rounds], "ns", 0)


def measure_cost(table):
    kinds, waits = cost_kinds(), wait_kinds()
    rounds, wait_rounds = [], []
    with StackLoad() as load, Process([BUILD / "bench" / "floor", NOBODY]) as floor:
        floor.line(b"ready")
        for _ in range(COST_ROUNDS):
            rounds.append({title: cost_once(load, *how) for title, how in kinds.items()})
            wait_rounds.append({title: cost_once(load, *how) for title, how in waits.items()})
    table.section(f"ns per recorded call, net of time mode; a call every {PERIOD // 1000} us")
    table.say("  a call that did not wait: BPF run time")
    print_cost(table, rounds, kinds, 1)
    table.say("  the same, by the caller's clock: the median of the calls")
    print_cost(table, rounds, kinds, 0)
    table.say(f"  a call that slept {SLEEP // 1000} us: BPF run time, at its switches and its end")
    print_cost(table, wait_rounds, waits, 1)


# --- What a call below the threshold costs ---

WHILE_RECORDING = ("--sample-time", LONG)
BETWEEN = ("--sample-time", "1ms", "--sample-interval", LONG, "--sample-count", 2)

# {title: (line that tells that it is there, options, title of what it is compared with)}
BELOW = {
    "time mode": (b"# Start", WHILE_RECORDING, None),
    "with -s 1s": (b"# Start", (*WHILE_RECORDING, "-s", "1s"), "time mode"),
    "with -s 1s --off-cpu 1s": (
        b"# Start", (*WHILE_RECORDING, "-s", "1s", "--off-cpu", "1s"), "time mode"),
    "between samples": (b"# Sample dump", BETWEEN, None),
    "between samples, with -s 0": (
        b"# Sample dump", (*BETWEEN, "-s", "0", "--stack-trace-size=overhead=0"), "between samples"),
}


def below_once(load, ready, options, _):
    """{load: ns each}"""
    with kernel_delay(load.pid, *options) as process:
        process.line(ready)
        time.sleep(0.05)
        return {kind: load.ns_each(kind, BELOW_MS) for kind in ("getppid", "pingpong")}


def measure_below(table):
    with Load() as load:
        rounds = [{name: below_once(load, *how) for name, how in BELOW.items()}
                  for _ in range(BELOW_ROUNDS)]
    table.section("system calls and waits that are not listed")
    for kind, unit in (("getppid", "call"), ("pingpong", "round trip of a ping-pong, four calls")):
        table.say(f"  ns per {unit}")
        for name in BELOW:
            table.row(f"  {name}", [each[name][kind] for each in rounds], "ns")
        table.say("  against the same without -s, in the same round")
        for name, (_, _, other) in BELOW.items():
            if other:
                # What a thread waits for between samples may belong to a call of the next.
                goal = None if kind == "pingpong" and other == "between samples" else BELOW_GOAL
                table.row(f"  {name}", [each[name][kind] / each[other][kind] for each in rounds],
                          "x", 2, goal, f"{kind} {name}")


# --- What a stack costs this program ---

# kind of unwind_bench.c, stacks in a batch, title, goal, unit
UNWIND = (
    ("seen", BATCH, "known ones", UNWIND_GOAL, "us"),
    ("seen", 1, "  one at a time: each a round trip", None, "us"),
    ("new", BATCH, "new ones of known functions", UNWIND_GOAL, "us"),
    ("new", 1, "  one at a time", None, "us"),
    ("first", 1, "the first stack of a process", None, "ms"),
    ("first", BATCH, f"each of the first {BATCH} stacks of a process", None, "us"),
    ("open", 1, "starting the child, reading what is mapped", None, "ms"),
)


def unwind_once(kind, batch):
    """ns per stack, the median of five."""
    said = subprocess.run([BUILD / "bench" / "unwind_bench", kind, str(batch), "5"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if said.returncode:
        raise Missing(said.stderr.strip())
    return sorted(map(float, said.stdout.split()))[2]


def measure_unwind(table):
    rounds = [[unwind_once(kind, batch) for kind, batch, *_ in UNWIND]
              for _ in range(UNWIND_ROUNDS)]
    table.section(f"user space per stack of 25 frames and 16 KB, in batches of {BATCH}, "
                  "with the round trip to the child")
    for number, (_, _, title, goal, unit) in enumerate(UNWIND):
        table.row(title, [each[number] / (1e3 if unit == "us" else 1e6) for each in rounds], unit,
                  1, goal, f"per stack: {title}")


# --- What the start of a run costs ---

def objects_mapped(pid):
    """The files from which the process maps code."""
    text = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return set(re.findall(r"^\S+ ..x\S* .* (/\S+)$", text, re.MULTILINE))


@contextlib.contextmanager
def many_objects():
    """A load that maps OBJECTS files, most of them copies of libc."""
    with StackLoad() as load:
        mapped = objects_mapped(load.pid)
    libc = next((path for path in mapped if "/libc.so" in path or "/libc-" in path), None)
    if not libc:
        raise Missing("cannot find the C library's file")
    with tempfile.TemporaryDirectory() as folder:
        copies = [pathlib.Path(folder, f"lib{number}.so")
                  for number in range(OBJECTS - len(mapped))]
        for copy in copies:
            shutil.copyfile(libc, copy)
        with StackLoad(*copies) as load:
            found = len(objects_mapped(load.pid))
            if found != OBJECTS:
                raise Missing(f"the target has {found} objects instead of {OBJECTS}")
            yield load


def start_once(load, *options):
    """ms from exec to the start of the window, and from its end to the end of the output."""
    with kernel_delay(load.pid, "--sample-time", "10ms", *options) as process:
        start = process.line(b"# Start sampling")[0]
        stop = process.line(b"# Stop sampling")[0]
        process.rest()
        last = process.data_at
        if process.proc.wait():
            raise Missing(f"kernel_delay: {process.last_error()}")
    return (start - process.began) * 1000, (last - stop) * 1000


STARTS = {
    "time mode": (),
    "with -s 1s: no stack": ("-s", "1s"),
    "with -s 1s, without user stacks": ("-s", "1s", "--stack-trace-size=user-bytes=0"),
    "with --profile": ("--profile",),
    "with -s 0: the stack of a call in progress": ("-s", "0"),
}


def measure_attach(table):
    rounds = []
    with many_objects() as load:
        start_once(load, "-s", "1s")  # reads the files into memory
        for _ in range(ATTACH_ROUNDS):
            rounds.append({name: start_once(load, *options) for name, options in STARTS.items()})
    table.section(f"from exec to the start of the window, target with {OBJECTS} objects")
    table.row("time mode", [each["time mode"][0] for each in rounds], "ms")
    table.say("  added, in the same round")
    for name in list(STARTS)[1:]:
        goal = ATTACH_GOAL if "no stack" in name or "profile" in name else None
        table.row(f"  {name}", [each[name][0] - each["time mode"][0] for each in rounds], "ms", 1,
                  goal, f"start {name}")
    table.say("  from its end to the end of the output")
    for name in STARTS:
        table.row(f"  {name}", [each[name][1] for each in rounds], "ms")
