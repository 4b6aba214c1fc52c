#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A CPU that comes online during a run, goes and comes again: whatever runs there is counted and
sampled, or reported as missing. For a machine that has one CPU besides the one online."""

import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdtest  # noqa: E402

CPU = pathlib.Path("/sys/devices/system/cpu/cpu1")


def online(on):
    (CPU / "online").write_text("01"[on])


def run_there(load):
    """Lets the thread run on that CPU for a while; returns for how long, in ns."""
    os.sched_setaffinity(load.pid, {1})
    before = kdtest.schedstat(load.pid, load.pid)[0]
    time.sleep(2)
    ran = kdtest.schedstat(load.pid, load.pid)[0] - before
    os.sched_setaffinity(load.pid, {0})
    return ran


def hotplug(test, *options):
    """A run in which the CPU comes, goes and comes back: its status, its messages, how long the
    thread ran there, how much of that was counted (ns), and how often it was sampled there."""
    # So it is in a virtual machine, and on no machine that people use.
    if not (CPU / "online").exists() or (CPU / "online").read_text() != "0\n":
        raise kdtest.Skip("there is no CPU 1 that is offline")
    saved = test.directory() / "saved.json"
    load = test.child(["python3", "-c", "print('ready', flush=True)\nwhile True: pass"])
    load.line("ready")
    os.sched_setaffinity(load.pid, {0})
    capture = test.capture(load.pid, "--counters=cpu-clock,per-cpu", "--profile=99",
                           "-o", "text", "-o", f"json:{saved}",
                           *options)
    ran = 0
    for _ in range(2):
        online(True)
        time.sleep(1)  # the program looks every 20 ms
        ran += run_there(load)
        online(False)
        time.sleep(1)
    online(True)
    capture.signal(kdtest.signal.SIGINT)
    test.eq(capture.wait(), 0, "the run ends in order")
    sample = json.loads(saved.read_text())
    thread = next(row for row in sample["threads"] if row["tid"] == load.pid)
    counted = sum(row["value"] for row in thread["counters"] if row.get("cpu") == 1)
    sampled = sum(row["tid"] == load.pid and row["cpu"] == 1 for row in sample["traces"]["samples"])
    online(False)
    return capture.stderr, ran, counted, sampled


def case_with_privileges(test):
    said, ran, counted, sampled = hotplug(test, "--debug=0,keep-privileges")
    test.between(counted, 0.7 * ran, 1.3 * ran + 5e8, "cpu-clock counts there what schedstat says")
    test.between(sampled, 0.5 * 99 * ran / 1e9, 1.5 * 99 * ran / 1e9,
                 "as many samples there as its CPU time says")
    test.eq(said, "", "nothing is missing")


def case_without(test):
    """The run has given up the privilege to open events."""
    said, _, counted, sampled = hotplug(test)
    test.eq((counted, sampled), (0, 0), "what runs there is missing")
    test.ok("CPU 1 has come online" in said and "missing" in said and "keep-privileges" in said,
            "and that is said", said)


kdtest.main(case_with_privileges, case_without)
