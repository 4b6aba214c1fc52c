#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How a run ends: signals, the target's end, counts, and outputs that fail."""

import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import kdneeds
import kdtest
from kdstuck import attached, drained, full_pipe, objects_of
from kdtest import MS, SECOND


def case_signals_close_the_window(test):
    load = test.workload("roles", "poll")
    for number in (signal.SIGINT, signal.SIGTERM):
        capture = test.capture(load.pid)
        time.sleep(0.1)
        sent = time.monotonic_ns()
        capture.signal(number)
        status = capture.wait()
        name = signal.Signals(number).name
        test.eq(status, 0, f"{name}: status 0")
        report = kdtest.kdreport.parse(capture.stdout)[0]
        # It may have opened long before its line was read; the sample time is ten minutes.
        test.between(report.window, sent - capture.opened, 500 * SECOND,
                     f"{name}: the window ends with the signal")
        test.eq(set(report.stamps), {"Start sampling", "Stop sampling", "Sample dump"},
                f"{name}: a whole report")
        test.books(report)


def waits_in_any(child, *functions):
    kdtest.wait_until(lambda: any(kdtest.waits_in(child.pid, name) for name in functions))


def case_blocked_outputs(test):
    """While the program cannot write, the first signal makes it detach everything, and the second
    ends it. Samples in progress are dropped."""
    load = test.workload("roles", "spin:-1")
    for what, *args in (("a pipe", "--sample-time", "10ms", "--sample-count=0"),
                        ("a pipe at the end", "--sample-time", "60", "-o", "json", "-o", "text:/dev/stderr"),
                        ("a message", "--start-trigger", "t:sched:sched_process_fork", "-o", "json:/dev/full"),
                        ("triggers", "--start-trigger", "t:sched:sched_switch", "--trigger-any", "--quiet",
                         "--sample-time", "10ms", "--sample-count=0", "-o", "json")):
        reader, writer = full_pipe(test)
        child = test.child([kdtest.PROGRAM, "-p", load.pid, *args],
                           **{"stderr" if what == "a message" else "stdout": writer})
        if "60" in args:
            kdtest.wait_until(lambda child=child: b"# Start sampling" in b"".join(child.errors))
            child.signal(signal.SIGINT)
        waits_in_any(child, "pipe_write")
        if "60" not in args:
            test.ok(attached(child.pid), f"{what}: programs are attached")
            child.signal(signal.SIGINT)
        kdtest.wait_until(lambda child=child: attached(child.pid) == set())
        if not test.ok(child.proc.poll() is None, f"{what}: the first signal detaches them, and it waits on"):
            continue
        if what == "triggers":  # who reads at last gets what there is
            kdtest.wait_until(lambda child=child, reader=reader: drained(reader) and
                              child.proc.poll() is not None)
            test.eq(child.wait(), 0, f"{what}: read at last, it ends by itself")
            continue
        child.signal(signal.SIGINT)
        test.eq(child.wait(), -signal.SIGINT, f"{what}: the second ends it at once")


def case_unopened_outputs(test):
    load = test.workload("roles", "poll")
    fifo = test.directory() / "fifo"
    os.mkfifo(fifo)
    for args in (("-o", f"json:{fifo}"), ("--compare", fifo, "--sample-count=9")):
        child = test.child([kdtest.PROGRAM, "-p", load.pid, *args])
        waits_in_any(child, "wait_for_partner", "fifo_open")
        child.signal(signal.SIGTERM)
        test.eq(child.wait(), 128 + signal.SIGTERM, f"{args[0]} FIFO: one signal ends who waits for the other side")


def listed(kind):
    """Ids of all objects of a kind. Retried on failure: objects of others vanish while bpftool
    lists them."""
    output = kdtest.wait_until(lambda: next(
        (done for done in [subprocess.run([kdneeds.bpftool(), kind, "show", "-j"],
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)]
         if done.returncode == 0), None))
    return {entry["id"] for entry in json.loads(output.stdout or "[]")}


