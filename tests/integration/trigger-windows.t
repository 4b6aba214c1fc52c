#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Windows that probes open and close: the four combinations, counts and pauses, and the delta,
against the log of the probed process."""

import json
import signal

import kdtest
from kdtest import MS, SECOND
from kdtrigger import (BOTH, ENTRY, NO_LIMIT, RETURN, UNLIMITED, certainly, check_reports, inside,
                       Log, monotonic, reported_once, Triggered)


DELTA = SECOND // 2000


def starts_in(report, entry):
    return entry[0] <= report.start <= entry[1]


def stops_in(report, entry):
    return entry[2] <= report.stop <= entry[3]


def passed_over(calls, since, opened):
    """Calls with which a window could have begun, but did not."""
    return [call for call in calls if since <= call[0] and call[1] < opened]


def first_after(test, run, over):
    """A program without a CPU may have had no time to read a window before its bank was needed."""
    test.ok(len(over) <= run.triggers.roles["start"].missed, "the first one after that", *over)


def case_start_only(test):
    """Windows from the trigger for the sample time; then a pause in which hits do not count."""
    load = test.workload("caller", "sleeps:300:100:1:5000")
    run = Triggered(test, load.pid, "--start-trigger", ENTRY, "--sample-time", "0.15",
                    "--sample-count", "2", "--sample-interval", "0.2", urgent=True)
    calls = Log(load, load.go()).calls()
    run = run.finish(test)
    if not test.eq(len(run.reports), 2, "two reports"):
        return
    first, second = run.reports
    test.ok(starts_in(first, calls[0]), "the first call opens the first window", first.start,
            calls[0])
    test.ok(any(starts_in(second, call) for call in calls), "a call opens the second",
            second.start)
    for report in run.reports:
        test.eq((report.stop, report.delta), (None, None), "time ends it, not a trigger")
        test.ok(report.window >= 150 * MS, "after the sample time", report.window)
    paused = monotonic(first.stamps["Stop sampling"])
    test.ok(second.start - paused >= 200 * MS - MS, "the pause between them", second.start, paused)
    first_after(test, run, passed_over(calls, paused + 200 * MS + MS, second.start))
    test.eq(run.triggers.roles["start"].used, 2, "two hits were used")
    test.ok("stop" not in run.triggers.roles, "there is no stop trigger")
    check_reports(test, run.reports)


def case_stop_only(test):
    """From now to the trigger."""
    load = test.workload("caller", "sleeps:150:50:1:5000")
    run = Triggered(test, load.pid, "--stop-trigger", RETURN, "--sample-count", "2")
    calls = Log(load, load.go()).calls()
    run = run.finish(test)
    if not test.eq(len(run.reports), 2, "two reports"):
        return
    first, second = run.reports
    test.ok(stops_in(first, calls[0]), "the first return ends the first window", first.stop,
            calls[0])
    test.ok(monotonic(first.stamps["Start sampling"]) < calls[0][0], "which began before the call")
    opened = monotonic(second.stamps["Start sampling"])
    ends = [call for call in calls if call[2] > opened + MS]
    test.ok(any(stops_in(second, call) for call in calls), "a return ends the second", second.stop)
    test.ok(ends and second.stop <= ends[0][3], "the next one", opened, ends[:1])
    test.eq([report.start for report in run.reports], [None, None], "no trigger opens them")
    test.eq(run.triggers.roles["stop"].used, 2, "two hits were used")
    check_reports(test, run.reports)


def case_both(test):
    """Three windows are the first three calls, and each contains exactly one system call."""
    load = test.workload("caller", "sleeps:20:50:1:5000")
    run = Triggered(test, load.pid, *BOTH, "--sample-count", "3")
    truths = load.go()
    calls = Log(load, truths).calls()
    run = run.finish(test)
    if not test.eq(len(run.reports), 3, "three reports"):
        return
    for number, (report, call) in enumerate(zip(run.reports, calls)):
        test.ok(inside(report.start, report.stop, call), f"window {number} is call {number}",
                report.start, report.stop, call)
        thread = report.thread(truths["threads"][0]["tid"])
        test.eq({name: row.count for name, row in thread.calls.items()}, {"clock_nanosleep": 1},
                "it holds the one system call of the function")
        test.between(thread.ns["blocked interruptible"], 4.5 * MS, report.delta,
                     "which was most of it")
    test.eq((run.triggers.roles["start"].used, run.triggers.roles["stop"].used), (3, 3),
            "three hits of each were used")
    check_reports(test, run.reports)


def case_pause(test):
    """With both triggers, too, calls in the pause do not count."""
    load = test.workload("caller", "sleeps:150:50:1:5000")
    run = Triggered(test, load.pid, *BOTH, "--sample-count", "3", "--sample-interval", "300ms",
                    urgent=True)
    calls = Log(load, load.go()).calls()
    run = run.finish(test)
    test.eq(len(run.reports), 3, "three reports")
    reported_once(test, run.reports, [call for call in calls if any(
        inside(report.start, report.stop, call) for report in run.reports)], 0, "window")
    over = []
    for one, two in zip(run.reports, run.reports[1:]):
        test.ok(two.start - one.stop >= 300 * MS, "a call after the pause is the next window",
                one.stop, two.start)
        over += passed_over(calls, one.stop + 300 * MS, two.start)
    first_after(test, run, over)
    test.ok(run.triggers.roles["start"].idle >= 1, "hits in the pause are counted",
            run.triggers.roles)
    check_reports(test, run.reports)


def companions_faults(load, reports):
    """Errors about the threads that slept and spun through all windows."""
    sleeper, spinner = load.tid("sleeper")[0], load.tid("spinner")[0]
    faults = []
    for number, report in enumerate(reports):
        asleep, awake = report.thread(sleeper), report.thread(spinner)
        if asleep.ns["blocked interruptible"] != asleep.life:
            faults.append(f"report {number}: the sleeper: {asleep.ns}")
        ran = awake.running + sum(awake.ns[state] for state in (
            "stolen by hypervisor", "ready after preemption", "ready after wakeup"))
        if ran != awake.life:
            faults.append(f"report {number}: the spinner: {awake.ns}")
        for thread in (asleep, awake):
            if not report.delta * 0.999 - 1000 <= thread.life <= report.delta * 1.001 + 1000:
                faults.append(f"report {number}: {thread!r} lived {thread.life:,} of "
                              f"{report.delta:,}")
    return faults


def case_delta(test):
    """Of 200,000 calls, as many per second as the probes allow, exactly the long ones are reported."""
    load = test.workload("caller", "spins:200000:100000:-3300:1000", "sleeper", "spinner")
    # Calls that others delay are long, too, and come in clusters.
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "500us", "--window-banks", "7",
                    *UNLIMITED, *NO_LIMIT, urgent=True)
    truths = load.go()
    log = Log(load, truths)
    run = run.stop(test)
    calls = log.calls()
    least, most = certainly(calls, DELTA)
    test.ok(least >= 40, "there were long calls", least)
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    # Without a CPU the program may have had no time to read a window before its bank was needed.
    test.between(len(run.reports) + start.missed, least, most + start.missed,
                 "as many reports as long calls")
    reported_once(test, run.reports, calls, DELTA, missed=start.missed)
    test.eq((start.hits, stop.hits), (log.made, log.made), "every call was evaluated")
    test.eq((start.used, start.skipped + start.missed),
            (len(run.reports), log.made - len(run.reports)), "the others were too short")
    test.eq([role[outcome] for role in (start, stop)
             for outcome in ("overlapped", "idle", "unmatched")], [0] * 6,
            "there was nothing else")
    test.eq(run.triggers.durations.count, log.made, "all are in the distribution")
    test.between(run.triggers.durations.max, max(call[2] - call[1] for call in calls),
                 max(call[3] - call[0] for call in calls), "its maximum")
    test.between(run.triggers.durations.min, truths["threads"][0]["min_ns"] / 4,
                 20 * truths["threads"][0]["min_ns"] + 10_000, "its minimum")
    faults = companions_faults(load, run.reports)
    test.ok(not faults, "a sleeper slept and a spinner ran in all of them", *faults[:12])
    check_reports(test, run.reports)


def case_hit_to_hit(test):
    """The same probe as start and stop: windows reach from each call to the next."""
    load = test.workload("caller", "spins:100000:50000:-5000:1000")
    run = Triggered(test, load.pid, "--start-trigger", ENTRY, "--stop-trigger", ENTRY,
                    "--trigger-delta=500000", "--window-banks", "7", *UNLIMITED, *NO_LIMIT,
                    urgent=True)
    log = Log(load, load.go())
    run = run.stop(test)
    starts = log.calls("starts")
    # The last call opens a window that only the end of the run closes.
    last = [report for report in run.reports if report.stop is None]
    run.reports = [report for report in run.reports if report.stop is not None]
    test.ok(len(last) <= 1 and all(report.start > starts[-1][1] for report in last),
            "the last call has no next one", last)
    test.ok(certainly(starts, DELTA)[0] >= 10, "there were long ones", certainly(starts, DELTA))
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    reported_once(test, run.reports, starts, DELTA, "long time between two calls", start.missed)
    test.eq((start.hits, stop.hits), (log.made, log.made), "each hit is both")
    test.eq(run.triggers.durations.count, log.made - 1, "from hit to hit")
    test.eq(start.overlapped, 0, "none is overlapped")
    check_reports(test, run.reports)


def case_verbose(test):
    """Windows that are too short are listed only with --verbose."""
    for option in ((), ("--verbose",), ("-v",)):
        load = test.workload("caller", "spins:200:1000:20:2000")
        run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "1000000", *UNLIMITED, *option,
                        urgent=True)
        log = Log(load, load.go())
        run = run.stop(test)
        reported_once(test, run.reports, log.calls(), MS)
        skipped = run.triggers.roles["start"].skipped
        test.eq(skipped, log.made - len(run.reports), "the short ones are counted")
        test.eq(len(run.skipped), skipped if option else 0,
                f"{option[0] if option else 'without it'}: lines of windows too short")
        windows = sorted([(each.start, each.stop) for each in run.skipped + run.reports])
        first, last = (log.truths[load.tid("spins")[0]][edge] for edge in ("from", "to"))
        test.ok(all(one[1] < two[0] for one, two in zip(windows, windows[1:])) and
                first <= windows[0][0] and windows[-1][1] <= last,
                "none overlaps another, all lie in the time of the calls", windows[:3])
        test.ok(all(each.delta < MS for each in run.skipped), "they are short")
        check_reports(test, run.reports)


def case_banks(test):
    """Many windows at once, with few banks and with many: missed ones are counted."""
    for banks in (2, 4, 7):
        load = test.workload("caller", "spins:600:2000:1:50")
        run = Triggered(test, load.pid, *BOTH, "--window-banks", str(banks), *UNLIMITED,
                        *NO_LIMIT)
        log = Log(load, load.go())
        run = run.stop(test)
        start = run.triggers.roles["start"]
        test.eq(start.hits, log.made, f"{banks} banks: every call was evaluated")
        test.ok(run.reports, f"{banks} banks: there are reports")
        test.eq(start.used + start.missed, log.made, f"{banks} banks: used or missed")
        test.eq(len(run.reports), start.used, f"{banks} banks: what was used is reported")
        calls = [call for call in log.calls() if any(inside(report.start, report.stop, call)
                                                     for report in run.reports)]
        reported_once(test, run.reports, calls, 0, "window")
        check_reports(test, run.reports)


def case_duration(test):
    """--duration limits the whole run, with an unlimited number of samples until then."""
    load = test.workload("caller", "sleeps:150:50:5:5000")
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "2ms", "--duration", "1.2s",
                    urgent=True)
    load.send("go")
    run_begun, run = run.begun, run.finish(test)
    log = Log(load, json.loads(load.line("{")))
    _, ended = run.triggers.armed
    test.ok(ended - run_begun >= 1200 * MS, "it ends by itself", run_begun, ended)
    whole = [report for report in run.reports if report.stop]  # the end may have cut the last one
    test.ok(len(run.reports) - len(whole) <= 1, "and cuts one sample at most", run.reports)
    # Others are long because they had no CPU.
    calls = [call for call in log.calls() if call[3] < ended or any(
        inside(report.start, report.stop, call) for report in whole)]
    test.ok(len(whole) > 1, "with the windows until then", len(whole))
    reported_once(test, whole, calls, 2 * MS)
    check_reports(test, whole)


# --- The longest of many windows, and the distribution of all of them ---

WORST = 3


def longest_are_reported(test, run, calls, worst=WORST):
    """The reports are the calls that the workload itself found to be the longest."""
    test.eq(len(run.reports), worst, "as many reports")
    surely = sorted((end - begin for _, begin, end, _ in calls), reverse=True)
    faults, found = [], set()
    for report in run.reports:
        fits = [tuple(call) for call in calls if inside(report.start, report.stop, call)]
        if len(fits) != 1 or fits[0] in found:
            faults.append(f"{report.start} to {report.stop} is {fits}")
            continue
        found.add(fits[0])
        if fits[0][3] - fits[0][0] < surely[worst - 1]:
            faults.append(f"{fits[0]} is not one of the {worst} longest")
    test.ok(not faults, "they are the longest calls by the workload's log", *faults)


def distribution(test, durations, calls):
    """Each quantile lies between those of the workload's two own measures."""
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
    """While nobody reads any window, one that is shorter than enough others frees its bank for the
    next by itself."""
    for worst, banks, options in ((WORST, WORST + 1, ()), (1, 2, ()),
                                  (1, 2, ("--trigger-same-thread",))):
        load = test.workload("caller", "varies:400:2000:1:20")
        run = Triggered(test, load.pid, *BOTH, f"--trigger-delta=worst={worst}", "--window-banks",
                        str(banks), *options, "--duration", "2min", *NO_LIMIT)
        run.signal(signal.SIGSTOP)
        kdtest.wait_until(lambda: kdtest.state_of(run.pid, run.pid) == "T")
        log = Log(load, load.go())
        run.signal(signal.SIGCONT)
        run = run.stop(test)
        calls = log.calls()
        test.eq(len(calls), log.made, "the workload logged all calls")
        test.eq(run.triggers.roles["start"].missed, 0, f"{worst} of {banks} banks: none was missed")
        longest_are_reported(test, run, calls, worst)
        distribution(test, run.triggers.durations, calls)
        check_reports(test, run.reports)


def case_over_a_count(test):
    """worst= over the first hundred windows only."""
    load = test.workload("caller", "varies:300:1000:1:20")
    run = Triggered(test, load.pid, *BOTH, f"--trigger-delta=worst={WORST}", "--sample-count", "100",
                    *NO_LIMIT, urgent=True)
    calls = Log(load, load.go()).calls()
    run = run.finish(test)
    longest_are_reported(test, run, calls[:100])
    distribution(test, run.triggers.durations, calls[:100])
    check_reports(test, run.reports)


def case_with_a_delta(test):
    """Windows shorter than the delta do not count, even if there are no others."""
    load = test.workload("caller", "spins:300:1000:150:3000")
    run = Triggered(test, load.pid, *BOTH, f"--trigger-delta=worst={WORST}", "--trigger-delta", "2ms",
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


kdtest.main(case_start_only, case_stop_only, case_both, case_pause, case_delta, case_hit_to_hit,
            case_verbose, case_banks, case_duration, case_over_a_duration, case_over_a_count,
            case_with_a_delta)
