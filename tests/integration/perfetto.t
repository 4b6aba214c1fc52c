#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Timelines: read by a reader of our own and by protoc, and compared with the JSON of the same
samples, with what the workload logged, and with the ledger."""

import collections
import json
import re

import kdneeds
import kdtest
from kdperfetto import Trace, protoc, samples_in
from kdterminal import Terminal
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered

OPTIONS = ("-s", "100us", "--off-cpu=10us", "--wait-filter=*", "--profile=199", "--interruptions",
           "--counters=context-switches", "--stack-trace-size=overhead=0")
TITLES = {"ready_woken": "ready after wakeup", "ready_preempted": "ready after preemption",
          "blocked": "blocked interruptible", "blocked_uninterruptible": "blocked uninterruptible",
          "stopped": "stopped", "frozen": "frozen"}


class Run:
    """Samples as JSON and as a timeline, with the workload's log of its calls: one that covers all
    of its work, or several short ones."""

    def __init__(self, test, time=None):
        self.folder = test.directory()
        load = test.workload("slow", "sleeper:20:200:9000:2", "waiter:12:3000", "spinner",
                             "blocked")
        times = (time, "--sample-interval=1ms", "--sample-count=0") if time else ("60",)
        capture = test.capture(load.pid, *OPTIONS, "-o", "text", "-o", f"json:{self.path('json')}",
                               "-o", f"perfetto:{self.path('pftrace')}", "--sample-time", *times)
        load.go()
        self.log = load.logs()
        if time:
            kdtest.wait_until(lambda: samples_in(self.path("json")) >= 3)
        capture.interrupt(test, "status 0")
        lines = map(json.loads, self.path("json").read_text().splitlines())
        self.samples = [line for line in lines if line["type"] == "sample"]
        self.bytes = self.path("pftrace").read_bytes()
        self.trace = Trace(self.bytes)
        test.ok(len(self.samples) >= 3 if time else len(self.samples) == 1, "samples")

    def path(self, form):
        return self.folder / form


def clip(sample, start, end):
    """The part of an interval that lies in the window."""
    window = sample["window"]
    return max(start, window["start_ns"]), min(end or window["end_ns"], window["end_ns"])


def functions(sample, row):
    """The names of a row's stack, the outermost first, as in JSON."""
    stacks, names = sample["traces"]["stacks"], []
    if "user_stack" not in row:
        names.append("[no_user_stack]")
    for key in ("user_stack", "kernel_stack"):
        if key in row:
            stack = stacks[row[key]]
            names += ["[incomplete]"] if stack.get("stop") else []
            names += [frame.get("function") for frame in reversed(stack["frames"])]
    return names


def same_stack(stack, names):
    """The same stacks, where frames without a name are called by their address."""
    return len(stack or ()) == len(names) and all(
        frame[0] == name if name else frame[2] or "+0x" in frame[0] or frame[0][0] == "["
        for frame, name in zip(stack, names))


def in_window(sample, events):
    window = sample["window"]
    return [event for event in events
            if window["start_ns"] <= event.at <= event.end <= window["end_ns"]]


def check_rows(test, run, sample, key, kind, what):
    """There is one slice for each row, with the same thread, time and stack; what(row) gives its
    name and notes."""
    events = {}
    for event in in_window(sample, run.trace.find(kind)):
        # Of calls that no trace has there are slices, too, without a CPU.
        if "cpu" in event.notes:
            events[run.trace.thread_of(event.track), event.at, event.end, event.name] = event
    wrong = []
    for row in sample["traces"][key]:
        start, end = clip(sample, row["start_ns"], row.get("end_ns"))
        name, notes = what(row)
        event = events.pop((row["tid"], start, end, name), None)
        if not event:
            wrong.append(("no slice", row))
            continue
        notes["cpu"] = row["cpu"]
        if "end_ns" not in row:
            notes["unfinished"] = 1
        if start != row["start_ns"]:
            notes["start_ns"] = row["start_ns"]
        notes.update((note, row[note]) for note in ("at", "path", "holder_tid", "holder_name",
                                                    "lock_kind", "disk") if note in row)
        if "lock" in row:
            notes["lock"] = int(row["lock"], 16)
        wrong += [(note, value, event) for note, value in notes.items()
                  if event.notes.get(note) != value]
        if not same_stack(event.stack, functions(sample, row)):
            wrong.append((functions(sample, row), event.stack))
    test.ok(not wrong, f"{key} of sample {sample['number']}: each has its slice", *wrong[:3])
    test.eq(list(events)[:3], [], f"{key} of sample {sample['number']}: no others")


