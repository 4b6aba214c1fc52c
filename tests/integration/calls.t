#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slow system calls: exactly those that the workload logged, in order; what the options select, and
what the report says of anything missing."""

import errno
import collections
import os
import re
import signal
import sys

import kdreport
import kdtest
from kdstacks import THREAD, Capture, Libc, Program, check_stacks, parse, told
from kdtest import MS
from kdtrigger import BOTH, NO_LIMIT, UNLIMITED, Log, Triggered

ALL = ("--stack-trace-size=overhead=0",)  # every call with its stack
US_LOST = 2000  # ns: DELTA is in us, and both ends are cut off


class Run:
    """A workload that does its work while it is sampled, and its log."""

    def __init__(self, test, roles, *options, **program):
        self.test = test
        self.load = test.workload("slow", *roles)
        capture = test.start(Capture(self.load.pid, *options, **program))
        self.truths = {thread["role"]: thread for thread in self.load.go()["threads"]}
        self.log = self.load.logs()
        self.report, self.stacks = capture.close(test)
        self.stderr = capture.stderr

    def tid(self, role):
        return self.truths[role]["tid"]

    def events(self, role):
        return self.stacks.of(self.tid(role))


def fits(event, entry):
    before, after, call, result, _ = entry
    return (event.call == (kdtest.POLL if call == "poll" else call) and before <= event.entry <= event.exit <= after and
            event.result == result)


def check_log(test, run, role, threshold=0):
    """Each logged call that was certainly slow is listed once, with its result; each listed call
    was logged and slow."""
    log, faults, used, position = run.log[run.tid(role)], [], 0, 0
    events = [event for event in run.events(role) if event.exit and event.entry >= log[0][0]]
    for entry in log:
        before, after, call, _, least = entry
        event = events[position] if position < len(events) else None
        if event is not None and fits(event, entry):
            position += 1
            used += 1
            if after - before < threshold:
                faults.append(f"{call} took {after - before:,} and is listed")
            if abs(event.delta * 1000 - (event.exit - event.entry)) > US_LOST:
                faults.append(f"DELTA {event.delta} is not EXIT - ENTRY")
        elif least >= threshold and (least or not threshold):
            faults.append(f"{entry} is not listed; the next one is {event}")
    left = [event for event in events[position:] if
            any(before <= event.entry <= after for before, after, *_ in log)]
    test.ok(used and not faults and not left, f"{role}: {used} of {len(log)} calls are listed",
            *faults[:10], *left[:3])
    return used


def check_order(test, stacks):
    exits = [event.exit for event in stacks.events if event.exit]
    test.eq(exits, sorted(exits), "ordered by exit")
    ends = [event.exit is None for event in stacks.events]
    test.eq(ends, sorted(ends), "unfinished calls come last")


def case_threshold(test):
    run = Run(test, ("sleeper:120:400:12000:6", "poller:20:9000", "failing:8:11000"),
              "-s", "6ms", *ALL)
    for role in ("sleeper", "poller", "failing"):
        check_log(test, run, role, 6 * MS)
    check_order(test, run.stacks)
    short = [event for event in run.stacks.events if event.exit and
             event.exit - event.entry < 6 * MS]
    test.ok(not short, "nothing below the threshold", *short[:3])
    test.books(run.report)


def case_results_and_stacks(test):
    """Results, the kernel stack where each call waited, and the user stack."""
    run = Run(test, ("sleeper:5:400:12000:1", "reader:8:11000", "waiter:8:11000",
                     "failing:4:11000"), "-s", "6ms", *ALL)
    for role in ("sleeper", "reader", "waiter", "failing"):
        check_log(test, run, role, 6 * MS)
    failed = {(event.call, event.result) for event in run.events("failing") if event.exit}
    test.eq(failed & {("futex", -errno.ETIMEDOUT), ("rt_sigtimedwait", -errno.EAGAIN)},
            {("futex", -errno.ETIMEDOUT), ("rt_sigtimedwait", -errno.EAGAIN)}, "results")
    where = {"clock_nanosleep": ("hrtimer_nanosleep", "do_nanosleep", "common_nsleep"),
             "read": ("pipe_read", "anon_pipe_read"),
             "futex": ("futex_wait", "__futex_wait", "futex_do_wait", "futex_wait_queue"),
             "rt_sigtimedwait": ("do_sigtimedwait",)}
    faults = []
    for event in run.stacks.events:
        if event.exit and event.call in where:
            # A call that was interrupted as it began to wait may have waited elsewhere.
            if not event.stack.in_kernel(*where[event.call]):
                faults.append(repr(event))
            elif not event.waited or event.waited > event.delta + 2:
                faults.append(f"waited {event.waited} us of {event.delta}")
    test.ok(not faults, "the kernel's stacks are where the calls waited", *faults[:5])
    program = {"": Program(kdtest.WORKLOADS / "slow")}
    for role, call, function, own in (
            ("sleeper", "clock_nanosleep", "clock_nanosleep", "sleeper_sleep"),
            ("waiter", "futex", "syscall", "waiter_wait"),
            ("reader", "read", "read", "reader_wait")):
        events = [event for event in run.events(role)
                  if event.call == call and event.entry >= run.log[event.tid][0][0]]
        check_stacks(test, [event for event in events if event.exit],
                     (Libc(function), own, role, "worker_main", *THREAD), program,
                     f"{role}: the user's stacks", len(run.log[run.tid(role)]))


def case_unfinished(test):
    """An unfinished call is listed with its stack; one that has only just begun is not."""
    run = Run(test, ("blocked", "sleeper:3:400:12000:1"), "-s", "6ms", *ALL)
    events = run.events("blocked")
    test.eq([(event.exit, event.result, event.call in ("poll", "ppoll")) for event in events],
            [(None, None, True)], "the poll is unfinished")
    test.ok(events and events[0].stack.in_kernel("do_sys_poll", "do_poll",
                                                 "schedule_hrtimeout", "poll_schedule"),
            "with the kernel's stack", *events)
    check_stacks(test, events, (Libc("poll"), "blocked", "worker_main", *THREAD),
                 {"": Program(kdtest.WORKLOADS / "slow")}, "and the user's")


def case_all_calls(test):
    """Without a duration every call is listed, as many as are counted."""
    options = ("-s", "--buffer-page-count", "1", "--stack-trace-size", "0")
    run = Run(test, ("quick:700", "failing:20:100"), "-s", "--stack-trace-size=overhead=0.0001",
              "--buffer-page-count", "4096")
    thread = run.report.thread(run.tid("quick"))
    listed = [event for event in run.events("quick") if event.call == "getppid"]
    test.eq((len(listed), thread.count("getppid")), (700, 700), "getppid")
    test.ok({event.result for event in listed} == {os.getpid()}, "its result is this PID")
    check_log(test, run, "failing")
    test.eq({event.result for event in run.events("failing") if event.call == "recvfrom"},
            {-errno.EAGAIN}, "EAGAIN")
    test.eq({event.result for event in run.events("failing")
             if event.call == "read" and (event.result or 0) < 0}, {-errno.EBADF}, "EBADF")
    for role in ("quick", "failing"):
        listed = {}
        for event in run.events(role):
            if event.exit:
                listed[event.call] = listed.get(event.call, 0) + 1
        # The call in which the thread was when the window opened is listed, not counted.
        counted = {call: row.count for call, row in
                   run.report.thread(run.tid(role)).calls.items()}
        faults = [f"{call}: {listed.get(call)} listed, {counted[call]} counted"
                  for call in counted
                  if not counted[call] <= listed.get(call, 0) <= counted[call] + 1]
        test.ok(not faults, f"{role}: each call is listed as often as it is counted", *faults)
    check_order(test, run.stacks)
    test.eq(kdtest.losses_told(run.report), [], "nothing is lost")


def calls_of(run):
    return {event.call for event in run.stacks.events}


def case_choice(test):
    """-e, its negation, and the default without the poll family."""
    roles = ("sleeper:4:400:12000:1", "poller:4:12000", "waiter:4:11000", "reader:4:11000")
    run = Run(test, roles, "-s", "6ms", "-e", "futex,read")
    test.eq(calls_of(run) & {"futex", "read", "clock_nanosleep", "poll"}, {"futex", "read"},
            "-e futex,read")
    test.eq(calls_of(run) - {"futex", "read"}, set(), "and nothing else")
    run = Run(test, roles, "-s", "6ms", "-e", "!futex,clock_nanosleep")
    seen = calls_of(run)
    test.ok({"poll", "read"} <= seen | ({"poll"} if "ppoll" in seen else set()) and
            not seen & {"futex", "clock_nanosleep"}, "-e '!futex,clock_nanosleep'", seen)
    run = Run(test, roles, "-s", "6ms", "--skip-syscall-poll-events")
    seen = calls_of(run)
    test.ok({"futex", "read", "clock_nanosleep"} <= seen and not seen & {
        "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait"},
        "--skip-syscall-poll-events", seen)


def case_busy_call(test):
    """A call that is long without ever waiting has no stack of a wait."""
    run = Run(test, ("zeros:40:64",), "-s", "1ms", "-e", "read", *ALL)
    events = [event for event in run.events("zeros") if event.result == 64 << 20]
    check_log(test, run, "zeros", 1 * MS)
    test.ok(events, "they are listed")
    unslept = [event for event in events if not event.waited]
    wrong = [event for event in unslept if event.stack.in_kernel("read_zero", "schedule")]
    test.ok(not wrong, f"{len(unslept)} never waited: at most the way out is shown", *wrong[:2])
    wrong = [event for event in events
             if not event.stack.complete or not event.stack.user[0].function]
    test.ok(not wrong, "the user's stacks are complete", *wrong[:2])


# Reads what a child writes after a while, then fills memory; prints how long both took.
TIMES = """
import os, time
reads, writes = os.pipe()
child = os.fork()
if not child:
    time.sleep(0.2)
    os.write(writes, b"x")
    os._exit(0)