def case_sigkill_leaves_nothing(test):
    kdneeds.bpftool()
    load = test.workload("roles", "poll")
    capture = test.capture(load.pid)
    held = kdneeds.kernel_objects(capture.pid)
    test.ok(held["prog_id"] and held["map_id"], "the program holds BPF objects", held)
    programs = held["prog_id"]
    test.ok(programs <= listed("prog"), "which bpftool sees")
    capture.signal(signal.SIGKILL)
    test.eq(capture.wait(), -signal.SIGKILL, "it is killed")
    kdtest.wait_until(lambda: not (programs & listed("prog") or held["link_id"] & listed("link") or
                                   held["map_id"] & listed("map")))
    test.ok(True, "nothing of it is left in the kernel")


def case_target_exits(test):
    for how in ("by itself", "killed"):
        load = test.workload("roles", "calls:500:0:0", "spin:-1")
        capture = test.capture(load.pid)
        truth = load.go()["threads"][0]
        exiting = time.monotonic_ns()
        if how == "killed":
            load.signal(signal.SIGKILL)
        else:
            load.send("end")
        load.wait()
        test.eq(capture.wait(), 0, f"target ended {how}: status 0")
        report = kdtest.kdreport.parse(capture.stdout)[0]
        # The sample time is ten minutes.
        test.between(report.window, exiting - capture.opened - MS, 500 * SECOND,
                     "the window ended with it")
        test.eq([report.total("getppid"), sum(thread.members for thread in report.threads)],
                [truth["getppid"], 3], "the report has its threads and calls")
        test.ok(all(thread.ended for thread in report.threads), "as ended", report.threads)
        test.eq({thread.name for thread in report.threads}, {"roles", "calls", "spin"},
                "under their names")
        test.books(report)


def case_three_samples(test):
    load = test.workload("roles", "calls:700:0:0", "poll")
    began = time.monotonic_ns()
    child = test.capture(load.pid, "--sample-count", "3", "--sample-time", "0.3",
                         "--sample-interval", "0.2")
    before = time.time()
    load.go()
    after = time.time()
    test.eq(child.wait(), 0, "status 0")
    took = time.monotonic_ns() - began
    reports = kdtest.kdreport.parse(child.stdout)
    test.eq(len(reports), 3, "three reports")
    counts = [report.total("getppid") for report in reports]
    ends = reports[0].stamps["Stop sampling"].timestamp()
    # On a slow machine they come late, or never in a sample.
    want = [700] if after < ends else [0] if before > ends else range(701)
    test.ok(counts[0] in want, "the calls are in the first one", counts, before, after, ends)
    test.ok(counts[0] < 700 or counts[1:] == [0, 0], "and in no other", counts)
    for report in reports:
        test.between(report.window, 300 * MS, took, "as long as asked for")
        test.books(report)
    for one, two in zip(reports, reports[1:]):
        pause = two.stamps["Start sampling"] - one.stamps["Stop sampling"]
        test.between(pause / datetime.timedelta(milliseconds=1), 200, took / MS,
                     "the interval, in ms")
    test.ok(sum(report.window for report in reports) + 400 * MS <= took, "one after the other")


def ends_on_closed_pipe(test, *arguments):
    """The program ends quietly, with the status that shells report for programs killed by SIGPIPE."""
    read, write = os.pipe()
    os.close(read)
    child = test.child([kdtest.PROGRAM, *arguments], stdout=write)
    os.close(write)
    test.eq((child.wait(), child.stderr), (128 + signal.SIGPIPE, ""),
            f"{' '.join(str(argument) for argument in arguments)}: quietly")


