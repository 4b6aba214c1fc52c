#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""The target is left as it was, after a normal end and after SIGKILL; two instances on one probe do
not disturb each other."""

import json
import signal

import kdtest
from kdtrigger import (BOTH, NO_LIMIT, UNLIMITED, Log, Text, Triggered, certainly, check_reports,
                       reported_once)

BANKS = 7


def restored(test, text, what):
    """The original bytes are back moments after the last user of the probe is gone."""
    try:
        kdtest.wait_until(text.unchanged)
        test.ok(True, f"{what}: the code is as in the file")
    except TimeoutError:
        test.ok(False, f"{what}: the code is as in the file", text.memory(), text.file)


def case_code(test):
    """A probe changes an instruction for as long as it is attached."""
    load = test.workload("caller", "spins:100:10000:10:100")
    text = Text(load.pid, kdtest.WORKLOADS / "caller", "probed_call")
    test.ok(text.unchanged(), "before: the code is as in the file", text.memory(), text.file)
    # The program does the same after SIGTERM; killed, it leaves it to the kernel.
    ends = (signal.SIGINT, signal.SIGKILL) if kdtest.VM else (
        signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    for end in ends:
        run = Triggered(test, load.pid, *BOTH, *UNLIMITED)
        test.ok(not text.unchanged(), f"{end.name}: it is changed while the probe is there")
        run.signal(end)
        test.eq(run.wait(), -end if end == signal.SIGKILL else 0, f"{end.name}: it ends")
        restored(test, text, end.name)
    truth = load.go()["threads"][0]
    test.eq(truth["calls"], 100, "the target still works")
    kdtest.only_on_host("a run that ends by itself detaches as after SIGINT")
    done = test.program("-p", load.pid, *BOTH, "--duration", "0.2s")
    test.eq(done.status, 75, "no window: status 75")
    restored(test, text, "after --duration")


def case_killed_while_it_is_hit(test):
    """The kernel removes the probe from a function that runs all the time."""
    load = test.workload("caller", "spins:150000:50000:100:200", "spinner")
    text = Text(load.pid, kdtest.WORKLOADS / "caller", "probed_call")
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "150us", *UNLIMITED, *NO_LIMIT)
    load.send("go")
    run.line("# Triggered sample dump")
    run.signal(signal.SIGKILL)
    test.eq(run.wait(), -signal.SIGKILL, "it is killed at work")
    truth = json.loads(load.line("{"))["threads"][0]
    test.eq(truth["calls"], 150000, "the target did all its calls")
    restored(test, text, "killed")


def semaphores(load):
    return load.ask("counts")["semaphores"]


def case_semaphores(test):
    load = test.workload("sdt")
    if load.ready:
        raise kdtest.Skip("sys/sdt.h was not there when it was built")
    test.eq(semaphores(load), [0, 0, 0, 0], "before: all are down")
    for end in (signal.SIGINT, signal.SIGKILL):
        run = Triggered(test, load.pid, "--start-trigger", "u:kdtest:begin", "--stop-trigger",
                        "u:kdtest:many", *UNLIMITED)
        up = semaphores(load)
        test.ok(up[0] == 0 and up[1] > 0 and up[2] > 0 and up[3] == 0,
                f"{end.name}: those of the two probes are up", up)
        run.signal(end)
        run.wait()
        try:
            kdtest.wait_until(lambda: semaphores(load) == [0, 0, 0, 0])
            test.ok(True, f"{end.name}: all are down again")
        except TimeoutError:
            test.ok(False, f"{end.name}: all are down again", semaphores(load))


def case_two_instances(test):
    """Both instances see every call; when one ends, the other goes on."""
    load = test.workload("caller", "sleeps:80:100:20:20000")
    text = Text(load.pid, kdtest.WORKLOADS / "caller", "probed_call")
    runs = [Triggered(test, load.pid, *BOTH, "--trigger-delta", "10ms", "--window-banks", BANKS, *UNLIMITED,
                      *NO_LIMIT, urgent=True) for _ in range(2)]
    log = Log(load, load.go())
    # Beside load the short ones may take as long, and fill all banks while the program has no CPU.
    fits = certainly(log.calls(), 10 * kdtest.MS)[1] <= BANKS
    test.ok(sum(end - begin >= 20 * kdtest.MS for _, begin, end, _ in log.calls()) >= 4,
            "there were long calls", log.calls())
    first = runs[0].stop(test)
    test.ok(not text.unchanged(), "one of two is gone: the probe is still there")
    second = runs[1].stop(test)
    restored(test, text, "both gone")
    for number, run in enumerate((first, second)):
        test.eq(run.triggers.roles["start"].hits, 80, f"instance {number} saw all calls")
        reported_once(test, run.reports, log.calls(), 10 * kdtest.MS, f"long call of instance {number}",
                      missed=0 if fits else run.triggers.roles["start"].missed)
        check_reports(test, run.reports)


def case_target_ends(test):
    """The end of the target, also while a window is open, ends the run."""
    for role, during in (("sleeps:3:100:1:5000", False), ("sleeps:1:1:1:60000000", True)):
        load = test.workload("caller", role)
        run = Triggered(test, load.pid, *BOTH, *UNLIMITED)
        load.send("go")
        if during:
            tid = load.tid("sleeps")[0]
            kdtest.wait_until(lambda: kdtest.waits_in(
                f"{load.pid}/task/{tid}", "nanosleep"))
        else:
            load.line("{")
        load.signal(signal.SIGKILL)
        load.wait()
        status = run.wait()
        what = "in a window" if during else "between windows"
        test.eq(status, 0, f"the target ends {what}: status 0")
        reports = kdtest.kdreport.Run(run.stdout).reports
        test.eq(len(reports), 1 if during else 3, f"{what}: what was recorded is printed")
        check_reports(test, reports)


kdtest.main(case_code, case_killed_while_it_is_hit, case_semaphores, case_two_instances,
            case_target_ends)
