#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Staged delays of threads that sleep: the first VERDICT names what they wait for, with the share
that the workload logged."""

import json
import mmap
import os
import time

import kdstaged
import kdtest
from kdgroup import heavy_group

SAMPLE = 0.6
# Role: cause, words of its verdict.
WAITS = {"pipe": ("peer", "waited for waker["), "unix": ("peer", "waited for waker["),
         "tcp": ("peer", "waited for waker["), "child": ("child", "child"),
         "flock": ("lock", "waited for locks (fd ")}
DISK = {"fsync": ("disk", "disk"), "direct": ("disk", "disk"), "page": ("page_fault", "had major page faults")}
# The kernel has no part in how these differ.
LOCKS = ("asleep", "busy") if kdtest.VM else ("asleep", "busy", "pi", "robust", "rwlock", "syncing")


def staged(test, program, roles, *args, seconds=SAMPLE):
    """{role: (Screen, log)}, each role in a process of its own; where there is one CPU, one after
    the other."""
    if kdtest.one_cpu() and len(roles) > 1:
        return {role: staged(test, program, [role], *args, seconds=seconds)[role] for role in roles}
    loads = {role: test.workload(program, role, *args, wrapper=kdstaged.BEFORE_OTHERS)
             for role in roles}
    time.sleep(0.05)  # all have begun
    screens = kdstaged.watch(test, loads, seconds)
    found = {}
    for role, load in loads.items():
        load.send("log")
        found[role] = screens[role], json.loads(load.line("{"))[role]
        load.end()
    return found


def check_waits(test, role, screen, log, causes):
    """Of a thread that waits for one thing and does nothing else."""
    cause, words = causes[role]
    row = kdstaged.check_first(test, role, screen, (cause,), words)
    if not row:
        return
    window, tid = screen.stop - screen.start, log["tid"]
    # It may still have been in one when it was asked.
    logged = screen.inside(log["waits"]) + max(0, screen.stop - log["waits"][-1][-1])
    if causes is WAITS:
        lost = screen.ready[tid]
    else:  # here it is the CPU, too, that the calls and faults take
        lost = max(0, logged - (window - screen.ready[tid] - screen.ran[tid]))
        if cause == "page_fault":  # which is what that takes; to switch, too
            lost = screen.ready[tid] + 2_000 * sum(thread["major_faults"]
                                                   for thread in screen.json["threads"])
    kdstaged.check_share(test, role, screen, row["ns"], logged, lost)
    test.eq(row["worst_tid"], tid, f"{role}: who waited")
    test.ok(f": {role}[{tid}] " in screen.verdict[0], f"{role}: in words, too", *screen.verdict)
    # It never waits for work, and who wakes it hardly does anything.
    others = sum(screen.ran[other] + screen.ready[other] for other in screen.ran if other != tid)
    most = 1.2 if kdtest.one_cpu() else 1.1
    test.between(screen.json["busy_ns"], 0.99 * window, most * window + others,
                 f"{role}: the busy time is that of a thread")


def case_peers(test):
    for role, (screen, log) in staged(test, "blocked", WAITS).items():
        check_waits(test, role, screen, log, WAITS)


def case_disk(test):
    if kdtest.VM:
        raise kdtest.Skip("the machine has no disk")
    for role, (screen, log) in staged(test, "blocked", DISK, "/var/tmp/").items():
        check_waits(test, role, screen, log, DISK)


def case_locks(test):
    """The one who has the lock is named, whatever it does meanwhile."""
    for role, (screen, log) in staged(test, "locks", LOCKS).items():
        row = kdstaged.check_first(test, role, screen, ("lock",), "waited for a lock that holder[")
        if not row:
            continue
        test.eq([row["who"].get("tid")], log["holders"], f"{role}: who had it")
        kdstaged.check_share(test, role, screen, row["ns"], screen.inside(log["waits"]),
                             screen.ready[log["tid"]])


TOOK_THE_CPU = ("task", "rt_limit", "hardirq", "softirq",
                *(("own_threads",) if kdtest.one_cpu() else ()))


def case_condition(test):
    """A condition variable is nobody's, but somebody fulfils the condition."""
    (screen, log), = staged(test, "locks", ["condition"]).values()
    # Whoever had the CPU meanwhile is a cause of its own, for no longer than the kernel counts. So
    # are timers that are late, as those of a virtual machine's idle CPU may be by some ms.
    test.eq([row for row in screen.blamed if row["cause"] not in (*TOOK_THE_CPU, "timer") or
             row["ns"] > (20 * kdtest.SLACK * kdtest.MS if row["cause"] == "timer"
                          else sum(screen.ready.values()))],
            [], "nobody is blamed for it")
    words = f"waited in futex until holder[{log['holders'][0]}] woke it"
    test.ok(screen.json["verdict"] or words in screen.verdict[0], "in words, with who woke it",
            screen.text)
    kdstaged.check_share(test, "condition", screen, screen.json["unexplained_ns"],
                         screen.inside(log["waits"]), screen.ready[log["tid"]])


