#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--at: windows open at a given time of the wall clock and never before it, by the clocks as this
test reads them; contiguous windows share that edge."""

import datetime
import json
import signal
import time

import kdtest
from kdtest import MS, SECOND

# Reading two clocks takes this long at most in one of many tries; the program may be held up for
# any time, so nothing is said of how late it may be.
EXACT = 20_000


def offset():
    """CLOCK_REALTIME minus CLOCK_MONOTONIC in ns, from the two closest of many readings."""
    readings = []
    for _ in range(200):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1]


def wall_of(text):
    """A timestamp of the JSON output, in ns since 1970."""
    whole, fraction = text.rstrip("Z").split(".")
    moment = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * SECOND + int(fraction.ljust(9, "0"))


def run(test, *args, **options):
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time", "20ms", "-o", "json", *args, **options)
    return done, [sample for sample in map(json.loads, done.stdout.splitlines())
                  if sample["type"] == "sample"]


# Seconds ahead: for attaching the program takes 10 s at most before a moment, and as long as that
# on a machine that has no time for it.
AHEAD = 2, 5, *[9] * 20
TOO_LATE = "was over when the programs were attached"


TOO_SHORT = "the time of --duration was over before a sample could begin"


def in_time(attempt):
    """Calls attempt() with moments ever further ahead, and returns what the first one yields that
    is not too late."""
    for ahead in AHEAD:
        done, samples = attempt(ahead)
        if TOO_LATE not in done.stderr and " is over" not in done.stderr:
            break
    return done, samples


def check_start(test, sample, moment):
    """The window opens at the moment or later, and its start_time is the wall clock's time then."""
    start = sample["window"]["start_ns"] + offset()
    test.ok(start >= moment - EXACT, "the window does not open before its time",
            f"{moment - start} ns before")
    told = wall_of(sample["window"]["start_time"])
    test.ok(told >= moment, "nor is it told to", f"{moment - told} ns before")
    test.between(told - start, -MS, MS, "start_time is the wall clock at start_ns")
    return start - moment


