#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The longest of many windows, and the distribution of all of them."""

import kdtest
from kdtest import MS
from kdtrigger import BOTH, NO_LIMIT, Log, Triggered, check_reports, inside

WORST = 3


def longest_are_reported(test, run, calls):
    """The reports are the calls that the workload itself found the longest."""
    test.eq(len(run.reports), WORST, "three reports")
    surely = sorted((end - begin for _, begin, end, _ in calls), reverse=True)
    faults, found = [], set()
    for report in run.reports:
        fits = [tuple(call) for call in calls if inside(report.start, report.stop, call)]
        if len(fits) != 1 or fits[0] in found:
            faults.append(f"{report.start} to {report.stop} is {fits}")
            continue
        found.add(fits[0])
        if fits[0][3] - fits[0][0] < surely[WORST - 1]:
            faults.append(f"{fits[0]} is not one of the {WORST} longest")
    test.ok(not faults, "they are the three longest calls by the workload's log", *faults)


def distribution(test, durations, calls):
    """Each quantile lies between those of the workload's own two measures."""
    least = sorted(end - begin for _, begin, end, _ in calls)
    most = sorted(after - before for before, _, _, after in calls)
    test.eq(durations.count, len(calls), "all windows are in the distribution")
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)):
        place = max(0, min(len(calls), round(share * len(calls))) - 1)
        low, high = max(0, place - 1), min(len(calls) - 1, place + 1)
        test.between(durations[name], least[low] * 0.95, most[high] * 1.05, f"its {name}")
    test.between(durations.min, least[0], most[0], "its minimum")
    test.between(durations.max, least[-1], most[-1], "its maximum")


def case_over_a_duration(test):
    load = test.workload("caller", "varies:800:1000:1:20")
    run = Triggered(test, load.pid, *BOTH, "--trigger-worst", str(WORST), "--duration", "2min",
                    *NO_LIMIT, urgent=True)
    log = Log(load, load.go())
    run = run.stop(test)
    calls = log.calls()
    test.eq(len(calls), log.made, "the workload logged all calls")
    longest_are_reported(test, run, calls)
    distribution(test, run.triggers.durations, calls)
    test.eq(run.triggers.roles["start"].missed, 0, "none was missed")
    check_reports(test, run.reports)


def case_over_a_count(test):
    """Of the first hundred windows only."""
    load = test.workload("caller", "varies:300:1000:1:20")
    run = Triggered(test, load.pid, *BOTH, "--trigger-worst", str(WORST), "--sample-count", "100",
                    *NO_LIMIT, urgent=True)
    calls = Log(load, load.go()).calls()
    run = run.finish(test)
    longest_are_reported(test, run, calls[:100])
    distribution(test, run.triggers.durations, calls[:100])
    check_reports(test, run.reports)


def case_with_a_delta(test):
    """Those shorter than the delta do not count, even if there are no others."""
    load = test.workload("caller", "spins:300:1000:150:3000")
    run = Triggered(test, load.pid, *BOTH, "--trigger-worst", str(WORST), "--trigger-delta", "2ms",
                    "--duration", "2min", *NO_LIMIT, urgent=True)
    log = Log(load, load.go())
    run = run.stop(test)
    long = [call for call in log.calls() if call[3] - call[0] >= 2 * MS]
    certainly = [call for call in long if call[2] - call[1] >= 2 * MS]
    test.eq([len([call for call in long if inside(report.start, report.stop, call)])
             for report in run.reports], [1] * len(run.reports), "each is a long one")
    test.between(len(run.reports), min(WORST, len(certainly)), min(WORST, len(long)),
                 f"all of the {len(long)} long ones, or the longest")
    check_reports(test, run.reports)


kdtest.main(case_over_a_duration, case_over_a_count, case_with_a_delta)
