#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""The integration tests that pass on a slow machine with one processor, and those that need
features of other kernels, in virtual machines with Debian's kernels, which both kinds of busybox
start in turn. Names of kernels as arguments select some of them."""

import concurrent.futures
import io
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import busybox
import kernels
import machine
import roots
from architectures import AMD64
from programs import BEGIN, END, ONCE, PATIENCE, TIMED_OUT

sys.path.insert(0, str(machine.TREE / "tests" / "integration"))
import kdtest  # noqa: E402  pylint: disable=wrong-import-position

# Left out are those that need a second processor (disturbance) or much speed (trigger-windows,
# -threads, -targets; of stacks, calls, offcpu and stacks), that look at this machine's system
# (errors) or at what a doctored kernel lacks (machines), and those for which the kernel makes no
# difference (text, probes, finding).
# Features came one after the other: the oldest and the newest kernel have the first way and the last
# of each, and run all of what every user relies on, and of what differs for triggers and modules.
ENDS = ("integration/counts.t", "integration/execve.t", "integration/ledger.t",
        "integration/trigger-traces.t", "integration/trigger-unchanged.t", "vm/kprobes.t", "vm/openvswitch.t")
# Those between have the core, and what has ways of its own there: 6.1 attaches to many kernel
# functions at once, but not to many of user space. What else they run takes long, and most of it
# is not the kernel's.
PROGRAMS = {
    "5.10": (*ENDS, "integration/irq.t", "integration/books.t", "integration/profile.t",
             "integration/histogram.t", "integration/blocked.t", "integration/faults.t",
             "integration/stopped.t", "integration/verdict.t", "integration/staged-waits.t",
             "integration/processes-life.t", "integration/resources.t"),
    "6.1": ("integration/ledger.t", "integration/trigger-traces.t", "vm/kprobes.t",
            "integration/churn.t", "integration/locks.t", "integration/descriptors.t",
            "integration/pressure.t", "vm/rt_limit.t", "vm/hotplug.t", "vm/vcpu.t"),
    "6.1-rt": ("integration/ledger.t", "vm/rt.t", "integration/reused.t"),
    "6.12": ("integration/ledger.t", "integration/ending.t", "integration/trigger-overhead.t",
             "integration/staged-waits.t", "integration/processes-triggers.t",
             "integration/counters.t"),
    "newest": (*ENDS, "integration/irq.t", "integration/trigger-longpoll.t",
               "integration/profile.t", "integration/culprit.t", "integration/groups.t",
               "integration/staged.t", "vm/sched_ext.t", "vm/settings.t"),
    # What is of the machine's architecture, as far as six minutes go.
    "arm64": ("vm/unit.t", "integration/counts.t",
              "integration/irq.t:case_local_timer:case_recorded",
              "integration/ledger.t:case_two_hogs:case_signal_before_sleep:case_stopped:"
              "case_call_begun_inside:case_ping_pong:case_vfork:case_outside_calls",
              "integration/trigger-traces.t",
              "vm/kprobes.t:case_entry_to_return:case_pattern:case_nothing_is_left:case_refused",
              "integration/stacks.t:case_chains:case_alternate_stack_and_fork",
              "integration/calls.t:case_threshold:case_unfinished:case_all_calls:case_busy_call",
              "integration/recorder.t:case_trigger:case_long_poll:case_condition",
              "integration/exporter.t:case_forms",
              "integration/metrics.t:case_capture", "integration/blocked.t:case_kinds",
              "integration/books.t", "vm/one_file.t"),
}
CPUS = {"6.1": 2}  # not 6.12, which fails to take one offline (dl_server_apply_params)
AT_ONCE = 2      # machines
MOST = 1200      # seconds of a processor for a machine
TIMEOUT = 2600   # seconds for one that waits, or gets little; tests/run has to grant two of them
LAST_TIMEOUT = 600  # and as many of these as there are kernels
# The slowest kernel first, as it is waited for in the end.
ORDER = ("newest", "5.10", "arm64", "6.1", "6.12", "6.1-rt")
OTHERS = "TESTS_RUN_OTHERS"  # tests/run has it, too
POINT = re.compile(r"(not )?ok\b(?: +\d+)?(?: +- )? *(.*?)(?: *# *SKIP\S* *(.*))?", re.IGNORECASE)


def stem(name):
    """The name of a program with cases, without its folder."""
    return pathlib.Path(name.partition(":")[0]).stem


def run(series, kernel, starter, programs, output, timeout, **options):
    """Runs programs in a machine; returns its Outcome."""
    argv = [roots.of(kernel.architecture).python, str(machine.HERE / "programs.py"), *programs]
    environment = {"KERNEL_DELAY": os.path.abspath(kdtest.PROGRAM),
                   "WORKLOADS": os.path.abspath(kdtest.WORKLOADS)}
    return machine.run(kernel, argv, environment if kernel.architecture is AMD64 else {}, output,
                       timeout, starter=starter, most=MOST, cpus=CPUS.get(series, 1),
                       **options)


def passed(lines):
    """Names of the points that a program passed in every run."""
    of = {bool(wrong): {match[2] for match in map(POINT.fullmatch, lines)
                        if match and bool(match[1]) == wrong and match[3] is None}
          for wrong in (False, True)}
    return of[False] - of[True]


def report_program(test, lines, status, before=frozenset()):
    """Prints the points of one program that ran in a machine. A point that passed before and fails
    now is skipped."""
    points, faults, plan = 0, 0, None
    for line in lines:
        match = POINT.fullmatch(line)
        if match and match[1] and match[2] in before:
            points += 1
            faults += 1
            test.skip(match[2], "it fails now, and passed before")
        elif match:
            points += 1
            faults += bool(match[1])
            test.result(not match[1], match[2],
                        f" # SKIP {match[3]}" if match[3] is not None else "")
        elif line.startswith("1.."):
            plan = int(re.match(r"\d+", line[3:])[0])
            if plan == 0:
                test.skip("all of it", line.partition("SKIP ")[2])
        elif faults and line.startswith("#"):
            print(line)
    if status == TIMED_OUT:
        test.ok(False, f"ends within {PATIENCE} s", f"it had printed {points} points",
                *lines[-5:])
        return
    whole = plan == points and (status != 0) == (faults != 0)
    test.ok(whole, "ends as it planned to",
            f"status {status}, planned {plan}, printed {points}, of which {faults} failed",
            *([] if whole else lines[-20:]))


def runs_of(printed):
    """{program: [(lines, status, seconds)]}, a program that did not end, and its lines."""
    name, lines, runs = None, [], {}
    for line in printed.splitlines():
        if line.startswith(BEGIN):
            name, lines = line.removeprefix(BEGIN), []
        elif line.startswith(END) and name:
            status, seconds = line.removeprefix(END).split()
            runs.setdefault(name, []).append((lines[:-1], int(status), seconds))
            name = None
        else:
            lines.append(line)
    return runs, name, lines


def report_earlier(test, lines, status, why):
    """Reports failures that occurred before the program was run again, whose result counts."""
    for number, line in enumerate(lines):
        match = POINT.fullmatch(line)
        if match and match[1]:
            test.skip(match[2], why)
            for remark in itertools.takewhile(lambda line: line.startswith("#"), lines[number + 1:]):
                print(remark)
    if status == TIMED_OUT or not any(line.startswith("not ok") for line in lines):
        test.skip(f"ends with status {status}", why)


def fails(lines, status, before):
    """Whether points of a program fail that had not passed before, or the program ended wrongly."""
    wrong = {match[2] for match in map(POINT.fullmatch, lines) if match and match[1]}
    return status and (not wrong or status == TIMED_OUT or bool(wrong - before))


def report_machine(test, kernel, starter, wanted, outcome, printed, last=None):
    """Prints the results of a machine that was to run some programs. Returns those that failed in
    every run, each with the points that it passed at some time. These do not count as failures
    unless this is the last machine; last is the return value for the one before."""
    again = {}
    test.case = version = kernel.version
    test.ok(not outcome.failure, f"a {starter.kind} busybox starts the machine, which runs to its "
            "end", outcome.failure, *outcome.messages[-30:])
    runs, unfinished, rest = runs_of(printed)
    for name, (*before, latest) in runs.items():
        test.case = f"{version}: {stem(name)}"
        for lines, status, _ in before:
            report_earlier(test, lines, status, "it failed at first; the program was run again")
        lines, status, seconds = latest
        good = (last or {}).get(name, set()).union(*(passed(lines) for lines, *_ in before))
        print(f"# {test.case}: {seconds} s")
        if last is None and fails(lines, status, good):
            report_earlier(test, lines, status, "it failed twice; the program is run in another machine")
            again[name] = good | passed(lines)
        else:
            report_program(test, lines, status, good)
    if unfinished:
        test.case = f"{version}: {stem(unfinished)}"
        test.ok(False, "ends before the machine does", outcome.failure, *rest[-20:])
    test.case = version
    test.eq(set(runs), set(wanted), "all programs ran")
    test.ok(not outcome.splats, "no message of the kernel tells of a fault", *outcome.splats)
    return again


def starters(test):
    """The installed busybox, and one of the other kind if available."""
    test.case, found = "busybox", [busybox.installed()]
    try:
        found.append(busybox.other(found[0].kind))
    except (kernels.Unavailable, busybox.Unfit) as why:
        test.skip(f"machines that another than the {found[0].kind} one starts", why)
    return found


def build(architecture):
    """Builds for another architecture; returns why that fails, as lines, or nothing."""
    compiler = f"{architecture.kernel}-linux-gnu-gcc"
    if not shutil.which(compiler):
        raise kernels.Unavailable(f"not installed: {compiler}")
    # Of the make that runs this, if there is one, nothing is known below.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    units = [f"build/unit/{path.stem}" for path in (machine.TREE / "tests/unit").glob("test_*.c")]
    argv = roots.make(architecture, ["-s", f"-j{os.cpu_count()}", "WERROR=1", "all", "static",
                                     "workloads", "build/lint/fields", *units])
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, text=True,
                          stderr=subprocess.PIPE, check=False, env=environment)
    return done.stderr.splitlines()[:20] if done.returncode else []


def examine(test, series, starter, lock, stopped):
    """Runs the programs with a kernel and prints the results. Returns (series, kernel, starter,
    programs to be run once more)."""
    wrong = []
    try:
        kernel = kernels.kernel(series)
        if kernel.architecture is not AMD64:
            machine.tools(kernel.architecture)
            wrong, starter = build(kernel.architecture), roots.of(kernel.architecture).starter
    except (kernels.Unavailable, machine.Unfit) as why:
        with lock:
            test.case = f"kernel {series}"
            test.skip("all of it", why)
        return series, None, starter, {}
    if wrong:
        with lock:
            test.case = kernel.version
            test.ok(False, f"is built for {kernel.architecture.debian}", *wrong)
        return series, kernel, starter, {}
    output = io.BytesIO()
    outcome = run(series, kernel, starter, PROGRAMS[series], output, TIMEOUT, stopped=stopped.is_set)
    if stopped.is_set():
        return series, kernel, starter, {}
    with lock:
        failed = report_machine(test, kernel, starter, PROGRAMS[series], outcome,
                                output.getvalue().decode(errors="backslashreplace"))
    return series, kernel, starter, failed


def wait_for_others():
    """Waits until everything that tests/run runs beside this has ended: then it closes a pipe."""
    if OTHERS in os.environ:
        os.read(int(os.environ[OTHERS]), 1)


def examine_again(test, series, kernel, starter, programs):
    """Runs programs for the last time, with nothing else on this machine. programs: with the points
    that they passed before."""
    print(f"# {kernel.version}: once more, alone: {' '.join(programs)}", flush=True)
    output = io.BytesIO()
    outcome = run(series, kernel, starter, (ONCE, *programs), output, LAST_TIMEOUT)
    report_machine(test, kernel, starter, programs, outcome,
                   output.getvalue().decode(errors="backslashreplace"), last=programs)


def main():
    try:
        machine.tools()
    except machine.Unfit as why:
        print(f"1..0 # SKIP {why}")
        return 0
    if not os.access(kdtest.PROGRAM, os.X_OK):
        print(f"Bail out! {kdtest.PROGRAM} is missing: run make first")
        return 1
    chosen = [series for series in ORDER if len(sys.argv) < 2 or series in sys.argv[1:]]
    test, lock, stopped = kdtest.Test(), threading.Lock(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [pool.submit(examine, test, series, starter, lock, stopped)
                for series, starter in zip(chosen, itertools.cycle(starters(test)))]
        try:
            failed = [run.result() for run in concurrent.futures.as_completed(runs)]
        except BaseException:
            stopped.set()
            for run in runs:
                run.cancel()
            raise
    failed = [each for each in failed if each[-1]]
    if failed:
        wait_for_others()
    for each in failed:
        examine_again(test, *each)
    print(f"1..{test.count}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