def call_what(row):
    notes = {"result": row["result"]} if "result" in row else {}
    if row.get("waited_ns"):
        notes["waited_ns"] = row["waited_ns"]
    return row["syscall"]["name"], notes


def wait_what(row):
    notes = {}
    if "waited_for" in row:
        notes["waited_for"] = row["waited_for"]
    if "syscall" in row:
        notes["syscall"] = row["syscall"]["name"]
    if row.get("ended_by", {}).get("tid"):
        notes.update(ended_by_tid=row["ended_by"]["tid"], ended_by=row["ended_by"]["name"])
    return TITLES[row["state"]], notes


def check_samples(test, run, sample):
    window = sample["window"]
    got = [(row.tid, row.at, row.cpu, {1: "kernel", 2: "user"}[row.mode],
            [frame[0] for frame in row.stack]) for row in run.trace.samples
           if window["start_ns"] <= row.at <= window["end_ns"]]
    rows = sample["traces"]["samples"]
    test.eq(sorted(row[:4] for row in got),
            sorted((row["tid"], row["time_ns"], row["cpu"], row["state"]) for row in rows),
            f"samples of running code of sample {sample['number']}")
    stacks = {(row["tid"], row["time_ns"]): functions(sample, row) for row in rows}
    wrong = [row for row in got if None not in stacks[row[:2]] and row[4] != stacks[row[:2]]]
    test.ok(not wrong, "with their stacks", *wrong[:2])


STATES = {"user", "kernel", "page_fault", "reclaim", "hardirq", "softirq", "stolen", "throttled",
          *TITLES}


def overbooked(listed, ledger):
    """Whether more of a state is listed than the ledger has. The scheduler starts some runs before
    it switches to the thread: the ledger counts that as running, a wait's row does not."""
    running = sum(ledger.get(f"{key}_ns", 0) for key in ("user", "kernel"))
    books = {TITLES.get(key[:-3], key): ns for key, ns in ledger.items()}
    # What the group's quota took is of no state that waits have.
    books[TITLES["ready_preempted"]] = (books.get(TITLES["ready_preempted"], 0) +
                                        ledger.get("throttled_ns", 0))
    return (any(ns > books.get(state, 0) + running for state, ns in listed.items()) or
            sum(listed.values()) > sum(ledger.values()))


def check_ledger(test, run, sample):
    """The sums are those of JSON; the listed time of a state never exceeds them, and equals them
    where a thread was in one state throughout."""
    window, wrong, silent, resynced = sample["window"], [], 0, sample["resynced"]
    for thread in (thread for thread in sample["threads"] if thread["members"] == 1):
        ledger = {key: ns for key, ns in thread["ledger"].items()
                  if key.endswith("_ns") and ns and key[:-3] in STATES}
        event, = in_window(sample, run.trace.find("ledger", thread["tid"]))
        got = {key: ns for key, ns in event.notes.items() if key not in ("life_ns", "ready_by")}
        tids = [f"[{who['tid']}] " for who in thread["ready_by"][:1] if who.get("tid")]
        if tids and tids[0] not in event.notes.get("ready_by", ""):
            wrong.append((thread["name"], thread["ready_by"][0], event.notes))
        if got != ledger or (event.at, event.end) != (window["start_ns"], window["end_ns"]):
            wrong.append((thread["name"], got, ledger))
        listed = collections.Counter()
        for state in in_window(sample, run.trace.find("state", thread["tid"])):
            listed[state.name] += state.end - state.at
            if "cpu" not in state.notes:  # of no row
                silent += 1
                if {state.name: state.end - state.at} != {TITLES[key[:-3]]: ns
                                                          for key, ns in ledger.items()}:
                    wrong.append((thread["name"], state, ledger))
        # Who switches without being reported is in a state that nobody saw.
        if not resynced and overbooked(listed, ledger):
            wrong.append((thread["name"], listed, ledger))
    test.ok(not wrong, f"ledger of sample {sample['number']}", resynced, *wrong[:3])
    test.ok(silent, "a thread that was in one state throughout")


