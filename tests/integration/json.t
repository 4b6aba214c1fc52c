#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: needs build/asan/unit/test_text build/asan/unit/test_text_processes
# tests/run: needs build/asan/unit/test_text_traces build/asan/unit/test_text_screen
# tests/run: needs build/asan/unit/test_replay_recording
"""The JSON output: as its schema describes it, with the figures of the text report and those of the
workload; and rendered again from the file, without root."""

import calendar
import collections
import json
import os
import pwd
import stat
import time
from itertools import zip_longest

import kdneeds
import kdtest
from kdformats import TEXT_TESTS, unit_recording, unit_reports
from kdtest import ROOT
from kdtrigger import BOTH, NO_LIMIT, Triggered

SCHEMA = ROOT / "man" / "kernel_delay.schema.json"
ALIKE = 50
LEAD = 300  # ns, from the hit of a trigger to the edge that it sets
FORMATS = ("text", "json", "folded", "openmetrics", "prometheus")


def schema():
    jsonschema = kdneeds.module("jsonschema")
    text = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(text)
    return jsonschema.Draft7Validator, text


def closed(node):
    """The schema, with members that it does not name forbidden."""
    if isinstance(node, list):
        return [closed(part) for part in node]
    if not isinstance(node, dict):
        return node
    node = {key: closed(part) for key, part in node.items()}
    return {**node, "additionalProperties": False} if "properties" in node else node


class Checker:
    def __init__(self):
        validator, text = schema()
        definitions = closed(text["definitions"])
        self.open = validator(text)
        self.closed = {name: validator({"$ref": f"#/definitions/{name}",
                                        "definitions": definitions})
                       for name in ("sample", "summary", "comparison", "triggers",
                                    "recording", "recorded")}

    def faults(self, document):
        found = list(self.open.iter_errors(document))
        found += self.closed[document["type"]].iter_errors(document)
        return [f"{'.'.join(map(str, fault.absolute_path))}: {fault.message[:200]}"
                for fault in found]


def documents(path):
    """The objects of a file with one object per line."""
    text = path.read_bytes()
    lines = text.decode("ascii").split("\n")
    if lines.pop():
        raise ValueError("the last line does not end")
    return [json.loads(line) for line in lines]


def fewer(document):
    """Drops most threads of a sample that has more than anybody would look at: they are alike."""
    threads = document.get("threads", ())
    if len(threads) <= 2 * ALIKE:
        return document
    return {**document, "threads": threads[:ALIKE] + threads[-ALIKE:]}


def case_schema(test):
    checker = Checker()
    paths = unit_reports(test, "json", *TEXT_TESTS, "test_text_screen") + [unit_recording(test)]
    test.ok(len(paths) > 40, "there are reports of unit tests")
    for path in paths:
        faults = [fault for document in documents(path)
                  for fault in checker.faults(fewer(document))]
        test.ok(not faults, f"{path.name} is as the schema has it", *faults[:5])
    sample = documents(paths[0])[0]
    test.eq(checker.faults(sample), [], "a sample")
    for change in ({"interrupted": 0}, {"pid": "1"}, {"threads": [{}]}, {"type": "x"},
                   {"window": {}}, {"schema": "kernel_delay/2"}, {"number": -1}):
        test.ok(not checker.open.is_valid({**sample, **change}), f"not with {change}")
    test.ok(checker.open.is_valid({**sample, "future": [1]}), "later ones may have more")


def case_figures(test):
    """The figures that the workload itself knows."""
    checker = Checker()
    path = test.directory() / "sample"
    load = test.workload("roles", "calls:20000:40:5000", "calls:7001:11:20000", "poll", "spin")
    capture = test.capture(load.pid, "-o", f"json:{path}", "-o", "text")
    truths = load.go()
    report = capture.close(test)
    sample, = documents(path)
    test.eq(checker.faults(sample), [], "as the schema has it")
    test.eq(stat.S_IMODE(path.stat().st_mode), 0o600, "nobody else may read the file")
    test.eq((sample["pid"], sample["number"], sample["interrupted"]), (load.pid, 1, True),
            "whose it is, and how it ended")
    test.eq((sample["machine"], sample["capture"]["kernel"], sample["capture"]["host"]),
            (os.uname().machine, os.uname().release, os.uname().nodename), "of this machine")
    test.between(sample["window"]["duration_ns"], report.window - 2000, report.window + 2000,
                 "the window, in microseconds of the wall clock")
    rows = {row["tid"]: row for row in sample["threads"]}
    test.eq(sorted(rows), sorted(thread.tid for thread in report.threads), "threads")
    test.eq([word for word in ("buckets", "p50_ns") if word in path.read_text()], [],
            "no distributions without --histogram")
    for truth in (truth for truth in truths["threads"] if "getppid" in truth):
        calls = {call["name"]: call for call in rows[truth["tid"]]["syscalls"]}
        test.eq(calls["getppid"]["count"], truth["getppid"], "getppid, as often as it was called")
        test.eq(calls["clock_nanosleep"]["count"], truth["sleeps"], "sleeps")
    test.books(report)


