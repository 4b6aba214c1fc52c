#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many busy threads: at what each function of the program waited, against its own count;
rows by functions and by lines."""

import json

import kdtest
from kdstacks import Capture

THREADS, WAITS, NS = 50, 60, 8_000_000
FUNCTIONS = ("red", "green", "blue")
SLEPT = ("blocked interruptible", "blocked uninterruptible")
OPTIONS = ("--off-cpu=2ms", "--per-thread", "--wait-filter=*")
SLEEPERS, SLEEPS = 4, 300


class Run:
    """A sample of all that a crowd does, with its counts: {TID: {function: waits}}."""

    def __init__(self, test, threads, waits, ns, *options):
        self.load = test.workload("crowd", str(threads), str(waits), str(ns))
        self.path = test.directory() / "json"
        capture = test.start(Capture(self.load.pid, *OPTIONS, *options, "-o", "text",
                                     "-o", f"json:{self.path}"))
        self.truths = {thread["tid"]: {name: thread[name] for name in FUNCTIONS}
                       for thread in self.load.go()["threads"]}
        self.report, self.stacks = capture.close(test)
        self.traces = json.loads(self.path.read_text().splitlines()[0])["traces"]

    def rows(self, tid):
        """Its sleeps, with the function that called."""
        return [(next((name for name in FUNCTIONS if name in row.stack.functions()), None), row)
                for row in self.stacks.of(tid, "waits")
                if row.state in SLEPT and row.call == "clock_nanosleep"]

    def sleeps(self, tid):
        """Each of its sleeps: the function that called, and the record."""
        for wait in self.traces["waits"]:
            if wait["tid"] == tid and wait["state"].startswith("blocked") and \
                    wait.get("syscall", {}).get("name") == "clock_nanosleep":
                frames = self.traces["stacks"][wait["user_stack"]]["frames"] \
                    if "user_stack" in wait else []
                functions = [frame.get("function") for frame in frames]
                yield next((name for name in FUNCTIONS if name in functions), None), wait


def case_lines(test):
    """Two lines of a function are one row, or with --lines two."""
    for options, rows_of_blue in (((), 1), (("--lines",), 2)):
        run = Run(test, 1, 40, 5_000_000, *options)
        (tid, truth), = run.truths.items()
        rows = run.rows(tid)
        for name in FUNCTIONS:
            own = [row for function, row in rows if function == name]
            # A thread that is kept from falling asleep for long waits too short.
            test.between(sum(row.count for row in own), truth[name] - 2, truth[name],
                         f"{options} {name}: its waits")
            test.eq(len(own), rows_of_blue if name == "blue" else 1, f"{options} {name}: rows")
        frames = [frame for name, row in rows if name == "blue" for frame in row.stack.user
                  if frame.function == "blue"]
        test.eq([frame.offset is None for frame in frames], [not options] * rows_of_blue,
                f"{options}: the offset, where there is one")


def case_merged(test):
    """Without --per-thread the threads that wait in one function are one row."""
    load = test.workload("crowd", "8", "60", str(NS))
    capture = test.start(Capture(load.pid, "--off-cpu=2ms", "--wait-filter=*",
                                 "--stack-overhead=0"))
    truths = load.go()["threads"]
    _, stacks = capture.close(test)
    for name in FUNCTIONS:
        rows = [row for row in stacks.waits if row.state == "blocked interruptible" and
                row.call == "clock_nanosleep" and name in row.stack.functions()]
        count = sum(truth[name] for truth in truths)
        # A switch that the kernel hid shows no kernel stack.
        test.eq([row.threads for row in rows if row.stack.kernel], [8],
                f"{name}: one row of eight threads")
        # A thread that is kept from falling asleep for long waits too short.
        test.between(sum(row.count for row in rows), count - 8, count, f"{name}: their waits")
        test.between(sum(row.total for row in rows), (count - 8) * NS // 1000, 1e9,
                     f"{name}: their total, in us")


def case_crowd(test):
    """More waits than could be copied: all but those that are marked have their stack, each the right
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
    test.between(found, 0.95 * THREADS * WAITS, THREADS * WAITS, "waits")
    # What copying costs is limited: on a busy machine to fewer, which are marked.
    test.between(missing, 0, 0.02 * THREADS * WAITS, "those without a stack, and without a mark")


def joined_run(test):
    """A sample of threads that sleep in one place each, with few stacks copied:
    (its traces, {TID: [(functions or None, not copied)] of each sleep})."""
    load = test.workload("roles", *[f"calls:0:{SLEEPS}:2000"] * SLEEPERS)
    path = test.directory() / "json"
    capture = test.start(Capture(load.pid, "--off-cpu=1ms", "--wait-filter=*", "--stack-overhead=0.01", "-o", "text",
                                 "-o", f"json:{path}"))
    sleeps = {thread["tid"]: [] for thread in load.go()["threads"]}
    capture.close(test)
    traces = json.loads(path.read_text().splitlines()[0])["traces"]
    for wait in traces["waits"]:
        if wait.get("syscall", {}).get("name") == "clock_nanosleep" and \
                wait["state"].startswith("blocked"):
            stack = traces["stacks"][wait["user_stack"]]["frames"] if "user_stack" in wait else None
            functions = stack and tuple(frame.get("function") for frame in stack)
            sleeps[wait["tid"]].append((functions, wait.get("stack_limited", False)))
    return capture.stdout, traces, sleeps


def case_joined(test):
    """Waits without a stack are listed with that of the thread's others at the same place."""
    said, traces, sleeps = joined_run(test)
    all_sleeps = [sleep for thread in sleeps.values() for sleep in thread]
    test.between(len(all_sleeps), 0.9 * SLEEPERS * SLEEPS, SLEEPERS * SLEEPS, "the sleeps")
    limited = [wait for wait in traces["waits"] if wait.get("stack_limited")]
    test.eq(traces["limited_stacks"], len(limited), "stacks that were not copied")
    test.eq(traces["joined_stacks"], len([wait for wait in limited if "user_stack" in wait]),
            "those with the stack of others")
    test.ok(traces["joined_stacks"] >= 20, "there are such", traces["joined_stacks"])
    copied = {tid for tid, own in sleeps.items() if any(not late for _, late in own)}
    test.ok(copied, "stacks were copied of some threads")
    for tid, own in sleeps.items():
        stacks = {functions for functions, _ in own}
        test.eq(len(stacks), 1, f"{tid}: one stack for all, or none")
        functions = stacks.pop()
        test.eq("role_calls" in functions if tid in copied else functions,
                True if tid in copied else None, f"{tid}: its own, if one was copied")
    test.ok(f"{traces['joined_stacks']:,} of them are listed with the stack that others have" in
            said, "the report says how many", said[-2000:])


kdtest.main(case_lines, case_merged, case_crowd, case_joined)
