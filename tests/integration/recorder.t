#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flight recorder (--record): what happened before a trigger fired or a condition became true;
how far back it goes; what it refuses. (button.t: when somebody sends SIGUSR1.)"""

import json
import os
import signal
import sys
import time

import kdtest
from kdperfetto import Trace
from kdstall import check_stall, last_sample, stall, unlimited_real_time
from kdtest import MS
from kdtrigger import Triggered

SECOND = 1000 * MS
STALL = 300 * MS
BEFORE = 2  # seconds from the stall to the trigger

def case_trigger(test):
    """A stall two seconds before the trigger, of which the window itself knows nothing."""
    if not unlimited_real_time():
        return test.skip("a stall before a trigger", "real-time threads may not have a CPU")
    cpu, folder = kdtest.last_cpu(), test.directory()
    load = test.workload("gaps", cpu, 0, 1 * MS)
    tid = int(load.ready[0])
    run = Triggered(test, load.pid, "--record=4s", "--start-trigger",
                    "t:syscalls:sys_exit_read", "--sample-time", "0.05", "-o", "text", "-o",
                    f"json:{folder}/json", "-o", f"perfetto:{folder}/trace")
    time.sleep(0.2)
    when = stall(cpu, STALL)
    time.sleep(BEFORE)
    load.send("log")
    gaps = json.loads(load.line("{"))["gaps"]
    test.eq(run.wait(), 0, "status")
    sample = last_sample(folder / "json")
    window = sample["window"]
    test.ok(window["start_ns"] > when[1] + BEFORE * SECOND, "the window began later")
    test.ok(any(start < when[0] + 50 * MS and end > when[1] - 50 * MS for start, end in gaps),
            "the thread saw the stall itself", gaps[:5])
    recorded = sample["recorded"]
    test.between(recorded["held_ns"], BEFORE * SECOND + STALL, 4 * SECOND, "held")
    test.eq((recorded["asked_ns"], recorded["overwritten"], recorded["window_cut"]),
            (4 * SECOND, False, False), "what was asked for; nothing was overwritten")
    test.ok("\nRECORDED " in run.stdout, "the text says so", run.stdout[:300])
    check_stall(test, (folder / "trace").read_bytes(), tid, when)


# Waits in poll() for 20 ms, and computes for 30.
POLLER = """
import os, select, time
poll = select.poll()
poll.register(os.pipe()[0])
while True:
    poll.poll(20)
    end = time.monotonic() + 0.03
    while time.monotonic() < end:
        pass
