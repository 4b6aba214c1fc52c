#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sleeps with a time-out: how much later than requested a thread was woken, against its own log
and its timer slack."""

import ctypes
import errno
import json
import time

import kdreport
import kdtest
from kdtest import MS

CALLS = ("nanosleep", "until", "wall", "poll", "ppoll", "select", "pselect", "epoll", "epoll2",
         "futex", "condition")
EPOLL_PWAIT2 = 441  # since Linux 5.11
LATE, PARTS = MS, 20  # what matters: by so much, and by this part of what was requested


def calls():
    """Those that this kernel has."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(EPOLL_PWAIT2, -1, None, 0, None, None, 0)
    return [call for call in CALLS if call != "epoll2" or ctypes.get_errno() != errno.ENOSYS]


def sample_of(test, *sleepers, seconds=1.0):
    load = test.workload("sleeper", *sleepers)
    time.sleep(0.1)
    path = test.directory() / "report.json"
    done = test.program("-p", load.pid, "--sample-time", seconds, "--full", "-o", "-", "-o",
                        f"json:{path}")
    load.send("log")
    log = json.loads(load.line("{"))
    test.books(kdreport.parse(done.stdout)[0])
    return json.loads(path.read_text()), log


def check(test, sample, log, call, slack):
    """The log has more than the sleep: the thread runs and waits for a CPU before and after it."""
    start, end = sample["window"]["start_ns"], sample["window"]["end_ns"]
    thread = kdtest.thread_of(sample, log["tid"])
    ledger, got = thread["ledger"], thread.get("overslept")
    # What ended near an edge may be counted or not.
    inside = [(requested, after - before - requested) for before, requested, after in log["sleeps"]
              if before + requested > start and after < end]
    if not test.ok(got and inside, f"{call}: there are sleeps", thread):
        return
    awake = ledger["life_ns"] - ledger["blocked_ns"] - ledger["blocked_uninterruptible_ns"]
    most, longest = sum(over for _, over in inside), max(over for _, over in inside)
    # Nothing is known of one that lost its CPU between its call and its sleep, or did not sleep
    # because the machine stood still until its time was over.
    missing = thread["involuntary_switches"] + len(inside) // 20 + 2
    test.between(got["count"], len(inside) - missing, len(inside) + 1, f"{call}: their number")
    lost = max(0, len(inside) - got["count"]) * longest
    test.between(got["total_ns"], most - awake - lost, most + got["max_ns"],
                 f"{call}: by how much they were too long")
    test.between(got["max_ns"], longest - awake if not lost else 0, longest + awake + 100 * MS,
                 f"{call}: the longest")
    # An absolute time is nearer when the call begins.
    most = got["count"] * inside[0][0]
    test.between(got["requested_ns"], most - awake if call in ("until", "wall", "condition") else
                 most, most, f"{call}: what was requested")
    test.eq(got["slack_ns"], slack, f"{call}: the timer slack")
    late = [over for requested, over in inside if over >= LATE and over * PARTS >= requested]
    test.ok(got["late_count"] <= len(late) + 1, f"{call}: those that matter", got, len(late))


def case_slack(test):
    """A slack of 10 ms: the kernel may, and does, let them sleep longer."""
    sample, log = sample_of(test, *(f"{call}:20:10000" for call in calls()))
    for call in calls():
        check(test, sample, log[call], call, 10 * MS)
    row = next((row for row in sample["verdict"] if row["cause"] == "timer"), None)
    late = sum(thread["overslept"]["late_total_ns"] for thread in sample["threads"]
               if "overslept" in thread)
    if test.ok(row, "they are blamed", sample["verdict"]):
        test.eq(row["ns"], late, "for all that were late")


def case_as_it_is(test):
    """The slack that threads have by default, one of real time has none, and one that grows with
    a long time-out."""
    sample, log = sample_of(test, "nanosleep:5:0", "fifo:5:0", "poll:200:0", seconds=0.7)
    check(test, sample, log["nanosleep"], "nanosleep", 50_000)
    check(test, sample, log["fifo"], "fifo", 0)
    check(test, sample, log["poll"], "poll", 200_000)


if __name__ == "__main__":
    kdtest.main(case_slack, case_as_it_is)
