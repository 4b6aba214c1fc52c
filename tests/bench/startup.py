# SPDX-License-Identifier: Apache-2.0
"""From exec to the printed report of a sample of 10 ms, and where the time goes: by the times at
which lines of output arrive and, in separate runs, by a preloaded library that records when the
program is in libbpf and in bpf(2)."""

import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

from benchlib import (BUILD, CPUS, LONG, QUICK, Load, Missing, Process, Threads, fdinfo,
                      kernel_delay, names)

ROUNDS = 5 if QUICK else 7
SAMPLE_MS = 10
GOAL_MS = 65  # 75 with the sample
HERD, HERD_GOAL_MS = (200, 10), 100
PRIVILEGES_GOAL_MS = 5
NOTER = BUILD / "bench" / "phases.so"
PROGRAM, ONE_FILE = BUILD / "kernel_delay", BUILD / "packages" / "kernel_delay"

PHASES = (
    "exec, linking, options, finding the target",
    "opening the BPF object",
    "choosing programs, the kernel's BTF",
    "loading: creating maps",
    "loading: libbpf, verifying programs",
    "mapping and filling maps",
    "attaching",
    "reading the threads, opening the window",
    "window beyond its 10 ms",
    "collecting and printing",
    "after the report: detaching, ending",
)


def sample_once(pid, *options, **environment):
    """Seconds of CLOCK_MONOTONIC: exec, start line, stop line, last line, end."""
    with kernel_delay(pid, "--sample-time", f"{SAMPLE_MS}ms", *options, cpus=CPUS,
                      **environment) as process:
        start = process.line(b"# Start sampling")[0]
        stop = process.line(b"# Stop sampling")[0]
        process.rest()
        last = process.data_at
        status = process.proc.wait()
        end = time.monotonic()
    if status:
        raise Missing(f"kernel_delay ended with status {status}")
    return process.began, start, stop, last, end


def read_notes(path):
    """{function or command: [(program, begin, end)]} in seconds."""
    notes = {}
    for line in path.read_text().splitlines():
        name, detail, begin, end = line.split()
        notes.setdefault(name, []).append((detail, int(begin) / 1e9, int(end) / 1e9))
    return notes


def duration(intervals, begin=0.0, end=float("inf")):
    """Total of the calls that lie inside."""
    return sum(b - a for _, a, b in intervals if a >= begin and b <= end)


def phases_of(stamps, notes):
    """Seconds of each of PHASES, and {program: seconds} of loading each program."""
    began, start, stop, last, end = stamps
    (_, opening, opened), = notes["bpf_object__open_skeleton"]
    (_, loading, loaded), = notes["bpf_object__load_skeleton"]
    attaching = notes["bpf_program__attach"][0][1]
    iterating = notes["bpf_program__attach_iter"][0][1]
    maps = duration(notes["BPF_MAP_CREATE"], loading, loaded)
    loads = {}
    for name, since, until in notes["BPF_PROG_LOAD"]:
        loads[name] = loads.get(name, 0) + until - since
    values = (opening - began, opened - opening, loading - opened, maps,
              loaded - loading - maps, attaching - loaded, iterating - attaching,
              start - iterating, stop - start - SAMPLE_MS / 1000, last - stop, end - last)
    return values, loads


def print_programs(table, load, loads):
    """Prints verified instructions and load time of each program; programs whose truncated names
    are the same are added up."""
    table.section(f"{'BPF programs':<50}{'LOAD ms':>12}{'VERIFIED':>12}")
    verified = {}
    with kernel_delay(load.pid, "--sample-time", LONG) as process:
        process.line(b"# Start sampling")
        name_of = names()
        for number, fields in fdinfo(process.pid, "prog").items():
            name = name_of["prog", number][0]
            verified[name] = verified.get(name, 0) + int(fields.get("verified_insns", 0))
    for name, instructions in sorted(verified.items()):
        ms = statistics.median(each.get(name, 0) for each in loads) * 1000
        table.say(f"  {name:<48}{ms:>12.2f}{instructions:>12,}  instructions")
    table.say(f"  {'sum':<48}{'':>12}{sum(verified.values()):>12,}  instructions")