begun = time.monotonic_ns()
os.read(reads, 1)
slept = time.monotonic_ns() - begun
zeros = os.open("/dev/zero", os.O_RDONLY)
buffer = bytearray(64 << 20)
begun = time.thread_time_ns()
os.readv(zeros, [buffer])
print(os.getpid(), child, slept, time.thread_time_ns() - begun)
"""


def case_times(test):
    """What the time of a call was: asleep, and who ended that; or running."""
    text, path = test.directory() / "text", test.directory() / "json"
    done = test.program("-s", "1ms", "-e", "read,readv", *ALL, "-o", text, "-o", f"json:{path}", "--",
                        sys.executable, "-c", TIMES)
    pid, child, slept, ran = map(int, done.stdout.split())
    calls = [call for call in kdtest.samples_of(path)[0]["traces"]["syscalls"] if call["tid"] == pid]
    reads = [call for call in calls if call["result"] == 1 and call["syscall"]["name"] == "read"]
    fills = [call for call in calls if call["syscall"]["name"] == "readv"]
    if not test.eq((len(reads), len(fills)), (1, 1), "both are listed"):
        return
    read, fill = reads[0], fills[0]
    asleep = read["duration_ns"] - read["running_ns"] - read["ready_ns"]
    test.between(asleep + read["ready_ns"], 0.9 * slept, slept, "it slept")
    test.eq(read["ended_by"]["tid"], child, "until the child wrote")
    test.between(fill["running_ns"], ran - 1 * MS, ran * 1.05 + 1 * MS, "it ran")
    said = text.read_text()
    test.ok(re.search(rf"us asleep in \w*pipe_read until {child} .* woke it, ", said), "in words",
            *re.findall(r"^ *\(.* us running\)$", said, re.MULTILINE))


# Reads on one CPU what a child writes on another.
READS = """
import os, sys, time
first, second = int(sys.argv[1]), int(sys.argv[2])
reads, writes = os.pipe()
child = os.fork()
os.sched_setaffinity(0, {first if child else second})
if child:
    print("ready", flush=True)
