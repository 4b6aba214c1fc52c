# SPDX-License-Identifier: Apache-2.0
"""The cost of the flight recorder: compared with the same program without it, which watches the
same process at the same time; the slowdown of a load of switches; and the time from a signal to the
written timeline."""

import os
import pathlib
import signal
import statistics
import tempfile
import time

import budgets
from benchlib import PATIENCE, QUICK, Load, kernel_delay

OFF, ON = (None,), (None, "--record")
SWITCH = ("sched_switch",)
# what, threads that wait for the load's CPU (None: the load itself is watched), load, tracepoints,
# events that are recorded at each (1 if none is), by how much an event may take more
EVENTS = (
    ("switch of others, nobody waits", 0, "pingpong", SWITCH, 1, 50),
    ("switch of others, one thread waits", 1, "pingpong", SWITCH, 2, 20),
    ("wake-up", None, "pingpong", ("sched_waking", "sched_wakeup"), 1, 20),
    ("switch from a futex wait to another", None, "futex", SWITCH, 2, 20),
    ("getppid", None, "getppid", ("sys_enter", "sys_exit"), 2, 20),
)
ROUNDS, MS = (3, 300) if QUICK else (5, 500)
EVENT_ROUNDS = 4 if QUICK else 6  # of which two are one figure
SLOWDOWN, WRITTEN = 3, 1  # percent; seconds
FILL = 1 if QUICK else 6  # seconds, in which the load fills the rings


def measure_events(table):
    table.section("flight recorder: BPF run time per recorded event, beyond a run without it")
    for what, waiters, kind, tracepoints, events, goal in EVENTS:
        rounds = [budgets.measure_round(number, waiters, kind, tracepoints, (OFF, ON))
                  for number in range(EVENT_ROUNDS)]
        off = statistics.median(without for without, _ in rounds)
        table.row(f"{what} ({off:.0f} ns without)",
                  budgets.both_orders([(on - without) / events for without, on in rounds]),
                  "ns", 1, goal)


def measure_slowdown(table):
    """Round trips of two threads over a pipe, nearly 200,000 switches per second, with and without
    --record, in turns: a minute of each."""
    table.section("flight recorder: a load of switches, its time beside that in a run without it")
    slower = []
    with Load() as load:
        for number in range(ROUNDS):
            times = {}
            for options in ((), ("--record",)) if number % 2 else (("--record",), ()):
                with kernel_delay(load.pid, "--sample-time", "10min", *options) as process:
                    process.line(b"# Start sampling")
                    times[options] = load.ns_each("pingpong", MS)
            slower.append((times["--record",] / times[()] - 1) * 100)
    table.row("slower", slower, "%", 2, SLOWDOWN)


def measure_written(table):
    """The time since the signal; the window that it ends goes on for up to 100 ms."""
    table.section("flight recorder: from SIGUSR1 to the written timeline, 32 MB of events")
    seconds, sizes = [], []
    for _ in range(1 if QUICK else 2):
        with tempfile.TemporaryDirectory() as folder, Load() as load:
            path = pathlib.Path(folder) / "timeline"
            with kernel_delay(load.pid, "--record-on=signal", "--record=1min", "-o",
                              f"perfetto:{path}") as process:
                time.sleep(1)
                load.run("pingpong", FILL * 1000)
                os.kill(process.pid, signal.SIGUSR1)
                began = time.monotonic()
                process.proc.wait(PATIENCE)
                seconds.append(time.monotonic() - began)
                sizes.append(path.stat().st_size / 1e6)
    table.row("time to the program's end", seconds, "s", 2, WRITTEN)
    table.row("the file", sizes, "MB", 0)


def measure(table):
    measure_events(table)
    measure_slowdown(table)
    measure_written(table)
