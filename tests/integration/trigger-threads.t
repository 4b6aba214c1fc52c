#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Several threads call the probed function at once: pairs are matched per thread, and calls that
overlapped an open window are counted and listed."""

import subprocess
import sys

import kdtest
from kdtest import MS
from kdtrigger import (BOTH, NO_LIMIT, UNLIMITED, Log, Triggered, certainly, check_reports, inside,
                       reported_once)

DELTA = MS // 2
CALLERS = 4
LATE = 0  # windows of a hundred


def left_over(wanted):
    """Those that get nothing when as many as possible are each given one thing. wanted: what each
    one can take."""
    given = {}

    def gets_one(who, tried):
        for one in wanted[who]:
            if one not in tried:
                tried.add(one)
                if one not in given or gets_one(given[one], tried):
                    given[one] = who
                    return True
        return False
    return [who for who in range(len(wanted)) if not gets_one(who, set())]


def pairs_of(test, banks, *roles):
    """The caller's log, and a run with pairs per thread, whose counts are checked."""
    load = test.workload("caller", *roles)
    run = Triggered(test, load.pid, *BOTH, "--trigger-same-thread", "--trigger-delta", "500us",
                    "--window-banks", banks, *UNLIMITED, *NO_LIMIT, urgent=True)
    log = Log(load, load.go())
    run = run.stop(test)
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    test.eq(log.lost, 0, "the workload's log is complete")
    test.eq((start.hits, stop.hits), (log.made, log.made), "all calls are hits")
    test.eq(run.triggers.durations.count, log.made, "each is in the distribution")
    test.eq(len(run.triggers.nested), run.triggers.n_nested, "each nested-long call is listed")
    least, most = certainly(log.calls(), DELTA)
    test.between(len(run.reports) + run.triggers.n_nested + start.missed, least, most,
                 f"reported ({len(run.reports)}), nested-long ({run.triggers.n_nested}) and missed "
                 f"({start.missed}) are all long calls")
    check_reports(test, run.reports, late=LATE)
    return log, run


def each_once(test, log, run):
    """Each report and each nested-long entry is a call of its own, and each long call is one of
    them unless it was missed. A call's stamps may also enclose another call if its thread had to
    wait between them."""
    calls = log.calls()
    pairs = [(report.start, report.stop) for report in run.reports] + \
        [(each.start, each.start + each.duration) for each in run.triggers.nested]
    fits = [[number for number, call in enumerate(calls) if inside(*pair, call)] for pair in pairs]
    wrong = [pairs[number] for number in left_over(fits)]
    test.ok(not wrong, "each is a call of its own", *wrong[:12])
    long = [number for number, (_, begin, end, _) in enumerate(calls) if end - begin >= DELTA]
    unseen = left_over([[pair for pair, of in enumerate(fits) if number in of] for number in long])
    test.ok(len(unseen) <= run.triggers.roles["start"].missed, "none but missed ones is not there",
            len(unseen), run.triggers.roles)


def case_same_thread(test):
    """Threads that are slow at the same time get a report each."""
    log, run = pairs_of(test, 7, *["sleeps:30000:15000:1000:1000"] * 2,
                        *["sleeps:30000:15000:-1000:1000"] * 2)
    reports = sorted(run.reports, key=lambda report: report.start)
    test.ok(any(one.stop > two.start for one, two in zip(reports, reports[1:])),
            "some of them overlap", len(reports))
    test.ok(len(log.calls()) > 80, "there were long calls", len(log.calls()))
    each_once(test, log, run)


def case_two_banks(test):
    """With fewer banks than threads, calls that find no free bank are listed."""
    log, run = pairs_of(test, 2, *["sleeps:10000:15000:1000:1000"] * CALLERS)
    test.ok(run.reports and run.triggers.n_nested, "there are both")
    each_once(test, log, run)
    wrong = [each for each in run.triggers.nested if not any(
        inside(each.start, each.start + each.duration, call)
        for call in log.by_tid.get(each.tid, {"calls": []})["calls"])]
    test.ok(not wrong, "listed under the thread that made it", *wrong[:5])
    test.eq({each.thread for each in run.triggers.nested}, {"sleeps"}, "and its name")


