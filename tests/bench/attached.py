# SPDX-License-Identifier: Apache-2.0
"""How much a process loses while tools are attached to it, or to another process."""

import time

from benchlib import (BUILD, LOAD_CPU, LONG, QUICK, ROOT, Load, Missing, Process, kernel_delay,
                      tool_path)

ROUNDS, OTHERS_ROUNDS, MS = (3, 1, 100) if QUICK else (5, 2, 300)
LOADS = ("getppid", "pingpong")
SETTLE = 1  # second from saying "ready" until all probes are surely attached


def start_other(_, bystander):
    process = kernel_delay(bystander.pid, "--sample-time", LONG)
    process.line(b"# Start sampling")
    return process


def start_recording(load, _, *options):
    process = kernel_delay(load.pid, "--sample-time", LONG, *options)
    process.line(b"# Start sampling")
    return process


def start_idle(load, _):
    """A run that waits between two samples, the first of which has been printed."""
    process = kernel_delay(load.pid, "--sample-time", "1ms", "--sample-interval", LONG,
                           "--sample-count", 2)
    process.line(b"# Sample dump")
    time.sleep(0.05)
    return process


def start_empty(*_):
    """The lower bound for any program that sees each system call, switch and wakeup."""
    process = Process([BUILD / "bench" / "floor", "empty"])
    process.line(b"ready")
    return process


OTHER, IDLE = "kernel_delay for another process", "kernel_delay idle between samples"
OURS = {
    "absent": None,
    "empty programs on its tracepoints": start_empty,
    OTHER: start_other,
    IDLE: start_idle,
    "kernel_delay recording": start_recording,
}


def start_foreign(argv, said, settle):
    # Without stdbuf a program may keep to itself that it is ready.
    buffered = tool_path("stdbuf")
    process = Process([*([buffered, "-oL"] if buffered else []), *argv],
                      name=argv[0].split("/")[-1], PYTHONUNBUFFERED="1")
    try:
        process.line(said, 30)
    except Missing:
        process.stop()
        raise
    time.sleep(settle)
    return process


def candidates(name, pid, *options):
    """bcc's own tool, then bcc's libbpf version of it, which needs no kernel headers:
    [(label, argv)]"""
    found = ((f"{name}-bpfcc", tool_path(f"{name}-bpfcc", f"/usr/share/bcc/tools/{name}")),
             (f"{name} of libbpf-tools", tool_path(name, f"bpf-{name}")))
    return [(label, [path, "-p", pid, *options]) for label, path in found if path]


def foreign_tools(load):
    """{label: how to start it} of the tools that run here, and [(label, why not)] of the others."""
    usable, lacking = {}, []
    tables = ROOT / "tests" / "bench" / "tables.bt"
    bpftrace = tool_path("bpftrace")
    wanted = (("runqlat", b"Tracing", candidates("runqlat", load.pid)),
              ("syscount", b"Tracing", candidates("syscount", load.pid, "-L")),
              ("bpftrace tables.bt", b"ready",
               [("bpftrace tables.bt", [bpftrace, tables, load.pid])] if bpftrace else []))
    for name, said, choices in wanted:
        if not choices:
            lacking.append((name, "not installed"))
        for label, argv in choices:
            try:
                start_foreign(argv, said, 0).stop()
            except Missing as error:
                lacking.append((label, str(error).split(". ", maxsplit=1)[0]))
                continue
            usable[label] = lambda *_, argv=argv, said=said: start_foreign(argv, said, SETTLE)
            break
    return usable, lacking


def measure_round(load, bystander, conditions):
    """{condition: {load: ns each}}, one condition after the other."""
    result = {}
    for name, start in conditions.items():
        process = start(load, bystander) if start else None
        try:
            result[name] = {kind: load.ns_each(kind, MS) for kind in LOADS}
        finally:
            if process:
                process.stop()
    return result


def print_rounds(table, rounds, names, what):
    def values(name, kind):
        return [each[name][kind] for each in rounds if name in each]

    def beside(name, kind, combine):
        return [combine(each[name][kind], each["absent"][kind]) for each in rounds
                if name in each]

    table.section(f"ns per {what['unit']}, {what['title']}")
    for name in names:
        table.row(name, values(name, what["kind"]), "ns")
    table.say("  slowdown, in the same round")
    for name in names[1:]:
        table.row(f"  {name}", beside(name, what["kind"], lambda a, b: a / b), "x", 2)
    table.row("  idle between samples, beside another process",
              [each[IDLE][what["kind"]] / each[OTHER][what["kind"]] for each in rounds], "x", 2,
              1.05, f"between samples, {what['unit']}")
    if what["kind"] == "getppid":
        table.say("  added to each call")
        for name in names[1:]:
            table.row(f"  {name}", beside(name, what["kind"], lambda a, b: a - b), "ns")


def measure(table):
    with Load() as load, Load() as bystander:
        foreign, lacking = foreign_tools(load)
        rounds = []
        for number in range(ROUNDS):
            # The others take seconds to start: not in every round.
            others = foreign if number * OTHERS_ROUNDS // ROUNDS != \
                (number - 1) * OTHERS_ROUNDS // ROUNDS else {}
            rounds.append(measure_round(load, bystander, {**OURS, **others}))
    names = [*OURS, *foreign]
    for kind, unit, title in (("getppid", "call", f"getppid loop on CPU {LOAD_CPU}"),
                              ("pingpong", "round trip",
                               f"pipe ping-pong of two threads on CPU {LOAD_CPU}")):
        print_rounds(table, rounds, names, {"kind": kind, "unit": unit, "title": title})
    for label, reason in lacking:
        table.lack(label, f"cannot run here: {reason}")
