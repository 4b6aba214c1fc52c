#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Staged delays of threads that sleep: the first VERDICT names what they wait for, with the share
that the workload logged."""

import mmap
import os
import time

import kdstaged
import kdtest
from kdgroup import heavy_group
from kdtest import MS, SECOND

SAMPLE = 0.3
OFTEN = 10
# Role: cause, words of its verdict.
WAITS = {"pipe": ("peer", "waited for waker["), "unix": ("peer", "waited for waker["),
         "tcp": ("peer", "waited for waker["), "child": ("child", "child"),
         "flock": ("lock", "waited for a lock that waker[")}
DISK = {"fsync": ("disk", "disk"), "direct": ("disk", "disk"), "page": ("major_fault", "had major page faults")}
# The kernel has no part in how these differ.
LOCKS = ("asleep", "busy") if kdtest.VM else ("asleep", "busy", "pi", "robust", "rwlock", "syncing")


def until_waited(loads, who=""):
    """Waits until each thread (or the one named who) has got a CPU many times from now on, as
    real-time threads of other tests may keep it off. The processes are not asked, since waiting for
    a question would count as a wait."""
    threads = {(load.pid, load.tid(who or role)[0]) for role, load in loads.items()}
    before = {thread: kdtest.turns(*thread) for thread in threads}
    time.sleep(SAMPLE)
    kdtest.wait_until(lambda: all(kdtest.turns(*thread) >= before[thread] + OFTEN
                                  for thread in threads))


def staged(test, program, roles, *args, first=""):
    """{role: (Screen, log)}, each role in a process of its own; with only one CPU, one after the
    other. first: threads that precede others while they have no real-time priority."""
    if kdtest.one_cpu() and len(roles) > 1:
        return {role: staged(test, program, [role], *args)[role] for role in roles}
    loads = {role: test.workload(program, role, *args, wrapper=kdstaged.BEFORE_OTHERS)
             for role in roles}
    for load in loads.values():
        for tid in load.tid(first):
            os.setpriority(os.PRIO_PROCESS, tid, -20)
        load.settle([load.pid])  # or it would begin to wait for the test while it is watched
    screens = kdstaged.watch(test, loads, None, lambda: until_waited(loads, first), logs=True)
    for load in loads.values():
        load.end()
    return {role: (screen, screen.log[role]) for role, screen in screens.items()}


def check_waits(test, role, screen, log, causes):
    """Checks a thread that waits for one thing and does nothing else."""
    cause, words = causes[role]
    # Beside load packets are received by ksoftirqd, too. If that is more than one in ten, nobody is named.
    waiter = kdtest.thread_of(screen.json, log["tid"])
    by_others = role == "tcp" and any(row["for"] == "socket" and row["ended_by_others"] > row["count"] / 10
                                      for row in waiter["descriptors"])
    row = kdstaged.check_first(test, role, screen, (cause,), *[words] * (not by_others))
    if not row:
        return
    window, tid = screen.stop - screen.start, log["tid"]
    # It may still have been in one when it was asked.
    logged = screen.inside(log["waits"]) + max(0, screen.stop - log["waits"][-1][-1])
    if causes is WAITS:
        lost = screen.ready[tid]
    else:  # here it is the CPU, too, that the calls and faults take
        lost = max(0, logged - (window - screen.ready[tid] - screen.busy[tid]))
        if cause == "major_fault":  # which is what that takes, but for what is left with user mode
            lost = screen.ready[tid] + screen.busy[tid] - screen.faults[tid]
    kdstaged.check_share(test, role, screen, row["ns"], logged, lost)
    test.eq(row["worst_tid"], tid, f"{role}: who waited")
    said = screen.words(row)
    test.ok(said is None or f": {role}[{tid}] " in said, f"{role}: in words, too", *screen.verdict)
    # It never waits for work, and who wakes it hardly does anything.
    others = sum(screen.busy[other] + screen.ready[other] + screen.late[other]
                 for other in screen.ran if other != tid)
    if role == "flock":  # but while a thread of real time keeps this one from its CPU with the lock, it has to wait, too
        others += screen.ready[tid]
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
    """The holder of the lock is named, whatever it does meanwhile; but if it waits for a disk, that is
    the cause of these waits, as far as they are followed; and so is who had a CPU for which it waited."""
    for role, (screen, log) in staged(test, "locks", LOCKS).items():
        if 2 * sum(screen.ready[holder] for holder in log["holders"]) > screen.inside(log["waits"]):
            test.skip(role, "its holder had no CPU for most of the waits, which is the cause then")
            continue
        first = kdstaged.check_first(test, role, screen, ("lock", "disk") if role == "syncing" else ("lock",),
                                     *["waited for a lock that holder["] * (role != "syncing"))
        rows = [row for row in screen.blamed if row["cause"] == "lock"] if first else []
        for row in rows[:1]:
            test.eq([row["who"].get("tid")], log["holders"], f"{role}: who had it")
        by_disk = sum(row["ns"] for row in screen.blamed if row["cause"] == "disk")
        if first:
            kdstaged.check_share(test, role, screen, sum(row["ns"] for row in rows),
                                 screen.inside(log["waits"]), sum(screen.ready.values()) + by_disk)


def case_condition(test):
    """Nobody holds a condition variable: a thread that waits for one has no work until then."""
    (screen, log), = staged(test, "locks", ["condition"]).values()
    # Whoever had the CPU meanwhile is a cause of its own. So are timers that are late, as those of
    # a virtual machine's idle CPU may be: for as long as the holder's sleeps were too long.
    test.eq([row for row in screen.blamed if row["cause"] not in (*kdstaged.TAKERS, "timer")], [],
            "nobody is blamed for it")
    took = sum(row["ns"] for row in screen.blamed if row["cause"] in kdstaged.TAKERS)
    test.between(took, 0, sum(screen.ready.values()) + 1.1 * screen.interrupted + MS,
                 "and others for no longer than they had the CPU")
    test.ok(screen.json["unexplained_ns"] < 0.1 * screen.inside(log["waits"]),
            "nor is it unexplained", screen.text)


def case_inversion(test):
    """Priority inversion: the holder of a lock has no priority, while the waiters do; a thread in
    between takes the holder's CPU, where the waiters never meet it."""
    kdtest.only_beside_another_cpu("for those who wait")
    hog = test.workload("roles", f"fifo:{kdtest.last_cpu()}:45:50")
    # What is left of the holder's CPU is not for others: it has to have the lock again and again.
    (screen, log), = staged(test, "locks", ["starved"], first="holder").values()
    check_led(test, "inversion", screen, log, (hog.pid, *hog.tid("fifo")))


