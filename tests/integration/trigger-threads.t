#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several threads call the probed function at once: pairs per thread, and what
overlapped an open window is counted and listed."""

import kdtest
from kdtest import MS
from kdtrigger import (BOTH, NO_LIMIT, UNLIMITED, Log, Triggered, certainly, check_reports, inside)

DELTA = MS // 2
CALLERS = 4
LATE = 0  # windows of a hundred


def matched(calls, pairs, what, faults):
    """Marks the calls that the pairs (start, stop) are."""
    for start, stop in pairs:
        fits = [number for number, (call, _) in enumerate(calls) if inside(start, stop, call)]
        if len(fits) != 1:
            faults.append(f"{what} {start} to {stop} is {len(fits)} calls")
        for number in fits:
            calls[number][1].append(what)


def case_same_thread(test):
    """Reported and nested-long together are the calls that the threads saw."""
    roles = ["sleeps:30000:15000:1000:1000"] * 2 + ["sleeps:30000:15000:-1000:1000"] * 2
    load = test.workload("caller", *roles)
    run = Triggered(test, load.pid, *BOTH, "--trigger-same-thread", "--trigger-delta", "500us",
                    "--window-banks", "7", *UNLIMITED, *NO_LIMIT, urgent=True)
    log = Log(load, load.go(patience=60))
    run = run.stop(test)
    least, most = certainly(log.calls(), DELTA)
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    test.eq(log.lost, 0, "the workload's log is complete")
    test.ok(least > 80, "there were long calls", least)
    test.between(len(run.reports) + run.triggers.n_nested, least, most,
                 f"reported ({len(run.reports)}) and nested-long ({run.triggers.n_nested}) are "
                 "all long calls")
    test.ok(run.reports and run.triggers.n_nested, "there are both")
    test.eq((start.missed, stop.missed), (0, 0), "none was missed")
    test.eq((start.hits, stop.hits), (log.made, log.made), "all calls are hits")
    test.eq(run.triggers.durations.count, log.made, "each is in the distribution")
    test.eq(len(run.triggers.nested), run.triggers.n_nested, "each nested-long call is listed")
    faults = []
    calls = [(call, []) for call in log.calls()]
    matched(calls, [(report.start, report.stop) for report in run.reports], "report", faults)
    matched(calls, [(each.start, each.start + each.duration) for each in run.triggers.nested],
            "nested-long", faults)
    for (before, begin, end, after), found in calls:
        if len(found) > 1 or not found and end - begin >= DELTA or found and after - before < DELTA:
            faults.append(f"{before} to {after} ({after - before:,}) is {found}")
    test.ok(not faults, "each long call is one of them, once", *faults[:12])
    wrong = [each for each in run.triggers.nested if not any(
        inside(each.start, each.start + each.duration, call)
        for call in log.by_tid.get(each.tid, {"calls": []})["calls"])]
    test.ok(not wrong, "listed under the thread that made it", *wrong[:5])
    test.eq({each.thread for each in run.triggers.nested}, {"sleeps"}, "and its name")
    check_reports(test, run.reports, late=LATE)


def case_any_thread(test):
    """Without it the next stop of any thread ends the window; nothing is lost."""
    load = test.workload("caller", *["sleeps:10000:10000:500:1000"] * CALLERS)
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "500us", *UNLIMITED, *NO_LIMIT)
    log = Log(load, load.go(patience=60))
    run = run.stop(test)
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    test.eq((start.hits, stop.hits), (log.made, log.made), "all calls are hits")
    test.eq(run.triggers.durations.count, start.used + start.skipped + start.missed,
            "windows are in the distribution")
    test.eq((stop.used, stop.skipped), (start.used, start.skipped), "each has two edges")
    test.eq(run.triggers.n_nested, 0, "no pair is nested")
    test.ok(all(report.delta >= DELTA for report in run.reports), "short ones are skipped")
    check_reports(test, run.reports, late=LATE)


def case_one_of_two(test):
    """A call inside of another thread's window: nested if it is long enough."""
    load = test.workload("caller", "sleeps:1:1:1:400000", "sleeps:3:10:1:20000")
    run = Triggered(test, load.pid, *BOTH, "--trigger-same-thread", "--trigger-delta", "10ms",
                    *UNLIMITED)
    truths = load.go()
    log = Log(load, truths)
    run = run.stop(test)
    long, short = (log.by_tid[tid]["calls"] for tid in
                   sorted(log.truths, key=lambda tid: log.truths[tid]["calls"]))
    test.eq((len(long), len(short)), (1, 3), "the workload did what it should")
    reported = [call for call in log.calls()
                if any(inside(report.start, report.stop, call) for report in run.reports)]
    nested = [call for call in log.calls()
              if any(inside(each.start, each.start + each.duration, call)
                     for each in run.triggers.nested)]
    test.eq(sorted(reported + nested), log.calls(), "each is reported or nested")
    overlapping = [call for call in short if call[0] > long[0][1] and call[3] < long[0][2]]
    test.ok(long[0] not in reported or all(call in nested for call in overlapping),
            "what overlapped the long window is nested", reported, nested)
    check_reports(test, run.reports)


kdtest.main(case_same_thread, case_any_thread, case_one_of_two)
