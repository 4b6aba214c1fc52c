#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--detail: waits that were long are described, each one; all shorter ones are one row of each list.
Threads that log their waits say how many of each there are."""

import json
import signal

import kdtest

ROUNDS = 10_000
LIMIT = 20_000      # ns: what --detail is unless it is given, and LEAST_NS of the workload
SLEEP_NS = 200_000  # LONG_NS of the workload


class Run:
    """10,000 waits of each thread in one window."""

    def __init__(self, test, *options, rounds=ROUNDS):
        load = test.workload("pauses", rounds)
        path = test.directory() / "report.json"
        capture = test.capture(load.pid, "-o", f"json:{path}", "-o", "-", *options)
        self.truths = {thread["role"]: thread for thread in load.go()["threads"]}
        capture.signal(signal.SIGINT)
        test.eq((capture.wait(), capture.stderr), (0, ""), "a sample is taken")
        sample = json.loads(path.read_text().splitlines()[0])
        self.threads = {role: next(thread for thread in sample["threads"]
                                   if thread["tid"] == truth["tid"])
                        for role, truth in self.truths.items()}

    def rows(self, role, which):
        """The row of its pipe or mutex, and that of what was short."""
        rows = self.threads[role][which]
        short = [row for row in rows if "shorter_than_ns" in row]
        if which == "descriptors":
            fd = self.truths[role].get("fd")
            return [row for row in rows if row["fd"] == fd], short
        return [row for row in rows if row["kind"] == "mutex"], short


def total(rows, key):
    return sum(row[key] for row in rows)


def check_described(test, run, role, which):
    """Each that slept for long is described; what is, had at least the time to."""
    truth, (rows, short) = run.truths[role], run.rows(role, which)
    test.ok(truth["long"] >= ROUNDS // 2 - ROUNDS // 10, f"{role}: it waited for long, many times", truth)
    test.between(total(rows, "count"), truth["long"], truth["least"] + 1, f"{role}: how many are described")
    # What it measures of a wait is longer than the sleep in it by what it was ready and ran.
    ledger = run.threads[role]["ledger"]
    awake = ledger["life_ns"] - ledger["blocked_ns"] - ledger["blocked_uninterruptible_ns"]
    test.between(total(rows, "total_ns"), truth["long_ns"] - awake,
                 truth["long_ns"] + (truth["least"] + 1 - truth["long"]) * SLEEP_NS, f"{role}: how long")
    test.eq([row["shorter_than_ns"] for row in short], [LIMIT] * len(short), f"{role}: the others are one row")
    for row in short:
        test.ok(row["count"] > 0 and row["max_ns"] < LIMIT, f"{role}: each of these is shorter", row)


def check_sums(test, thread, rows, kind, name):
    """A list adds up to its part of the blocked states; a wait at either edge may be in one only."""
    blocked = thread["blocked"][kind]
    most = max(row["max_ns"] for row in rows)
    test.between(total(rows, "count"), blocked["count"] - 2, blocked["count"] + 2, f"{name}: count")
    test.between(total(rows, "total_ns"), blocked["total_ns"] - 2 * most, blocked["total_ns"] + 2 * most,
                 f"{name}: total")


def case_described(test):
    run = Run(test)
    check_described(test, run, "taker", "descriptors")
    check_described(test, run, "locker", "locks")


def case_sums(test):
    """Also where all waits are looked at, and where none is."""
    for limit in ("20us", "0", "60min"):
        run = Run(test, f"--detail={limit}", rounds=ROUNDS // 10)
        for role in ("taker", "teller"):
            thread = run.threads[role]
            check_sums(test, thread, thread["descriptors"], "pipe", f"{limit}: {role}")
        thread = run.threads["locker"]
        locks = [row for row in thread["locks"] if row["kind"] == "mutex" or "shorter_than_ns" in row]
        check_sums(test, thread, locks, "lock", f"{limit}: locker")
        short = [row for thread in run.threads.values() for which in ("locks", "descriptors")
                 for row in thread.get(which, ()) if "shorter_than_ns" in row]
        if limit == "0":
            test.eq(short, [], f"{limit}: nothing is left out")
            test.between(total(run.rows("taker", "descriptors")[0], "count"),
                         run.truths["taker"]["slept"] - 1, run.truths["taker"]["slept"] + 1,
                         f"{limit}: as many as the thread slept")
        if limit == "60min":
            # The waits at the window's end, in the workload's own pipe.
            rows = [row for role in run.threads for row in run.threads[role].get("descriptors", ())
                    if "shorter_than_ns" not in row]
            test.ok(all(row["count"] == 1 for row in rows), f"{limit}: one that goes on is described", rows)


def case_text(test):
    load = test.workload("pauses", 1000)
    capture = test.capture(load.pid, "--full")
    load.go()
    capture.close(test)
    test.ok("all below 20 us" in capture.stdout, "the text says of what", capture.stdout)


kdtest.main(case_described, case_sums, case_text)