def check_led(test, what, screen, log, of_hog):
    """Checks three threads that wait for a lock, whose holder waits for a CPU that a hog has: the hog
    is the cause of both, as far as the waits are followed; the holder is of the rest of the waits."""
    (pid, hog), (holder,) = of_hog, log["holders"]
    row = kdstaged.check_first(test, what, screen, ("task",), f"holder[{holder}]", who=pid)
    if not row:
        return
    # It is its process from when another thread of it ran, as each one does when it is stopped.
    tid, said = row["who"]["tid"], screen.words(row)
    test.ok(tid in of_hog and (said is None or f"[{tid}]" in said), f"{what}: the thread, or its process",
            of_hog, row, said)
    test.eq(row["threads"], 4, f"{what}: it kept the holder and those who wait for the lock")
    # Those that it was about to release may not have been logged yet.
    waits = sum(max(0, screen.stop - max(waits[-1][-1], screen.start)) + screen.inside(waits)
                for waits in (log["waits"], *log["others"]))
    had = sum(row["woken_ns"] + row["preempted_ns"]
              for row in kdtest.thread_of(screen.json, holder)["ready_by"] if row.get("pid") == pid)
    locks = sum(row["ns"] for row in screen.blamed
                if row["cause"] == "lock" and row["who"].get("tid") == holder)
    kdstaged.check_share(test, what, screen, row["ns"] + locks, waits + had,
                         sum(screen.ready.values()))
    test.ok(row["ns"] > 2 * had, f"{what}: the waits are followed", row, had)