def check_wakeups(test, run, sample):
    """An arrow for each wakeup, from the waker's track to the waiter's track of states."""
    window = sample["window"]
    want = set()
    for row in sample["traces"]["waits"]:
        waker, to = row.get("ended_by"), row["tid"]
        while waker and waker.get("tid") and (window["start_ns"] <= waker["time_ns"] <=
                                              window["end_ns"]):
            want.add((waker["time_ns"], waker["tid"], to))
            to, waker = waker["tid"], waker.get("woken_by")
    flows = collections.defaultdict(list)
    for event in run.trace.instants:
        if window["start_ns"] <= event.at <= window["end_ns"]:
            for flow in (*event.begins, *event.ends):
                flows[flow].append(event)
    got, wrong = set(), []
    for events in flows.values():
        if len(events) != 2 or not events[0].begins or not events[1].ends:
            wrong.append(events)
            continue
        begin, end = events
        tids = [run.trace.thread_of(event.track) or int(event.track.name.split()[-1])
                for event in events]
        names = [int(re.search(r"\[(\d+)\]$", event.name)[1]) for event in events]
        if begin.at != end.at or names != tids[::-1]:
            wrong.append(events)
        got.add((begin.at, *tids))
    test.ok(not wrong, f"arrows of sample {sample['number']} have two ends", *wrong[:2])
    test.eq(got ^ want, set(), f"arrows of sample {sample['number']}: who woke whom")
    return len(want)


def check_window(test, run, sample):
    window = sample["window"]
    slices = in_window(sample, run.trace.find("window"))
    test.eq([(event.name, event.at, event.end, event.depth) for event in slices],
            [(f"window {sample['number']}", window["start_ns"], window["end_ns"], 0)], "its window")
    test.eq({key: slices[0].notes[key] for key in ("busy_ns", "kept_ns", "unexplained_ns", "lost")},
            {key: sample[key] for key in ("busy_ns", "kept_ns", "unexplained_ns", "lost")},
            "with what the verdict is about")
    rows = [(event.notes["cause"], event.notes["ns"], event.notes["threads"])
            for event in in_window(sample, run.trace.find("verdict"))]
    test.eq(rows, [(row["cause"], row["ns"], row["threads"])
                   for row in sample["verdict"][:len(rows)]], "with the verdict's rows")
    clocks = {clock[3]: clock.get(1) for clock in run.trace.clocks}
    second = clocks[window["start_ns"]] % 10**9
    test.eq(f"{second:09}Z", window["start_time"].split(".")[1], "and the wall clock's time")


def check_interruptions(test, run, sample):
    got = sorted((run.trace.thread_of(event.track), event.at, event.end, event.notes["cause"],
                  event.notes["ns"]) for event in in_window(sample, run.trace.find("interruption")))
    want = sorted((row["tid"], *clip(sample, row["since_ns"], row["until_ns"]), row["cause"],
                   row["ns"]) for row in sample["interruptions"])
    test.ok(got == want, f"interruptions of sample {sample['number']}",
            *[row for row in got if row not in want], *[row for row in want if row not in got])


