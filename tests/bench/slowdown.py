# SPDX-License-Identifier: Apache-2.0
"""How much a process loses while its stacks are taken, compared with bpftrace, which only follows
frame pointers, such as the load has; and the CPU time of the tools. The load's own CPU time is
measured, so that other processes do not matter."""

import pathlib
import time

from attached import SETTLE, start_foreign
from benchlib import QUICK, Missing, tool_path
from stacks import KB, StackLoad, recording

ROUNDS, MS = (2, 200) if QUICK else (3, 200)
RATE = 500  # what others may copy; ours are limited by their cost
SLOW_NS = 20_000  # what --syscall-events calls slow here: far less than the load's calls
DEPTHS = (16 * KB, 120 * KB)
SPIN_DEPTH = 16 * KB
READ_LATER = 0.1  # seconds, in which the tools read what is left in their buffers

SLOW_SCRIPT = """
BEGIN {{ printf("ready\\n"); }}
tracepoint:raw_syscalls:sys_enter /pid == {pid}/ {{ @since[tid] = nsecs; }}
tracepoint:raw_syscalls:sys_exit /pid == {pid} && @since[tid]/ {{
	if (nsecs - @since[tid] >= {slow} && nsecs >= @due) {{
		@due = nsecs + {period};
		@stacks[ustack, kstack] = count();
	}}
	delete(@since[tid]);
}}
END {{ clear(@since); }}
"""
PROFILE_SCRIPT = """
BEGIN {{ printf("ready\\n"); }}
profile:hz:{hz} /pid == {pid}/ {{ @stacks[ustack, kstack] = count(); }}
"""

SLOW = ("-s", f"{SLOW_NS}ns")
SLOW_TOOLS = {
    "time mode": (),
    "-s, default limit": SLOW,
    "-s, all stacks": (*SLOW, "--stack-trace-size=overhead=0"),
}
SPIN_TOOLS = {
    "time mode": (),
    "--profile 49": ("--profile", "49"),
    "--profile 997, default limit": ("--profile", "997"),
    "--profile 997, all stacks": ("--profile", "997", "--stack-trace-size=overhead=0"),
}


def start_bpftrace(script, **values):
    bpftrace = tool_path("bpftrace")
    if not bpftrace:
        raise Missing("bpftrace is not installed")
    return start_foreign([bpftrace, "-e", script.format(**values)], b"ready", SETTLE)


def with_bpftrace(tools, scripts):
    """{title: how to start it}"""
    starts = {}
    for title, options in tools.items():
        starts[title] = lambda load, options=options: recording(load, *options)
    for title, (script, values) in scripts.items():
        starts[title] = lambda load, script=script, values=values: start_bpftrace(
            script, pid=load.pid, **values)
    return starts


def family(pid):
    """The process and its children."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *map(int, text.split())]


def cpu_time(pid):
    """The run time of all threads of the process and its children, in ns."""
    return sum(int((thread / "schedstat").read_text().split()[0])
               for process in family(pid)
               for thread in pathlib.Path(f"/proc/{process}/task").iterdir())


def measure_one(load, start, run):
    """The result of run(), and the tool's share of one CPU."""
    with start(load) as process:
        before, began = cpu_time(process.pid), time.monotonic_ns()
        values = run(load)
        time.sleep(READ_LATER)
        spent = cpu_time(process.pid) - before
        return *values, spent / (time.monotonic_ns() - began)


def measure_round(load, starts, run):
    """{title: (result of measure_one(), result of run() without any tool before and after)}"""
    result = {}
    bare = run(load)
    for title, start in starts.items():
        values = measure_one(load, start, run)
        again = run(load)
        result[title] = values, [(a + b) / 2 for a, b in zip(bare, again)]
        bare = again
    return result


def usable(load, starts):
    """Removes tools that cannot be started here: [(title, why not)]"""
    lacking = []
    for title, start in list(starts.items()):
        try:
            if "bpftrace" in title:
                start(load).stop()
        except Missing as error:
            lacking.append((title, str(error)))
            del starts[title]
    return lacking


def measure_all(load, starts, run):
    lacking = usable(load, starts)
    return [measure_round(load, starts, run) for _ in range(ROUNDS)], lacking


def print_lost(table, rounds, lost):
    """Prints lost(values, values without any tool), in percent."""
    for title in rounds[0]:
        table.row(f"  {title}", [lost(*each[title]) for each in rounds], "%", 2)


def print_cpu(table, rounds):
    table.say("  CPU time of the tool until the window ends, of one CPU")
    for title in rounds[0]:
        table.row(f"  {title}", [each[title][0][-1] * 100 for each in rounds], "%", 2)


def print_lacking(table, lacking):
    for title, reason in lacking:
        table.lack(f"  {title}", reason)


def measure_slow(table):
    for depth in DEPTHS:
        with StackLoad() as load:
            scripts = {f"bpftrace, {RATE} stacks/s": (
                SLOW_SCRIPT, {"slow": SLOW_NS, "period": 1_000_000_000 // RATE})}
            rounds, lacking = measure_all(load, with_bpftrace(SLOW_TOOLS, scripts),
                                          lambda load: load.run("slow", depth, MS))
        calls = [bare[1] for each in rounds for _, bare in each.values()]
        table.section(f"a thread with slow calls, stack of {depth // KB} KB")
        table.row("slow calls", calls, "/s", 0)
        table.say("  slowdown: CPU time per turn, beside that before and after")
        print_lost(table, rounds, lambda with_tool, bare: (with_tool[0] / bare[0] - 1) * 100)
        print_cpu(table, rounds)
        print_lacking(table, lacking)


def measure_spin(table):
    scripts = {f"bpftrace, {hz} Hz": (PROFILE_SCRIPT, {"hz": hz}) for hz in (49, 997)}
    with StackLoad() as load:
        rounds, lacking = measure_all(load, with_bpftrace(SPIN_TOOLS, scripts),
                                      lambda load: load.run("spin", SPIN_DEPTH, MS))
    table.section(f"a thread that spins, stack of {SPIN_DEPTH // KB} KB")
    table.say("  slowdown: turns of its loop in its CPU time, beside those before and after")
    print_lost(table, rounds, lambda with_tool, bare: (bare[0] / with_tool[0] - 1) * 100)
    table.say("  added to its interruptions, part of its time")
    print_lost(table, rounds, lambda with_tool, bare: (with_tool[1] - bare[1]) / 1e7)
    print_cpu(table, rounds)
    print_lacking(table, lacking)


def measure(table):
    measure_slow(table)
    measure_spin(table)
