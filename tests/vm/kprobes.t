#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel functions as triggers: one that only the workload calls, as often and for as long as it
says itself."""

import json
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdreport  # noqa: E402
import kdtest  # noqa: E402
from kdtest import MS  # noqa: E402
from kdstuck import attached, drained, full_pipe  # noqa: E402
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, asleep, check_reports  # noqa: E402
from kernelevents import CALL, FunctionEvent, need_kprobes  # noqa: E402

# The system call behind sigtimedwait(), which hardly any program makes.
FUNCTION = f"{CALL}rt_sigtimedwait"
ENTRY, RETURN = f"k:{FUNCTION}", f"kr:{FUNCTION}"
BOTH = ("--start-trigger", ENTRY, "--stop-trigger", RETURN)
PROBES = pathlib.Path("/sys/kernel/debug/kprobes")


def start(test, calls, every=0, pause=0.1):
    """A workload that makes calls, one in so many of which waits for 20 ms. With a pause (in
    seconds) between calls the program need not return its banks quickly."""
    need_kprobes()
    return test.workload("waiter", calls, every, int(pause * 1e6))


def go(load):
    load.send("go")
    return json.loads(load.line("[", patience=60))


def matches(test, reports, calls):
    """Checks that each window lies inside one call, and each call has one window."""
    found = {}
    for report in reports:
        inside = [number for number, (before, after, _) in enumerate(calls)
                  if before <= report.start and report.stop <= after]
        for number in inside:
            found[number] = found.get(number, 0) + 1
        test.eq(len(inside), 1, "a window lies inside of one call's own time stamps")
    test.eq(found, dict.fromkeys(range(len(calls)), 1), "each call is one window")


def case_entry_to_return(test):
    load = start(test, 12, 4)
    truths = FunctionEvent(test, "p", FUNCTION), FunctionEvent(test, "r", FUNCTION)
    run = Triggered(test, load.pid, *BOTH, *UNLIMITED)
    before = kdtest.awake(load.pid, load.pid)
    calls = go(load)
    awake = kdtest.awake(load.pid, load.pid) - before
    run = run.stop(test)
    for role, truth in zip(("start", "stop"), truths):
        test.eq((run.triggers.roles[role].hits, truth.count()), (len(calls), len(calls)),
                f"{role}: a hit for each call, as the kernel's own event counts them")
    matches(test, run.reports, calls)
    for report, (before, after, long) in zip(run.reports, calls):
        test.between(report.delta, 20 * MS if long else 0, after - before,
                     "which is as long as the call")
    asleep(test, [report.thread(load.pid) for report, (*_, long) in zip(run.reports, calls) if long],
           awake)
    check_reports(test, run.reports)


def case_delta(test):
    """Of many calls, only the long ones are reported."""
    load = start(test, 300, 60, 0)
    run = Triggered(test, load.pid, *BOTH, *UNLIMITED, *NO_LIMIT, "--trigger-delta", "20ms")
    calls = go(load)
    run = run.stop(test)
    row = run.triggers.roles["stop"]
    least = [call for call in calls if call[2]]
    most = [call for call in calls if call[1] - call[0] >= 20 * MS]
    test.eq(row.hits, len(calls), "every call is a hit")
    test.eq((row.missed, row.unmatched), (0, 0), "no window is missed")
    test.between(len(run.reports), len(least), len(most), "the long calls are reported")
    test.eq(row.skipped, len(calls) - len(run.reports), "all others are skipped")
    matches(test, run.reports, [call for call in most if any(
        call[0] <= report.start <= call[1] for report in run.reports)])
    test.ok(all(any(before <= report.start <= after for report in run.reports)
                for before, after, _ in least), "each of them")
    check_reports(test, run.reports)


def case_return_opens(test):
    """A window from the return of a function, as long as the sample time."""
    load = start(test, 1, 1)
    run = Triggered(test, load.pid, "--start-trigger", RETURN, "--sample-time", "0.2",
                    "--sample-count", "1")
    (before, after, _), = go(load)
    run = run.finish(test)
    test.eq(len(run.reports), 1, "one window")
    report = run.reports[0]
    test.between(report.start, before + 20 * MS, after, "it opens at the end of the call")
    test.between(report.window, 200 * MS, 30 * kdtest.SECOND, "and lasts as long as asked for")
    test.books(report)


CROWD = """
import signal, sys, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=signal.sigtimedwait, args=([signal.SIGUSR2], 3))
           for _ in range(60)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", flush=True)
while "busy" in sys.argv:
    signal.sigtimedwait([signal.SIGUSR2], 0)