"""


def case_long_poll(test):
    """With --long-poll: the poll before the long round is in the recording."""
    folder = test.directory()
    load = test.child([sys.executable, "-c", POLLER])
    time.sleep(0.2)
    run = test.program("-p", load.pid, "--long-poll=10ms", "--record=1s", "--sample-count=2", "-o",
                       f"json:{folder}/json", "-o", f"perfetto:{folder}/trace")
    test.eq(run.status, 0, "status")
    sample = last_sample(folder / "json")
    before = [event for event in Trace((folder / "trace").read_bytes()).slices
              if event.kind == "syscall" and event.name == "poll" and
              event.end <= sample["window"]["start_ns"]]
    test.ok(before and max(event.end - event.at for event in before) > 10 * MS,
            "the round begins after a poll that is there, too", before[:2])


def case_condition(test):
    """--record-on: nothing is reported until the condition is true; then that window is."""
    if not unlimited_real_time():
        return test.skip("a condition", "real-time threads may not have a CPU")
    cpu, folder = kdtest.last_cpu(), test.directory()
    load = test.workload("gaps", cpu, 1, 1 * MS)
    tid = int(load.ready[0])
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--record-on",
                      "ready.total>80ms",
                      "-o", "text", "-o", f"json:{folder}/json", "-o",
                      f"perfetto:{folder}/trace"])
    kdtest.wait_until(lambda: "recording" in run.stderr)
    time.sleep(0.5)
    begin, end, hog, gaps = stall(cpu, STALL)
    test.eq(run.wait(), 0, "status")
    sample = last_sample(folder / "json")
    window = sample["window"]
    test.between(window["end_ns"] - window["start_ns"], 100 * MS, 600 * MS, "a window of 100 ms")
    test.ok(window["start_ns"] < end and window["end_ns"] > begin, "in which it happened",
            window, begin, end)
    ready = sum(thread["ledger"]["ready_woken_ns"] + thread["ledger"]["ready_preempted_ns"]
                for thread in sample["threads"])
    test.ok(ready > 80 * MS, "of which the condition is true", ready)
    test.eq(run.stdout.count("# Start sampling"), 1, "one window is told of")
    check_stall(test, (folder / "trace").read_bytes(), tid,
                (begin, min(end, window["end_ns"]), hog, gaps))


def case_signal(test):
    """SIGUSR1: each time what is held then, in a file each."""
    folder = test.directory()
    load = test.workload("slow", "sleeper:20:200:9000:2", "waiter:12:3000")
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--record-on=signal", "--record=10s",
                      "--sample-count=2", "-o", f"json:{folder}/%n.json"])
    kdtest.wait_until(lambda: f"kill -USR1 {run.pid}" in run.stderr)
    load.go()
    pressed = []
    for number in (1, 2):
        time.sleep(0.4)
        pressed.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        run.signal(signal.SIGUSR1)
        kdtest.wait_until(lambda: (folder / f"{number}.json").exists())
    test.eq(run.wait(), 0, "status")
    for number, at in enumerate(pressed, start=1):
        sample = last_sample(folder / f"{number}.json")
        test.eq(sample["number"], number, "only those that are reported are numbered")
        test.ok(sample["window"]["end_ns"] > at, "a window that had not ended then")
        test.ok(sample["window"]["start_ns"] < at + SECOND, "nor begun much later")
    test.ok(last_sample(folder / "2.json")["recorded"]["held_ns"] > 400 * MS,
            "the second has what the first one had, too")


def case_memory(test):
    """What does not fit is overwritten, the oldest first, and the report says so."""
    folder = test.directory()
    load = test.child([sys.executable, "-c", "import time\nwhile True: time.sleep(0.0001)"])
    time.sleep(0.2)
    done = test.program("-p", load.pid, "--record=10s", "--record-memory=64K", "--sample-time",
                        "0.3", "-o", "text", "-o", f"json:{folder}/json", "-o",
                        f"perfetto:{folder}/trace")
    test.eq(done.status, 0, "status")
    recorded = last_sample(folder / "json")["recorded"]
    test.ok(recorded["memory_bytes"] <= 64 << 10, "no more memory than it may have", recorded)
    test.ok(recorded["overwritten"] and recorded["window_cut"], "overwritten", recorded)
    test.ok(0 < recorded["events"] <= (64 << 10) // 16, "as many events as fit", recorded)
    test.ok("only the end of the sample" in done.stdout, "the text says so", done.stdout[:400])
    trace = Trace((folder / "trace").read_bytes())
    test.ok(trace.find("state"), "what is left is shown")


def case_refused(test):
    """What cannot be, is said."""
    pid = os.getpid()
    for arguments, says in (
            (("--record-memory=1K", "--record"), "64K to 4G"),
            (("--record-memory=5G", "--record"), "64K to 4G"),
            (("--record=0",), "--record"),
            (("--record-on", "ready.max"), "option --record-on: 'ready.max'"),
            (("--record-on", "nothing.max>1ms"), "option --record-on: 'nothing.max>1ms'"),
            (("--record-on", "signal", "--long-poll"), "cannot be combined with triggers"),
            (("--record-on", "signal", "--sample-interval=1s"), "--sample-interval"),
            (("--record-on", "signal", "--live"), "cannot be combined with --record-on")):
        done = test.program("-p", pid, *arguments)
        test.eq(done.status, 64, f"{arguments}: status")
        test.ok(says in done.stderr, f"{arguments}: says why", done.stderr)


def case_off(test):
    """Without it nothing is recorded, and nothing said."""
    folder = test.directory()
    load = test.workload("slow", "sleeper:20:200:9000:2")
    done = test.program("-p", load.pid, "--sample-time", "0.1", "-o", "text", "-o",
                        f"json:{folder}/json")
    test.ok("recorded" not in last_sample(folder / "json"), "no member")
    test.ok("RECORDED" not in done.stdout, "no line")


kdtest.main(case_trigger, case_long_poll, case_condition, case_signal, case_memory, case_refused, case_off)
