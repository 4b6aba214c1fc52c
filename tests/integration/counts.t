#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls: as many as the workload made, of the length it measured."""

import os
import re
import signal
import time

import kdtest
from kdtest import MS, SECOND


def truths_by_tid(truths):
    return {thread["tid"]: thread for thread in truths["threads"]}


def case_exact_counts(test):
    """Threads with different numbers of calls and sleeps, each its own."""
    load = test.workload("roles", "calls:20000:40:5000", "calls:7001:11:20000", "calls:3:0:0")
    capture = test.capture(load.pid)
    before = load.mark()
    truths = truths_by_tid(load.go())
    after = load.mark()
    report = capture.close(test)
    for tid, truth in truths.items():
        thread = report.thread(tid)
        test.eq(thread.count("getppid"), truth["getppid"], f"getppid, {truth['getppid']} times")
        test.eq(thread.count("clock_nanosleep"), truth["sleeps"], f"{truth['sleeps']} sleeps")
        if truth["sleeps"]:
            row = thread.calls["clock_nanosleep"]
            test.between(row.total, truth["sleep_ns"], truth["around_ns"], "their total")
            test.between(row.max, truth["sleep_ns"] / truth["sleeps"], row.total,
                         "the longest of them")
            test.between(thread.ns["blocked interruptible"], truth["sleep_ns"] * 0.99,
                         report.window, "sleeping is blocked time")
            test.ok(thread.tables["THREAD SWITCHES"].voluntary >= truth["sleeps"],
                    "each sleep is a voluntary switch")
    test.books(report, before.bounds(after, report))


def strace_counts(test, repeats):
    """Calls by name that strace -c -f counts in a whole run of the workload."""
    summary = test.directory() / "summary"
    strace = ("strace", "-c", "-f", "-o", summary)
    load = test.workload("mix", str(repeats), wrapper=strace)
    load.go(patience=60)
    load.send("end")
    load.wait()
    counts = {}
    for line in summary.read_text().splitlines():
        match = re.match(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", line)
        if match and match[2] != "total":
            counts[match[2]] = int(match[1])
    return counts


def case_like_strace(test):
    """What strace counts with the workload's phase less what it counts without."""
    if not any(os.access(os.path.join(path, "strace"), os.X_OK)
               for path in os.environ["PATH"].split(":")):
        raise kdtest.Skip("strace is not installed")
    repeats = 100
    without, with_phase = strace_counts(test, 0), strace_counts(test, repeats)
    # Whether joining a thread waits depends on time, not on the phase.
    phase = {name: count - without.get(name, 0) for name, count in with_phase.items()
             if count > without.get(name, 0) and name != "futex"}
    test.ok(len(phase) >= 15, "strace saw the mixture", phase)
    load = test.workload("mix", str(repeats))
    capture = test.capture(load.pid)
    tids = truths_by_tid(load.go())
    report = capture.close(test)
    threads = [report.thread(tid) for tid in tids]
    counted = {name: report.total(name, threads) for name in phase}
    test.eq(counted, phase, "each call as often as strace -c -f has it")
    test.books(report)


def case_every_call(test):
    load = test.workload("everycall")
    capture = test.capture(load.pid)
    truth = load.go()["threads"][0]
    report = capture.close(test)
    thread = report.thread(truth["tid"])
    if truth["calls"]:
        test.ok(len(truth["calls"]) > 300, "the workload made over 300 different calls")
    else:
        test.skip("over 300 different calls", "their numbers are known for x86-64 only")
    got = {row.number: row.count for row in thread.calls.values()}
    want = {**dict(truth["calls"]), 9999: truth["unknown"]}
    got[1] = got.get(1, 0) - 1  # its last act is a write to the test's pipe
    wrong = {number: (got.get(number), count) for number, count in want.items()
             if got.get(number) != count}
    test.eq(wrong, {}, "every call is there, as often as it was made (number: got, want)")
    test.eq(set(got) - set(want), set(), "and no other")
    row = thread.calls.get("[unknown: 9999]")
    test.ok(row and row.number == 9999, "a call without a name shows its number",
            sorted(thread.calls))
    test.books(report)


def case_restarted_poll(test):
    """Stopped and continued, a poll is restarted by the kernel: still one poll."""
    load = test.workload("roles", "pollonce:700")
    capture = test.capture(load.pid)
    load.send("go")
    time.sleep(0.1)
    for _ in range(3):
        load.signal(signal.SIGSTOP)
        time.sleep(0.05)
        load.signal(signal.SIGCONT)
        time.sleep(0.05)
    truth = kdtest.json.loads(load.line("{"))["threads"][0]
    report = capture.close(test)
    thread = report.thread(truth["tid"])
    test.eq(thread.count("restart_syscall"), 0, "no restart_syscall")
    poll = thread.calls.get("poll") or thread.calls.get("ppoll")
    test.eq(poll and poll.count, 1, "one poll")
    test.between(poll and poll.total, 700 * MS, truth["around_ns"], "from its entry to its end")
    test.books(report)


def case_another_process(test):
    """Calls of other processes are not counted."""
    quiet = test.workload("roles", "calls:10:0:0")
    busy = test.workload("roles", "calls:50000:0:0")
    capture = test.capture(quiet.pid)
    busy.go()
    quiet.go()
    report = capture.close(test)
    test.eq(report.total("getppid"), 10, "only the target's calls")
    test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(quiet.pid)),
            "only the target's threads")
    test.ok(report.window < 30 * SECOND, "the window ended with the signal")
    test.books(report)


kdtest.main(case_exact_counts, case_like_strace, case_every_call, case_restarted_poll,
            case_another_process)
