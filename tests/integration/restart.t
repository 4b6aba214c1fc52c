#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that is restarted while it is watched."""

import json
import os
import pathlib
import shutil
import signal
import time
import urllib.request

import kdneeds
import kdreport
import kdtest

SAMPLES = 20  # at least


def program(test, folder="bin"):
    """The executable of a daemon."""
    path = test.directory() / folder / f"kdt-r{os.getpid()}"
    path.parent.mkdir()
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    return path


def follow(test, load, *args):
    """A run on a daemon that has already taken samples, and the file that it writes."""
    path = test.directory() / "samples"
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--follow-restart", "-o", f"json:{path}",
                      "-o", "text", "--sample-time", "60ms", *args])
    kdtest.wait_until(lambda: len(kdtest.samples_of(path)) > 1)
    return run, path


def case_twenty_samples(test):
    """The daemon is restarted twice, while other processes with its name or its executable start."""
    path, other = program(test), program(test, "other")
    load = test.workload(path, "roles", "poll")
    run, out = follow(test, load, "--sample-count", 0)
    lives = [load.pid]
    for _ in range(2):
        load.end()
        test.workload(other, "roles", "poll")  # of the same name
        test.child(["sh", "-c", f"exec -a x {kdneeds.tool('python3')} -c 'import time; time.sleep(60)'"])
        seen = len(kdtest.samples_of(out))
        time.sleep(0.2)
        load = test.workload(path, "roles", "poll")
        lives.append(load.pid)
        kdtest.wait_until(lambda seen=seen: len(kdtest.samples_of(out)) > seen + 2)
    kdtest.wait_until(lambda: len(kdtest.samples_of(out)) >= SAMPLES)
    run.interrupt(test, "status 0")
    samples = kdtest.samples_of(out)
    test.eq([sample["number"] for sample in samples], list(range(1, len(samples) + 1)), "numbered")
    pids = list(dict.fromkeys(sample["pid"] for sample in samples))
    test.eq(pids, lives, "of one process after the other, and of no other one")
    changed = [sample for sample in samples if "restarts" in sample]
    test.eq([(sample["pid"], sample["predecessor"], sample["restarts"]) for sample in changed],
            [(lives[1], lives[0], 1), (lives[2], lives[1], 1)], "the first of each says so")
    for pid in lives[1:]:
        first = next(sample for sample in samples if sample["pid"] == pid)
        test.ok(first in changed, f"it is the first sample of {pid}")
    ended = [sample["pid"] for sample in samples if sample["target_exited"]]
    test.ok(ended == lives[:2], "the last of each ends with the process", ended)
    test.eq(run.stdout.count("is the successor of"), 2, "the text says it twice")
    test.eq(run.stderr.count("has ended: waiting for another"), 2, "and that it waits")
    replayed = test.program("--replay", out, "--quiet", "-o", "openmetrics").stdout
    test.ok("\nkernel_delay_target_restarts_total 2\n" in replayed, "a counter has both",
            *[line for line in replayed.splitlines() if "restarts" in line])
    reports = kdreport.parse(run.stdout)
    for report in reports[-2:]:
        test.books(report)


def case_count(test):
    """The number of samples asked for is the total over successive processes; each process ends
    with one."""
    path = program(test)
    load = test.workload(path, "roles", "poll")
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--follow-restart", "-o", "text",
                      "--sample-time", "600s", "--sample-count", "3"])
    lives = []
    for _ in range(3):
        run.line("# Start sampling")
        lives.append(load.pid)
        load.end()
        load = test.workload(path, "roles", "poll")
    test.eq(run.wait(), 0, "status 0")
    found = [[thread.tid for thread in report.threads if thread.tid in lives]
             for report in kdreport.parse(run.stdout)]
    test.eq(found, [[pid] for pid in lives], "three samples, of one process each")


def case_served(test):
    """Metrics continue, and are served while no daemon runs."""
    path = program(test)
    load = test.workload(path, "roles", "poll")
    port = kdtest.free_port()
    run, out = follow(test, load, "--listen", port)

    def metrics():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=kdtest.PATIENCE) as page:
            return page.read().decode()
    load.end()
    kdtest.wait_until(lambda: "waiting for another" in run.stderr)
    test.ok("kernel_delay_measured_seconds_total" in metrics(), "in between, too")
    load = test.workload(path, "roles", "poll")
    kdtest.wait_until(lambda: "kernel_delay_target_restarts_total 1" in metrics())
    kdtest.wait_until(lambda: kdtest.samples_of(out)[-1]["pid"] == load.pid)  # the successor is watched
    load.end()
    kdtest.wait_until(lambda: run.stderr.count("waiting for another") == 2)
    run.interrupt(test, "a signal ends the run while it waits")


def case_output_fails(test):
    """An output fails while the successor ends: the run does not go on without it."""
    path = program(test)
    load = test.workload(path, "roles", "poll")
    reader, writer = os.pipe()
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--follow-restart", "-o", "text",
                      "--sample-time", "60s", "--sample-count", 0], stdout=writer)
    os.close(writer)
    text = ""
    for starts in 1, 2:
        while text.count("Start sampling") < starts:
            piece = os.read(reader, 65536).decode()
            if not piece:
                raise EOFError(text + run.stderr)
            text += piece
        if starts == 1:
            load.end()
            load = test.workload(path, "roles", "poll")
    os.close(reader)
    load.end()
    test.eq(run.wait(), 128 + signal.SIGPIPE, "the status of whom SIGPIPE ends")
    test.ok("cannot" not in run.stderr, "quietly", run.stderr)


def pid_again(test, argv, pid):
    """A process with a given PID that was used before; None if others took it first."""
    for _ in range(200):
        try:
            pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        except OSError:
            break
        child = test.child(argv)
        if child.pid == pid:
            return child
        child.end()
    return None


def case_same_pid(test):
    """The PID now belongs to another program; later the successor gets that PID again."""
    path = program(test)
    load = test.workload(path, "roles", "poll")
    run, out = follow(test, load, "--sample-count", 0)
    load.end()
    kdtest.wait_until(lambda: "waiting for another" in run.stderr)
    other = pid_again(test, ["sleep", "60"], load.pid)
    if not other:
        raise kdtest.Skip("the PID cannot be had again")
    time.sleep(0.3)
    seen = len(kdtest.samples_of(out))
    other.end()
    again = pid_again(test, [path, "roles", "poll"], load.pid)
    if not again:
        raise kdtest.Skip("the PID cannot be had again")
    kdtest.wait_until(lambda: len(kdtest.samples_of(out)) > seen + 1)
    new = kdtest.samples_of(out)[seen:]
    test.eq((new[0]["pid"], new[0]["predecessor"], new[0]["restarts"]), (load.pid, load.pid, 1),
            "the program that has the PID is another process; its successor may have it, too")


kdtest.main(case_twenty_samples, case_count, case_served, case_output_fails, case_same_pid)
