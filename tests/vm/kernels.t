#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The integration tests that hold on a slow machine with one processor, and those
that need what other kernels have, in virtual machines with Debian's kernels.
Names of kernels as arguments select some of them."""

import concurrent.futures
import io
import os
import pathlib
import re
import shlex
import signal
import sys
import threading

import kernels
import machine

sys.path.insert(0, str(machine.TREE / "tests" / "integration"))
import kdtest  # noqa: E402  pylint: disable=wrong-import-position

# Left out are those that need a second processor (placement) or much speed
# (trigger-windows, -threads,
# -worst, -targets; of stacks, calls, offcpu and stacks), that look at this machine's system (errors, 00-build,
# 01-install) or at what a doctored kernel lacks (machines), and those for which
# the kernel makes no difference (names, probes, target).
PROGRAMS = ("integration/counts.t", "integration/execve.t", "integration/ledger.t",
            "integration/trigger-traces.t", "integration/trigger-unchanged.t",
            "vm/kprobes.t", "vm/openvswitch.t")
# With one kernel each: they take long, and most of what they test is not the kernel's.
MORE = {"5.10": ("integration/irq.t", "integration/books.t", "integration/profile.t",
                  "integration/histogram.t"),
        "6.1": ("integration/churn.t", "integration/trigger-errors.t"),
        "6.12": ("integration/ending.t", "integration/trigger-overhead.t"),
        "newest": ("integration/irq.t", "integration/trigger-longpoll.t",
                   "integration/profile.t")}
AT_ONCE = 2      # machines
TIMEOUT = 700    # seconds for a machine; tests/run has to grant two of them
PATIENCE = 300   # seconds for one program in it
TIMED_OUT = (124, 137)  # statuses of timeout(1), the second after a SIGKILL
# The slowest kernel first, as it is waited for in the end.
ORDER = ("newest", "5.10", "6.1", "6.12")
BEGIN, END = "@begin ", "@end "
POINT = re.compile(r"(not )?ok\b(?: +\d+)?(?: +- )? *(.*?)(?: *# *SKIP\S* *(.*))?", re.IGNORECASE)


def programs(series):
    return (*PROGRAMS, *MORE[series])


def script(series):
    """Runs the programs; each is set off by lines of its own."""
    lines = []
    for name in programs(series):
        path = shlex.quote(str(machine.TREE / "tests" / name))
        lines += [f"echo '{BEGIN}{name}'", "read -r began _ </proc/uptime",
                  f"timeout -k 5 {PATIENCE} {path} 2>&1", "status=$?",
                  "read -r ended _ </proc/uptime", "echo",
                  f'echo "{END}$status $((${{ended%.*}} - ${{began%.*}}))"']
    return "\n".join(lines)


def environment():
    return {"KERNEL_DELAY": os.path.abspath(kdtest.PROGRAM),
            "WORKLOADS": os.path.abspath(kdtest.WORKLOADS)}


def report_program(test, lines, status):
    """Prints the points of one program that ran in a machine."""
    points, faults, plan = 0, 0, None
    for line in lines:
        match = POINT.fullmatch(line)
        if match:
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
    if status in TIMED_OUT:
        test.ok(False, f"ends within {PATIENCE} s", f"it had printed {points} points",
                *lines[-5:])
        return
    whole = plan == points and (status != 0) == (faults != 0)
    test.ok(whole, "ends as it planned to",
            f"status {status}, planned {plan}, printed {points}, of which {faults} failed",
            *([] if whole else lines[-20:]))


def report_machine(test, kernel, wanted, outcome, printed):
    """Prints what became of a machine that was to run some programs."""
    test.case = version = kernel.version
    test.ok(not outcome.failure, "the machine ran to its end", outcome.failure,
            *outcome.messages[-30:])
    name, lines, ended = None, [], set()
    for line in printed.splitlines():
        if line.startswith(BEGIN):
            name, lines = line.removeprefix(BEGIN), []
        elif line.startswith(END) and name:
            test.case = f"{version}: {pathlib.Path(name).stem}"
            status, seconds = line.removeprefix(END).split()
            print(f"# {test.case}: {seconds} s")
            report_program(test, lines[:-1], int(status))
            ended.add(name)
            name = None
        else:
            lines.append(line)
    if name:
        test.case = f"{version}: {pathlib.Path(name).stem}"
        test.ok(False, "ends before the machine does", outcome.failure, *lines[-20:])
    test.case = version
    test.eq(ended, set(wanted), "all programs ran")
    test.ok(not outcome.splats, "no message of the kernel tells of a fault", *outcome.splats)


def examine(test, series, lock, stopped):
    """Runs the programs with a kernel and prints the results."""
    try:
        kernel = kernels.kernel(series)
    except kernels.Unavailable as why:
        with lock:
            test.case = f"kernel {series}"
            test.skip("all of it", why)
        return
    output = io.BytesIO()
    outcome = machine.run(kernel, ["sh", "-c", script(series)], environment(), output, TIMEOUT,
                          stopped.is_set)
    if not stopped.is_set():
        with lock:
            report_machine(test, kernel, programs(series), outcome,
                           output.getvalue().decode(errors="backslashreplace"))


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
        runs = [pool.submit(examine, test, series, lock, stopped) for series in chosen]
        try:
            for run in concurrent.futures.as_completed(runs):
                run.result()
        except BaseException:
            stopped.set()
            for run in runs:
                run.cancel()
            raise
    print(f"1..{test.count}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
