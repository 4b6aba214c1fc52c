# SPDX-License-Identifier: Apache-2.0
"""Many threads: the memory that they take, and the time that reporting them takes."""

import os
import pathlib
import subprocess

from benchlib import (BUILD, CPUS, MB, MMAPABLE, QUICK, Missing, Threads, fdinfo, kernel_delay,
                      memory, names, resident)

MEMORY_ROUNDS, REPORT_ROUNDS = (1, 2) if QUICK else (1, 3)
MEMORY_GOALS = {100: 20, 4096: 64}  # threads -> MB
MANY, CALLS = 4096, 30
RENDERED, RENDER_GOAL = 1000, 50  # threads, ms
MEASURES, SAMPLES, SUMMARY_GOALS = 50, 100, (120, 20)  # ms, MB
EVENTS, TIMELINE_GOAL, PATH_GOAL = 1_000_000, 500, 250  # ms
RENDER_ROUNDS = 5 if QUICK else 7
BUCKETS = 20  # that a distribution typically has
FORMATS = ("text", "json", "openmetrics", "prometheus")
REPORT_GOAL = 100  # ms
WINDOW = "2s"
PAGE = 4096  # the smallest pipe: the program waits for us, so we see it to its end


def memory_once(count):
    """Peak memory of one sample, and its parts, in bytes. The peak before the window opened, when
    the kernel's BTF was read, occurred before any maps existed: it is reset then."""
    with Threads(count) as target, \
            kernel_delay(target.pid, "--sample-time", WINDOW, pipe_size=PAGE) as process:
        process.line(b"# Start sampling", size=PAGE)
        target.go()
        name_of = names()
        loaded = memory(process.pid)
        pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # proc_pid_clear_refs(5)
        maps = {name_of["map", number][0]: (int(fields["memlock"]),
                                            bool(int(fields["map_flags"], 0) & MMAPABLE))
                for number, fields in fdinfo(process.pid, "map").items()}
        programs = sum(int(fields["memlock"])
                       for fields in fdinfo(process.pid, "prog").values())
        process.line(b"# Sample dump", size=PAGE)
        parts = resident(process.pid)
        peak = memory(process.pid)
        while process.read(PAGE):
            peak = max(peak, memory(process.pid))
    unmapped = sum(size for size, mapped in maps.values() if not mapped)
    return {"total": max(loaded, peak + unmapped), "peak": peak, "loaded": loaded, "parts": parts,
            "maps": maps, "programs": programs}


def print_memory(table, count, runs, goal):
    def row(what, get, *rest):
        table.row(what, [get(run) / MB for run in runs], "MB", 1, *rest)

    row(f"{count:,} threads: the most", lambda run: run["total"], goal)
    row("  VmHWM until the window opened", lambda run: run["loaded"])
    row("  from then on, with mapped maps", lambda run: run["peak"])
    row("  resident while printing: mapped maps", lambda run: run["parts"]["maps"])
    row("  resident while printing: private", lambda run: run["parts"]["private"])
    row("  resident while printing: program, libraries", lambda run: run["parts"]["files"])
    sizes = runs[0]["maps"].items()
    for name, (size, mapped) in sorted(sizes, key=lambda item: -item[1][0]):
        if size >= MB / 20:
            row(f"  map {name}, {'' if mapped else 'not '}mapped",
                lambda run, name=name: run["maps"][name][0])
    row("  BPF programs (not counted)", lambda run: run["programs"])


def measure_memory(table):
    table.section("peak memory, in MB of 1,000,000 bytes; maps by the kernel's count")
    for count, goal in MEMORY_GOALS.items():
        print_memory(table, count, [memory_once(count) for _ in range(MEMORY_ROUNDS)], goal)


def report_once():
    """ms from the line "# Stop sampling" to the report's first and last line, and its
    bytes."""
    with Threads(MANY) as target, \
            kernel_delay(target.pid, "--sample-time", WINDOW) as process:
        process.line(b"# Start sampling")
        done = target.go()
        stopped = process.line(b"# Stop sampling")[0]
        first = process.line(b"# Sample dump")[0]
        text = process.rest()
        last = process.data_at
    if done > stopped:
        raise Missing(f"{MANY:,} threads did not make their calls within {WINDOW}")
    complete = text.count(b" fallocate ")
    if complete != MANY:
        raise Missing(f"the report has {complete:,} of {MANY:,} threads' calls")
    return (first - stopped) * 1000, (last - stopped) * 1000, len(text)


def measure_report(table):
    table.section(f"reporting {MANY:,} threads with {CALLS} system calls each")
    # The target sleeps, so its CPU is free to take the report from the pipe.
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CPUS)
    runs = [report_once() for _ in range(REPORT_ROUNDS)]
    os.sched_setaffinity(0, own)
    table.row('from "# Stop sampling" to the end of the output', [run[1] for run in runs], "ms",
              1, REPORT_GOAL)
    table.row("  until its first line: collecting, sorting", [run[0] for run in runs], "ms")
    table.row("  writing and piping", [run[1] - run[0] for run in runs], "ms")
    table.say(f"  size of the report: {runs[0][2] / MB:.1f} MB")
    measure_render(table)
    measure_timeline(table)
    measure_path(table)
    measure_summary(table)


def measure_summary(table):
    """Statistics over samples."""
    said = subprocess.run([BUILD / "bench" / "summarise", str(RENDERED), str(MEASURES),
                           str(SAMPLES), str(RENDER_ROUNDS)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    table.section(f"summary of {SAMPLES} samples of {RENDERED:,} threads, {MEASURES} measures each")
    table.row("CPU time", [int(ns) / 1e6 for ns in said[:-1]], "ms", 1, SUMMARY_GOALS[0],
              "summary of samples")
    table.row("memory", [int(said[-1]) / MB], "MB", 1, SUMMARY_GOALS[1], "memory of a summary")


def render(form, threads, buckets):
    """ms for sorting a model of a sample and writing it to /dev/null, in each round."""
    said = subprocess.run([BUILD / "bench" / "render", form, str(threads), str(CALLS),
                           str(buckets), str(RENDER_ROUNDS)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return [int(ns) / 1e6 for ns in said.split()]


def measure_timeline(table):
    table.section(f"a timeline of {EVENTS:,} events")
    for what, waits, arguments in (("perfetto", EVENTS // 4, ()),
                                   ("perfetto, recorded", EVENTS // 8, ("recorded",))):
        said = subprocess.run([BUILD / "bench" / "timeline", str(waits), str(RENDER_ROUNDS),
                               *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout
        table.row(what, [int(ns) / 1e6 for ns in said.split()], "ms", 1, TIMELINE_GOAL,
                  "writing a timeline")


def measure_path(table):
    said = subprocess.run([BUILD / "bench" / "path", str(EVENTS), str(RENDER_ROUNDS)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    table.section(f"the critical path of {EVENTS:,} rows of a recording: {int(said[-1]):,} legs")
    table.row("CPU time", [int(ns) / 1e6 for ns in said[:-2]], "ms", 1, PATH_GOAL,
              "critical path")


def measure_render(table):
    table.section(f"rendering {RENDERED:,} threads with {CALLS} system calls each")
    for form in FORMATS:
        table.row(form, render(form, RENDERED, 0), "ms", 1, RENDER_GOAL, f"rendering {form}")
    table.say(f"  each with its durations in {BUCKETS} buckets:")
    for form in FORMATS:
        table.row(f"  {form}", render(form, RENDERED, BUCKETS), "ms")
