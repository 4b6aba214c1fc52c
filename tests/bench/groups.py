# SPDX-License-Identifier: Apache-2.0
"""The cost per event of the programs of --resources and --counters, by the kernel's own count: for
the target, and for other processes, whose events they see, too. Without the options these programs
are not loaded."""

import time

from attached import start_recording
from benchlib import (BUILD, LOAD_CPU, LONG, PATIENCE, QUICK, Load, Missing, Process, fdinfo,
                      kernel_delay, names)

ROUNDS, MS = (3, 100) if QUICK else (3, 300)
FEWEST = 100  # events of a round that make a figure
COUNTERS = ("--counters", "context-switches,minor-faults,major-faults,page-faults,cpu-migrations,"
            "task-clock,cpu-clock")

# What, its options, its program, the load, what an event is
ROWS = (
    ("--resources", ("--resources",), "kd_io_exit", "getppid", "a call that moves no bytes"),
    ("--resources", ("--resources",), "kd_io_exit", "pingpong", "a read or write of a pipe"),
    ("--counters, seven", COUNTERS, "kd_counters_switch", "pingpong", "a switch"),
    ("--counters, one", ("--counters", "minor-faults"), "kd_counters_switch", "pingpong",
     "a switch"),
    ("--counters, seven, --per-cpu", (*COUNTERS, "--per-cpu"), "kd_counters_switch", "pingpong",
     "a switch"),
)
OWN = ("kd_io_exit", "kd_request_begin", "kd_request_end", "kd_segment_resent", "kd_fork_count",
       "kd_exec_count",
       "kd_counters_switch", "kd_counters_look")


def is_named(name, program):
    """The kernel keeps 15 characters of a name; names from BTF are complete."""
    return name in (program, program[:15])


def program_of(process, program):
    """(ns, runs) of one of its programs."""
    name_of = names()
    for number, fields in fdinfo(process.pid, "prog").items():
        if is_named(name_of["prog", number][0], program):
            return int(fields["run_time_ns"]), int(fields["run_cnt"])
    raise Missing(f"{program} is not loaded")


def each_run(process, program, load, kind):
    """ns per run during a load, None if there were too few."""
    before = program_of(process, program)
    load.run(kind, MS)
    after = program_of(process, program)
    runs = after[1] - before[1]
    return (after[0] - before[0]) / runs if runs >= FEWEST else None


def measure_row(load, other, row):
    _, options, program, kind, _ = row
    figures = {"of the target": [], "of others": []}
    for whose, watched in (("of the target", load), ("of others", other)):
        with kernel_delay(watched.pid, "--sample-time", LONG, *options) as process:
            process.line(b"# Start sampling")
            figures[whose] = [each_run(process, program, load, kind) for _ in range(ROUNDS)]
    return figures


def runs_of(process):
    """How often the program that reads counters of a CPU has run; 0 while it is not loaded."""
    try:
        return program_of(process, "kd_counters_look")[1]
    except (KeyError, Missing):
        return 0


def edges():
    """ns per reading of a CPU's counters at an edge, without the interrupt itself."""
    spinning = Process([BUILD / "workloads" / "roles", f"spin:{LOAD_CPU}"])
    spinning.line(b"ready")
    with spinning, kernel_delay(spinning.pid, "--sample-time", "5ms", "--sample-count", 0,
                                "-o", "json:/dev/null", *COUNTERS) as process:
        figures, before = [], (0, 0)
        patience = time.monotonic() + PATIENCE
        while not runs_of(process) and time.monotonic() < patience:
            time.sleep(0.1)
        for _ in range(ROUNDS):
            time.sleep(MS / 1000)
            after = program_of(process, "kd_counters_look")
            if after[1] > before[1]:
                figures.append((after[0] - before[0]) / (after[1] - before[1]))
            before = after
        return figures


def loaded(load, options):
    with start_recording(load, None, *options) as process:
        name_of = names()
        return sum(any(is_named(name_of["prog", number][0], program) for program in OWN)
                   for number in fdinfo(process.pid, "prog"))


def measure(table):
    table.section("--resources, --counters: what their programs take")
    other = Process([BUILD / "workloads" / "roles", "poll"])
    other.line(b"ready")
    floor = Process([BUILD / "bench" / "floor", 0xFFFFFFFF])  # it switches the kernel's count on
    floor.line(b"ready")
    with Load() as load, other, floor:
        for row in ROWS:
            figures = measure_row(load, other, row)
            for whose, values in figures.items():
                values = [value for value in values if value is not None]
                title = f"{row[0]}: {row[4]} {whose}, {row[3]} on CPU {LOAD_CPU}"
                if values:
                    table.row(title, values, "ns")
                else:
                    table.lack(title, "too few events")
        table.row("--counters, seven: a reading at an edge, on the thread's CPU", edges(), "ns")
        for options in ((), ("--resources",), COUNTERS):
            table.row(f"programs of theirs that are loaded with {options[0] if options else 'none'}",
                      [loaded(load, options)], "", 0, 0 if not options else None,
                      "not loaded without the options")
