#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that lack something or refuse: what is said, and what still works.
A kernel without a tracepoint is one whose BTF does not know it, or that is asked for
another one (workloads/hide.c); a kernel that refuses is made by strace, which puts errors
in the place of bpf()."""

import os
import pathlib
import re
import signal

import kdneeds
import kdtest
from kdattached import check_attached
from kdbtf import with_function, without_tracepoint


def refused(test, what, status, words, *arguments, wrapper=()):
    done = test.program(*arguments, wrapper=wrapper)
    test.eq(done.status, status, f"{what}: status {status}")
    lines = done.stderr.splitlines()
    test.ok(1 <= len(lines) <= 2 and lines[0].startswith("kernel_delay: "),
            f"{what}: one or two lines", done.stderr)
    for word in words:
        test.ok(word in done.stderr, f"{what}: says '{word}'", done.stderr)
    test.ok("libbpf" not in done.stderr, f"{what}: none of libbpf's own", done.stderr)
    test.eq(done.stdout, "", f"{what}: no report")


def hidden(*names):
    """A wrapper that runs the program where these raw tracepoints are not there."""
    return (kdtest.WORKLOADS / "hide", ",".join(names))


def case_needed_tracepoint(test):
    load = test.workload("roles", "poll")
    for name in ("sys_enter", "sched_switch"):
        refused(test, f"no {name}", 71, [name], "-p", load.pid,
                "--btf", without_tracepoint(test, name))
    refused(test, "no sys_exit", 71, ["no tracepoint sys_exit"], "-p", load.pid,
            wrapper=hidden("sys_exit"))


def sampled(test, load, wrapper=()):
    """A sample in which a thread is interrupted by its own timers; what the program left."""
    child = test.child([*wrapper, kdtest.PROGRAM, "-p", load.pid, "--sample-time", "600"])
    child.line("# Start sampling")
    load.go()
    pid = child.pid
    if wrapper:
        pid = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())
    os.kill(pid, signal.SIGINT)
    return kdtest.Finished(child)


def case_section_left_out(test):
    for names, section in ((("softirq_entry", "softirq_exit"), "SOFT IRQ STATISTICS"),
                           (("irq_handler_exit",), "HARD IRQ STATISTICS"),
                           (("local_timer_entry",), "HARD IRQ STATISTICS"), ((), None)):
        load = test.workload("roles", f"timers:200:200:{kdtest.last_cpu()}")
        done = sampled(test, load, hidden(*names) if names else ())
        what = f"no {names[0]}" if names else "with all tracepoints"
        test.eq((done.status, done.stderr), (0, ""), f"{what}: it works")
        note = [line for line in done.stdout.splitlines()
                if line.startswith(f"# NOTE: [{section}]")]
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.books(report)
        interrupted = report.thread(load.tid("timers")[0])
        load.end()
        if not names:
            test.ok("left out" not in done.stdout and "local_timer" in interrupted.hardirqs,
                    "with all tracepoints nothing is left out", done.stdout)
            continue
        test.eq(len(note), 1, f"{what}: the report says what it leaves out")
        rest = done.stdout.replace("".join(note), "")
        if section == "SOFT IRQ STATISTICS":
            test.ok(section not in rest, "and the section is not there", rest)
        elif names[0] == "local_timer_entry":
            test.ok("local_timer" not in rest, "nor are its rows", rest)


def case_classic_tracepoints(test):
    """A kernel whose raw tracepoints of system calls can be preempted."""
    btf = with_function(test, "trace_call_bpf_faultable")
    no_tracefs = ("unshare", "-m", "sh", "-c",
                  "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; "
                  "! test -d /sys/kernel/tracing/events || exit 99; "
                  'exec "$@"', "sh")
    for what, wrapper in (("as it is", ()), ("tracefs not mounted", no_tracefs)):
        load = test.workload("roles", "calls:5000:3:1000")
        child = test.child([*wrapper, kdtest.PROGRAM, "-p", load.pid, "--sample-time", "60",
                            "--btf", btf])
        child.line("# Start sampling")
        check_attached(test, child.pid, "kd_sys_",
                       {("kd_sys_enter_classic", "tracepoint", "sys_enter"),
                        ("kd_sys_exit_classic", "tracepoint", "sys_exit")},
                       f"{what}: the classic tracepoints are attached")
        truth = load.go()["threads"][0]
        child.signal(signal.SIGINT)
        test.eq(child.wait(), 0, f"{what}: it works")
        thread = kdtest.kdreport.parse(child.stdout)[0].thread(truth["tid"])
        test.eq((thread.count("getppid"), thread.count("clock_nanosleep")),
                (truth["getppid"], truth["sleeps"]), f"{what}: the counts are exact")
        load.end()


def strace(error):
    kdneeds.need("strace")
    return ("strace", "-o", "/dev/null", "-e", "trace=bpf", "-e", f"inject=bpf:error={error}")


def case_bpf_refused(test):
    load = test.workload("roles", "poll")
    refused(test, "bpf() forbidden", 77, ["bpf"], "-p", load.pid, wrapper=strace("EPERM"))
    refused(test, "bpf() invalid", 71, ["too old"], "-p", load.pid, wrapper=strace("EINVAL"))
    refused(test, "no memory", 71, ["memory"], "-p", load.pid, wrapper=strace("ENOMEM"))


def case_lockdown(test):
    if not pathlib.Path("/sys/kernel/security").is_dir():
        raise kdtest.Skip("this kernel has no /sys/kernel/security")
    load = test.workload("roles", "poll")
    wrapper = ("unshare", "-m", "sh", "-c",
               "mount -t tmpfs none /sys/kernel/security && "
               "echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown && "
               'exec "$@"', "sh", *strace("EINVAL"))
    refused(test, "lockdown", 77, ["locked down"], "-p", load.pid, wrapper=wrapper)


def case_small_stack(test):
    """64 KiB of stack (ulimit -s 64), in each kind of run and output, with what makes it long."""
    small = ("prlimit", "--stack=65536:65536")
    load = test.workload("roles", "poll", "spin:-1")
    folder = test.directory()
    saved = folder / "saved.json"
    (folder / "options").write_text("# " + "x" * 60000 + "\n--sample-time=50ms\n")
    pid = ["-p", load.pid, "--sample-time", "50ms"]
    triggers = ["--start-trigger=up:main", "--stop-trigger=ur:main"]
    for status, *arguments in (
            (0, *pid, "-o", f"csv:{folder}/csv", "-o", f"prometheus:{folder}/metrics"),
            (0, *pid, "--sample-count=2", "--histogram", "--resources", "--interruptions=10us",
             "-s", "1us", "--profile", "--off-cpu=1us", "-o", f"json:{saved}", "-o", "text"),
            (0, "--replay", saved, "--compare", saved), (0, "--replay", saved, "-o", "folded"),
            (75, *pid[:2], *triggers, "--duration=50ms", "-o", "json"),
            (0, *pid[:2], *triggers, "--check"), (0, *pid[:2], "--list-probes=up:*"),
            (0, "--machine", load.pid), (0, "--list-metrics"),
            (0, "@" + str(folder / "options"), *pid[:2])):
        done = test.program(*arguments, wrapper=small)
        test.eq(done.status, status, " ".join(map(str, arguments)))
        test.ok(status or done.stdout or arguments[0] == "-p", "it says something", done.stderr)


def case_hidden_threads(test):
    """Some machines hide their own agents from tracing, if not from /proc."""
    done = test.program("-p", 1, "--sample-time", "0.1", "--strict")
    there = int(kdtest.status_field(1, "Threads"))
    shown = done.status != 69 and sum(thread.members for thread in kdtest.kdreport.parse(done.stdout)[0].threads)
    if done.status == 69:
        test.ok(f"but /proc has {there}: this kernel hides them" in done.stderr,
                "where none is shown, that is an error", done.stderr)
        return
    if done.status == 0:
        test.ok(shown >= there, "no thread of process 1 is missing", there, shown)
        raise kdtest.Skip("nothing is hidden on this machine")
    test.eq(done.status, 1, "a thread that tracing does not show is a loss")
    test.ok(re.search(r"^# WARNING: \d+ threads? (is|are) missing \(this kernel hides", done.stdout,
                      re.M), "and the report says so", done.stdout[-300:])


kdtest.main(case_needed_tracepoint, case_section_left_out, case_classic_tracepoints,
            case_bpf_refused, case_small_stack, case_lockdown, case_hidden_threads)
