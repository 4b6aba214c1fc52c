#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that the freezer of its control group holds, of cgroup v1 and v2: for as long as the
test had it frozen, and neither asleep nor stopped."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import kdtest
from kdtest import MS

# The hierarchy's root, the file, and what freezes and thaws.
FREEZERS = (("/sys/fs/cgroup", "cgroup.freeze", "1", "0"),
            ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"),
            ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"))


def first_version():
    """In a virtual machine, where nobody else minds, the freezer of version 1 is mounted, too."""
    place = pathlib.Path("/run/kdfreezer")
    place.mkdir(exist_ok=True)
    if not place.is_mount():
        subprocess.run(["mount", "-t", "cgroup", "-o", "freezer", "freezer", place], check=False)
    return (str(place), "freezer.state", "FROZEN", "THAWED")


@contextlib.contextmanager
def freezer(pid):
    """For each freezer that there is its file's name, and what freezes or thaws the process."""
    with contextlib.ExitStack() as stack:
        found = []
        for root, name, freeze, thaw in (*FREEZERS, *([first_version()] if kdtest.VM else ())):
            group = pathlib.Path(root) / f"kdfrozen{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            stack.callback(group.rmdir)
            if not (group / name).exists():
                continue
            home = pathlib.Path(root) / "cgroup.procs"
            below = group / "not-frozen-itself"
            below.mkdir()
            stack.callback(below.rmdir)
            (below / "cgroup.procs").write_text(str(pid))
            stack.callback(home.write_text, str(pid))
            stack.callback((group / name).write_text, thaw)
            found.append((name, lambda on, file=group / name, freeze=freeze, thaw=thaw:
                          file.write_text(freeze if on else thaw)))
        yield found


def spinner(test):
    """A process, and its thread that never sleeps."""
    load = test.workload("roles", f"spin:{kdtest.last_cpu()}")
    return load.pid, load.tid("spin")[0]


def freeze_now(pid, tid, freeze):
    """Returns when the thread has been switched out, not when it is about to be."""
    before = kdtest.switches(pid, tid, ("voluntary",))
    freeze(True)
    kdtest.wait_until(lambda: kdtest.switches(pid, tid, ("voluntary",)) > before and
                      kdtest.state_of(pid, tid) != "R")


def freeze_once(pid, tid, freeze):
    """Returns how long that was, in ns: at least and at most; and how often the thread had slept."""
    begun = time.monotonic_ns()
    freeze_now(pid, tid, freeze)
    frozen = time.monotonic_ns()
    time.sleep(0.15)
    slept = kdtest.switches(pid, tid, ("voluntary",))
    thawing = time.monotonic_ns()
    freeze(False)
    return thawing - frozen - MS, time.monotonic_ns() - begun + MS, slept


def each_freezer(test, pid):
    """(name, function) of each, of which there has to be one."""
    freezers = test.stack.enter_context(freezer(pid))
    if not freezers:
        raise kdtest.Skip("no control group has a freezer here")
    return freezers


def sample_of(test, pid, tid, name, while_open):
    """A sample as JSON and the thread in it, of which text, the verdict and a condition say the
    same."""
    path = test.directory() / "sample.json"
    capture = test.capture(pid, "-o", "text", "-o", f"json:{path}",
                           "--fail-if", "frozen.total>=100ms")
    while_open()
    report = capture.close(test, want=4)
    test.books(report)
    sample = json.loads(path.read_text())
    thread = kdtest.thread_of(sample, tid)
    causes = {row["cause"]: row["ns"] for row in sample["verdict"]}
    test.ok(causes.get("frozen", 0) >= thread["ledger"]["frozen_ns"],
            f"{name}: the verdict says so", causes)
    test.eq(sample.get("frozen_group"), f"/kdfrozen{os.getpid()}", f"{name}: and whose freezer it was")
    test.eq([row["who"].get("comm") for row in sample["verdict"] if row["cause"] == "frozen"],
            [f"/kdfrozen{os.getpid()}"], f"{name}: also in the verdict")
    for state in ("blocked_ns", "blocked_uninterruptible_ns", "stopped_ns"):
        test.eq(thread["ledger"][state], 0, f"{name}: it is not {state}")
    return sample, thread


def case_inside(test):
    """Frozen and thawed inside the window."""
    pid, tid = spinner(test)
    for name, freeze in each_freezer(test, pid):
        bounds = []
        _, thread = sample_of(test, pid, tid, name,
                              lambda: bounds.extend(freeze_once(pid, tid, freeze)[:2]))
        test.between(thread["ledger"]["frozen_ns"], *bounds, f"{name}: frozen for so long")


def case_sleeper(test):
    """One that sleeps in a system call is woken to be frozen, and sleeps again when it is not; but
    for version 1 since Linux 6.1, which leaves it where it is."""
    load = test.workload("roles", "poll")
    tid, = load.tid("poll")
    for name, freeze in each_freezer(test, load.pid):
        if name == "freezer.state":
            continue
        path = test.directory() / "sample.json"
        load.settle([tid])
        capture = test.capture(load.pid, "-o", "text", "-o", f"json:{path}", "--off-cpu=1ms",
                               "--wait-filter=*")
        time.sleep(0.1)
        freezing = time.monotonic_ns()
        *bounds, slept = freeze_once(load.pid, tid, freeze)
        kdtest.wait_until(lambda: kdtest.state_of(load.pid, tid) == "S" and
                          kdtest.switches(load.pid, tid, ("voluntary",)) > slept)
        asleep = time.monotonic_ns()
        time.sleep(0.1)
        least = freezing - capture.opened + time.monotonic_ns() - asleep
        capture.signal(signal.SIGINT)
        test.eq(capture.wait(), 0, f"{name}: a sample")
        sample = json.loads(path.read_text())
        ledger = next(row["ledger"] for row in sample["threads"] if row["tid"] == tid)
        test.between(ledger["frozen_ns"], *bounds, f"{name}: frozen for so long")
        test.between(ledger["blocked_ns"], least, ledger["life_ns"] - bounds[0],
                     f"{name}: asleep before and after")
        test.eq(sample.get("frozen_group"), f"/kdfrozen{os.getpid()}", f"{name}: whose freezer it was")
        waits = [row["state"] for row in sample["traces"]["waits"] if row["tid"] == tid]
        test.eq(waits.count("frozen"), 1, f"{name}: one wait of several")


def case_throughout(test):
    """Frozen before the window opens and until after it: nothing else."""
    pid, tid = spinner(test)
    for name, freeze in each_freezer(test, pid):
        freeze_now(pid, tid, freeze)
        sample, thread = sample_of(test, pid, tid, name, lambda: time.sleep(0.2))
        freeze(False)
        test.eq(thread["ledger"]["frozen_ns"], sample["window"]["duration_ns"],
                f"{name}: frozen throughout")


def case_wait(test):
    """It is one of the waits that are listed."""
    pid, tid = spinner(test)
    for name, freeze in each_freezer(test, pid):
        path = test.directory() / "sample.json"
        capture = test.capture(pid, "-o", f"json:{path}", "-o", "text", "--off-cpu=1ms",
                               "--wait-filter=frozen")
        *bounds, _ = freeze_once(pid, tid, freeze)
        kdtest.until_run(pid, tid)
        capture.signal(signal.SIGINT)
        test.eq(capture.wait(), 0, f"{name}: a sample")
        waits = [row for row in json.loads(path.read_text())["traces"]["waits"]
                 if row["tid"] == tid]
        test.eq([row["state"] for row in waits], ["frozen"], f"{name}: one wait")
        test.between(sum(row["duration_ns"] for row in waits), *bounds, f"{name}: as long")


kdtest.main(case_inside, case_sleeper, case_throughout, case_wait)
