#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long waits are seen whole, wherever the edges of the samples are; and consecutive samples leave
nothing out."""

import http.client
import json
import re
import signal
import time

import kdbooks
import kdtest
from kdreport import parse
from kdtest import MS, PROGRAM

STALLS, STALL_MS, PAUSE_MS = 7, 180, 40
TRIES = 4
LEAST = STALL_MS * MS * 97 // 100  # what a stall certainly is: edges are not where it begins
UNSURE = MS  # by which a wait and the gap in the thread's own clock may differ


def metrics(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=kdtest.PATIENCE)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def value(text, name, *labels):
    """The only series with this name and these labels; 0 if there is none."""
    found = re.findall(rf"^kernel_delay_{name}\{{([^}}]*)\}} (\S+)$", text, re.M)
    return sum(float(number) for given, number in found
               if all(label in given.split(",") for label in labels))


class Gaps:
    """When a thread had no CPU, by its own clock, which it reads all the time: including gaps
    caused by others than the staged stalls."""

    def __init__(self, load):
        self.all = load.ask("log")["gaps"]

    def bounds(self, start, end, least, unsure):
        """How many gaps are certainly so long and between these times, and how many may be."""
        return (sum(start <= since and until <= end and until - since >= least + UNSURE
                    for since, until in self.all),
                sum(since < end and start < until and until - since >= unsure
                    for since, until in self.all))

    def certain(self, samples):
        """[(from, to)] of the stalls that are certainly in samples."""
        return [gap for gap in self.all if samples[0]["window"]["start_ns"] <= gap[0] and
                gap[1] <= samples[-1]["window"]["end_ns"] and gap[1] - gap[0] >= LEAST + UNSURE]

    def across(self, samples, before):
        """How many of the stalls certainly contain the end of a sample, so long after they began."""
        return sum(any(since + before + UNSURE < sample["window"]["end_ns"] < until - UNSURE
                       for sample in samples[:-1]) for since, until in self.certain(samples))

    def samples_with_ends(self, samples):
        """Numbers of the samples in which the stalls ended."""
        return [sample["number"] for _, until in self.certain(samples) for sample in samples
                if sample["window"]["start_ns"] < until <= sample["window"]["end_ns"]]


def measured(text):
    """Total seconds of all samples so far."""
    return float(re.search(r"^kernel_delay_measured_seconds_total(?:\{.*\})? (\S+)$", text, re.M)[1])


def check_stalls(test, samples, hog, gaps):
    """Each finished wait appears exactly once, with its whole length."""
    rows = [kdtest.thread_of(sample, hog)["ready"] for sample in samples]
    crossing = [item["longest_ns"] for sample in samples
                for item in kdtest.thread_of(sample, hog)["open_periods"]
                if item["kind"] == "ready" and not item["at_end"]]
    long = sum(bucket["count"] for row in rows for bucket in row.get("buckets", [])
               if bucket["le_ns"] >= LEAST)
    # A bucket may begin far below that.
    bounds = gaps.bounds(samples[0]["window"]["start_ns"], samples[-1]["window"]["end_ns"], LEAST,
                         LEAST // 2)
    # Several are one where others kept the thread from its CPU between them.
    test.ok(bounds[0], "there are stalls", bounds, gaps.all)
    test.between(long, *bounds, "the distributions of all samples have each stall once")
    whole = sum(row["max_ns"] >= LEAST for row in rows)
    ends = gaps.samples_with_ends(samples)
    together = len(ends) - len(set(ends))
    test.between(whole + sum(ns >= LEAST for ns in crossing), bounds[0] - together, bounds[1],
                 "and each is either in a table or in flight")
    test.ok(sum(ns >= LEAST for ns in crossing) >= gaps.across(samples, 0),
            "those that cross an edge are in flight", crossing)
    ended = [row for row in rows
             if any(bucket["le_ns"] >= LEAST for bucket in row.get("buckets", []))]
    test.ok(all(row["longest_ns"] >= LEAST // 2 and row["p99_9_ns"] >= LEAST // 2 for row in ended),
            "maximum and p99.9 of those samples are the stalls", *ended)
    still = [(item["longest_ns"], kdtest.thread_of(sample, hog)["ready"]) for sample in samples
             for item in kdtest.thread_of(sample, hog)["open_periods"]
             if item["kind"] == "ready" and item["at_end"] and item["longest_ns"] > 50 * MS]
    test.ok(len(still) >= gaps.across(samples, 50 * MS), "those open at the end of a sample are there",
            still)
    test.ok(all(row["longest_ns"] >= length for length, row in still) and
            (not still or any(row["longest_open"] for _, row in still)),
            "with their length so far, marked", *still)


def stalled(test, conditions):
    """A thread is kept off its CPU seven times for 180 ms, in consecutive samples of 0.2 s:
    (sampler, (thread, its gaps), samples, text served, (begin, end, time of reading it))"""
    cpu, port = kdtest.last_cpu(), kdtest.free_port()
    load = test.workload("gaps", cpu, 0, 1 * MS)
    stalls = test.workload("roles", f"stalls:{STALLS}:{STALL_MS}:{PAUSE_MS}:{cpu}")
    path = test.directory() / "samples"
    common = [PROGRAM, "-p", load.pid, "--sample-time", "0.2", "--sample-count", "0",
              "--histogram"]
    sampler = test.child([*common, "-o", f"json:{path}", "-o", "text"] +
                         [part for text in conditions for part in ("--fail-if", text)])
    exporter = test.child([*common, "--quiet", "--listen", f"127.0.0.1:{port}"])
    sampler.line("# Start sampling")
    kdtest.wait_until(lambda: thread_seen(port))
    begun = time.monotonic_ns()
    stalls.go()
    done, before = time.monotonic_ns(), measured(metrics(port))
    sampler.signal(signal.SIGINT)
    # Then there is a sample that began before they were over.
    kdtest.wait_until(lambda: measured(metrics(port)) > before)
    text, read = metrics(port), time.monotonic_ns()
    exporter.signal(signal.SIGINT)
    test.eq((sampler.wait(), exporter.wait()), (4, 0), "statuses")
    thread, samples = (int(load.ready[0]), Gaps(load)), kdtest.samples_of(path)
    load.end()
    return sampler, thread, samples, text, (begun, done, read)


def case_stalls(test):
    """Repeated where others kept the thread off its CPU before, between and after the stalls, which
    then merge into one."""
    conditions = [f"thread(gaps).ready.{what}>={LEAST}ns" for what in ("max", "p99_9")]
    for _ in range(TRIES):
        sampler, (hog, gaps), samples, text, (begun, done, read) = stalled(test, conditions)
        if gaps.certain(samples):
            break
    check_stalls(test, samples, hog, gaps)
    longest = max(kdtest.thread_of(sample, hog)["ready"]["longest_ns"] for sample in samples)
    most = max(until - since for since, until in gaps.all)
    test.between(longest, max(until - since for since, until in gaps.certain(samples)) - UNSURE, most,
                 "the longest")
    least = len(set(gaps.samples_with_ends(samples)))
    for condition in conditions:
        told = re.search(re.escape(condition) + r"': ([\d,]+) ns(?: so far)? of thread \d+ 'gaps' in "
                         r"sample \d+(?:, and (\d+) more)?", sampler.stderr)
        test.ok(told and int(told[2] or 0) + 1 >= least, f"{condition} sees all", least,
                sampler.stderr)
    for report in parse(sampler.stdout):
        test.books(report)
    state = ('thread="gaps"', 'state="ready"')
    name = "thread_period_duration_seconds"
    below = value(text, f"{name}_bucket", *state, 'le="0.1"')
    above = value(text, f"{name}_count", *state) - below
    # A bucket may begin a sixteenth below that.
    bounds = gaps.bounds(begun, done, 100 * MS, 100 * MS)[0], gaps.bounds(0, read, 0, 90 * MS)[1]
    test.between(above, *bounds, "so many have been added to what is served")
    test.between(value(text, "thread_max_seconds", *state), LEAST / 1e9, most / 1e9,
                 "and the longest is served")


def thread_seen(port):
    try:
        return 'thread="gaps"' in metrics(port)
    except OSError:
        return False


def check_chain(test, samples):
    holes = [sample["number"] for before, sample in zip(samples, samples[1:])
             if before["window"]["end_ns"] != sample["window"]["start_ns"]]
    test.ok(len(samples) > 20 and not holes, f"{len(samples)} samples, none after a hole", holes)


def case_no_holes(test):
    """Consecutive samples together contain everything that a process did."""
    load = test.workload("roles", "calls:30000:60:5000", "spin")
    path = test.directory() / "samples"
    run = test.capture(load.pid, "--sample-time", "10ms", "--sample-count", "0", "-o",
                       f"json:{path}", "-o", "text")
    truths = {thread["tid"]: thread for thread in load.go()["threads"]}
    kdtest.wait_until(lambda: len(kdtest.samples_of(path)) > 20)
    run.interrupt(test, "status")
    samples = kdtest.samples_of(path)
    check_chain(test, samples)
    tid = next(tid for tid, truth in truths.items() if "getppid" in truth)
    threads = [kdtest.thread_of(sample, tid) for sample in samples]
    for name, count in (("getppid", truths[tid]["getppid"]), ("clock_nanosleep", 60)):
        inside = sum(call["count"] for thread in threads for call in thread["syscalls"]
                     if call["name"] == name)
        across = sum(not call["at_end"] for thread in threads for call in thread["in_flight"]
                     if call["name"] == name)
        test.eq(inside + across, count, f"{name}: counted inside, or where it ended")
    spin = load.tid("spin")[0]
    for tid in (tid, spin):
        ledgers = [kdtest.thread_of(sample, tid)["ledger"] for sample in samples]
        lives = sum(ledger["life_ns"] for ledger in ledgers)
        test.eq(lives, samples[-1]["window"]["end_ns"] - samples[0]["window"]["start_ns"],
                "all lives are the time from the first edge to the last")
        states = sum(ns for ledger in ledgers for key, ns in ledger.items()
                     if key not in ("life_ns", "sum_exec_runtime_ns"))
        test.eq(states, lives, "and so are all states")
    for report in parse(run.stdout):
        faults = kdbooks.book_faults(report)
        if faults:
            test.ok(False, "the books balance", *faults[:5])
            break
    else:
        test.ok(True, "the books of each balance")


def case_ended_threads(test):
    """Each thread that comes and goes is in one of the samples."""
    load = test.workload("churn", "1000", "2000")
    path = test.directory() / "samples"
    run = test.capture(load.pid, "--sample-time", "20ms", "--sample-count", "0", "-o",
                       f"json:{path}", "-o", "text")
    load.go()
    kdtest.wait_until(lambda: kdtest.threads_of(load.pid) == [load.pid])
    run.interrupt(test, "status")
    samples = kdtest.samples_of(path)
    ended = sum(thread["members"] for sample in samples for thread in sample["threads"]
                if thread["ended"] and thread["name"] == "churn")
    # A thread is waited for, and gone from /proc, before its last switch, which others may delay, and
    # the kernel hide.
    ending = sum(thread["members"] for thread in samples[-1]["threads"]
                 if not thread["ended"] and thread["name"] == "churn" and thread["tid"] != load.pid)
    hidden = sum(sample["resynced"] for sample in samples)
    losses = [{key: n for key, n in sample["losses"].items() if n} for sample in samples if sample["lost"]]
    # Two wakers on different CPUs may take the same entry of a CPU's list, so that one wait has no culprit.
    unlisted = sum(loss.pop("waiters", 0) for loss in losses)
    test.ok(not any(losses), "nothing is lost", *losses[:3])
    test.between(unlisted, 0, 3, "but for who had the CPU in a few of more than 1,000 waits")
    test.between(ending, 0, 10 + hidden, "few have yet to be switched out")
    test.eq(ended + ending, 1000, "threads ended")


def case_slow_output(test):
    """A slow reader makes samples longer; a signal still ends the run."""
    load = test.workload("roles", "spin")
    run = test.child([PROGRAM, "-p", load.pid, "--sample-time", "1ms", "--sample-count", "0",
                      "-o", "json"])
    kdtest.wait_until(lambda: len(run.out) > 22)
    run.interrupt(test, "status")
    samples = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{") and
            '"type":"summary"' not in line]
    check_chain(test, samples)
    test.eq([sample["interrupted"] for sample in samples[-2:]], [False, True],
            "the last one is what was interrupted")


kdtest.main(case_stalls, case_no_holes, case_ended_threads, case_slow_output)
