#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Distributions (--histogram): durations that the workload logged, in their buckets; exactly as
many as the other sections count; and a note about any that found no room."""

import json
import time

import kdtest
from kdformats import in_flight
from kdreport import parse
from kdtest import MS

NARROW = 16  # a bucket's limits differ by 1/16 at most


class Capture(kdtest.Capture):
    """A run whose one sample is text on standard output, and JSON in a file."""

    def __init__(self, test, pid, *options):
        self.test, self.file = test, test.directory() / "sample.json"
        super().__init__(pid, "--histogram", "-o", "text", "-o", f"json:{self.file}", *options)
        test.start(self)

    def close(self, test=None, want=0):
        report = super().close(test or self.test, want)
        return report, json.loads(self.file.read_text())


def distributions(thread):
    """[(title, its counts, its buckets)]"""
    rows = [("running", thread["run"]), ("ready", thread["ready"])]
    rows += [(call.get("name", call["number"]), call) for call in thread["syscalls"]]
    return [(what, row, row.get("buckets", [])) for what, row in rows]


def check_counts(test, sample, lost=0, some=1):
    """There are as many durations as ended in the window, and their sum lies within what the
    buckets allow. Returns their number, which must not be 0."""
    faults, missing, seen = [], 0, 0
    for thread in sample["threads"]:
        for what, row, buckets in distributions(thread):
            count = sum(bucket["count"] for bucket in buckets)
            seen += count
            ended, _ = in_flight(thread, str(what))
            wanted = row["count"] + sum(item["count"] for item in ended)
            total = row["total_ns"] + sum(item["length_ns"] for item in ended)
            longest = max([row["max_ns"]] + [item["longest_ns"] for item in ended])
            missing += wanted - count
            most = sum(bucket["le_ns"] * bucket["count"] for bucket in buckets)
            least = most * NARROW / (NARROW + 1) - count
            if missing <= lost and count == wanted:
                if not least <= total <= most:
                    faults.append(f"{what}: {total} is not in {least} to {most}")
                if buckets and not buckets[-1]["le_ns"] * NARROW / (NARROW + 1) - 1 <= \
                        longest <= buckets[-1]["le_ns"]:
                    faults.append(f"{what}: the longest, {longest}, is not in {buckets[-1]}")
    test.ok(seen >= some and not faults, f"{seen} durations, whose sums fit", *faults[:10])
    test.eq(missing, lost, "as many are missing as are told")
    return seen


def check_log(test, role, call, entries):
    """Up to each limit there are no more and no fewer durations than the workload's clock allows.
    entries: the least and the most that each call can have taken; a few calls of the thread are not
    logged."""
    extra = call["count"] - len(entries)
    test.between(extra, 0, 3, f"{role}: {call['name']} was called {len(entries)} times")
    faults, below = [], 0
    for bucket in call["buckets"]:
        below += bucket["count"]
        least = sum(most <= bucket["le_ns"] * NARROW // (NARROW + 1) for _, most in entries)
        most = sum(least <= bucket["le_ns"] for least, _ in entries) + extra
        if not least <= below <= most:
            faults.append(f"{below} up to {bucket['le_ns']}: {least} to {most}")
    test.ok(entries and not faults, f"{role}: {call['name']} is distributed as logged", *faults[:5])
    lows = sorted([0] * extra + [least for least, _ in entries])
    highs = sorted([most for _, most in entries] + [call["max_ns"]] * extra)
    for key, permille in (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990)):
        rank = -(-call["count"] * permille // 1000) - 1
        test.between(call[key], lows[rank], highs[rank] * (NARROW + 1) / NARROW,
                     f"{role}: {call['name']}: {key}")


def case_calls(test):
    """Durations that the workload measured itself."""
    load = test.workload("slow", "sleeper:300:100:4000:10", "poller:40:3000", "quick:4000")
    capture = Capture(test, load.pid)
    roles = {thread["tid"]: thread["role"] for thread in load.go()["threads"]}
    logs = load.logs()
    report, sample = capture.close()
    threads = {thread["tid"]: thread for thread in sample["threads"]}
    for tid, log in logs.items():
        for name in sorted({call for _, _, call, *_ in log}):
            call = next(call for call in threads[tid]["syscalls"] if call["name"] == name)
            check_log(test, roles[tid], call, [(least, after - before)
                                               for before, after, what, _, least in log
                                               if what == name])
    check_counts(test, sample)
    test.books(report)


def case_ready(test):
    """A hog below a SCHED_FIFO thread that runs 10 ms of every 40: as many waits of 10 ms."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", f"fifo:{cpu}:10:40")
    fifo, hog = load.tid("fifo")[0], load.tid("spin")[0]
    slept = lambda: kdtest.switches(load.pid, fifo, ("voluntary",))
    outer, turns = kdtest.schedstat(load.pid, hog)[1], kdtest.turns(load.pid, hog)
    capture = Capture(test, load.pid)
    before = slept()
    kdtest.wait_until(lambda: slept() - before >= 12)
    runs = slept() - before
    kdtest.until_run(load.pid, hog)  # the wait for the last of them is over
    report, sample = capture.close()
    outer, turns = kdtest.schedstat(load.pid, hog)[1] - outer, kdtest.turns(load.pid, hog) - turns
    thread = kdtest.thread_of(sample, hog)
    waits = [(bucket["le_ns"], bucket["count"]) for bucket in thread["ready"]["buckets"]
             if bucket["le_ns"] > 9.5 * MS]
    # Where others keep the hog waiting from one run to the next, one wait has both.
    test.ok(sum(count * (ns // (10 * MS)) for ns, count in waits) >= runs - 1,
            f"its waits have room for {runs} runs", waits)
    # It also waits for others, which the kernel counts, too.
    test.between(sum(count * ns for ns, count in waits) * NARROW / (NARROW + 1), 0, outer + 10 * MS,
                 "and is no longer than the kernel counts")
    test.between(sum(bucket["count"] for bucket in thread["ready"]["buckets"]), 1, turns + 1,
                 "nor more often")
    check_counts(test, sample)
    test.books(report)


def case_samples(test):
    """Each sample has its own durations, whichever bank it uses."""
    load = test.workload("slow", "asker", "spinner")
    file = test.directory() / "samples.json"
    done = test.program("-p", load.pid, "--histogram", "--sample-time", "50ms", "--sample-count",
                        "8", "-o", "text", "-o", f"json:{file}")
    test.eq(done.status, 0, "status")
    samples = [json.loads(line) for line in file.open() if '"type":"sample"' in line]
    reports = parse(done.stdout)
    test.eq((len(samples), len(reports)), (8, 8), "samples")
    # In one of them nobody may get a CPU.
    test.ok(sum(check_counts(test, sample, some=0) for sample in samples), "there are durations")
    for report in reports:
        test.books(report)


def case_churn(test):
    """Threads that come and go free their tables: each gets one, though there are more threads than
    room."""
    load = test.workload("churn", "3000", "3000")
    capture = Capture(test, load.pid)
    load.go()
    report, sample = capture.close()
    ended = sum(thread["members"] for thread in sample["threads"] if thread["ended"])
    test.ok(ended >= 3000, "threads ended", ended)
    check_counts(test, sample)
    test.books(report)


def case_no_room(test):
    """More distributions than there is room for: the lost ones are counted, and all other figures
    are complete."""
    load = test.workload("bench_threads", "400")  # 8 for each, and for 768 more, is the room
    capture = Capture(test, load.pid)
    load.send("go")
    load.line("done")
    report, sample = capture.close()
    lost = sample["losses"]["durations"]
    test.ok(lost > 100, "some find no room", lost)
    check_counts(test, sample, lost)
    test.books(report, losses=True)
    warnings = [text for text in report.warnings if "[DISTRIBUTIONS]" in text]
    test.ok(len(warnings) == 1 and warnings[0].startswith(f"# WARNING: {lost:,} durations are"),
            "and the report says so", *warnings)


def case_many_calls(test):
    """System calls that find no room in the thread's table are counted, but have no distribution."""
    load = test.workload("everycall")
    capture = Capture(test, load.pid)
    load.go()
    report, sample = capture.close()
    lost = sample["losses"]["durations"]
    test.ok(lost > 100, "some have no distribution", lost)
    check_counts(test, sample, lost)
    test.books(report, losses=True)


def case_without(test):
    load = test.workload("slow", "asker", "spinner")
    done = test.program("-p", load.pid, "--sample-time", "50ms", "-o", "json", "-o", "text:/dev/stderr")
    test.ok("buckets" not in done.stdout and "DISTRIBUTION" not in done.stdout + done.stderr,
            "nothing of it without the option")


kdtest.main(case_calls, case_ready, case_samples, case_churn, case_no_room,
            case_many_calls, case_without)