def case_inversion(test):
    """The holder of a lock has no priority, and who waits for it has one: of those in
    between, which run on the holder's CPU, none is met by the waiters."""
    if len(os.sched_getaffinity(0)) < 2:
        raise kdtest.Skip("there is no CPU for those who wait")
    hog = test.workload("roles", f"fifo:{kdtest.last_cpu()}:45:50")
    (screen, log), = staged(test, "locks", ["starved"]).values()
    row = kdstaged.check_first(test, "inversion", screen, ("lock",),
                               "threads waited for a lock that holder[")
    if row:
        test.eq(([row["who"].get("tid")], row["threads"]), (log["holders"], 3), "who had it")
        kdstaged.check_share(test, "inversion", screen, row["ns"], sum(
            map(screen.inside, (log["waits"], *log["others"]))), sum(screen.ready.values()))
    second = screen.blamed[1] if len(screen.blamed) > 1 else {}
    test.eq((second.get("cause"), second.get("who", {}).get("tid"), second.get("worst_tid")),
            ("task", hog.tid("fifo")[0], log["holders"][0]), "and who had the holder's CPU")


def case_preempted_holder(test):
    """The holder of a lock shares a CPU with a process that has a better nice value: three wait
    for the lock, which has to wait for that."""
    kdtest.only_beside_another_cpu("for those who wait")
    cpu, load = kdtest.last_cpu(), test.workload("locks", "starved")
    hog = test.workload("roles", f"spin:{cpu}", wrapper=("nice", "-n", "-10"))
    others = []

    def measure():
        """For how long others had the CPU, the holder among them."""
        for sign in (-1, 1):
            others.append(sign * (time.monotonic_ns() -
                                  time.clock_gettime_ns(kdtest.cpu_clock(hog.pid))))
            time.sleep(1.5 * SAMPLE if sign < 0 else 0)
    with heavy_group() as join:  # both: others are no match for them
        join(load, hog)
        screen = kdstaged.watch(test, {"preempted": load}, 2 * SAMPLE, measure)["preempted"]
        load.send("log")
        log = json.loads(load.line("{"))["starved"]
        load.end()
        hog.end()
    holder, = log["holders"]
    row = kdstaged.check_first(test, "preempted", screen, ("lock",),
                               f"threads waited for a lock that holder[{holder}]")
    if row:
        # Those that it was about to release may not have been logged yet.
        test.eq((row["who"].get("tid"), row["threads"]), (holder, 3), "who had it")
        waits = [max(0, screen.stop - max(waits[-1][-1], screen.start)) + screen.inside(waits)
                 for waits in (log["waits"], *log["others"])]
        kdstaged.check_share(test, "preempted", screen, row["ns"], sum(waits),
                             sum(screen.ready.values()))
    had = [row for row in screen.blamed if row["who"].get("pid") == hog.pid]
    test.eq([(row["cause"], row["worst_tid"]) for row in had], [("task", holder)],
            "and who had the holder's CPU")
    if had:
        kdstaged.check_share(test, "preempted: the CPU", screen, had[0]["ns"],
                             screen.ready[holder], sum(others) * 2 / 1.5)


def fills_memory_at_once():
    """Whether the kernel has MADV_POPULATE_WRITE."""
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        try:
            page.madvise(23)
        except OSError:
            return False
    return True


def case_memory_lock(test):
    """Of the address space, which another thread has while it fills memory."""
    if not fills_memory_at_once():
        raise kdtest.Skip("this kernel does not fill memory in one call (before 5.14)")
    load = test.workload("staged", "mapper", "filler", wrapper=kdstaged.BEFORE_OTHERS)
    screen = kdstaged.watch(test, {"mapper": load}, SAMPLE)["mapper"]
    load.send("log")
    log = json.loads(load.line("{"))["mapper"]
    row = kdstaged.check_first(test, "mapper", screen, ("kernel_lock",), "in the kernel")
    if row:
        test.eq(row["worst_tid"], log["tid"], "who waited")
        kdtest.only_on_host("steps that are no longer than what an emulated machine takes")
        took = sum(row["ns"] for row in screen.blamed if row["cause"] == "kernel_lock")
        kdstaged.check_share(test, "mapper", screen, took, screen.logged(log),
                             screen.ready[log["tid"]])


def case_timers(test):
    """Sleeps that are longer than they were to be, as the thread allows that: its timer slack.
    Not of real time, for which there is none."""
    load = test.workload("staged", "slack:20")
    screen = kdstaged.watch(test, {"slack": load}, SAMPLE)["slack"]
    load.send("log")
    log = json.loads(load.line("{"))["slack"]
    row = kdstaged.check_first(test, "slack", screen, ("timer",), "woke up later than its timers")
    if row:
        kdstaged.check_share(test, "slack", screen, row["ns"], screen.logged(log),
                             screen.ready[log["tid"]])


kdtest.main(case_peers, case_disk, case_locks, case_condition, case_inversion,
            case_preempted_holder, case_memory_lock, case_timers)
