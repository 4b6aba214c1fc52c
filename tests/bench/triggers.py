# SPDX-License-Identifier: Apache-2.0
"""The cost of a hit of a trigger's probe, and how many windows per second are evaluated."""

import re
import tempfile
import time

from benchlib import BUILD, LONG, QUICK, Load, Missing, Process, fdinfo, names

ROUNDS, MS = (3, 100) if QUICK else (4, 300)
BANKS = (2, 4, 7)
PAIR = ("--start-trigger", "up:probed_call", "--stop-trigger", "ur:probed_call",
        "--max-overhead", "0")
HIT_GOAL = 100  # ns


def attached(process):
    """Waits until the triggers' programs are loaded, and their probes attached."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = {name for (kind, number), (name, *_) in names().items()
                 if kind == "prog" and number in fdinfo(process.pid, "prog")}
        if {"kd_start_probe", "kd_stop_probe"} <= found:
            time.sleep(0.3)
            return process
        time.sleep(0.05)
    raise Missing(f"kernel_delay did not attach: {process.last_error()}")


def tool(load, *options):
    return attached(Process([BUILD / "kernel_delay", "-p", load.pid, *PAIR, *options]))


def empty(load):
    process = Process([BUILD / "bench" / "probe", load.pid, "probed_call"])
    process.line(b"ready")
    return process


def counts(*processes):
    """{program: (ns, runs)}"""
    name_of = names()
    return {name_of["prog", number][0]: (int(fields["run_time_ns"]), int(fields["run_cnt"]))
            for process in processes
            for number, fields in fdinfo(process.pid, "prog").items()}


def measure_hits(table):
    table.section("ns per hit of a probe, net of an empty program on the same one")
    with Load() as load:
        for banks in BANKS:
            each = {"start": [], "stop": []}
            for _ in range(ROUNDS):
                with empty(load) as floor, tool(load, "--trigger-delta", "1s", "--window-banks",
                                                banks, "--duration", LONG) as process:
                    before = counts(floor, process)
                    load.run("probed", MS)
                    after = counts(floor, process)
                spent = {name: (after[name][0] - before[name][0]) /
                               (after[name][1] - before[name][1]) for name in after
                         if after[name][1] > before[name][1]}
                each["start"].append(spent["kd_start_probe"] - spent["empty_entry"])
                each["stop"].append(spent["kd_stop_probe"] - spent["empty_return"])
            for role, values in each.items():
                table.row(f"{role} trigger, {banks} banks", values, "ns", goal=HIT_GOAL)


def measure_cost(table):
    """The total cost of the probes to the thread: the figures that --max-overhead uses."""
    bare, floor, ours = [], [], []
    with Load() as load:
        for _ in range(ROUNDS):
            bare.append(load.ns_each("probed", MS))
            with empty(load):
                floor.append(load.ns_each("probed", MS))
            with tool(load, "--trigger-delta", "1s", "--duration", LONG):
                ours.append(load.ns_each("probed", MS))
    table.section("ns per call of a function that does nothing")
    table.row("bare", bare, "ns")
    table.row("uprobe and uretprobe with empty programs", floor, "ns")
    table.row("as start and stop trigger of kernel_delay", ours, "ns")


def evaluated(output):
    """The number of measured windows, from the end of the report."""
    found = re.search(r"^stop .*?(?:target|any) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)", output,
                      re.MULTILINE)
    if not found:
        raise Missing("no statistics in the report")
    _, used, skipped, _ = (int(number.replace(",", "")) for number in found.groups())
    return used + skipped


def windows_rate(load, *options):
    """Windows evaluated per second of load."""
    process = tool(load, "--sample-count", 0, "--duration", LONG, *options)
    sink = tempfile.TemporaryFile()
    load.begin("probed", MS)
    while b"\n" not in load.buffer:  # the report is read meanwhile
        for source, keep in ((process, sink.write), (load, None)):
            try:
                data = source.read(patience=0.01)
            except Missing:
                continue
            if keep:
                keep(data)
            else:
                load.buffer += data
    _, line = load.line()
    process.proc.send_signal(2)
    sink.write(process.rest())
    process.stop()
    sink.seek(0)
    return evaluated(sink.read().decode(errors="replace")) / (int(line.split()[1]) / 1e9)


def measure_rate(table):
    kernel, user = [], []
    with Load() as load:
        for _ in range(ROUNDS):
            kernel.append(windows_rate(load, "--trigger-delta", "1s"))
            user.append(windows_rate(load))
    table.section("windows evaluated per second, one caller that does nothing else")
    table.row("in the kernel, none as long as the delta", kernel, "/s", 0)
    table.row("each read and printed by user space", user, "/s", 0)
    table.row("ratio", [a / b for a, b in zip(kernel, user)], "x")
