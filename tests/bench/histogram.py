# SPDX-License-Identifier: Apache-2.0
"""The cost that --histogram adds to each event with a duration: the return of a system call, the
end of a run, the end of a wait in a run queue. By the load's own clock, alternately with and
without the option; and by the kernel's count of the run time of two programs that see the same
events, one with and one without."""

import contextlib
import json
import re
import subprocess

import attached
from benchlib import (BUILD, LOAD_CPU, LONG, QUICK, Load, Missing, Process, fdinfo, kernel_delay,
                      names, run_times, tool_path)
from programs import NOBODY

ROUNDS, SLICES, MS = (4, 20, 100) if QUICK else (4, 20, 200)
SLICE_MS = 10  # others that come to the CPU stay away from most of such a time
SAMPLE_MS = 300
GOAL = 15  # ns per event
OPTION = "--histogram"

# load, tracepoint, its events that have a duration: a switch ends a run and a wait
PROGRAMS = (("getppid", "sys_exit", 1), ("pingpong", "sched_switch", 2))


def start_counting(load, _):
    return attached.start_recording(load, _, OPTION)


# Drift of the machine is the same before and after.
CONDITIONS = {"without": attached.start_recording, "with": start_counting,
              "again": attached.start_recording}


def measure_clock(load):
    """{condition: {load: ns each}} of the cheapest slice, with the conditions taking turns."""
    result = {}
    for name, start in CONDITIONS.items():
        with start(load, None):
            result[name] = {kind: min(load.ns_each(kind, SLICE_MS) for _ in range(SLICES))
                            for kind in attached.LOADS}
    return result


def events_each(load):
    """The number of durations in a round trip of pingpong, from a report: its calls, runs and
    waits."""
    load.begin("pingpong", 10 * SAMPLE_MS)
    with kernel_delay(load.pid, "--sample-time", f"{SAMPLE_MS}ms", "-o", "json") as process:
        said = process.rest()
    load.line()
    if not said:
        raise Missing("kernel_delay: no sample")
    threads = json.loads(said)["threads"]
    events = sum(thread["run"]["count"] + thread["ready"]["count"] +
                 sum(call["count"] for call in thread["syscalls"]) for thread in threads)
    round_trips = min(call["count"] for thread in threads for call in thread["syscalls"]
                      if call["name"] == "write")
    return events / round_trips


def added(rounds, kind, events):
    return [(each["with"][kind] - (each["without"][kind] + each["again"][kind]) / 2) / events
            for each in rounds]


def print_clock(table, rounds, per_trip):
    table.say("  added to each event, by the load's clock")
    for kind, events, title in (("getppid", 1, f"getppid loop on CPU {LOAD_CPU}, an event a call"),
                                ("pingpong", per_trip,
                                 f"ping-pong, {per_trip:.1f} events a round trip")):
        table.row(f"  {title}", added(rounds, kind, events), "ns", goal=GOAL,
                  name=f"{OPTION}, {kind}")
        table.row("    two runs without it differ by",
                  [abs(each["again"][kind] - each["without"][kind]) / events for each in rounds],
                  "ns")


def ns_per_run(before, after, tracepoint):
    if tracepoint not in before:
        raise Missing(f"this kernel's programs are not at the tracepoint {tracepoint} itself")
    runs = after[tracepoint][1] - before[tracepoint][1]
    return (after[tracepoint][0] - before[tracepoint][0]) / max(runs, 1)


def measure_programs(load, number):
    """{load: ns that the option adds to each event}, with both running at once in changing order."""
    with contextlib.ExitStack() as stack:
        floor = stack.enter_context(Process([BUILD / "bench" / "floor", NOBODY]))
        floor.line(b"ready")
        starts = [("without", attached.start_recording), ("with", start_counting)]
        if number % 2:
            starts.reverse()
        tools = {name: stack.enter_context(start(load, None)) for name, start in starts}
        name_of = names()
        result = {}
        for kind, tracepoint, events in PROGRAMS:
            before = {name: run_times(tool.pid, name_of) for name, tool in tools.items()}
            load.run(kind, MS)
            each = {name: ns_per_run(before[name], run_times(tool.pid, name_of), tracepoint)
                    for name, tool in tools.items()}
            result[kind] = (each["with"] - each["without"]) / events
    return result


def print_programs(table, load):
    table.say("  added to each event, by the kernel's count of the programs' run time")
    rounds = [measure_programs(load, number) for number in range(ROUNDS)]
    for kind, tracepoint, events in PROGRAMS:
        what = "one event" if events == 1 else f"{events} events"
        table.row(f"  {tracepoint}, {what}, {kind}", [each[kind] for each in rounds], "ns",
                  goal=GOAL, name=f"{OPTION}, {tracepoint}")


def uses_of_maps(load, start):
    """How often the programs, in the form that the kernel kept, use a map of distributions."""
    tool = tool_path("bpftool", "/usr/sbin/bpftool")
    if not tool:
        raise Missing("bpftool is not installed")
    with start(load, None) as process:
        maps = {f"map[id:{number}]" for (kind, number), (name, *_) in names().items()
                if kind == "map" and name.startswith(("kd_histogram", "kd_free_histo"))}
        return sum(used in maps for number in fdinfo(process.pid, "prog")
                   for used in re.findall(r"map\[id:\d+\]", subprocess.run(
                       [tool, "prog", "dump", "xlated", "id", str(number)],
                       stdout=subprocess.PIPE, text=True, check=True).stdout))


def print_uses(table, load):
    """Code that the kernel has removed from the programs costs nothing."""
    for what, start, goal in (("off", attached.start_recording, 0), ("on", start_counting, None)):
        title = f"uses of its maps in the programs, option {what}"
        try:
            table.row(title, [uses_of_maps(load, start)], "", 0, goal, f"{OPTION} off")
        except Missing as error:
            table.lack(title, str(error))


def measure(table):
    table.section(f"{OPTION}: what distributions add")
    with Load() as load:
        per_trip = events_each(load)
        print_clock(table, [measure_clock(load) for _ in range(ROUNDS)], per_trip)
        print_programs(table, load)
        print_uses(table, load)
