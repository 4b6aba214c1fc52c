#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Migrations of threads, by cause: those that the test brings about, and the kernel's own count."""

import contextlib
import os
import pathlib
import re
import sys
import time

import kdneeds
import kdtest

CAUSES = ("wakeup", "balance", "affinity", "other")
TURNS = 10
MOVES_WITHIN = 20  # seconds, or the kernel leaves threads where they are


def count_of(pid, tid):
    """The kernel's own count of a thread's migrations."""
    path = pathlib.Path(f"/proc/{pid}/task/{tid}/sched")
    match = path.exists() and re.search(r"se.nr_migrations +: +(\d+)", path.read_text())
    if not match:
        raise kdtest.Skip("this kernel has no /proc/PID/sched")
    return int(match[1])


def moves_of(sample, tid):
    thread = kdtest.thread_of(sample, tid)
    return thread["migrations"], {cause: thread[f"{cause}_migrations"] for cause in CAUSES}


def movers_of(sample, tid):
    """{(TID, PID, name): count}"""
    thread = kdtest.thread_of(sample, tid)
    return {(row["tid"], row["pid"], row["name"]): row["count"] for row in thread["affinity_by"]}


def two_cpus():
    cpus = sorted(os.sched_getaffinity(0))
    kdtest.only_beside_another_cpu("to move to")
    return cpus[0], cpus[-1]


def case_affinity(test):
    """Threads that compute and threads that sleep are sent back and forth a known number of times."""
    cpus = two_cpus()
    load = test.workload("roles", f"spin:{cpus[0]}")
    sleeper = test.workload("sleeper", "nanosleep:3:0")
    asleep = sleeper.ask("log")["nanosleep"]["tid"]
    for pid, tid, name in ((load.pid, load.tid("spin")[0], "it computes"),
                           (sleeper.pid, asleep, "it sleeps")):
        os.sched_setaffinity(tid, {cpus[0]})
        kdtest.until_run(pid, tid)
        counts = []

        def move(pid=pid, tid=tid, counts=counts):
            counts.append(count_of(pid, tid))
            for turn in range(TURNS):
                os.sched_setaffinity(tid, {cpus[1 - turn % 2]})
                kdtest.until_run(pid, tid)
            counts.append(count_of(pid, tid))
        sample = test.sample(pid, move)
        total, moves = moves_of(sample, tid)
        test.eq(moves, {"wakeup": 0, "balance": 0, "affinity": TURNS, "other": 0},
                f"{name}: its affinity was changed")
        test.eq((total, counts[1] - counts[0]), (TURNS, TURNS), f"{name}: as the kernel counts")
        me = pathlib.Path("/proc/self/comm").read_text().rstrip("\n")
        test.eq(movers_of(sample, tid), {(os.getpid(), os.getpid(), me): TURNS},
                f"{name}: it was this test that did so")


def case_movers(test):
    """Moves made by another program, and by the thread itself. A call that changes nothing moves
    nobody."""
    cpus = two_cpus()
    kdneeds.need("taskset")
    child = test.child([sys.executable, "-c", f"""
import os, sys
print(os.getpid(), flush=True)
for line in sys.stdin:
    os.sched_setaffinity(0, {{int(line)}})
    print("done", flush=True)
"""])
    child.line("")
    tasksets = []

    def taskset(cpu):
        tasksets.append(test.child(["taskset", "-p", "-c", cpu, child.pid]))
        tasksets[-1].wait()

    def itself(cpu):
        child.send(str(cpu))
        child.line("done")
    itself(cpus[0])

    def move():
        for act, cpu in ((taskset, cpus[1]), (itself, cpus[0]), (taskset, cpus[0]),
                         (itself, cpus[1]), (itself, cpus[0])):
            act(cpu)
            kdtest.wait_until(lambda: kdtest.state_of(child.pid, child.pid) == "S")
            if act is taskset and cpu != cpus[0]:
                itself(cpu)  # it has to run to get there
    sample = test.sample(child.pid, move)
    test.eq(movers_of(sample, child.pid),
            {(tasksets[0].pid, tasksets[0].pid, "taskset"): 1,
             (child.pid, child.pid, pathlib.Path(f"/proc/{child.pid}/comm").read_text().strip()): 3},
            "each is named for what it did")


def case_scheduler(test):
    """Three threads that never sleep, on two CPUs: the scheduler moves them, as nobody changes
    their affinities."""
    two_cpus()
    load = test.workload("roles", "spin:-1", "spin:-1", "spin:-1")
    tids = load.tid("spin")
    sample = test.sample(load.pid, lambda: time.sleep(0.5))
    for tid in tids:
        total, moves = moves_of(sample, tid)
        test.eq(moves, {"wakeup": 0, "balance": total, "affinity": 0, "other": 0},
                "a thread that never sleeps is moved by the load balancer only")
    if not any(moves_of(sample, tid)[0] for tid in tids):
        raise kdtest.Skip("it left them where they were")


def case_wakeup(test):
    """A real-time thread that sleeps, and two of higher priority that now and again occupy one CPU
    or the other: a woken thread is not placed where one of them runs."""
    cpus = two_cpus()
    for cpu, period in zip(cpus, (21, 30)):
        test.workload("roles", f"fifo:{cpu}:8:{period}")
    load = test.workload("sleeper", "fifo:1:0")
    tid = load.ask("log")["fifo"]["tid"]
    counts = []

    def wait():
        counts.append(count_of(load.pid, tid))
        with contextlib.suppress(TimeoutError):
            kdtest.wait_until(lambda: count_of(load.pid, tid) >= counts[0] + TURNS, MOVES_WITHIN)
        counts.append(count_of(load.pid, tid))
    sample = test.sample(load.pid, wait)
    total, moves = moves_of(sample, tid)
    test.eq((sum(moves.values()), moves["affinity"], moves["other"]), (total, 0, 0),
            "by cause they add up, and its affinity stays")
    # It may be moved twice, and run only then.
    test.between(moves["wakeup"], (counts[1] - counts[0]) / 2 - moves["balance"], total,
                 "it is moved when it is woken")
    if counts[1] == counts[0]:
        raise kdtest.Skip("nobody was moved")
    test.ok(moves["wakeup"] > 0, "now and again", moves)


if __name__ == "__main__":
    kdtest.main(case_affinity, case_movers, case_scheduler, case_wakeup)
