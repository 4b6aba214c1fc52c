#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A target that maps a file from a file system whose server does not answer: nothing that has to
read the file waits for ever, each reader names the file, and signals end it."""

import contextlib
import pathlib
import signal
import subprocess

import kdfuse
import kdreport
import kdstacks
import kdtest

# What has to read the file, and its exit status if it cannot.
READERS = ((("-s", "1ms", "--sample-time", "1"), 0),
           (("--list-probes=up:object:*",), 71),
           (("--check", "--start-trigger=up:object:file_thread"), 71),
           (("--start-trigger=up:object:file_thread", "--sample-time", "1"), 71))


def target(test, call):
    silent = kdfuse.Silent(test, kdtest.WORKLOADS / "mapper", call)
    load = test.workload("mapper", silent.path)
    if call == "flush":
        silent.path.read_bytes()  # all of it is known
    silent.fall_silent()
    return silent, load


def case_bounded(test):
    targets = {call: target(test, call) for call in ("open", "read", "flush")}
    runs = {call: [test.child([kdtest.PROGRAM, "-p", load.pid, *args]) for args, _ in READERS]
            for call, (_, load) in targets.items()}
    for call, (silent, _) in targets.items():
        for run, (args, want) in zip(runs[call], READERS):
            name = f"{call}: {' '.join(args)}"
            test.eq(run.wait(), want, f"{name}: in bounded time, status {want}")
            test.ok(str(silent.path) in run.stderr and "does not answer" in run.stderr,
                    f"{name}: the file is named", run.stderr)
        text, stacks = kdstacks.parse(runs[call][0].stdout)
        test.ok(kdreport.parse(text)[0].window and stacks[0].events, f"{call}: there is a report")
        test.ok(any(row.stack.complete for row in stacks[0].events),
                f"{call}: in it some stacks are complete")


def case_signals(test):
    """Signals while the program waits for the file, when it has nothing to report yet. If it had
    given the file up, it would end differently."""
    _, load = target(test, "open")
    for number in (signal.SIGINT, signal.SIGTERM):
        for args, _ in READERS:
            run = test.child([kdtest.PROGRAM, "-p", load.pid, *args])
            kdtest.wait_until(lambda run=run: waits_for_file(run.pid))
            run.signal(number)
            status = run.wait()
            test.ok(status in (-number, 128 + number), f"{' '.join(args)}: {number.name} ends it",
                    status)
            test.eq((run.stdout, "does not answer" in run.stderr), ("", False),
                    "without output, and before it gives up")


@contextlib.contextmanager
def bound(source, path):
    path.touch()
    subprocess.run(["mount", "--bind", source, path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)
        path.unlink()


def case_names_of_code(test):
    """The silent file is the one in which the target names the code that it generates."""
    silent = kdfuse.Silent(test, kdtest.WORKLOADS / "mapper", "open")
    load = test.workload("jit")
    path = pathlib.Path(f"/tmp/perf-{load.pid}.map")
    with bound(silent.path, path):
        silent.fall_silent()
        load.send("go 600000")
        kdtest.wait_until(lambda: kdtest.waits_in(load.pid, "nanosleep"))
        run = test.child([kdtest.PROGRAM, "-p", load.pid, "-s", "1ms", "--sample-time", "0.2"])
        test.eq(run.wait(), 0, "names of code: in bounded time, status 0")
        test.ok(str(path) in run.stderr and "does not answer" in run.stderr, "the file is named",
                run.stderr)
        _, stacks = kdstacks.parse(run.stdout)
        test.ok(any(frame.function == "slow" for row in stacks[0].events for frame in row.stack.user or ()),
                "there are stacks, with other names", *stacks[0].events[:1])


def waits_for_file(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return any(kdtest.waits_in(child, "request_wait_answer")
                   for child in map(int, children.read().split()))


kdtest.main(case_bounded, case_names_of_code, case_signals)
