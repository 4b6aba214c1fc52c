#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Timelines of recordings: each thread's states, rebuilt from the file's slices, match the ledger
to the nanosecond; the workload's own log of its calls; who woke whom; CPUs. JSON contains the
recording: it yields the same timeline, byte for byte."""

import collections
import json
import os
import re
import subprocess
import sys

import kdneeds
import kdstacks
import kdtest
import kdunseen
from kdperfetto import Trace, samples_in
from kdrecorded import RUNNING, TITLES, Books, states_of
from kdtrigger import ENTRY, RETURN, Triggered

TRACES = ("-s", "100us", "--off-cpu=10us", "--wait-filter=*", "--stack-trace-size=overhead=0")


def check_replay(test, folder):
    """Made from the JSON, the timeline is that of the run, and so is the JSON itself."""
    done = test.program("--replay", folder / "json", "-o", f"perfetto:{folder}/replayed", "-o",
                        f"json:{folder}/again")
    test.eq((done.status, done.stderr), (0, ""), "it is replayed")
    test.ok((folder / "replayed").read_bytes() == (folder / "pftrace").read_bytes(),
            "of the JSON the same timeline is made, byte for byte")
    test.ok((folder / "again").read_bytes() == (folder / "json").read_bytes(), "and the same JSON")


class Run:
    """Samples as JSON and as a timeline: one or several, covering everything that the workload did."""

    def __init__(self, test, *options, several=False, log=False):
        folder = test.directory()
        load = test.workload("slow", "sleeper:20:200:9000:2", "waiter:12:3000", "spinner",
                             "blocked")
        times = (("--sample-time=80ms", "--sample-interval=1ms", "--sample-count=0") if several else
                 ("--sample-time=60",))
        capture = test.capture(load.pid, "--record=200ms", *options, *times, "-o", "text", "-o",
                               f"json:{folder}/json", "-o", f"perfetto:{folder}/pftrace")
        load.go()
        if log:
            self.log = load.logs()
        if several:
            kdtest.wait_until(lambda: samples_in(folder / "json") >= 3)
        capture.interrupt(test, "status 0")
        self.lines = [json.loads(line) for line in (folder / "json").read_text().splitlines()]
        self.samples = [line for line in self.lines if line["type"] == "sample"]
        check_replay(test, folder)
        self.trace = Trace((folder / "pftrace").read_bytes())
        self.by_thread = collections.defaultdict(list)
        for event in sorted(self.trace.slices, key=lambda event: (event.at, event.depth)):
            self.by_thread[self.trace.thread_of(event.track)].append(event)
        test.ok(len(self.samples) >= 3 if several else len(self.samples) == 1, "samples")


def ledger_of(thread):
    """The ledger of a thread. Throttled time is only known as a sum, and so counts as waiting for a
    CPU."""
    ledger = {key[:-3]: ns for key, ns in thread["ledger"].items()
              if key.endswith("_ns") and key not in ("life_ns", "sum_exec_runtime_ns")}
    ledger["ready_preempted"] += ledger.pop("throttled")
    return ledger


def faults_of(sample, thread, books):
    """Where the ledger differs. The timing of time taken by the hypervisor is not known, nor all of
    it at the window's end: then the running states are compared as one sum."""
    ns, ledger = books.with_entries(sample, thread), ledger_of(thread)
    wrong = [("a hole", *hole) for hole in books.holes[:2]]
    if ledger["stolen"] or books.stolen:
        lines = (*RUNNING, "hardirq", "stolen")
        ns["running"], ledger["running"] = sum(ns[line] for line in lines), sum(
            ledger[line] for line in lines)
        ledger = {line: value for line, value in ledger.items() if line not in lines}
    wrong += [(line, ns[line], value) for line, value in ledger.items() if ns[line] != value]
    awaited = {kind: count["total_ns"] for kind, count in thread["blocked"].items()
               if count["total_ns"]}
    got = {kind: total for kind, total in books.awaited.items() if total}
    return wrong + ([("awaited", got, awaited)] if got != awaited else [])


def check_ledger(test, run):
    """Nothing may be lost. Threads with switches that the kernel did not report have states that
    nobody saw."""
    states = set()
    for sample in run.samples:
        wrong = []
        for thread in (thread for thread in sample["threads"] if thread["members"] == 1):
            books = Books(run.by_thread[thread["tid"]], sample["window"])
            states |= {state for state, ns in books.ns.items() if ns}
            wrong += [(thread["name"], thread["tid"], *fault)
                      for fault in faults_of(sample, thread, books)]
        lost = [event.notes["recorded_lost"] for event in run.trace.find("window")]
        test.ok(not any(lost), "nothing is missing", lost)
        if sample["resynced"]:
            test.skip("states equal the ledger", "the kernel did not report all switches")
            continue
        test.ok(not wrong, f"states of sample {sample['number']} equal the ledger", *wrong[:4])
    test.ok({"user", "kernel", "blocked"} <= states, "of which there are several", states)


