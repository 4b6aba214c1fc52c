#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--long-poll: windows from a thread's return from poll and its relatives to its
next one, without any symbol, against the threads' own log."""

import kdtest
from kdbtf import with_preemptible_calls
from kdtest import MS, SECOND
from kdtrigger import UNLIMITED, Triggered, check_reports, inside, reported_once

LONG = 50 * MS


def truths_of(load):
    """[[before return, after it, before the next call, after it], ...] of all threads, as the
    stop's edge is the entry of that call."""
    truths = load.go(patience=60)["threads"]
    return truths, sorted(entry for thread in truths for entry in thread["long"])


def open_until_the_end(test, run, truths):
    """A thread that returned from its last call is at work from then on, for the end
    of the run finds it so."""
    left = [report for report in run.reports if report.stop is None]
    run.reports = [report for report in run.reports if report.stop is not None]
    lasts = [thread["last"] for thread in truths]
    test.ok(len(left) <= 1 and all(any(before <= report.start <= after for before, after in lasts)
                                   for report in left), "none but the last return has no end",
            *(report.start for report in left), lasts)


def case_each_call(test):
    """One thread at a time, of each kind of call."""
    for role in ("poll", "ppoll", "epoll_wait", "epoll_pwait", "select"):
        load = test.workload("poller", f"{role}:90:30:60:10")
        run = Triggered(test, load.pid, "--long-poll=50ms", *UNLIMITED)
        truths, entries = truths_of(load)
        run = run.stop(test)
        test.eq(len(entries), 3, f"{role}: three long ones")
        open_until_the_end(test, run, truths)
        reported_once(test, run.reports, entries, LONG, f"long time between two calls of {role}")
        for report in run.reports:
            thread = report.thread(truths[0]["tid"])
            test.between(thread.ns["blocked interruptible"], 25 * MS, 60 * MS,
                         f"{role}: it slept for half of it")
        check_reports(test, run.reports)


def case_several_threads(test):
    several_threads(test)


def case_several_threads_classic(test):
    """As on a kernel where programs at a call's own tracepoint may be preempted."""
    several_threads(test, "--btf", with_preemptible_calls(test))


def several_threads(test, *args):
    """Each long time is reported or, where another was being recorded, nested."""
    load = test.workload("poller", "poll:200:50:60:5", "epoll_wait:200:50:60:25", "ppoll:200:0:60",
                         "epoll_pwait:150:40:60:5")
    run = Triggered(test, load.pid, "--long-poll=50ms", *UNLIMITED, *args)
    truths, entries = truths_of(load)
    run = run.stop(test)
    open_until_the_end(test, run, truths)
    faults = []
    for thread in truths:
        for entry in thread["long"]:
            # Two threads may work at the same time: a report does not say whose it is.
            reported = [report for report in run.reports
                        if inside(report.start, report.stop, entry)]
            nested = [each for each in run.triggers.nested if each.tid == thread["tid"] and
                      inside(each.start, each.start + each.duration, entry)]
            if entry[2] - entry[1] >= LONG and (len(nested) > 1 or not reported and not nested):
                faults.append(f"{entry}: reported {len(reported)} times, nested {len(nested)}")
    test.ok(len(entries) >= 11, "there were long ones", len(entries))
    test.ok(not faults, "each is reported or listed as nested", *faults[:12])
    test.between(len(run.reports) + run.triggers.n_nested,
                 sum(entry[2] - entry[1] >= LONG for entry in entries), len(entries),
                 "once, and no others")
    check_reports(test, run.reports)


def case_default(test):
    """Without a value: a second, as Open vSwitch warns."""
    load = test.workload("poller", "poll:8:4:1100:1", "epoll_wait:40:8:300:1")
    run = Triggered(test, load.pid, "--long-poll", *UNLIMITED)
    truths, entries = truths_of(load)
    run = run.stop(test)
    open_until_the_end(test, run, truths)
    long = [entry for entry in entries if entry[2] - entry[1] >= SECOND]
    test.eq(len(long), 2, "two long ones")
    test.eq(len(run.reports) + run.triggers.n_nested, 2, "both are found")
    for report in run.reports:
        test.eq(sum(inside(report.start, report.stop, entry) for entry in long), 1,
                "a report is one of them")
    check_reports(test, run.reports)


kdtest.main(case_each_call, case_several_threads, case_several_threads_classic,
            case_default)
