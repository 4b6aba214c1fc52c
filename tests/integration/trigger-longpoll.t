#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""--long-poll: windows from a thread's return from poll (or a related call) to its next one,
without any symbol, against the threads' own log."""

import json
import signal
import subprocess

import kdneeds
import kdstaged
import kdtest
from kdbtf import with_preemptible_calls
from kdtest import MS, SECOND
from kdtrigger import UNLIMITED, Triggered, certainly, check_reports, inside, reported_once

US = 1000
LONG = 50 * MS


def truths_of(load):
    """[[before return, after it, before the next call, after it], ...] of all threads, since the
    window stops at the entry of that next call."""
    truths = load.go()["threads"]
    return truths, sorted(entry for thread in truths for entry in thread["long"])


def each_its_own(choices):
    """Whether each can get one of its choices that no other one gets."""
    if not choices:
        return True
    first, *rest = sorted(choices, key=len)
    return any(each_its_own([choice - {one} for choice in rest]) for one in first)


def open_until_the_end(test, run, truths):
    """Threads that have returned from their last call count as at work from then on: the end of the
    run finds them so."""
    left = [report for report in run.reports if report.stop is None]
    run.reports = [report for report in run.reports if report.stop is not None]
    lasts = [thread["last"] for thread in truths]
    # Two may have returned at the same time.
    whose = [{number for number, (before, after) in enumerate(lasts)
              if before <= report.start <= after} for report in left]
    test.ok(each_its_own(whose), "none but a thread's last return has no end", whose,
            *(report.start for report in left), lasts)


def case_each_call(test):
    """One thread at a time, for each kind of call."""
    for role in ("poll", "ppoll", "epoll_wait", "epoll_pwait", "select"):
        load = test.workload("poller", f"{role}:90:30:60:10")
        run = Triggered(test, load.pid, "--long-poll=50ms", *UNLIMITED)
        truths, entries = truths_of(load)
        run = run.stop(test)
        slept = truths[0]["slept"]
        test.eq(len(slept), 3, f"{role}: three were wanted to be long")
        open_until_the_end(test, run, truths)
        reported_once(test, run.reports, entries, LONG, f"long time between two calls of {role}",
                      run.triggers.roles["start"].missed)
        for report in run.reports:
            asleep = [end - begin for begin, end in slept
                      if report.start <= begin and end <= report.stop]
            thread = report.thread(truths[0]["tid"])
            test.between(thread.ns["blocked interruptible"], len(asleep) * 29 * MS,
                         sum(asleep), f"{role}: it slept for half of it")
        check_reports(test, run.reports)


def case_several_threads(test):
    several_threads(test)


def case_several_threads_classic(test):
    """Several threads, on what looks like a kernel where programs at a call's own tracepoint may be
    preempted."""
    several_threads(test, "--btf", with_preemptible_calls(test))


def several_threads(test, *args):
    """Each long round is reported or, where another was being recorded, listed as nested; or it is
    counted as missed."""
    load = test.workload("poller", "poll:200:50:60:5", "epoll_wait:200:50:60:25", "ppoll:200:0:60",
                         "epoll_pwait:150:40:60:5")
    run = Triggered(test, load.pid, "--long-poll=50ms", *UNLIMITED, *args)
    truths, entries = truths_of(load)
    run = run.stop(test)
    open_until_the_end(test, run, truths)
    absent, twice, missed = [], [], run.triggers.roles["start"].missed
    for thread in truths:
        for entry in thread["long"]:
            # Two threads may work at the same time: a report does not say whose it is.
            reported = [report for report in run.reports
                        if inside(report.start, report.stop, entry)]
            nested = [each for each in run.triggers.nested if each.tid == thread["tid"] and
                      inside(each.start, each.start + each.duration, entry)]
            if len(nested) > 1:
                twice.append((entry, nested))
            elif entry[2] - entry[1] >= LONG and not reported and not nested:
                absent.append(entry)
    test.ok(len(entries) >= 11, "there were long ones", len(entries))
    test.ok(len(absent) <= missed + run.triggers.unlisted and not twice,
            "each is reported or listed as nested", absent[:12], twice[:12], run.triggers.roles["start"],
            f"{run.triggers.n_nested} are nested")
    test.between(len(run.reports) + run.triggers.n_nested + missed, *certainly(entries, LONG),
                 "once, and no others")
    check_reports(test, run.reports)