def check_before(test, run):
    """The recording begins before the window and includes states; slices in it never overlap."""
    begins = [event.at for event in run.trace.instants if event.kind == "recording"]
    test.eq(len(begins), len(run.samples), "each sample says where what it shows begins")
    test.ok(begins[0] < run.samples[0]["window"]["start_ns"], "before the window")
    wrong = []
    for events in run.by_thread.values():
        states = [event for event in events if event.kind == "state" and
                  event.track.name == "states"]
        wrong += [(one, other) for one, other in zip(states, states[1:]) if one.end > other.at]
    test.ok(not wrong, "a thread is in one state at a time, also with several samples", *wrong[:2])
    ends = collections.defaultdict(int)
    for event in sorted(run.trace.find("run"), key=lambda event: event.at):
        if event.at < ends[event.track.name]:
            wrong.append(event)
        ends[event.track.name] = event.end
    test.ok(ends and not wrong, "a CPU runs one at a time", *wrong[:2])


def check_cpus(test, run):
    """Where a thread was running, its CPU's track says so, except for what the scheduler adds to a
    run before its switch, when another thread had the CPU."""
    runs = collections.defaultdict(list)
    for event in run.trace.find("run"):
        runs[event.track.name, event.notes.get("tid")].append((event.at, event.end))
    missing = []
    for tid, events in run.by_thread.items():
        for event in events if tid else ():  # the kernel's have no track of their own
            if event.kind != "state" or not event.name.startswith("running") or \
                    event.end - event.at <= 100_000:
                continue
            middle = (event.at + event.end) / 2
            if not any(start <= middle <= end or event.at < start <= event.end
                       for start, end in runs[f"CPU {event.notes['cpu']}", tid]):
                missing.append((tid, event))
    if any(sample["resynced"] for sample in run.samples):
        test.skip("who runs on a CPU is in that state", "the kernel did not report all switches")
        return
    test.ok(not missing, "who runs on a CPU is in that state", *missing[:2])


def check_path(test, run):
    """The slices of the critical path are the rows of JSON, without holes from edge to edge."""
    for sample in run.samples:
        window, path = sample["window"], sample.get("critical_path")
        slices = [event for event in run.trace.find("critical_path")
                  if window["start_ns"] <= event.at < event.end <= window["end_ns"]]
        if not test.ok(path and slices, "there is a critical path"):
            continue
        edges = [event.at for event in slices] + [slices[-1].end]
        test.eq((edges[0], edges[-1]), (window["start_ns"], window["end_ns"]), "from edge to edge")
        test.ok(all(one.end == other.at for one, other in zip(slices, slices[1:])), "no holes")
        test.eq([(event.at, event.end, event.notes["legs"]) for event in slices],
                [(row["start_ns"], row["end_ns"], row["legs"]) for row in path["rows"]],
                "the rows of JSON")


def check_wakeups(test, run):
    """The waiter is woken by another thread of the process: an arrow shows it, and the slice says
    so."""
    flows = collections.defaultdict(list)
    for event in run.trace.instants:
        for flow in (*event.begins, *event.ends):
            flows[flow].append(event)
    arrows = {(one.at, run.trace.thread_of(one.track), run.trace.thread_of(other.track))
              for one, other in (events for events in flows.values() if len(events) == 2)}
    states = [(event.end, event.notes["ended_by_tid"], tid) for tid, events in
              run.by_thread.items() for event in events
              if event.kind == "state" and "ended_by_tid" in event.notes and
              "waited_for" in event.notes]
    own = {tid for sample in run.samples for tid in (row["tid"] for row in sample["threads"])}
    between = {state for state in states if state[1] in own and state[2] in own}
    test.ok(between, "threads woke one another")
    test.ok(between <= arrows, "with an arrow each", *list(between - arrows)[:3])


def check_jq(test, run, states):
    """The jq program in the manual, as groff prints it."""
    page = (kdtest.ROOT / "man" / "kernel_delay-json.5").read_text()
    program = re.search(r"Each state of each thread.*?\n\.EX\njq \\-c \\\(aq(.*?)\\\(aq run.json", page,
                        re.DOTALL)[1]
    jq = kdneeds.optional(test, "jq: the manual's program", kdneeds.tool, "jq")
    if not jq:
        return
    if any(row[2] >= 1 << 53 for row in states):
        test.skip("jq: the manual's program", "jq before 1.7 rounds times after 104 days of uptime")
        return
    done = subprocess.run([jq, "-c", program.replace("\\-", "-")], text=True, check=True,
                          input="".join(json.dumps(line) + "\n" for line in run.lines),
                          stdout=subprocess.PIPE)
    got = [(row["tid"], row["start"], row["end"], row["state"])
           for row in map(json.loads, done.stdout.splitlines())]
    test.ok(got == states, "jq: the manual's program finds the same", got[:2], states[:2])


