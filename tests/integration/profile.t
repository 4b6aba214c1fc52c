#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of running code: where a known program spends its time, as many as the time
it ran by its own clock; and the folded file, as readers of such files take it."""

import re
import time

import kdtest
from kdstacks import THREAD, Capture, Libc, Program, is_libc, stack_fault
from kdtest import SECOND

HZ = 199
SPIN = (*(f"spin_{n}" for n in range(5, 0, -1)), "spinner", "worker_main", *THREAD)
ASK = (*(f"ask_{n}" for n in range(5, 0, -1)), "asker", "worker_main", *THREAD)
FOLDED = re.compile(r"[^ ;]+(;[^ ;]+)+ [1-9]\d*")
# How flamegraph.pl splits a line.
FLAMEGRAPH = re.compile(r"^(.*)\s+?(\d+(?:\.\d*)?)$")


class Run:
    """Threads that run throughout, and a sample of a second of that."""

    def __init__(self, test, roles, *options, seconds=1.2):
        self.load = test.workload("slow", *roles)
        self.folded = test.directory() / "folded"
        capture = test.start(Capture(self.load.pid, *options, "-o", f"folded:{self.folded}"))
        first = self.load.mark()
        time.sleep(seconds)
        last = self.load.mark()
        self.report, self.stacks = capture.close(test)
        self.cpu = first.bounds(last, self.report)

    def samples(self, role):
        tid, = self.load.tid(role)
        return tid, self.stacks.of(tid, "samples")


def check_number(test, run, role, hz):
    """As many as the thread's run time has periods. The clock is the CPU's: a period may
    be lost to the hypervisor, and none is added."""
    tid, rows = run.samples(role)
    least, most = run.cpu[tid]
    count = sum(row.count for row in rows)
    test.between(count, least * hz / SECOND * 0.8 - 5, most * hz / SECOND * 1.05 + 5,
                 f"{role}: samples")
    return rows, count


def case_spinner(test):
    for options, hz in ((("--profile",), 49), ((f"--profile={HZ}",), HZ)):
        run = Run(test, ("spinner",), *options, "--stack-rate", "0")
        test.eq(run.stacks.hz, hz, f"{options[0]}: {hz} Hz")
        rows, count = check_number(test, run, "spinner", hz)
        program = {"": Program(kdtest.WORKLOADS / "slow")}
        right = sum(row.count for row in rows
                    if row.mode == "user" and not stack_fault(row.stack, SPIN, program))
        test.between(right, count * 0.9, count, f"{hz} Hz: with the known chain")
        test.between(sum(float(row.percent) for row in rows), 99.9 - len(rows) / 100,
                     100.1 + len(rows) / 100, f"{hz} Hz: percents")
        idle = [row for row in run.stacks.samples if row.comm == "slow"]
        test.ok(sum(row.count for row in idle) <= 5, "threads that wait are not sampled", *idle)
    test.books(run.report, run.cpu)


def case_system_calls(test):
    """A thread that is in and out of the kernel all the time: both parts are shown."""
    run = Run(test, ("asker",), f"--profile={HZ}", "--stack-rate", "0")
    rows, count = check_number(test, run, "asker", HZ)
    inside = [row for row in rows if row.mode == "kernel"]
    test.between(sum(row.count for row in inside), count * 0.05, count, "samples in the kernel")
    stacks = [row.stack for row in inside if row.call == "getppid"]
    test.ok(stacks and all(stack.kernel for stack in stacks), "have the kernel's stack",
            *inside[:2])
    program, faults, good = {"": Program(kdtest.WORKLOADS / "slow")}, [], 0
    for row in inside:
        if row.call == "getppid":
            fault = stack_fault(row.stack, (Libc("getppid"), *ASK), program)
            good += row.count if not fault else 0
            faults += [fault] if fault else []
    total = sum(row.count for row in inside if row.call == "getppid")
    test.between(good, total * 0.9, total, "and the user's, of the call")
    if faults:
        test.remark(*faults[:3])
    outside = [row for row in rows if row.mode == "user"]
    test.ok(all(not row.stack.kernel for row in outside), "others have none of the kernel",
            *[row for row in outside if row.stack.kernel][:2])
    in_libc = [row for row in outside if row.stack.user and is_libc(row.stack.user[0], program)]
    wrong = [row for row in in_libc if not row.stack.complete]
    test.ok(sum(row.count for row in wrong) <= 0.1 * count, "complete in the C library, too",
            *wrong[:2])


def read_folded(test, path):
    """[(frames, ns)] of a folded file."""
    lines = path.read_text().splitlines()
    wrong = [line for line in lines if not FOLDED.fullmatch(line)]
    test.ok(lines and not wrong, "each line is frames and a number", *wrong[:5])
    wrong = [line for line in lines if not FLAMEGRAPH.match(line)]
    test.ok(not wrong, "as flamegraph.pl reads it", *wrong[:5])
    return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in lines]


def case_folded(test):
    """The sums of the folded file are those of the report; the outermost frame is first."""
    run = Run(test, ("spinner", "asker"), f"--profile={HZ}", "--stack-rate", "0")
    folded = read_folded(test, run.folded)
    for role in ("spinner", "asker"):
        _, rows = run.samples(role)
        count = sum(row.count for row in rows)
        total = sum(ns for frames, ns in folded if frames[0] == role)
        test.between(total, (count - 0.5) * SECOND / HZ, (count + 0.5) * SECOND / HZ,
                     f"{role}: as many periods as samples")
    chain = list(reversed(SPIN[:7]))
    found = sum(ns for frames, ns in folded if frames[-7:] == chain)
    spun = sum(ns for frames, ns in folded if frames[0] == "spinner")
    test.between(found, spun * 0.9, spun, "the chain, from the outermost frame on")
    kernel = [frames for frames, _ in folded if any(frame.endswith("_[k]") for frame in frames)]
    wrong = [frames for frames in kernel
             if [frame.endswith("_[k]") for frame in frames] !=
             sorted(frame.endswith("_[k]") for frame in frames)]
    test.ok(kernel and not wrong, "the kernel's frames are innermost", *wrong[:2])


def case_folded_calls(test):
    """Calls and waits in one file, told apart."""
    load = test.workload("slow", "sleeper:10:8000:8000:1")
    path = test.directory() / "folded"
    capture = test.start(Capture(load.pid, "-s", "3ms", "--off-cpu=3ms", "-o", f"folded:{path}"))
    load.go()
    _, stacks = capture.close(test)
    folded = read_folded(test, path)
    tid, = load.tid("sleeper")
    for kind, rows in (("syscall", [event for event in stacks.of(tid) if event.call ==
                                    "clock_nanosleep"]), ("off-cpu", None)):
        lines = [(frames, ns) for frames, ns in folded
                 if frames[:2] == ["sleeper", kind] and "sleeper_sleep" in frames]
        test.ok(lines, f"{kind}: the sleeps", *folded[:3])
        total = sum(ns for _, ns in lines)
        if rows:
            test.eq(total, sum(event.exit - event.entry for event in rows), f"{kind}: their sum")
        else:
            test.ok(total >= 10 * 8_000_000, f"{kind}: their sum", total)


kdtest.main(case_spinner, case_system_calls, case_folded, case_folded_calls)
