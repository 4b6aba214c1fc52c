#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls: as many as the workload made, and as long as it measured."""

import json
import os
import re
import signal
import subprocess
import unittest.mock

import kdneeds
import kdreport
import kdtest
from kdtest import MS
from kdtrigger import BOTH, NO_LIMIT, UNLIMITED, Log, Triggered, check_reports, reported_once

# Times are counted from when the session begins, which asks for the number of CPUs just before.
LATE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
static int begins;
int libbpf_num_possible_cpus(void)
{
	begins += !begins;
	return ((int (*)(void))dlsym(RTLD_NEXT, "libbpf_num_possible_cpus"))();
}
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*hidden)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int result = hidden(clock, now);
	if (clock == CLOCK_MONOTONIC && begins == 1) {
		/* Below 0, that is: differences are what they are. */
		unsigned long long ns = now->tv_sec * 1000000000ULL + now->tv_nsec - 4 * 31557600000000000ULL;
		now->tv_sec = ns / 1000000000;
		now->tv_nsec = ns % 1000000000;
		begins = 2;
		close(creat(DONE, 0600));
	}
	return result;
}
"""


def truths_by_tid(truths):
    return {thread["tid"]: thread for thread in truths["threads"]}


def check_exactly(test, report, truths):
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


def case_exact_counts(test):
    """Threads with different numbers of calls and sleeps: each has its own figures."""
    load = test.workload("roles", "calls:20000:40:5000", "calls:7001:11:20000", "calls:3:0:0")
    capture = test.capture(load.pid)
    before = load.mark()
    truths = truths_by_tid(load.go())
    after = load.mark()
    report = capture.close(test)
    check_exactly(test, report, truths)
    test.books(report, before.bounds(after, report))


def followed(capture):
    """How many threads the BPF side of a run follows."""
    tids, = (number for number, name in kdneeds.named_objects(capture.pid, "map").items()
             if name == "kd_tids")
    said = subprocess.run([kdneeds.bpftool(), "-j", "map", "dump", "id", str(tids)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return len(json.loads(said))


def case_between_samples(test):
    """Between samples no thread is followed, and the next sample is as exact as the first."""
    load = test.workload("roles", "calls:20000:40:5000", "calls:7001:11:20000")
    capture = test.capture(load.pid, "--sample-count", 2, "--sample-interval", "1s",
                           "--sample-time", "10s" if kdtest.VM else "3s")
    if not kdtest.VM:
        test.ok(followed(capture) >= 3, "threads are followed")
    capture.line("# Sample dump")
    if not kdtest.VM:
        kdtest.wait_until(lambda: not followed(capture))
    capture.line("# Start sampling")
    before = load.mark()
    truths = truths_by_tid(load.go())
    after = load.mark()
    capture.signal(signal.SIGINT)
    test.eq(capture.wait(), 0, "the program ends with status 0")
    first, report = kdreport.parse(capture.stdout)
    test.books(first)
    check_exactly(test, report, truths)
    test.books(report, before.bounds(after, report))


def strace_counts(test, repeats):
    """Calls by name that strace -c -f counts in a whole run of the workload."""
    summary = test.directory() / "summary"
    strace = ("strace", "-c", "-f", "-o", summary)
    load = test.workload("mix", str(repeats), wrapper=strace)
    load.go()
    load.send("end")
    load.wait()
    counts = {}
    for line in summary.read_text().splitlines():
        match = re.match(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", line)
        if match and match[2] != "total":
            counts[match[2]] = int(match[1])
    return counts


def case_like_strace(test):
    """Matches what strace counts with the workload's phase minus what it counts without it."""
    kdneeds.need("strace")
    repeats = 25 if kdtest.VM else 100  # where strace takes as long for each
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
    got[thread.calls["write"].number] -= 1  # its last act is a write to the test's pipe
    wrong = {number: (got.get(number), count) for number, count in want.items()
             if got.get(number) != count}
    test.eq(wrong, {}, "every call is there, as often as it was made (number: got, want)")
    test.eq({number for number, count in got.items() if count} - set(want), set(), "and no other")
    row = thread.calls.get("[unknown: 9999]")
    test.ok(row and row.number == 9999, "a call without a name shows its number",
            sorted(thread.calls))
    test.books(report)


