#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel tracepoints as triggers: those of system calls apply to the target only, others to every
process unless told otherwise."""

import subprocess
import time

import kdneeds
import kdreport
import kdtest
from kdattached import check_attached
from kdbtf import BTF, with_preemptible_calls
from kdtest import MS
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, asleep, check_reports


def need(*events):
    for event in events:
        if not (kdneeds.tracefs() / "events" / event).exists():
            raise kdtest.Skip(f"this kernel has no tracepoint {event}")


# Programs of a pair of triggers that are a call's entry and return.
OWN = {("kd_start_tracepoint", "tracepoint", "sys_enter_clock_nanosleep"),
       ("kd_stop_tracepoint", "tracepoint", "sys_exit_clock_nanosleep")}
CLASSIC = {(name, "tracepoint", where) for name in ("kd_start_call", "kd_stop_call")
           for where in ("sys_enter", "sys_exit")}


def pair(test, programs, *args):
    """From the entry of a system call to its return."""
    need("syscalls/sys_enter_clock_nanosleep")
    load = test.workload("roles", "calls:100:5:20000")
    other = test.workload("roles", "calls:0:1000:100")
    run = Triggered(test, load.pid, "--start-trigger", "t:syscalls:sys_enter_clock_nanosleep",
                    "--stop-trigger", "trace:syscalls:sys_exit_clock_nanosleep",
                    "--window-banks", "7", *UNLIMITED, *args)
    check_attached(test, run.pid, ("kd_start_", "kd_stop_", "kd_both_"), programs,
                   "the programs of the triggers are where they should be")
    other.send("go")
    before = kdtest.awake(load.pid, load.tid("calls")[0])
    truth = load.go()["threads"][0]
    awake = kdtest.awake(load.pid, truth["tid"]) - before
    other.line("{")
    run = run.stop(test)
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    test.eq((start.hits, stop.hits), (truth["sleeps"], truth["sleeps"]),
            "the target's calls are hits, another process's are not")
    test.eq(len(run.reports), truth["sleeps"], "each is a window")
    test.between(sum(report.delta for report in run.reports), truth["sleep_ns"],
                 truth["around_ns"], "all of them together last as long as the sleeps")
    asleep(test, [report.thread(truth["tid"]) for report in run.reports], awake)
    for report in run.reports:
        test.between(report.delta, 20 * MS, truth["around_ns"], "it lasts as long as its sleep")
    check_reports(test, run.reports)


def has_preemptible_calls():
    return b"\0trace_call_bpf_faultable\0" in BTF.read_bytes()


def case_pair(test):
    """At the call's own tracepoints, unless this kernel is like that of the next case."""
    pair(test, CLASSIC if has_preemptible_calls() else OWN)


def case_pair_classic(test):
    """Where programs at a call's own tracepoint may be preempted, those at the tracepoints of all
    calls take over."""
    if has_preemptible_calls():
        raise kdtest.Skip("this kernel's are such, so it was the case before")
    pair(test, CLASSIC, "--btf", with_preemptible_calls(test))


def hits_of(test, load, event, *args, during):
    """How often a tracepoint was hit, as a stop trigger that never finds a start."""
    run = Triggered(test, load.pid, "--start-trigger", event, "--stop-trigger", event,
                    "--trigger-delta", "1min", *UNLIMITED, *NO_LIMIT, *args)
    during()
    run = run.stop(test)
    return run.triggers.roles["start"].hits


def spawn(count):
    """Short-lived processes started from a shell: Python would take longer for each."""
    subprocess.run(["sh", "-c", f"for i in $(seq {count}); do /bin/true; done"], check=True)


def case_target_only(test):
    need("syscalls/sys_enter_getppid", "sched/sched_process_fork")
    load = test.workload("roles", "calls:7:0:0")
    other = test.workload("roles", "calls:5000:0:0")
    hits = hits_of(test, load, "t:syscalls:sys_enter_getppid",
                   during=lambda: (other.go(), load.go()))
    test.eq(hits, 7, "t:syscalls: counts for the target only")
    forks = [f"vfork:{ms}" for ms in range(1, 6)]
    for args in ((), ("--trigger-target-only",)):
        load = test.workload("roles", *forks)
        hits = hits_of(test, load, "t:sched:sched_process_fork", *args,
                       during=lambda: (load.go(), spawn(30)))
        if args:
            test.eq(hits, len(forks), "with --trigger-target-only the target's forks count")
        else:
            test.ok(hits >= 30 + len(forks), "without it those of all processes", hits)