while child:
    os.read(reads, 1)
os.close(reads)  # the end of the other one is the end of this one
while True:
    os.write(writes, b"x")
    time.sleep(0.005)
"""


def case_behind(test):
    """A call that was ready for most of its time has who had the CPU: mostly a thread of real time,
    ahead of which are only such of other tests."""
    kdtest.only_beside_another_cpu("the writer runs there")
    first, second = sorted(os.sched_getaffinity(0))[-2:]
    hog, path = test.workload("roles", f"fifo:{first}:60:100"), test.directory() / "json"
    child = test.child([sys.executable, "-c", READS, str(first), str(second)])
    child.line("ready")
    text = test.program("-p", child.pid, "-s", "10ms", "-e", "read", "--sample-time", "1", "-o", "-",
                        "-o", f"json:{path}").stdout
    calls = [call for call in kdtest.samples_of(path)[0]["traces"]["syscalls"]
             if call.get("ready_ns", 0) > call["duration_ns"] / 2]
    test.ok(len(calls) > 2, "some calls were ready for most of their time", len(calls))
    tid, = hog.tid("fifo")
    behind = collections.Counter()
    for call in calls:
        row = call.get("ready_behind", {"tid": 0, "ns": 0})
        behind[row["tid"]] += row["ns"]
        test.between(row["ns"], 0, call["ready_ns"], "the longest time is a part of all")
    test.between(behind[tid], max(behind.values()), sum(call["ready_ns"] for call in calls),
                 "they were behind that thread")
    test.ok(re.search(rf"^ *\(.* us ready behind {tid} fifo( and \d+ others?)?, \d+ us running\)$", text,
                      re.MULTILINE), "in words", *re.findall(r"^ *\(.* us running\)$", text, re.MULTILINE))


SLEEPS = """
import time
print("ready", flush=True)
while True:
    time.sleep(0.02)