def case_restarted_poll(test):
    """A poll that is stopped and continued is restarted by the kernel, and still counts as one
    poll; a ppoll is made anew."""
    load = test.workload("roles", "pollonce:2000")
    capture = test.capture(load.pid)
    load.send("go")
    tid, = load.tid("pollonce")
    stops = 3
    for _ in range(stops):
        kdtest.wait_until(lambda: kdtest.waits_in(f"{load.pid}/task/{tid}", "poll"))
        load.signal(signal.SIGSTOP)
        kdtest.wait_until(lambda: kdtest.state_of(load.pid, tid) == "T")
        load.signal(signal.SIGCONT)
    truth = kdtest.json.loads(load.line("{"))["threads"][0]
    report = capture.close(test)
    thread = report.thread(truth["tid"])
    test.eq(thread.count("restart_syscall"), 0, "no restart_syscall")
    poll = thread.calls.get(kdtest.POLL)
    test.eq(poll and poll.count, 1 if kdtest.POLL == "poll" else 1 + stops, "one poll")
    test.between(poll and poll.total, 2000 * MS, truth["around_ns"], "from its entry to its end")
    test.books(report)


def case_another_process(test):
    """Calls of other processes are not counted."""
    kdtest.only_on_host("the program itself compares the process")
    quiet = test.workload("roles", "calls:10:0:0")
    busy = test.workload("roles", "calls:50000:0:0")
    capture = test.capture(quiet.pid)
    busy.go()
    quiet.go()
    report = capture.close(test)
    test.eq(report.total("getppid"), 10, "only the target's calls")
    test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(quiet.pid)),
            "only the target's threads")
    test.books(report)


# What the program makes that tests/workloads/compat.c is in 32-bit mode.
COMPAT = {"getppid": 100, "getuid32": 7, "rt_tgsigqueueinfo": 5, "poll": 3, "nanosleep": 2}
BY_INT = 20 if os.uname().machine == "x86_64" else 0  # what a 64-bit program can make of them