def case_any_thread(test):
    """Without pairs per thread, the next stop of any thread ends the window; nothing is lost."""
    load = test.workload("caller", *["sleeps:10000:10000:500:1000"] * CALLERS)
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "500us", *UNLIMITED, *NO_LIMIT)
    log = Log(load, load.go())
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
    """Calls inside another thread's call: each is reported separately. They do not upset the books
    of the outer one."""
    load = test.workload("caller", "sleeps:1:1:1:400000", "sleeps:3:10:1:20000")
    run = Triggered(test, load.pid, *BOTH, "--trigger-same-thread", "--trigger-delta", "10ms",
                    *UNLIMITED)
    truths = load.go()
    log = Log(load, truths)
    run = run.stop(test)
    long, short = (log.by_tid[tid]["calls"] for tid in
                   sorted(log.truths, key=lambda tid: log.truths[tid]["calls"]))
    test.eq((len(long), len(short)), (1, 3), "the workload did what it should")
    test.ok(any(call[0] > long[0][1] and call[3] < long[0][2] for call in short),
            "one is inside of another")
    reported_once(test, run.reports, log.calls(), 10 * MS)
    test.eq(run.triggers.n_nested, 0, "none is only listed")
    for report in run.reports:
        if inside(report.start, report.stop, long[0]):
            slept = sum(thread.calls["clock_nanosleep"].count for thread in report.threads
                        if "clock_nanosleep" in thread.calls)
            within = sum(call[0] > long[0][1] and call[3] < long[0][2] for call in short)
            test.between(slept, 1 + within, 2 * len(short) + 2, "it has what happened meanwhile")
    check_reports(test, run.reports)


def case_longest(test):
    """A call that ends first does not end the sample of a longer one: the longer pair, begun
    second, is among the longest."""
    load = test.workload("caller", "sleeps:1:0:1:400000", "sleeps:2:20:2:500000")
    run = Triggered(test, load.pid, *BOTH, "--trigger-same-thread", "--trigger-delta=worst=1",
                    "--duration", "60s", *NO_LIMIT)
    log = Log(load, load.go())
    run = run.stop(test)
    first, longest = log.calls()
    test.ok(first[1] < longest[0] < first[2], "the second began in the first one", first, longest)
    test.eq([inside(report.start, report.stop, longest) for report in run.reports], [True],
            "the longer one is the sample")
    check_reports(test, run.reports)


def exec_run(test, start, stop, *args):
    """The statistics of a run in which the process executes another program."""
    load = test.workload("execer", "leader", 10, 10)
    run = Triggered(test, load.pid, "--start-trigger", start, "--stop-trigger", stop, *UNLIMITED,
                    *args)
    load.go()
    run = run.stop(test)
    return run, run.triggers.roles["start"], run.triggers.roles["stop"]


def case_exec(test):
    """A function that executes another program does not return: hits of the new program do not end
    its window. A kernel trigger does."""
    for args in ((), ("--trigger-same-thread",)):
        run, start, stop = exec_run(test, "up:libc.so.6:execv", "up:libc.so.6:clock_nanosleep", *args)
        test.eq((len(run.reports), start.ended, stop.unmatched, stop.hits), (0, 1, 1, 1),
                f"{args}: the start is told to have ended")
    run, start, stop = exec_run(test, "t:syscalls:sys_enter_execve", "t:syscalls:sys_exit_execve",
                                "--trigger-same-thread")
    test.eq((len(run.reports), start.used, start.ended), (1, 1, 0), "the call itself is a window")


def case_any_process(test):
    """System calls of other processes count only with --trigger-any; a thread of theirs that ends
    between start and stop leaves only a count."""
    load = test.workload("caller", "sleeper")
    given = ("--start-trigger", "t:syscalls:sys_enter_getsid", "--stop-trigger",
             "t:syscalls:sys_enter_getpgid", "--trigger-same-thread", *UNLIMITED)
    ours = Triggered(test, load.pid, *given)
    run = Triggered(test, load.pid, *given, "--trigger-any")
    text = "import os, sys, time; os.getsid(0); time.sleep(0.05); len(sys.argv) < 2 or os.getpgid(0)"
    for args in ((), ("both",)):
        subprocess.run([sys.executable, "-c", text, *args], check=True)
    ours, run = ours.stop(test), run.stop(test)
    test.eq(ours.triggers.roles["start"].hits, 0, "without it they do not count")
    start = run.triggers.roles["start"]
    test.ok(start.used >= 1 and start.ended >= 1 and start.of == "any",
            "with it one is a window, one has ended", run.triggers.roles)
    test.ok(any(report.delta >= 50 * MS for report in run.reports), "with the right length")
    check_reports(test, run.reports)


kdtest.main(case_any_process, case_same_thread, case_two_banks, case_any_thread, case_one_of_two, case_longest,
            case_exec)
