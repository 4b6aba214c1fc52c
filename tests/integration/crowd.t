#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many busy threads: where each function of the program waited, against its own count; rows by
functions and by lines."""

import json

import kdtest
from kdstacks import Capture

THREADS, WAITS, NS = 50, 60, 8_000_000
FUNCTIONS = ("red", "green", "blue")
SLEPT = ("blocked interruptible", "blocked uninterruptible")
OPTIONS = ("--off-cpu=2ms", "--per-thread", "--wait-filter=*")


class Run:
    """A sample of a crowd's whole work, with the crowd's own counts: {TID: {function: waits}}."""

    def __init__(self, test, threads, waits, ns, *options, text="text"):
        self.load = test.workload("crowd", str(threads), str(waits), str(ns))
        self.path = test.directory() / "json"
        capture = test.start(Capture(self.load.pid, *OPTIONS, *options, "-o", text,
                                     "-o", f"json:{self.path}"))
        self.truths = {thread["tid"]: {name: thread[name] for name in FUNCTIONS}
                       for thread in self.load.go()["threads"]}
        self.report, self.stacks = capture.close(test)
        sample = json.loads(self.path.read_text().splitlines()[0])
        self.traces, self.lost = sample["traces"], sample["losses"]["traces"]

    def rows(self, tid):
        """The rows of a thread's sleeps, each with the calling function."""
        return [(next((name for name in FUNCTIONS if name in row.stack.functions()), None), row)
                for row in self.stacks.of(tid, "waits")
                if row.state in SLEPT and row.call == "clock_nanosleep"]

    def sleeps(self, tid):
        """Each sleep of a thread: the calling function, and the record."""
        for wait in self.traces["waits"]:
            if wait["tid"] == tid and wait["state"].startswith("blocked") and \
                    wait.get("syscall", {}).get("name") == "clock_nanosleep":
                frames = self.traces["stacks"][wait["user_stack"]]["frames"] \
                    if "user_stack" in wait else []
                functions = [frame.get("function") for frame in frames]
                yield next((name for name in FUNCTIONS if name in functions), None), wait


def case_lines(test):
    """Two lines of a function share a row, or have one each with the option lines."""
    for options, rows_of_blue in (("text", 1), ("text,lines", 2)):
        run = Run(test, 1, 40, 5_000_000, text=options)
        (tid, truth), = run.truths.items()
        rows = run.rows(tid)
        for name in FUNCTIONS:
            own = [row for function, row in rows if function == name]
            # A thread that is kept from falling asleep for long waits too short.
            test.between(sum(row.count for row in own), truth[name] - 2, truth[name],
                         f"{options} {name}: its waits")
            # A switch that the kernel hid shows no kernel stack.
            own = [row for row in own if row.stack.kernel]
            test.eq(len(own), rows_of_blue if name == "blue" else 1, f"{options} {name}: rows")
        frames = [frame for name, row in rows if name == "blue" and row.stack.kernel
                  for frame in row.stack.user if frame.function == "blue"]
        test.eq([frame.offset is None for frame in frames], [options == "text"] * rows_of_blue,
                f"{options}: the offset, where there is one")


def case_merged(test):
    """Without --per-thread the threads that wait in one function are one row."""
    load = test.workload("crowd", "8", "60", str(NS))
    capture = test.start(Capture(load.pid, "--off-cpu=2ms", "--wait-filter=*",
                                 "--stack-trace-size=overhead=0"))
    truths = load.go()["threads"]
    _, stacks = capture.close(test)
    for name in FUNCTIONS:
        rows = [row for row in stacks.waits if row.state == "blocked interruptible" and
                row.call == "clock_nanosleep" and name in row.stack.functions()]
        count = sum(truth[name] for truth in truths)
        test.eq([row.threads for row in rows if row.stack.kernel], [8],
                f"{name}: one row of eight threads")
        # A thread that is kept from falling asleep for long waits too short.
        test.between(sum(row.count for row in rows), count - 8, count, f"{name}: their waits")
        test.between(sum(row.total for row in rows), (count - 8) * NS // 1000, 1e9,
                     f"{name}: their total, in us")


def case_crowd(test):
    """More waits than can be copied: all but the marked ones have their stack, and the right
    one."""
    run = Run(test, THREADS, WAITS, NS)
    wrong, missing, found = [], 0, 0
    for tid, truth in run.truths.items():
        counts = dict.fromkeys((*FUNCTIONS, None), 0)
        for name, wait in run.sleeps(tid):
            counts[name] += 1
            missing += name is None and not wait.get("stack_limited", False)
        found += sum(counts.values())
        if any(counts[name] > truth[name] for name in FUNCTIONS):
            wrong.append((tid, counts, truth))
    test.ok(not wrong, "none has another's stack", *wrong[:5])
    # A thread that is kept from falling asleep for long waits too short.
    test.between(found, 0.95 * THREADS * WAITS - run.lost, THREADS * WAITS, "waits")
    # What copying costs is limited: on a busy machine to fewer, which are marked.
    test.between(missing, 0, 0.02 * THREADS * WAITS, "those without a stack, and without a mark")


kdtest.main(case_lines, case_merged, case_crowd)
