#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of running code: where a known program spends its time, and as many samples as its own
clock accounts for; and the folded file, as readers of such files take it."""

import contextlib
import re
import signal

import kdtest
from kdstacks import THREAD, Capture, Libc, Program, stack_fault, told
from kdtest import SECOND

HZ = 199
SPIN = (*(f"spin_{n}" for n in range(5, 0, -1)), "spinner", "worker_main", *THREAD)
ASK = (*(f"ask_{n}" for n in range(5, 0, -1)), "asker", "worker_main", *THREAD)
OUTWARDS = list(reversed(SPIN[:7]))
# bpf_lsm_* are hooks of every file operation where the LSM "bpf" is enabled: not ours.
OWN = r"bpf_(?!lsm_)|__bpf_|__traceiter_|trace_call_bpf|perf_trace_|perf_syscall_"
FOLDED = re.compile(r"[^ ;]+(;[^ ;]+)+ [1-9]\d*")
# How flamegraph.pl splits a line.
FLAMEGRAPH = re.compile(r"^(.*)\s+?(\d+(?:\.\d*)?)$")


class Run:
    """Threads that run throughout, and a sample in which each has run for about a second. A single
    thread has priority over others: then only the ends of its few runs are left to chance."""

    def __init__(self, test, roles, *options):
        self.load = test.workload("slow", *roles)
        self.folded = test.directory() / "folded"
        capture = test.start(Capture(self.load.pid, *options, "-o", "text", "-o", f"folded:{self.folded}"))
        tids = [tid for role in roles for tid in self.load.tid(role)]
        with contextlib.ExitStack() as stack:
            if len(tids) == 1 and not kdtest.one_cpu():
                stack.enter_context(kdtest.real_time(self.load.pid, tids[0]))
            first = self.load.mark()
            for tid in tids:
                kdtest.wait_until(lambda tid=tid: kdtest.schedstat(self.load.pid, tid)[0] >=
                                  first.cpu[tid] + 1.1 * SECOND)
            last = self.load.mark()
        self.beside = kdtest.processes_named("kernel_delay") != [capture.pid]
        self.report, self.stacks = capture.close(test)
        self.load.signal(signal.SIGSTOP)  # nobody looks any more
        self.cpu = first.bounds(last, self.report)

    def samples(self, role):
        tid, = self.load.tid(role)
        return tid, self.stacks.of(tid, "samples")

    def lines(self, test):
        """[(frames, samples)] of the folded file, which leaves no row out."""
        return [(frames, ns * self.stacks.hz / SECOND) for frames, ns in
                read_folded(test, self.folded)]


def check_number(test, run, role, lines):
    """As many samples as there are periods in the thread's run time. The clock is the CPU's:
    periods may be lost to the hypervisor, and none are added. An emulator on a busy machine stalls
    for longer."""
    tid, rows = run.samples(role)
    least, most = run.cpu[tid]
    count = sum(samples for frames, samples in lines if frames[0] == role)
    hz = run.stacks.hz
    share = 0.5 if kdtest.VM else 0.8
    test.between(count, least * hz / SECOND * share - 5, most * hz / SECOND * 1.05 + 5,
                 f"{role}: samples")
    return rows, count


def case_spinner(test):
    for options, hz in ((("--profile",), 49), ((f"--profile={HZ}",), HZ)):
        run = Run(test, ("spinner",), *options, "--stack-trace-size=overhead=0")
        if not test.eq(run.stacks.hz, hz, f"{options[0]}: {hz} Hz"):
            continue
        lines = run.lines(test)
        rows, count = check_number(test, run, "spinner", lines)
        program = {"": Program(kdtest.WORKLOADS / "slow")}
        shown = sum(row.count for row in rows)
        right = sum(row.count for row in rows
                    if row.mode == "user" and not stack_fault(row.stack, SPIN, program))
        test.between(right, shown * 0.9, shown, f"{hz} Hz: every frame of the known chain")
        right = sum(samples for frames, samples in lines if frames[-7:] == OUTWARDS)
        test.between(right, count * 0.9, count, f"{hz} Hz: those not listed, too")
        percents = sum(float(row.percent) for row in rows)
        test.between(percents, 100 * shown / count - 1, 100 * shown / count + 1,
                     f"{hz} Hz: percents")
        idle = [row for row in run.stacks.samples if row.comm == "slow"]
        test.ok(sum(row.count for row in idle) <= 5, "threads that wait are not sampled", *idle)
        test.books(run.report, run.cpu)


def own_frames(row):
    """Frames of kernel_delay's own tracing, except in samples where the thread was preempted or
    interrupted: the scheduler's work is not kernel_delay's."""
    names = [frame.function or "" for frame in row.stack.kernel]
    if any(name.startswith(("preempt_schedule", "asm_sysvec", "asm_common_interrupt")) for name in names):
        return []
    return [name for name in names if re.match(OWN, name)]


def case_system_calls(test):
    """A thread that enters and leaves the kernel all the time: both sides are shown."""
    run = Run(test, ("asker",), f"--profile={HZ}", "--stack-trace-size=overhead=0")
    rows, count = check_number(test, run, "asker", run.lines(test))
    program = {"": Program(kdtest.WORKLOADS / "slow")}
    inside = [row for row in rows if row.mode == "kernel"]
    test.between(sum(row.count for row in inside), count * 0.05, count, "samples in the kernel")
    reads = [row for row in inside if row.stack.in_kernel("vfs_read")]
    test.ok(reads and all(row.call == "read" for row in reads), "in the call", *reads[:2])
    faults = [row for row in reads if stack_fault(row.stack, (Libc("read"), *ASK), program)]
    total = sum(row.count for row in reads)
    test.ok(total and sum(row.count for row in faults) <= total * 0.1,
            "with the user's stack, of the call", *faults[:2])
    # Its own would be in a third of those in the kernel; another one's are what is there.
    if run.beside:
        test.skip("no frame of what traces it", "others trace it, too")
    else:
        test.eq([row for row in rows if own_frames(row)], [], "no frame of what traces it")
    test.ok(told(run.report, "own work"), "how many hit that is told", *run.report.notices)
    outside = [row for row in rows if row.mode == "user"]
    test.ok(all(not row.stack.kernel for row in outside), "others have none of the kernel",
            *[row for row in outside if row.stack.kernel][:2])
    wrong = [row for row in outside if not row.stack.complete]
    test.ok(sum(row.count for row in wrong) <= 0.1 * count, "their stacks are complete",
            *wrong[:2])


def case_filtered(test):
    """The kernel runs seccomp filters, which have no name and must not get that of a BPF program
    that happens to lie before them."""
    run = Run(test, ("filtered",), f"--profile={HZ}", "--stack-trace-size=overhead=0")
    _, count = check_number(test, run, "filtered", run.lines(test))
    tops = [(frames[-1], samples) for frames, samples in run.lines(test)]
    named = [(top, samples) for top, samples in tops if top.startswith("bpf_prog_")]
    # Only others' programs run under their own names, at the thread's calls.
    if run.beside:
        test.skip("none has the name of a BPF program", "others trace it, too")
    else:
        test.ok(sum(samples for _, samples in named) <= 0.02 * count,
                "none has the name of a BPF program", *named)
    test.ok(sum(samples for top, samples in tops if top == "[no_symbol]_[k]") >= 0.2 * count,
            "they have no name", *tops[:9])


def read_folded(test, path):
    """[(frames, ns)] of a folded file."""
    lines = path.read_text().splitlines()
    wrong = [line for line in lines if not FOLDED.fullmatch(line)]
    test.ok(lines and not wrong, "each line is frames and a number", *wrong[:5])
    wrong = [line for line in lines if not FLAMEGRAPH.match(line)]
    test.ok(not wrong, "as flamegraph.pl reads it", *wrong[:5])
    return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in lines]


def case_folded(test):
    """The sums of the folded file match the report; the outermost frame comes first."""
    run = Run(test, ("spinner", "asker"), f"--profile={HZ}", "--stack-trace-size=overhead=0")
    folded = read_folded(test, run.folded)
    count, _ = run.stacks.all["samples"]
    test.between(sum(ns for _, ns in folded), (count - 0.5) * SECOND / HZ,
                 (count + 0.5) * SECOND / HZ, "as many periods as samples")
    for role in ("spinner", "asker"):
        _, rows = run.samples(role)
        test.ok(sum(ns for frames, ns in folded if frames[0] == role) >=
                (sum(row.count for row in rows) - 0.5) * SECOND / HZ, f"{role}: all its rows")
    kernel = [frames for frames, _ in folded if any(frame.endswith("_[k]") for frame in frames)]
    wrong = [frames for frames in kernel
             if [frame.endswith("_[k]") for frame in frames] !=
             sorted(frame.endswith("_[k]") for frame in frames)]
    test.ok(kernel and not wrong, "the kernel's frames are innermost", *wrong[:2])


def case_folded_calls(test):
    """Calls and waits in one file can be told apart."""
    load = test.workload("slow", "sleeper:10:8000:8000:1")
    path = test.directory() / "folded"
    capture = test.start(Capture(load.pid, "-s", "3ms", "--off-cpu=3ms", "--wait-filter=*", "-o", "text", "-o", f"folded:{path}"))
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


kdtest.main(case_spinner, case_system_calls, case_filtered, case_folded, case_folded_calls)