def unprivileged():
    """Makes a process run with no special privileges."""
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def replay(test, path, form, **options):
    run = test.program("--replay", path, "-o", form, **options)
    said = [line for line in run.stderr.splitlines()
            if form != "folded" or run.stdout or "there is no stack in it" not in line]
    test.eq((run.status, said), (0, []), f"{form} from the file")
    return run.stdout


def without_head(text):
    """The text from the first report on: a replay has no lines about edges."""
    return "".join(line + "\n" for line in text.split("\n")[:-1]
                   if not line.startswith(("# Start sampling", "# Stop sampling", "# Triggers:")))


def check_replay(test, directory, first):
    """A replay of the file says the same in all forms as the run did, without root as well."""
    path = directory / "json"
    directory.chmod(0o755)
    path.chmod(0o644)
    for form in FORMATS:
        told = replay(test, path, form, **unprivileged())
        if form == "text":
            test.eq(without_head(told).split("\n"), without_head(first).split("\n"),
                    "text: the same")
        elif (directory / form).exists():
            lines = (directory / form).read_text().splitlines()
            test.eq([pair for pair in zip_longest(told.splitlines(), lines) if len(set(pair)) > 1],
                    [], f"{form}: the same")
        elif form != "folded":
            test.ok(told, f"{form}: there is something")


def case_traces(test):
    checker = Checker()
    directory = test.directory()
    load = test.workload("slow", "spinner", "asker")
    capture = test.capture(load.pid, "-s", "1ms", "--off-cpu", "1ms", "--profile", "199", "-o", "text",
                           "-o", f"json:{directory}/json", "-o", f"folded:{directory}/folded")
    spinner, = load.tid("spinner")
    before = kdtest.schedstat(load.pid, spinner)[0]
    kdtest.wait_until(lambda: kdtest.schedstat(load.pid, spinner)[0] - before > 200 * kdtest.MS)
    capture.interrupt(test, "a sample with stacks")
    sample, = documents(directory / "json")
    test.eq(checker.faults(sample), [], "as the schema has it")
    traces = sample["traces"]
    test.ok(traces["samples"] and traces["stacks"], "there are samples with stacks")
    used = {row[key] for kind in ("syscalls", "waits", "samples") for row in traces[kind]
            for key in ("kernel_stack", "user_stack") if key in row}
    test.eq(sorted(used), list(range(len(traces["stacks"]))), "every stack is some row's")
    frames = [json.dumps(stack, sort_keys=True) for stack in traces["stacks"]]
    # A BPF program that is loaded twice, by others too, has one name.
    twice = [text for text, count in collections.Counter(frames).items()
             if count > 1 and "bpf_prog_" not in text]
    test.ok(not twice, "none is there twice", *twice[:2])
    names = {frame.get("function") for stack in traces["stacks"] for frame in stack["frames"]}
    test.ok("spin_1" in names or "spinner" in names, "a function of the program", names)
    check_replay(test, directory, capture.stdout)