def case_period(test):
    done, samples = run(test, "--at", "/100ms", "--sample-count", 4)
    test.eq((done.status, len(samples)), (0, 4), "four samples")
    starts = []
    for sample in samples:
        told = wall_of(sample["window"]["start_time"])
        starts.append(told // (100 * MS))
        check_start(test, sample, told // (100 * MS) * 100 * MS)
        late = told % (100 * MS)
        test.ok(late < 20 * MS or "begins" in done.stderr, "it opens near a multiple of 100 ms",
                f"{late} ns after one", done.stderr)
    test.eq(len(set(starts)), 4, "each at another one")


def case_contiguous(test):
    done, samples = run(test, "--at", "/50ms", "--sample-count", 4, "--sample-time", "50ms")
    test.eq((done.status, len(samples)), (0, 4), "four samples")
    edges = [(sample["window"]["start_ns"], sample["window"]["end_ns"]) for sample in samples]
    for before, after in zip(edges, edges[1:]):
        test.ok(before[1] == after[0] or "begins" in done.stderr,
                "a sample begins where the one before ends", before, after)
    for sample in samples:
        told = wall_of(sample["window"]["start_time"])
        check_start(test, sample, told // (50 * MS) * 50 * MS)


def case_once(test):
    moments = []

    def attempt(ahead):
        moments.append((time.time_ns() // SECOND + ahead) * SECOND)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moments[-1] // SECOND))
        return run(test, "--at", at, "--sample-count", 2)

    done, samples = in_time(attempt)
    if not test.eq((done.status, len(samples)), (0, 2), "two samples"):
        test.remark(done.stderr)
        return
    check_start(test, samples[0], moments[-1])
    test.eq(samples[1]["window"]["start_ns"], samples[0]["window"]["end_ns"],
            "the second follows at once")


def case_duration(test):
    """--duration counts from the moment of --at."""
    for duration in 100, 1000, 10000:
        done, samples = in_time(lambda ahead: run(test, "--at", f"+{ahead}s", "--sample-time", "60s",
                                                  "--duration", f"{duration}ms"))
        if TOO_SHORT not in done.stderr:
            break
    if not test.ok(samples and samples[0]["expired"], "the run's end ends the sample", samples):
        test.remark(done.stderr)
        return
    test.ok(samples[0]["window"]["duration_ns"] >= 90 * MS or "begins" in done.stderr,
            "there is time for it", samples[0]["window"])


SHIM = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
	long status = syscall(SYS_clock_gettime, clock, time);
	if (clock == CLOCK_REALTIME && !access(STEP, F_OK))
		time->tv_sec += 10LL * 365 * 86400; /* longer than any machine has been up */
	return (int)status;
}
"""


def case_held_up(test):
    """A program that is stopped until the end of the run takes no sample, and says so."""
    load = test.workload("roles", "poll")

    for ahead in AHEAD:
        moment = time.monotonic() + ahead
        child = test.child([kdtest.PROGRAM, "-p", load.pid, "--at", f"+{ahead}s", "--duration", "10ms"])
        kdtest.wait_until(lambda child=child: child.proc.poll() is not None or attached(child))
        child.signal(signal.SIGSTOP)
        is_early = time.monotonic() < moment
        time.sleep(max(0, moment + 2 - time.monotonic()))
        child.signal(signal.SIGCONT)
        done = kdtest.Finished(child)
        if is_early and TOO_LATE not in done.stderr:
            break
    test.eq((done.status, done.stdout), (75, ""), "status 75, and no sample") or test.remark(done.stderr)
    test.ok(TOO_SHORT in done.stderr, "it says why", done.stderr)


def case_clock_set(test):
    """The wall clock is set while the program waits; a preloaded library pretends that it was."""
    folder = test.directory()
    shim = test.preload(SHIM, f'-DSTEP="{folder}/step"')
    load = test.workload("roles", "poll")
    moments = []

    def attempt(_):
        moments.append(time.time_ns() + 9 * SECOND)
        child = test.child(["env", f"LD_PRELOAD={shim}", kdtest.PROGRAM, "-p", load.pid,
                            "--at", "+9s", "--sample-time", "20ms", "-o", "json"])
        kdtest.wait_until(lambda: child.proc.poll() is not None or attached(child))
        (folder / "step").touch()
        done = kdtest.Finished(child)
        (folder / "step").unlink()
        return done, None

    done, _ = in_time(attempt)
    if not test.eq(done.status, 0, "status 0"):
        test.remark(done.stderr)
        return
    sample = json.loads(done.stdout)
    test.ok(wall_of(sample["window"]["start_time"]) >= moments[-1], "not before by the new clock")
    test.ok(sample["window"]["start_ns"] + offset() < moments[-1], "and at once, as the time is over")


def attached(child):
    """Whether everything is attached and the program waits for the moment: its seccomp filter,
    which is installed last, is in place."""
    return kdtest.status_field(child.pid, "Seccomp") == "2" and any(
        kdtest.waits_in(child.pid, function) for function in ("poll_schedule_timeout", "do_sys_poll"))


def case_ended(test):
    """The process ends while the program waits, before it has attached to anything."""
    for ahead in 12, 30, 120:
        load = test.workload("roles", "poll")
        child = test.child([kdtest.PROGRAM, "-p", load.pid, "--at", f"+{ahead}s", "--sample-time",
                            "20ms"])
        # It waits in poll until then, or says at once that it samples: it began late.
        kdtest.wait_until(lambda: child.out or "waiting for" in child.stderr and
                          kdtest.waits_in(child.pid, "poll"))
        load.end()
        done = kdtest.Finished(child)
        if "waiting for" in done.stderr:
            break
    test.eq((done.status, done.stdout), (69, ""), "status 69, and no sample")
    test.ok(f"process {load.pid} has ended before" in done.stderr, "it says so", done.stderr)


def case_refused(test):
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--at", "+1ms", "--sample-time", "20ms")
    test.eq(done.status, 75, "a time that is over when all is attached: status 75")
    test.ok(TOO_LATE in done.stderr, "it says so", done.stderr)
    test.ok("# Start" not in done.stdout, "and takes no sample", done.stdout)


kdtest.main(case_period, case_contiguous, case_once, case_duration, case_held_up, case_clock_set, case_ended,
            case_refused)