def check_rows(test, run):
    """The rows of JSON, read by a few lines of Python, are the state slices of the timeline. The
    numbers in the head match."""
    head, = (line for line in run.lines if line["type"] == "recording")
    states = states_of(run.lines)
    test.eq(len(states), head["rows"]["states"], "as many rows as it says")
    test.ok([line["type"] for line in run.lines][:2] == ["recording", "recorded"] and
            run.lines[-1]["type"] == "sample", "they are in front of the sample")
    shown = {(run.trace.thread_of(event.track), event.at, event.end, TITLES[event.name])
             for event in run.trace.slices if event.kind == "state"}
    begins = run.samples[0]["window"]["end_ns"]
    # Threads of the kernel have no track of their own.
    kernel = {thread["tid"] for thread in head["threads"] if thread.get("kernel")}
    rows = {(None if tid in kernel else tid, max(start, head["start_ns"]), min(end, begins), state)
            for tid, start, end, state in states if start < min(end, begins)}
    check_jq(test, run, states)
    test.ok(rows and rows == shown, "the timeline's states", f"rows: {sorted(rows - shown)[:2]}",
            f"slices: {sorted(shown - rows)[:2]}")


def case_plain(test):
    """Nothing but the recording."""
    run = Run(test, log=True)
    check_rows(test, run)
    check_ledger(test, run)
    check_before(test, run)
    check_cpus(test, run)
    check_path(test, run)
    check_wakeups(test, run)
    missing = [(tid, name, before, after) for tid, log in run.log.items()
               for before, after, name, *_ in log
               if len([call for call in run.by_thread[tid] if call.kind == "syscall" and
                       before <= call.at and call.end <= after and
                       call.name in (name, f"clock_{name}")]) != 1]
    test.ok(run.log and not missing, "each logged call is a slice inside its log", *missing[:3])


def case_unseen_returns(test):
    """Where the kernel did not report that a call returned, the thread is in it until its next
    call, in the ledger as in the recording."""
    with kdunseen.unseen(test, "kd_sys_exit", "kd_sys_exit_classic"):
        run = Run(test)
    check_ledger(test, run)


def case_traces(test):
    """With waits and calls that have stacks in the same file: these add details to the same slices."""
    run = Run(test, *TRACES, several=True)
    check_ledger(test, run)
    check_before(test, run)
    # Of a wait that began with a switch which the kernel hid, the recording has no state.
    rows = [(row["tid"], row["start_ns"]) for sample in run.samples
            for row in sample["traces"]["waits"] if row.get("no_kernel_stack") != kdstacks.HIDDEN]
    states = {(tid, event.notes.get("start_ns", event.at)): event for tid, events in
              run.by_thread.items() for event in events if event.kind == "state"}
    bare = [row for row in rows if row not in states or not states[row].stack]
    test.ok(rows and not bare, "each wait is a state, with its stack", *bare[:3])
    stray = [event for event in run.trace.slices if event.track.name == "waits without a state" and
             event.notes.get("no_kernel_stack") != kdstacks.HIDDEN]
    test.ok(not stray, "and none is beside them", *stray[:2])


def case_hits(test):
    """Trigger hits are on the thread's track, where the window begins and ends."""
    load = test.workload("caller", "sleeps:5:50:1:5000")
    folder = test.directory()
    run = Triggered(test, load.pid, "--record=1s", "--start-trigger", ENTRY, "--stop-trigger",
                    RETURN, "--sample-count=1", "-o", "text", "-o", f"json:{folder}/json", "-o",
                    f"perfetto:{folder}/pftrace")
    load.go()
    test.eq(run.wait(), 0, "status 0")
    check_replay(test, folder)
    sample = [line for line in map(json.loads, (folder / "json").read_text().splitlines())
              if line["type"] == "sample"][0]
    trace = Trace((folder / "pftrace").read_bytes())
    window = sample["window"]
    hits = [(event.name, trace.thread_of(event.track), event.at) for event in trace.instants
            if event.kind == "trigger"]
    starts = [hit for hit in hits if hit[2] <= window["start_ns"]]
    stops = [hit for hit in hits if window["start_ns"] < hit[2] <= window["end_ns"]]
    test.eq([hit[:2] for hit in starts[-1:] + stops],
            [("start trigger", window["start_tid"]), ("stop trigger", window["stop_tid"])],
            "the hits that made the window, on their thread's track")


# Writes to a pipe 200 times a second.
WRITER = """
import os, time
while True:
    os.write(1, b"x")
    time.sleep(0.005)
"""


def case_others(test):
    """Processes that interact with the target have tracks with their names."""
    reader, writer = os.pipe()
    target = test.child(["cat"], stdin=reader)
    other = test.child([sys.executable, "-c", WRITER], stdout=writer)
    os.close(reader)
    os.close(writer)
    path = test.directory() / "pftrace"
    run = test.capture(target.pid, "--record=10ms", "-o", "text", "-o", f"perfetto:{path}")
    before = kdtest.switches(target.pid, target.pid, ("voluntary",))
    kdtest.wait_until(lambda: kdtest.switches(target.pid, target.pid, ("voluntary",)) > before + 5)
    run.close(test)
    tracks = Trace(path.read_bytes()).tracks.values()
    test.eq([track.process for track in tracks if track.pid == other.pid and not track.tid],
            [kdtest.thread_name(other.pid, other.pid)], "who wrote what the target read")


kdtest.main(case_plain, case_unseen_returns, case_traces, case_hits, case_others)