def check_gaps(test, sample, log, truth):
    """The longest wait for a CPU, and the most that one culprit took at once, are gaps of the same
    length in the thread's clock, unless they began before it looked there, or afterwards."""
    thread = kdtest.thread_of(sample, truth["tid"])
    wall = kdtest.wall_ahead()
    gaps = [(before, after) for before, after, *_ in log[str(truth["tid"])]]
    rows = [(thread["ready"]["longest_ns"], thread["ready"]["longest_at"])]
    took = [row for row in thread["ready_by"] if row["longest_ns"] >= kdtest.MS]
    # What nobody is known to have taken is a difference of sums, or of waits that are not known.
    test.eq([row for row in took if row["kind"] == "task" and "longest_at" not in row], [],
            "each culprit's most has its time")
    rows += [(row["longest_ns"], row["longest_at"]) for row in took if "longest_at" in row]
    for length, said in rows:
        second, _, ns = said.rstrip("Z").partition(".")
        at = int(calendar.timegm(time.strptime(second, "%Y-%m-%dT%H:%M:%S"))) * 10**9 + int(ns) - wall
        within = [gap for gap in gaps if gap[0] - 100_000 <= at <= gap[1]]
        test.ok(not truth["from"] <= at < truth["until"] or any(after - before >= length for before, after in within),
                "the longest wait for a CPU is a gap of its clock", said, at, length, within)


def case_since(test):
    """A wait's call was entered when the thread says so; a wait outside of calls has none."""
    cpu, path = kdtest.last_cpu(), test.directory() / "json"
    load = test.workload("slow", "sleeper:12:0:6000:1", f"hog:{cpu}", f"gaps:200:{cpu}")
    capture = test.capture(load.pid, "--off-cpu=500us", "--per-thread", "--wait-filter=*", "-o",
                           "text", "-o", f"json:{path}")
    with kdtest.RealTime.alone():
        for tid in load.tid("sleeper"):  # or others keep it from falling asleep
            os.sched_setscheduler(tid, os.SCHED_FIFO, os.sched_param(10))
        truths = load.go()["threads"]
        log = load.ask("log")
    capture.interrupt(test, "a sample with waits")
    sample, = documents(path)
    calls = {str(tid): [(before, after) for before, after, name, *_ in log[str(tid)]
                        if name == "clock_nanosleep"] for tid in load.tid("sleeper")}
    waits = [row for row in sample["traces"]["waits"] if str(row["tid"]) in calls and
             row.get("syscall", {}).get("name") == "clock_nanosleep"]
    # The kernel may have hidden the switch with which one began.
    test.ok(len(waits) >= 12 - sample["resynced"], "waits in calls", len(waits), sample["resynced"])
    wrong = [row for row in waits
             if not any(before < row["since_ns"] <= row["start_ns"] < row["end_ns"] < after
                        for before, after in calls[str(row["tid"])])]
    test.eq(wrong, [], "each began in a call that the thread had just entered")
    outside = [row for row in sample["traces"]["waits"] if "syscall" not in row]
    test.ok(outside, "waits outside calls")
    test.eq([row for row in outside if "since_ns" in row], [], "which belong to none")
    check_gaps(test, sample, log, next(truth for truth in truths if truth["role"] == "gaps"))


def case_triggers(test):
    """Several samples, and what the triggers report at the end."""
    checker = Checker()
    directory = test.directory()
    load = test.workload("caller", "sleeps:40:100:1:5000")
    run = Triggered(test, load.pid, *BOTH, *NO_LIMIT, "--sample-count", "3", "-o", "text",
                    "-o", f"json:{directory}/json")
    load.go()
    report = run.finish(test)
    *samples, triggers = documents(directory / "json")
    for number, (sample, wanted) in enumerate(zip(samples, report.reports), 1):
        test.eq(checker.faults(sample), [], f"sample {number} is as the schema has it")
        window = sample["window"]
        test.eq((sample["number"], window["start_ns"] - LEAD, window["duration_ns"]),
                (number, wanted.start, wanted.delta), "its number and window")
    test.eq((len(samples), checker.faults(triggers)), (3, []), "three, then the triggers")
    for role, row in report.triggers.roles.items():
        test.eq({key: triggers[role][key] for key in ("hits", "used", "skipped", "missed",
                                                      "overlapped", "idle", "ended", "unmatched")},
                {key: value for key, value in row.items() if key != "of"}, f"{role}: its hits")
    durations = report.triggers.durations
    test.eq((triggers["windows"]["count"], triggers["windows"]["max_ns"]),
            (durations.count, durations.max), "durations")
    test.eq(sum(bucket["count"] for bucket in triggers["windows"]["buckets"]), durations.count,
            "each in a bucket")
    check_replay(test, directory, run.stdout)


kdtest.main(case_schema, case_figures, case_traces, case_since, case_triggers)