def measure_herd(table):
    """The time until a window of many processes is open."""
    processes, threads = HERD
    with Process([BUILD / "workloads" / "herd", processes, threads], cpus=CPUS) as herd:
        herd.line(b"ready")
        children = pathlib.Path(f"/proc/{herd.pid}/task/{herd.pid}/children").read_text().split()
        runs = [sample_once(",".join(children)) for _ in range(ROUNDS)]
    table.section(f"exec to the window, of {processes:,} processes with {threads} threads each")
    table.row("until the window is open", [(stamps[1] - stamps[0]) * 1000 for stamps in runs],
              "ms", 1, HERD_GOAL_MS)


def measure_privileges(table, target):
    """Runs that resolve user stacks, in turns: the process that does so is started in both."""
    runs = {(): [], ("--debug=0,keep-privileges",): []}
    for _ in range(ROUNDS):
        for options, stamps in runs.items():
            stamps.append(sample_once(target.pid, "-s", "1ms", *options))
    given, kept = ([(stamps[3] - stamps[0]) * 1000 - SAMPLE_MS for stamps in each]
                   for each in runs.values())
    table.say("  the same with user stacks, -s 1ms")
    table.row("  until the report is printed", given, "ms")
    table.row("  with --debug=0,keep-privileges", kept, "ms")
    table.row("  giving them up: the medians' difference",
              [statistics.median(given) - statistics.median(kept)], "ms", 1, PRIVILEGES_GOAL_MS)


def run_of(program, pid):
    """From exec to the report in seconds, and the most memory until then, in KB."""
    with Process([program, "-p", pid, "--full", "--sample-time", f"{SAMPLE_MS}ms", "--sample-count", "2",
                  "--sample-interval", "1min"], cpus=CPUS) as process:
        at = process.line(b"# Sample dump")[0]
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return at - process.began - SAMPLE_MS / 1000, int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def stripped(program):
    """Its size in bytes."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["strip", "-o", file.name, program], check=True)
        return os.path.getsize(file.name)


def measure_one_file(table, target):
    """What is linked with all that it uses, beside the ordinary program, by turns."""
    table.section("one file of `make static`, as a multiple of the ordinary program")
    if not ONE_FILE.exists():
        table.lack("exec to the report", "make static")
        return
    pairs = [(run_of(ONE_FILE, target.pid), run_of(PROGRAM, target.pid)) for _ in range(ROUNDS)]
    for at, what in enumerate(("exec to the report", "memory at most")):
        table.row(what, [one[at] / other[at] for one, other in pairs], "", 2)
    table.row("size, stripped", [stripped(ONE_FILE) / stripped(PROGRAM)], "", 2)


def rows(table, runs):
    table.row("until the report is printed",
              [(stamps[3] - stamps[0]) * 1000 - SAMPLE_MS for stamps in runs], "ms", 1, GOAL_MS)
    table.row("until the process has ended",
              [(stamps[4] - stamps[0]) * 1000 - SAMPLE_MS for stamps in runs], "ms")


def measure(table):
    table.section(f"exec to the printed report, less its {SAMPLE_MS} ms")
    if not NOTER.exists():
        raise Missing(f"{NOTER} is not built: make bench-programs")
    plain, bound, noted = [], [], []
    with Threads(1, cpus=CPUS) as target, Load() as load, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "notes")
        sample_once(target.pid)  # reads the files into memory
        for _ in range(ROUNDS):
            plain.append(sample_once(target.pid))
            bound.append(sample_once(load.pid))
            stamps = sample_once(target.pid, LD_PRELOAD=str(NOTER),
                                 BENCH_PHASES=str(path))
            noted.append((stamps, *phases_of(stamps, read_notes(path))))
        rows(table, plain)
        table.say(f"  the same with a target that is bound to one of {len(CPUS)} CPUs")
        rows(table, bound)
        table.say("  where it goes, in runs that note the time of each phase")
        for index, name in enumerate(PHASES):
            table.row(f"  {name}", [values[index] * 1000 for _, values, _ in noted], "ms")
        table.row("  all of it until the report is printed",
                  [(stamps[3] - stamps[0]) * 1000 - SAMPLE_MS for stamps, _, _ in noted], "ms")
        measure_privileges(table, target)
        measure_one_file(table, target)
        print_programs(table, target, [loads for _, _, loads in noted])
    measure_herd(table)