def check_logged(test, run):
    """Each call of at least 1 ms that the workload logged lies within its log's times. (Whatever
    else it did then may be slow on such a machine.)"""
    missing, total = [], 0
    for tid, log in run.log.items():
        calls = run.trace.find("syscall", tid)
        for before, after, name, *_ in log:
            inside = any(sample["window"]["start_ns"] < before and after < sample["window"]["end_ns"]
                         for sample in run.samples)
            if not inside or after - before < 1_000_000:
                continue
            total += 1
            found = [call for call in calls if before <= call.at and call.end <= after]
            if [call.name in (name, f"clock_{name}") for call in found].count(True) != 1:
                missing.append((tid, name, before, after, found))
    test.ok(total and not missing, "each logged call is a slice inside its log", total,
            *missing[:3])


def check_all(test, run):
    """How often threads woke each other."""
    wakeups = 0
    for sample in run.samples:
        check_window(test, run, sample)
        check_rows(test, run, sample, "syscalls", "syscall", call_what)
        check_rows(test, run, sample, "waits", "state", wait_what)
        check_samples(test, run, sample)
        check_ledger(test, run, sample)
        check_interruptions(test, run, sample)
        wakeups += check_wakeups(test, run, sample)
    locks = run.trace.find("lock")
    waits = [row for sample in run.samples for row in sample["traces"]["waits"] if "lock" in row]
    test.eq(len(locks), len(waits), "a slice for each lock that was waited for")
    test.ok(all(event.depth == 1 for event in locks), "inside the wait's")
    done = test.program("--replay", run.path("json"), "-o", f"perfetto:{run.path('again')}")
    test.eq((done.status, done.stderr), (0, ""), "JSON is replayed")
    test.ok(run.path("again").read_bytes() == run.bytes, "and makes the same timeline")
    check_protoc(test, run.bytes)
    return wakeups


def case_sample(test):
    run = Run(test)
    test.ok(check_all(test, run), "threads woke each other")
    test.ok(run.trace.samples, "running code was sampled")
    test.ok(run.trace.find("lock"), "locks were waited for")
    check_logged(test, run)
    counted = {event.track.name for event in run.trace.counters}
    test.eq(counted, {"context-switches"}, "a track for the counter")


def case_several(test):
    """Several samples in one file share the same tracks."""
    run = Run(test, "80ms")
    check_all(test, run)
    test.eq(len(run.trace.sequences), len(run.samples), "each sample is a sequence of packets")


def check_protoc(test, data):
    if not kdneeds.optional(test, "protoc knows each field", kdneeds.tool, "protoc"):
        return
    shown = protoc("decode", data)
    unknown = re.findall(rb"^ *\d+[:{ ].*", shown.stdout, re.MULTILINE)
    test.ok(shown.returncode == 0 and not unknown, "protoc knows each field", shown.stderr,
            *unknown[:3])
    again = Trace(protoc("encode", shown.stdout).stdout)
    trace = Trace(data)
    same = [getattr(again, part) == getattr(trace, part) for part in vars(trace)
            if part not in ("sequences", "open")]
    test.ok(all(same) and trace.slices, "what protoc writes says the same", same)


