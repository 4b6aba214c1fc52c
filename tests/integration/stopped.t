#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who stopped a thread: processes that send signals, a tracer, a terminal, of which the test
knows the PIDs."""

import os
import pty
import signal
import sys
import time

import kdneeds
import kdtest
from kdtest import MS

PAUSE = 200 * MS  # between two signals


def stops_of(sample, tid):
    thread = kdtest.thread_of(sample, tid)
    return thread["stopped_by"], thread["ledger"]["stopped_ns"]


# To send signals to the process $0, PAUSE apart. A thread stops when it gets a CPU, which may
# take its time: the pause after a STOP begins when all have stopped.
SENDER = """
echo $$
for signal in "$@"; do
    kill -$signal $0
    while [ $signal = STOP ] && grep -q '^State:.[^T]' /proc/$0/task/*/status; do :; done
    sleep 0.2
done
"""


def shell_kill(test, *numbers):
    """Has another process send signals to a process, and returns its PID."""
    sender = test.child(["sh", "-c", SENDER, *numbers])
    pid = int(sender.line("").strip())
    sender.wait()
    return pid


def case_signals(test):
    """Two senders; what is stopped is all of the process."""
    load = test.workload("roles", "poll", "pollonce:1")
    stops, senders = [], []

    def stop():
        time.sleep(0.05)
        for _ in range(2):
            began = time.monotonic_ns()
            senders.append(shell_kill(test, load.pid, "STOP", "CONT"))
            stops.append(time.monotonic_ns() - began)
    sample = test.sample(load.pid, stop)
    for role in ("poll", "pollonce"):
        rows, total = stops_of(sample, load.tid(role)[0])
        test.eq(sum(row["total_ns"] for row in rows), total, f"{role}: they are all of the time")
        by_sender = {row["tid"]: row for row in rows if "tid" in row}
        test.eq(set(by_sender), set(senders), f"{role}: by those who sent them")
        for sender, most in zip(senders, stops):
            row = by_sender[sender]
            test.eq((row["kind"], row["signal"], row["pid"], row["name"], row["count"]),
                    ("signal", signal.SIGSTOP, sender, "sh", 1), f"{role}: by their signal")
            test.between(row["total_ns"], PAUSE, most,
                         f"{role}: as long as between the signals")


def case_before(test):
    """Stopped by somebody whom nobody saw, and then by one whom the program saw."""
    load = test.workload("roles", "poll")
    tid = load.tid("poll")[0]
    os.kill(load.pid, signal.SIGSTOP)
    again = []

    def stop():
        os.kill(load.pid, signal.SIGCONT)
        time.sleep(0.05)
        again.append(shell_kill(test, load.pid, "STOP"))
    sample = test.sample(load.pid, stop)
    rows, total = stops_of(sample, tid)
    test.eq(sum(row["total_ns"] for row in rows), total, "they are all of the time")
    test.eq(sorted((row["signal"], row.get("tid", 0)) for row in rows),
            [(signal.SIGSTOP, 0), (signal.SIGSTOP, again[0])], "one has no sender")
    os.kill(load.pid, signal.SIGCONT)


def case_tracer(test):
    """strace stops a thread twice for each of its system calls, and once more to begin with."""
    kdneeds.need("strace")
    load = test.workload("roles", "calls:400:1:10000", "poll")
    tid = load.tid("calls")[0]
    log = test.directory() / "strace.txt"
    tracers = []

    def trace():
        tracer = test.child(["strace", "-o", log, "-e", "trace=getppid", "-p", tid])
        tracers.append(tracer)
        kdtest.wait_until(lambda: "attached" in tracer.stderr)
        load.send("go")
        load.line("{")
    sample = test.sample(load.pid, trace)
    tracers[0].signal(signal.SIGINT)
    tracers[0].wait()
    calls = log.read_text().count("getppid()")
    rows, total = stops_of(sample, tid)
    test.eq(calls, 400, "the tracer saw the calls")
    test.eq([(row["kind"], row["tid"], row["pid"], row["name"]) for row in rows],
            [("tracer", tracers[0].pid, tracers[0].pid, "strace")], "it stopped the thread")
    test.ok(rows and rows[0]["total_ns"] == total and rows[0]["count"] >= 2 * calls,
            "at each call's entry and exit", rows)
    test.eq(stops_of(sample, load.tid("poll")[0]), ([], 0), "and no other thread")


# In the foreground of a terminal of its own: a process whose parent is in its session.
FOREGROUND = """
import os, signal, sys, time
child = os.fork()
if not child:
    os.setpgid(0, 0)
    print(os.getpid(), flush=True)
    while True:
        time.sleep(0.01)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.setpgid(child, child)
os.tcsetpgrp(0, child)
os.waitpid(child, 0)
"""


def case_terminal(test):
    """Ctrl-Z: nobody's signal but the terminal's."""
    session, terminal = pty.fork()
    if not session:
        os.execv(sys.executable, [sys.executable, "-c", FOREGROUND])
    pid = int(os.read(terminal, 100).split()[0])

    def suspend():
        os.write(terminal, b"\x1a")
        kdtest.wait_until(lambda: kdtest.state_of(pid, pid) == "T")
        time.sleep(0.05)
    try:
        # Until it is in the foreground.
        kdtest.wait_until(lambda: os.tcgetpgrp(terminal) == pid)
        sample = test.sample(pid, suspend)
        rows, _ = stops_of(sample, pid)
        test.eq([(row["kind"], row["signal"], row.get("tid"), row["name"]) for row in rows],
                [("signal", signal.SIGTSTP, None, "terminal")], "the terminal did it")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(session, 0)
        os.close(terminal)


if __name__ == "__main__":
    kdtest.main(case_signals, case_before, case_tracer, case_terminal)