def case_from_another_process(test):
    """Another process's actions open and close windows of the target."""
    need("sched/sched_process_fork", "sched/sched_process_exit")
    load = test.workload("caller", "sleeper", "spinner")
    run = Triggered(test, load.pid, "--start-trigger", "t:sched:sched_process_exec",
                    "--stop-trigger", "t:sched:sched_process_exit", "--sample-count", "5")
    spawn(20)
    run = run.finish(test)
    test.eq(len(run.reports), 5, "five reports")
    for report in run.reports:
        thread = report.thread(load.tid("sleeper")[0])
        test.eq(thread.ns["blocked interruptible"], thread.life, "the sleeper sleeps")
    check_reports(test, run.reports)


def case_pairs_of_other_processes(test):
    """Pairs on the same thread, in processes that come and go."""
    need("sched/sched_process_exec", "sched/sched_process_exit")
    load = test.workload("caller", "sleeper")
    run = Triggered(test, load.pid, "--start-trigger", "t:sched:sched_process_exec",
                    "--stop-trigger", "t:sched:sched_process_exit", "--trigger-same-thread",
                    "--trigger-delta", "150ms", *UNLIMITED)
    spawn(20)
    before = time.monotonic_ns()
    subprocess.run(["sleep", "0.2"], check=True)
    took = time.monotonic_ns() - before
    run = run.stop(test)
    test.ok(run.triggers.durations.count >= 21, "each is measured", run.triggers.durations)
    found = [report.delta for report in run.reports if report.delta]
    found += [each.duration for each in run.triggers.nested]
    test.ok(any(199 * MS <= length <= took for length in found), "the one that slept is found",
            found, run.triggers.durations)
    check_reports(test, run.reports)


def case_kprobes(test):
    """A kernel function and its return."""
    if not (kdneeds.tracefs() / "kprobe_events").exists():
        raise kdtest.Skip("this kernel has no kprobes")
    for args in ((), ("--trigger-target-only",)):
        load = test.workload("roles", "calls:100:5:20000")
        other = test.workload("roles", "calls:0:20:1000")
        run = Triggered(test, load.pid, "--start-trigger", "k:hrtimer_nanosleep",
                        "--stop-trigger", "kr:hrtimer_nanosleep", "--trigger-same-thread",
                        "--trigger-delta", "10ms", *UNLIMITED, *args)
        other.go()
        truth = load.go()["threads"][0]
        run = run.stop(test)
        start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
        if kdtest.VM and stop.hits < start.hits:
            # Some kernels have as many as CPUs (register_kretprobe()); the program sleeps, too.
            test.skip("each sleep is found", "this kernel has one return probe at a time")
        elif args:
            test.eq((start.hits, stop.hits), (truth["sleeps"], truth["sleeps"]),
                    "with --trigger-target-only the target's calls are hits")
            test.eq(len(run.reports), truth["sleeps"], "each is a window")
        else:
            test.ok(min(start.hits, stop.hits) >= 20 + truth["sleeps"],
                    "calls of other processes are hits, too", start, stop)
            test.ok(len(run.reports) + run.triggers.n_nested >= truth["sleeps"],
                    "each sleep of the target is found", len(run.reports))
        check_reports(test, run.reports)


def case_says_what_applies(test):
    """The output says whose hits count."""
    kdtest.only_on_host("what is printed of the options")
    need("sched/sched_process_fork")
    load = test.workload("roles", "poll")
    for args, of in (((), "any"), (("--trigger-target-only",), "target")):
        done = test.program("-p", load.pid, "--start-trigger", "t:sched:sched_process_fork",
                            "--stop-trigger", "t:syscalls:sys_enter_getppid", "--duration",
                            "200ms", *args)
        test.ok(done.status in (0, 75), "status 0 or 75", done.status, done.stderr)
        run = kdreport.Run(done.stdout)
        test.eq((run.triggers.roles["start"].of, run.triggers.roles["stop"].of), (of, "target"),
                f"whose hits count {' '.join(args)}")


kdtest.main(case_pair, case_pair_classic, case_target_only, case_from_another_process,
            case_pairs_of_other_processes, case_kprobes, case_says_what_applies)