def case_triggers(test):
    """Hits are on the threads that made them, at the times of the workload's log."""
    folder = test.directory()
    load = test.workload("values")
    run = Triggered(test, load.pid, "--start-trigger", "up:value_spin", "--stop-trigger",
                    "ur:value_spin", "--window-banks", "7", *UNLIMITED, *NO_LIMIT, "-o", "text",
                    "-o", f"json:{folder}/json", "-o", f"perfetto:{folder}/pftrace", urgent=True)
    load.send("spin thread 3 2000")
    load.line("done")
    spins = load.ask("log")["spins"]["thread"]
    run.stop(test)
    trace = Trace((folder / "pftrace").read_bytes())
    hits = [(trace.thread_of(event.track), event.name, event.at) for event in trace.instants
            if event.kind == "trigger"]
    lines = map(json.loads, (folder / "json").read_text().splitlines())
    windows = [line["window"] for line in lines if line["type"] == "sample"]
    want = [hit for window in windows for hit in (
        (window["start_tid"], "start trigger", window["start_ns"]),
        (window["stop_tid"], "stop trigger", window["end_ns"]))]
    test.eq(sorted(hits, key=lambda hit: hit[2]), want, "as in JSON")
    test.ok(len(spins) == len(windows) == 3 and all(
        spin[0] <= start[2] <= spin[1] and spin[2] <= stop[2] <= spin[3]
        for spin, start, stop in zip(spins, want[::2], want[1::2])), "as it was logged", spins, want)


def case_processes(test):
    """Each process has its threads, also one that has ended."""
    loads = [test.workload("slow", "waiter:4:2000", "blocked") for _ in range(2)]
    folder = test.directory()
    capture = test.capture(",".join(str(load.pid) for load in loads), "--off-cpu=10us",
                           "--wait-filter=*", "-o", "text", "-o", f"json:{folder}/json", "-o",
                           f"perfetto:{folder}/pftrace")
    for load in loads:
        load.go()
    loads[1].end()
    capture.interrupt(test, "status 0")
    sample = json.loads((folder / "json").read_text().splitlines()[0])
    trace = Trace((folder / "pftrace").read_bytes())
    test.eq({track.pid: track.process for track in trace.tracks.values() if track.process},
            {load.pid: "slow" for load in loads}, "a track for each process")
    threads = {track.tid: (track.pid, track.thread, trace.tracks[track.parent].pid)
               for track in trace.tracks.values() if track.tid}
    want = {row["tid"]: (row["pid"], row["name"], row["pid"]) for row in
            (*(row for row in sample["threads"] if row["members"] == 1),
             *sample["traces"]["waits"])}
    test.eq(threads, want, "and for each thread, below it")
    waits = {trace.thread_of(event.track) for event in trace.find("state")}
    test.ok({row["tid"] for row in sample["traces"]["waits"]} <= waits, "with their waits")


def case_ended(test):
    """Threads that come and go, which have no rows of their own, under the names that they gave
    themselves."""
    load = test.workload("churn", "40")
    folder = test.directory()
    capture = test.capture(load.pid, "-s", "0", "--buffer-page-count=4096", "-o", "text", "-o",
                           f"perfetto:{folder}/pftrace")
    load.go()
    capture.interrupt(test, "status 0")
    trace = Trace((folder / "pftrace").read_bytes())
    made = collections.Counter()
    for name, tid in {(track.thread, track.tid) for track in trace.tracks.values() if track.tid}:
        calls = collections.Counter(event.name for event in trace.find("syscall", tid))
        made[name, calls["getppid"], calls["getuid"]] += 1
    test.ok((made["churn", 3, 0], made["other", 0, 2]) == (40, 4), "each with the calls it made",
            made, *(line for line in capture.stdout.split("\n") if line.startswith("#")))


def case_stream(test):
    """A timeline is not written to a terminal, but to anything else."""
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time", "20ms", "-o", "perfetto",
                        wrapper=("sh", "-c", '"$0" "$@" | od -An -tx1 -v'))
    trace = Trace(bytes.fromhex(done.stdout))
    test.eq(len(trace.find("window")), 1, "standard output has the timeline")
    test.ok(trace.find("state"), "with the states of threads that had no event")
    test.ok(trace.find("syscall"), "and their calls")
    terminal = Terminal(test, "-p", load.pid, "--sample-time", "20ms", "-o", "perfetto")
    test.eq(terminal.wait(), 64, "a terminal does not get it")
    test.ok("is a terminal" in terminal.shown, "and is told so", terminal.shown)


kdtest.main(case_sample, case_several, case_triggers, case_processes, case_ended, case_stream)