def case_preempted_holder(test):
    """The holder of a lock shares a CPU with a process of better nice value: three threads wait for
    the lock, and its holder for that process."""
    kdtest.only_beside_another_cpu("for those who wait")
    cpu, load = kdtest.last_cpu(), test.workload("locks", "starved")
    hog = test.workload("roles", f"spin:{cpu}", wrapper=("nice", "-n", "-10"))
    of_hog = hog.pid, *hog.tid("spin")
    with heavy_group() as join:  # both: others are no match for them
        join(load, hog)
        screen = kdstaged.watch(test, {"preempted": load}, None,
                                lambda: time.sleep(1.5 * SAMPLE), logs=True,
                                stop=[hog])["preempted"]
        log = screen.log["starved"]
        load.end()
        hog.end()
    check_led(test, "preempted", screen, log, of_hog)


def fills_memory_at_once():
    """Whether the kernel has MADV_POPULATE_WRITE."""
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        try:
            page.madvise(23)
        except OSError:
            return False
    return True


def case_memory_lock(test):
    """The lock of the address space, which another thread holds while it fills memory."""
    if not fills_memory_at_once():
        raise kdtest.Skip("this kernel does not fill memory in one call (before 5.14)")
    load = test.workload("staged", "mapper", "filler", wrapper=kdstaged.BEFORE_OTHERS)
    load.settle([load.pid])
    screen = kdstaged.watch(test, {"mapper": load}, SAMPLE)["mapper"]
    until_waited({"mapper": load})  # also in the wait that went on at the window's end
    log = load.ask("log")["mapper"]
    row = kdstaged.check_first(test, "mapper", screen, ("kernel_lock",), "in the kernel")
    if row:
        # Whoever fills memory waits, too, where the mapper lost the CPU with the lock.
        waited = {thread["tid"]: sum(lock["total_ns"] for lock in thread.get("locks", ())
                                     if lock["kind"].startswith(("kernel_", "mmap_", "other")))
                  for thread in screen.json["threads"] if "tid" in thread}
        # A wait whose holder lacked the CPU is of those who had that.
        lost = sum(screen.ready.values())
        may = {tid for tid, ns in waited.items() if ns + lost >= max(waited.values())}
        test.ok(row["worst_tid"] in may, "who waited", row, waited, screen.ready)
        kdtest.only_on_host("steps that are no longer than what an emulated machine takes")
        took = sum(row["ns"] for row in screen.blamed if row["cause"] == "kernel_lock")
        # A wait is logged where it began, and counts as it goes on: at both edges there is one.
        logged, longest = screen.logged(log), max(log["steps"])
        others = sum(waited.values()) - waited[log["tid"]]
        kdstaged.check_share(test, "mapper", screen, took, logged,
                             screen.ready[log["tid"]] + screen.interrupted + longest,
                             logged + longest + others)


def case_timers(test):
    """Sleeps that last longer than requested, as the thread's timer slack allows. It is not
    real-time, where there is no slack."""
    load = test.workload("staged", "slack:20")
    screen = kdstaged.watch(test, {"slack": load}, SAMPLE, logs=True)["slack"]
    log = screen.log["slack"]
    row = kdstaged.check_first(test, "slack", screen, ("timer",), "woke up later than its timers")
    if row:
        # A sleep is logged where it began, and counts when it is over: at both edges there is one.
        logged, longest = screen.logged(log), max(screen.steps(log))
        kdstaged.check_share(test, "slack", screen, row["ns"], logged,
                             screen.ready[log["tid"]] + screen.busy[log["tid"]] + longest,
                             logged + longest)


kdtest.main(case_peers, case_disk, case_locks, case_condition, case_inversion,
            case_preempted_holder, case_memory_lock, case_timers)