"""


def dropped_told(run):
    """How many hits are reported as dropped by the kernel, and whether it does not count them."""
    told = [re.match(r"([\d,]+) hits? (?:is|are) missing \(the kernel dropped", text)
            for text in run.triggers.warnings]
    return (sum(int(match[1].replace(",", "")) for match in told if match),
            any("this kernel does not say how many it drops" in text
                for report in run.reports for text in report.notices))


def case_dropped(test):
    """More threads are in a function at once than the kernel can remember returns for: dropped ones
    are counted or, where the kernel does not count them, the report mentions the possibility."""
    need_kprobes()
    load = test.child([sys.executable, "-c", CROWD])
    load.line("ready")
    run = Triggered(test, load.pid, "--start-trigger", RETURN, "--sample-time", "1ms",
                    "--trigger-target-only", *UNLIMITED, *NO_LIMIT)
    load.send("go")
    load.line("done", patience=60)
    run = run.stop(test, (0, 1))
    hits = run.triggers.roles["start"].hits
    test.between(hits, 1, 59, "of 60 returns the kernel drops some")
    dropped, silent = dropped_told(run)
    if dropped:
        test.eq((hits + dropped, silent), (60, False), "it says how many")
    else:
        test.ok(silent, "it does not say how many, and that is noted", hits, run.triggers.warnings)


def case_dropped_before_the_limit(test):
    """They are counted, too, if the run ends early, as triggers cost too much."""
    need_kprobes()
    load = test.child([sys.executable, "-c", CROWD, "busy"])
    load.line("ready")
    run = Triggered(test, load.pid, "--start-trigger", RETURN, "--sample-time", "1ms",
                    "--max-overhead", "1,stop", *UNLIMITED)
    load.send("go")
    run = run.finish(test, 75)
    dropped, silent = dropped_told(run)
    test.ok(dropped or silent, "that some were dropped is said", run.triggers.warnings)


def case_dropped_before_a_signal(test):
    """They are counted, too, if all is detached by a signal, as an output cannot be written."""
    need_kprobes()
    load = test.child([sys.executable, "-c", CROWD])
    load.line("ready")
    reader, writer = full_pipe(test)
    run = Triggered(test, load.pid, "--start-trigger", RETURN, "--sample-time", "1ms", "-o", "text",
                    "-o", f"json:/dev/fd/{writer}", *UNLIMITED, *NO_LIMIT, pass_fds=[writer])
    load.send("go")
    load.line("done", patience=60)
    kdtest.wait_until(lambda: kdtest.waits_in(run.pid, "pipe_write"))
    run.signal(kdtest.signal.SIGINT)
    kdtest.wait_until(lambda: attached(run.pid) == set())
    kdtest.wait_until(lambda: drained(reader) and run.proc.poll() is not None)
    run = run.finish(test, (0, 1))
    dropped, silent = dropped_told(run)
    test.ok(dropped or silent, "that some were dropped is said", run.triggers.warnings)


def case_whose_calls(test):
    """Calls of any process are hits unless only those of the target are asked for."""
    for arguments, both in (((), True), (("--trigger-target-only",), False)):
        target, other = start(test, 5), start(test, 7)
        run = Triggered(test, target.pid, *BOTH, *UNLIMITED, *arguments)
        go(target)
        go(other)
        run = run.stop(test)
        want = 5 + 7 * both
        test.eq([row.hits for row in run.triggers.roles.values()], [want, want],
                f"hits with {arguments}")
        test.eq(len(run.reports), want, "each pair is a window")


def case_pattern(test):
    load = start(test, 6)
    run = Triggered(test, load.pid, "--start-trigger", f"k:{FUNCTION[:-3]}*",
                    "--stop-trigger", f"kr:{FUNCTION[:-3]}*", *UNLIMITED)
    calls = go(load)
    run = run.stop(test)
    matches(test, run.reports, calls)


def probed():
    return FUNCTION in (PROBES / "list").read_text()


def case_nothing_is_left(test):
    """Two runs on one probe; whether killed or ended normally, they leave no probe behind."""
    load = start(test, 5)
    killed = Triggered(test, load.pid, *BOTH, *UNLIMITED)
    other = Triggered(test, load.pid, *BOTH, *UNLIMITED)
    test.ok(probed(), "the kernel has a probe")
    killed.signal(signal.SIGKILL)
    killed.wait()
    calls = go(load)
    run = other.stop(test)
    matches(test, run.reports, calls)
    kdtest.wait_until(lambda: not probed())
    test.ok(not probed(), "the kernel has none after both ended")


def case_no_trigger_fires(test):
    load = start(test, 1)
    began = time.monotonic()
    done = test.program("-p", load.pid, *BOTH, "--duration", "1s")
    test.eq(done.status, 75, "status 75")
    test.between(time.monotonic() - began, 1, 60, "after the duration")
    test.eq([row.hits for row in kdreport.Run(done.stdout).triggers.roles.values()], [0, 0],
            "no hit of either probe")


def case_refused(test):
    """A function that does not exist, and one that the kernel does not allow to be probed."""
    load = start(test, 1)
    forbidden = [line.split()[-1] for line in (PROBES / "blacklist").read_text().splitlines()]
    symbols = pathlib.Path("/proc/kallsyms").read_text()
    forbidden = next(name for name in forbidden if "." not in name and
                     any(f" {kind} {name}\n" in symbols for kind in "tT"))
    for name, statuses in ((f"{CALL}rt_sigtimedwalk", (78,)), (forbidden, (71, 78))):
        done = test.program("-p", load.pid, "--start-trigger", f"k:{name}", "--duration", "5s")
        test.ok(done.status in statuses, f"{name}: status {' or '.join(map(str, statuses))}",
                done.status, done.stderr)
        test.ok(name in done.stderr and "libbpf" not in done.stderr, f"{name}: says why",
                done.stderr)
    done = test.program("-p", load.pid, "--start-trigger", f"k:{CALL}rt_sigtimedwalk")
    test.ok(FUNCTION in done.stderr, "the closest name is proposed", done.stderr)


kdtest.main(case_entry_to_return, case_delta, case_return_opens, case_whose_calls, case_pattern,
            case_dropped, case_dropped_before_the_limit, case_dropped_before_a_signal,
            case_nothing_is_left, case_no_trigger_fires, case_refused)