def case_nobody_reads(test):
    load = test.workload("roles", "poll")
    target = ["-p", load.pid]
    for arguments in ([*target, "--sample-time", "0.1"], [*target, "--list-probes=t:sched:*"],
                      [*target, "--sample-time", "0.1", "-o", "json"], ["--machine"],
                      [*target, "--check", "--start-trigger=t:sched:sched_switch"],
                      ["--help"], ["--list-metrics"]):
        ends_on_closed_pipe(test, *arguments)
    directory = test.directory()
    os.mkfifo(directory / "fifo")
    reader = os.open(directory / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    child = test.child([kdtest.PROGRAM, *target, "--sample-time", "0.5",
                        "-o", f"json:{directory}/fifo"])
    kdtest.wait_until(lambda: kdneeds.kernel_objects(child.pid)["prog_id"])
    os.close(reader)
    test.eq(child.wait(), 74, "a reader that was asked for is missed: status 74")
    test.ok("has the reader gone away?" in child.stderr, "and that is said", child.stderr)


def case_early_signals(test):
    """Whenever the signal comes, there is a whole report or none, and nothing is left behind."""
    kdneeds.bpftool()
    load = test.workload("roles", "poll")
    statuses, directory = set(), test.directory()
    ours = {kind: set() for kind in ("prog", "map", "link")}
    for delay in range(0, 70, 10):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = test.child([kdtest.PROGRAM, "-p", load.pid, "-s", "1s", "--sample-time", "60",
                                "-o", "text", "-o", f"json:{directory}/json"])
            time.sleep(delay / 1000)
            child.signal(signal.SIGSTOP)  # else it might end while its objects are listed
            for kind, found in objects_of(child.pid).items():
                ours[kind] |= found
            child.signal(number)
            child.signal(signal.SIGCONT)
            status = child.wait()
            statuses.add(status)
            files = sorted(path.name for path in directory.iterdir())
            if status == 0:
                fine = len(kdtest.kdreport.parse(child.stdout)) == 1 and files == ["json"]
                fine = fine and json.loads((directory / "json").read_text())["interrupted"]
            else:
                fine = (status in (-number, 128 + number) and not child.stdout and
                        not child.stderr and not files)
            if not fine:
                test.ok(False, f"{number.name} after {delay} ms", status, child.stdout,
                        child.stderr, files)
            for name in files:
                (directory / name).unlink()
    test.ok(True, "a whole report or none", statuses)
    # What others load meanwhile is theirs, and goes away, too.
    kdtest.wait_until(lambda: not any(held & listed(kind) for kind, held in ours.items()))
    test.ok(True, "nothing is left in the kernel")


# Threads of a name that wait until there is a line.
ENDERS = """
import ctypes, os, select, sys, threading, time
read, write = os.pipe()
def work(wait):
    ctypes.CDLL(None).prctl(15, b"ender", 0, 0, 0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    wait()
def poll():
    select.select([read], [], [])
    os.read(read, 1)
threads = [threading.Thread(target=work, args=(wait,))
           for wait in [lambda: os.read(read, 1)] * 3 + [poll]]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
os.write(write, b"four")
for thread in threads:
    thread.join()
time.sleep(0.1) # joined before they are switched out for the last time, which nobody delays
print("done", flush=True)
sys.stdin.readline()
"""


def case_ended_in_calls(test):
    """Ended threads that share one row: it has all the calls that they were in."""
    load = test.child([sys.executable, "-c", ENDERS])
    load.line("ready")
    kdtest.wait_until(lambda: sum(
        pathlib.Path(f"/proc/{load.pid}/task/{tid}/wchan").read_text() in
        ("pipe_read", "anon_pipe_read", "do_select", "poll_schedule_timeout.constprop.0")
        for tid in kdtest.threads_of(load.pid)) == 5)
    path = test.directory() / "json"
    capture = test.capture(load.pid, "-o", "text", "-o", f"json:{path}")
    load.send("go")
    load.line("done")
    report = capture.close(test)
    row, = (thread for thread in report.threads if thread.name == "ender")
    test.eq((row.ended, row.members), (True, 4), "four threads of a name that ended are one row")
    want = {("read", "start", "returned"): 3, ("select", "start", "returned"): 1}
    told = {(flight.name.replace("pselect6", "select"), flight.edge, flight.end): flight.count
            for flight in row.flights}
    test.eq(told, want, "with the calls that all of them were in")
    sample = json.loads(path.read_text())
    row, = (thread for thread in sample["threads"] if thread["name"] == "ender")
    test.eq({call["name"].replace("pselect6", "select"): call["count"]
             for call in row["in_flight"]}, {"read": 3, "select": 1}, "in JSON as well")
    test.eq([(call["at_start"], call["at_end"]) for call in row["in_flight"]],
            [(True, False)] * 2, "and at which edge")


kdtest.main(case_signals_close_the_window, case_blocked_outputs, case_unopened_outputs,
            case_sigkill_leaves_nothing, case_target_exits, case_three_samples, case_nobody_reads,
            case_early_signals, case_ended_in_calls)
