# SPDX-License-Identifier: Apache-2.0
"""The cost of each BPF program per event, by the kernel's own count, beside the floor and the empty
programs of floor.bpf.c, which are attached at the same time: all see the same events. The first
program of an event also waits some 20 ns for work that the CPU has not finished; uncounted programs
take that place, and the order of the others changes from round to round."""

import contextlib
import statistics

from benchlib import BUILD, LONG, QUICK, Load, Process, kernel_delay, names, run_times

ROUNDS, MS = (3, 100) if QUICK else (7, 300)
NOBODY = 0xFFFFFFFF  # no process has this number
FEWEST = 20  # events of a round that make a figure

# What is shown: tracepoints whose programs are added up, and how much of one floor
# program that may be.
PAIR = (("sys_enter", "sys_exit"), 2.4)
SWITCH = (("sched_switch",), 3.0)
WAKING = (("sched_waking",), 2.0)
WAKING_APART = (("sched_waking",), 2.5)
WAKEUP = (("sched_wakeup",), 1.5)

# load, system calls in each of its rounds, title, what is shown
LOADS = (
    ("getppid", 1, "getppid loop", (PAIR,)),
    ("pingpong", 4, "ping-pong on one CPU: a switch is from thread to thread",
     (SWITCH, WAKING, WAKEUP, PAIR)),
    ("apart", 4, "ping-pong between two CPUs: a switch is to or from idle",
     (SWITCH, WAKING_APART, WAKEUP, PAIR)),
)
COUNTED = 0.9  # of a load's time, see bench_load.c
# Rounds in which fewer of the machine's system calls were the target's are left out:
# events of other processes cost both sides the filter only.
SHARE = 0.8


def counts(floor, tool, name_of):
    """{(whose, tracepoint): (ns, runs)}; whose: tool, floor, empty."""
    return {**run_times(floor.pid, name_of, lambda name, at: (name.split("_")[0], at)),
            **run_times(tool.pid, name_of, lambda _, at: ("tool", at))}


def measure_load(load, kind, calls, read):
    """During one load: {(whose, tracepoint): ns per run}, the same for runs, and the target's share
    of the machine's system calls."""
    before = read()
    count = load.run(kind, MS)[0]
    after = read()
    each, runs = {}, {}
    for key, (ns, total) in after.items():
        runs[key] = total - before[key][1]
        if runs[key]:
            each[key] = (ns - before[key][0]) / runs[key]
    share = count * calls / COUNTED / runs["tool", "sys_enter"]
    return each, runs, min(share, 1)


def measure_round(load, number):
    """{load: result of measure_load()}"""
    def start_floor(pid):
        process = stack.enter_context(Process([BUILD / "bench" / "floor", pid]))
        process.line(b"ready")
        return process

    def start_tool():
        process = stack.enter_context(kernel_delay(load.pid, "--sample-time", LONG))
        process.line(b"# Start sampling")
        return process

    with contextlib.ExitStack() as stack:
        start_floor(NOBODY)
        if number % 2:
            floor, tool = start_floor(load.pid), start_tool()
        else:
            tool, floor = start_tool(), start_floor(load.pid)
        name_of = names()
        return {kind: measure_load(load, kind, calls, lambda: counts(floor, tool, name_of))
                for kind, calls, _, _ in LOADS}


def net(each, whose, tracepoint):
    return each[whose, tracepoint] - each["empty", tracepoint]


def print_load(table, rounds, kind, title, shown):
    quiet = [each[kind][0] for each in rounds if each[kind][2] >= SHARE]
    table.say(f"  {title}; {len(quiet)} of {len(rounds)} rounds used")
    table.row("  system calls seen that are the target's",
              [each[kind][2] * 100 for each in rounds], "%")
    if not quiet:
        table.lack("  not measured", "other processes made too many of the events")
        return
    for tracepoints, goal in shown:
        name = " + ".join(tracepoints)
        ours, floors = ([sum(net(each, whose, tracepoint) for tracepoint in tracepoints)
                         for each in quiet] for whose in ("tool", "floor"))
        floors = [floor / len(tracepoints) for floor in floors]
        table.row(f"  {name}", ours, "ns")
        table.row("    a floor program", floors, "ns")
        table.row("    ratio", [a / b for a, b in zip(ours, floors)], "x", 2, goal,
                  f"{name}, {kind}")


def print_others(table, rounds):
    """Prints programs without a floor, if there were enough events."""
    table.say("  other programs during these loads, all of the machine's events")
    known = {tracepoint for _, _, _, shown in LOADS for group, _ in shown for tracepoint in group}
    tracepoints = {tracepoint for kinds in rounds for each, _, _ in kinds.values()
                   for whose, tracepoint in each if whose == "tool"}
    for tracepoint in sorted(tracepoints - known):
        values = [net(each, "tool", tracepoint) for kinds in rounds
                  for each, runs, _ in kinds.values() if runs["tool", tracepoint] >= FEWEST
                  and ("empty", tracepoint) in each]
        if values:
            table.row(f"  {tracepoint}", values, "ns")


def measure(table):
    table.section("BPF run time per event, net of an empty program on the same tracepoint")
    with Load() as load:
        rounds = [measure_round(load, number) for number in range(ROUNDS)]
    for kind, _, title, shown in LOADS:
        print_load(table, rounds, kind, title, shown)
    print_others(table, rounds)
    empties = [statistics.median(ns for (whose, _), ns in kinds["getppid"][0].items()
                                 if whose == "empty") for kinds in rounds]
    table.row("an empty program, already taken off", empties, "ns")