"""


def case_named(test):
    """Sleeping in a slow call that was named is no waiting for work; in one that is only listed, it is."""
    child = test.child([sys.executable, "-c", SLEEPS])
    child.line("ready")
    for args, cause in (((), []), (("--skip-syscall-poll-events",), []), (("-e", "!futex"), []),
                        (("-e", "clock_nanosleep"), ["wait"])):
        path = test.directory() / "json"
        test.program("-p", child.pid, "-s", "10ms", *args, "--sample-time", "400ms", "--sample-count", "1",
                     "-o", f"json:{path}")
        sample, = kdtest.samples_of(path)
        made = sample["traces"]["syscalls"]
        calls = sum(call["duration_ns"] for call in made)
        busy = sum(call.get("running_ns", 0) + call.get("ready_ns", 0) for call in made)
        test.ok(calls > 0.2e9, f"{' '.join(args)}: the calls are listed")
        rows = [row for row in sample["verdict"] if row["cause"] == "wait"]
        test.eq([row["cause"] for row in rows], cause, f"{' '.join(args)}: what the verdict is of")
        for row in rows:
            test.between(row["ns"], 0.7 * (calls - busy), 1.01 * calls, "all of them")


def case_losses(test):
    """Records that find no room in the ring, because nobody reads it, are counted."""
    for strict in (False, True):
        load = test.workload("slow", "quick:30000")
        capture = test.start(Capture(load.pid, "-s", "--buffer-page-count", "1",
                                     "--stack-trace-size", "0",
                                     *(["--strict"] if strict else [])))
        capture.signal(signal.SIGSTOP)
        kdtest.wait_until(lambda: kdtest.state_of(capture.pid, capture.pid) == "T")
        load.go()
        capture.signal(signal.SIGCONT)
        report, stacks = capture.close(test, want=int(strict))
        tid, = load.tid("quick")
        listed = sum(event.call == "getppid" for event in stacks.of(tid))
        test.ok(0 < listed < 30000, "some are listed, some are not", listed)
        test.eq(report.thread(tid).count("getppid"), 30000, "all are counted")
        line = told(report, "WARNING", "--buffer-page-count") or "0"
        lost = int(re.search(r"[\d,]*\d", line)[0].replace(",", ""))
        # The ends of the work are lost, too.
        test.between(lost, 30000 - listed, 30000 - listed + 20, "the others are told")


def case_stack_options(test):
    """Options for stacks: none at all, few bytes, few per second."""
    roles = ("sleeper:30:6000:6000:1", "quick:300")
    run = Run(test, roles, "-s", "2ms", "--stack-trace-size", "0")
    test.ok(run.events("sleeper"), "there are calls")
    test.eq([event for event in run.stacks.events
             if event.stack.user or event.stack.kernel or event.stack.missing], [],
            "--stack-trace-size 0: no stacks, and no word of them")
    run = Run(test, roles, "-s", "2ms", "--stack-trace-size=overhead=0.0001")
    limited = [event for event in run.stacks.events if event.exit and not event.stack.user]
    test.ok(any(event.stack.user for event in run.stacks.events), "overhead: some stacks")
    test.ok(limited and all("overhead of --stack-trace-size" in event.stack.missing.get("user", "")
                            for event in limited), "where there is none it says why", *limited[:2])
    # Those that began and ended in the window: before and after its work it waits elsewhere.
    wrong = [event for event in run.events("sleeper") if event.entry and event.exit and
             event.stack.user and "sleeper_sleep" not in event.stack.functions()]
    test.eq(wrong[:2], [], "a stack is the thread's own")
    test.ok(told(run.report, "overhead of --stack-trace-size"), "and how many", *run.report.notices)
    run = Run(test, ("sleeper:9:6000:6000:1", "quick:9"), "-s", "--stack-trace-size", "1", *ALL)
    kept = {repr(event.stack.user) for event in run.stacks.events if event.stack.user}
    test.eq(len(kept), 1, "--stack-trace-size 1: one user stack")
    test.ok(told(run.report, "stack") or told(run.report, "--stack-trace-size"),
            "it is told that there were more", *run.report.notices)


def case_truncated(test):
    """A stack larger than the copy may be ends where the copy ends, and says so."""
    load = test.workload("chain")
    capture = test.start(Capture(load.pid, "-s", "6ms", "--stack-trace-size=user-bytes=4096", *ALL))
    truths = []
    for shape in ("with_alloca", "deep_1"):
        truths.append(load.ask(f"{shape} sleep 12"))
    _, stacks = capture.close(test)
    inside = [[event for event in stacks.of(truth["tid"]) if event.exit and
               truth["from"] <= event.entry <= truth["to"]] for truth in truths]
    test.eq([len(found) for found in inside], [4, 1], "the calls are listed")
    cut = [event.stack for event in inside[0][1:]]
    # How much of the limit is used depends on where in its page the stack pointer is.
    faults = [stack for stack in cut if not stack.stop or
              stack.functions()[1:] not in (["slow"], ["slow", "alloca_user"])]
    test.ok(cut and not faults, "stacks of 13 KB and more end in alloca_user", *faults)
    test.ok(all("cop" in stack.stop for stack in cut if stack.stop), "the reason", *cut[:1])
    deep = ["slow", *(f"deep_{n}" for n in range(12, 0, -1)), "main"]
    names = inside[1][0].stack.functions()[1:len(deep) + 1] if inside[1] else []
    test.ok(names and names == deep[:len(names)] and (names == deep or inside[1][0].stack.stop),
            "what is there of another is right", *inside[1])


def case_triggered(test):
    """With triggers, each report lists the calls of its own window."""
    load = test.workload("caller", "sleeps:24:60:6:12000")
    capture = Triggered(test, load.pid, *BOTH, "--trigger-delta", "5ms", *UNLIMITED, *NO_LIMIT,
                        "-s", "8ms", *ALL)
    log = Log(load, load.go())
    capture.interrupt(test, "the program ends with status 0")
    text, stacks = parse(capture.stdout)
    reports = kdreport.Run(text).reports
    long = [call for call in log.calls() if call[3] - call[0] >= 10 * MS]
    test.eq((len(reports), len(stacks)), (len(long), len(long)), "a report for each long call")
    faults = []
    for report, found in zip(reports, stacks):
        inside = [event for event in found.events if event.exit]
        if len(inside) != 1 or inside[0].call != "clock_nanosleep" or not (
                report.start <= inside[0].entry < inside[0].exit <= report.stop) or \
                "probed_call" not in inside[0].stack.functions():
            faults.append(inside)
    test.ok(not faults, "with the one slow call inside", *faults[:3])


kdtest.main(case_threshold, case_results_and_stacks, case_unfinished, case_all_calls, case_choice,
            case_busy_call, case_times, case_behind, case_named, case_losses, case_stack_options,
            case_truncated, case_triggered)