def case_thread_that_ends(test):
    """A thread that polls and ends opens a window that nothing closes: only a count of it remains,
    and a long round of another thread that overlapped it is reported."""
    load = test.workload("poller", "brief:10:150")
    run = Triggered(test, load.pid, "--long-poll=50ms", "--sample-count", "1")
    truths, entries = truths_of(load)
    run = run.finish(test)
    test.eq(len(run.reports), 1, "one sample")
    reported_once(test, run.reports, entries, LONG, "long time beside a thread that ends",
                  run.triggers.roles["start"].missed)
    brief = truths[0]["brief"]
    test.ok(entries[0][0] < brief[1], "the two overlapped", entries, brief)
    test.eq((run.triggers.roles["start"].ended, run.triggers.n_nested), (1, 0),
            "the other thread's is told to have ended")
    check_reports(test, run.reports)


def case_default(test):
    """Without a value the limit is a second, at which Open vSwitch warns, too."""
    load = test.workload("poller", "poll:8:4:1100:1", "epoll_wait:40:8:300:1")
    run = Triggered(test, load.pid, "--long-poll", *UNLIMITED)
    truths, entries = truths_of(load)
    run = run.stop(test)
    open_until_the_end(test, run, truths)
    least, most = certainly(entries, SECOND)
    test.ok(least >= 2, "two long ones", entries)
    test.between(len(run.reports) + run.triggers.n_nested + run.triggers.roles["start"].missed,
                 least, most, "both are found")
    long = [entry for entry in entries if entry[3] - entry[0] >= SECOND]
    for report in run.reports:
        test.eq(sum(inside(report.start, report.stop, entry) for entry in long), 1,
                "a report is one of them")
    check_reports(test, run.reports)


NESTED = r"""
#include <poll.h>
#include <stdio.h>
#include <time.h>
static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
__attribute__((noinline)) static void handler(int n)
{
	volatile char deeper[1000];
	for (deeper[0] = 0; deeper[0] < n; deeper[0]++)
		poll(NULL, 0, 10);
}
int main(void)
{
	for (int i = 0;; i++) {
		poll(NULL, 0, 1);
		long long t = now();
		handler(i % 50 == 49 ? 12 : 0);
		if (i % 50 == 49 && printf("%lld %lld\n", t, now()))
			fflush(stdout);
	}
}
"""


def case_nested(test):
    """A loop inside a handler, as in execSync(): its polls are part of the round that they hold up."""
    folder = test.directory()
    (folder / "nested.c").write_text(NESTED)
    subprocess.run([kdneeds.tool("cc"), "-O1", "-o", folder / "nested", folder / "nested.c"], check=True)
    child = test.child([folder / "nested"])
    kdtest.wait_until(lambda: child.out)
    done = test.program("-p", child.pid, f"--long-poll={LONG}ns", "--duration=1min",
                        "--sample-count=3", "-o", "json")
    test.eq(done.status, 0, "there are such rounds")
    child.signal(signal.SIGKILL)
    child.wait()
    held_up = [tuple(map(int, line.split())) for line in child.stdout.splitlines(keepends=True)
               if line.endswith("\n")]
    whole, others = [], []
    for sample in map(json.loads, done.stdout.splitlines()):
        window = sample.get("window")
        # Of two readings of the clock within some 100 ns the later one may be the smaller.
        if window and any(window["start_ns"] - US <= began and ended <= window["end_ns"] + US
                          for began, ended in held_up):
            whole.append(window)
        elif window:
            others.append((window, sum(sample["threads"][0]["ledger"].get(key, 0)
                                       for key in kdstaged.WAITED)))
    test.ok(whole, "it has all polls of the handler", others, held_up)
    test.ok(all(ready >= LONG for _, ready in others), "other rounds had no CPU", others, held_up)


kdtest.main(case_nested, case_each_call, case_thread_that_ends, case_several_threads, case_several_threads_classic,
            case_default)