def strace_by_mode(test, *args):
    """What strace -c -f counts, as (name, mode): mode is None or "32-bit"."""
    summary = test.directory() / "summary"
    load = test.workload("compat", *args, wrapper=("strace", "-c", "-f", "-o", summary))
    load.send("go")
    load.wait()
    counts, mode = {}, None
    for line in summary.read_text().splitlines():
        if line.startswith("System call usage summary"):
            mode = re.search(r"for (\S+) bit mode", line)[1] + "-bit"
        match = re.match(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", line)
        if match and match[2] != "total":
            counts[match[2], mode] = int(match[1])
    # On arm64 it takes the execve that ends in another mode for what has its number there.
    if counts.pop(("fcntl64", "32-bit"), 0):
        counts["execve", None] += 1
    return counts


def of_mode(counts, mode):
    return {name: count for (name, its), count in counts.items() if its == mode}


def ended(test, capture):
    """The report of a sample that ends with its target."""
    test.eq(capture.wait(), 0, "the sample ends with its target")
    report, = kdtest.kdreport.parse(capture.stdout)
    return report


def case_modes(test):
    """Calls by int $0x80, where there are such, and those of a 32-bit program after execve, have
    names of their own."""
    kdneeds.need("strace")
    program, folder = kdneeds.program_of_32_bits(), test.directory()
    in_32_bits = BY_INT + COMPAT["getppid"]
    load = test.workload("compat", "300", str(BY_INT), program)
    capture = test.capture(load.pid, "-o", "text", "-o", f"openmetrics:{folder}/om")
    traced = test.capture(load.pid, "-o", "text", "-o", f"json:{folder}/json", "-s", "0ns",
                          "-e", "getppid,nanosleep")
    load.send("go")
    load.wait()
    report = ended(test, capture)
    test.eq(traced.wait(), 0, "and a sample with calls one by one")
    sample = json.loads((folder / "json").read_text())
    thread, = sample["threads"]
    # A call that was open at the end has a row: its exit, if the sample ended before that did.
    counts = {(call.get("name", call["number"]), call.get("mode")): call["count"]
              for call in thread["syscalls"] if call["count"]}
    test.eq((counts.get(("getppid", None)), counts.get(("getppid", "32-bit"))),
            (300, in_32_bits), "getppid in either mode")
    test.eq(of_mode(counts, "32-bit"), {**COMPAT, "getppid": in_32_bits},
            "all calls of 32-bit mode, and no others")
    other = strace_by_mode(test, "300", str(BY_INT), program)
    test.eq(of_mode(counts, "32-bit"), of_mode(other, "32-bit"), "as strace -c has them")
    test.eq(counts["getppid", None], other["getppid", None], "getppid of 64-bit mode, too")
    test.eq(counts["execve", None], other["execve", None] - 1, "execve, but the first")
    rows = report.threads[0].calls
    test.eq((rows["getppid [32-bit]"].number, rows["getppid [32-bit]"].count),
            (64, in_32_bits), "the text says the mode")
    test.eq(thread["long_poll"]["count"], COMPAT["poll"] - 1, "poll of 32-bit mode is one")
    series = (folder / "om").read_text()
    test.ok(f'syscall="getppid [32-bit]"}} {in_32_bits}\n' in series, "metrics have both",
            *(line for line in series.splitlines() if "getppid" in line))
    slow = [(call["syscall"]["name"], call["syscall"].get("mode"))
            for call in sample["traces"]["syscalls"]]
    test.eq([slow.count(("getppid", None)), slow.count(("getppid", "32-bit")),
             slow.count(("nanosleep", "32-bit")), len(slow)], [300, in_32_bits, 2, 302 + in_32_bits],
            "a filter by name takes both modes")
    again = test.program("--replay", folder / "json", "-o", "json")
    test.eq(again.stdout, (folder / "json").read_text(), "a replay says the same")
    test.books(report)


def case_in_flight_by_mode(test):
    """A 32-bit call that was in flight before the window."""
    load = test.child([kdneeds.program_of_32_bits(), "wait"])
    kdtest.wait_until(lambda: kdtest.waits_in(load.pid, "pipe_read") or
                      kdtest.waits_in(load.pid, "anon_pipe_read"))
    capture = test.capture(load.pid)
    load.send("go")
    load.wait()
    report = ended(test, capture)
    test.eq([(flight.name, flight.edge) for flight in report.threads[0].flights],
            [("read [32-bit]", "start")], "is in flight at the start, by its name")
    test.eq(report.threads[0].count("getppid [32-bit]"), COMPAT["getppid"], "then the others")


def case_after_four_years(test):
    """A run that began four years ago still counts exactly: in one window, several in a row, and
    pairs of threads."""
    folder = test.directory()
    late = test.preload(LATE, f'-DDONE="{folder}/done"')
    with unittest.mock.patch.dict(os.environ, LD_PRELOAD=late):
        case_exact_counts(test)
        load = test.workload("roles", "spin:-1", "pingpong:300:0")
        done = test.program("-p", load.pid, "--sample-time", "50ms", "--sample-count", 4)
        for report in kdreport.parse(done.stdout):
            test.books(report)
        load = test.workload("caller", "sleeps:6:30:1:20000")
        run = Triggered(test, load.pid, *BOTH, "--trigger-same-thread", *UNLIMITED, *NO_LIMIT)
        log = Log(load, load.go())
        run = run.stop(test)
    test.ok((folder / "done").exists(), "so old was the run")
    reported_once(test, run.reports, log.calls(), 0)
    slept = [sum(thread.ns["blocked interruptible"] for thread in report.threads)
             for report in run.reports]
    test.ok(len(slept) == 6 and min(slept) >= 20 * MS, "each has its thread's sleep", slept)
    check_reports(test, run.reports)


kdtest.main(case_exact_counts, case_between_samples, case_after_four_years, case_like_strace,
            case_every_call, case_restarted_poll, case_another_process, case_modes,
            case_in_flight_by_mode)
