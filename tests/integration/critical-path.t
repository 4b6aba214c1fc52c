#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The critical path of a window, against a token that logs its way through eight threads, a pipe,
a lock, a fsync and another process."""

import json
import re

import kdtest
import kdtrigger
from kdtest import PROGRAM

TOLERANCE = 0.02  # of the window, for each leg
RUNNING = ("user", "kernel", "page_fault", "reclaim", "running")
LEG_MS = 20
TRIGGERS = ("--start-trigger", "up:relay_round", "--stop-trigger", "ur:relay_round",
            "--sample-count", "1")


def sample_of(path):
    return next(sample for sample in map(json.loads, path.open())
                if sample.get("type") == "sample")


def inside(row, start, end):
    return max(0, min(row["end_ns"], end) - max(row["start_ns"], start))


def adds_up(test, sample):
    """The rows have no holes and are the window."""
    path, window = sample["critical_path"], sample["window"]
    edges = [path["start_ns"], *(row["end_ns"] for row in path["rows"])]
    test.eq([row["start_ns"] for row in path["rows"]] + [path["end_ns"]], edges,
            "each row begins where the one before it ends")
    test.eq((path["start_ns"], path["end_ns"]), (window["start_ns"], window["end_ns"]),
            "they begin and end as the window does")
    wrong = [row for row in path["rows"]
             if sum(row["states_ns"].values()) != row["end_ns"] - row["start_ns"]]
    test.eq(wrong, [], "their states add up to them")


def states(rows, start, end, tid):
    """{state: ns} of a thread in some time: of rows of several states, in proportion."""
    sums = {}
    for row in rows:
        length = row["end_ns"] - row["start_ns"]
        for state, ns in row["states_ns"].items() if row["thread"]["tid"] == tid else ():
            sums[state] = sums.get(state, 0) + ns * inside(row, start, end) / length
    return sums


def leg_check(test, path, leg, last):
    """A leg of the log: the time in it that the path is not on its thread, and what that does."""
    start, end, tid = leg["from"], leg["to"], leg["tid"]
    bound = TOLERANCE * (path["end_ns"] - path["start_ns"])
    kernel = leg["what"] == "fsync"  # threads of the kernel wait for the disk, too
    elsewhere = [(inside(row, start, end), row["thread"]["name"], row["text"])
                 for row in path["rows"] if row["thread"]["tid"] != tid and
                 not (kernel and row["thread"].get("kernel"))]
    between = [(inside(row, last["to"], start), row["thread"]["name"], row["text"])
               for row in path["rows"] if row["thread"]["tid"] not in (tid, last["tid"])]
    test.between(sum(ns for ns, *_ in elsewhere), 0, bound,
                 f"{leg['role']}: the path is on it while it has the token")
    test.between(sum(ns for ns, *_ in between), 0, bound,
                 f"{leg['role']}: and on it, or {last['role']}, while that is passed on")
    had = states(path["rows"], start, end, tid)
    ran = sum(had.get(state, 0) for state in RUNNING)
    test.between(ran, leg["ran"] - bound, leg["ran"] + bound, f"{leg['role']}: it ran as long")
    if leg["what"] == "sleep":
        test.between(had.get("blocked", 0), LEG_MS * kdtest.MS - bound, end - start + bound,
                     f"{leg['role']}: it slept as long")
    return {row["text"] for row in path["rows"] if inside(row, start, end) and
            row["thread"]["tid"] == tid}


def case_relay(test):
    path = test.directory()
    load = test.workload("relay", LEG_MS, path)
    run = kdtrigger.Triggered(test, load.pid, *TRIGGERS, "--record", "-o", f"json:{path}/json",
                              "-o", "-", full=False)
    legs = load.go()["legs"]
    test.eq(run.wait(), 0, "status")
    sample = sample_of(path / "json")
    adds_up(test, sample)
    found = sample["critical_path"]
    test.eq((found["thread"]["tid"], found["chosen"]), (load.pid, "stop"),
            "it is of the thread whose probe ended the window")
    test.eq({leg["tid"] for leg in legs} - {row["thread"]["tid"] for row in found["rows"]}, set(),
            "every thread that had the token is on it")
    texts = {leg["role"]: leg_check(test, found, leg, last)
             for last, leg in zip(legs[:1] + legs, legs)}
    test.ok(any("timer" in text for text in texts["sleep"]), "the sleep was ended by a timer",
            texts["sleep"])
    test.ok(any("fsync" in text for text in texts["writer"]), "the writer was in fsync",
            texts["writer"])
    other = [row["thread"] for row in found["rows"] if row["thread"]["name"] == "process"]
    test.ok(other and not any(thread["own"] for thread in other), "the other process is another",
            other)
    text_check(test, run.stdout, found)
    again = test.program("--replay", path / "json", full=False)
    table = re.compile(r"^CRITICAL PATH.*\n(?:  .*\n)+", re.MULTILINE)
    test.eq(table.findall(again.stdout), table.findall(run.stdout), "replayed it is the same")


def text_check(test, text, path):
    """The table: few lines, with the longest rows, which add up to the window."""
    lines = text[text.index("CRITICAL PATH"):].split("\n\n")[0].split("\n")
    test.ok(len(lines) <= 12, "the table has 12 lines at most", *lines)
    shares = [float(share) for share in re.findall(r" <?([0-9.]+) %  ", "\n".join(lines[2:]))]
    test.between(sum(shares), 97, 103, "its shares add up to the window")
    names = {row["thread"]["name"] for row in path["rows"]
             if row["end_ns"] - row["start_ns"] > 0.2 * (path["end_ns"] - path["start_ns"])}
    test.ok(all(any(f"{name}[" in line for line in lines) for name in names),
            "the longest legs have lines", names, *lines)


def case_time(test):
    """Without triggers it is of the thread that was kept from running."""
    path = test.directory()
    load = test.workload("relay", LEG_MS, path)
    run = test.child([PROGRAM, "-p", load.pid, "--sample-time", "60", "--record",
                      "-o", f"json:{path}/json", "-o", "-"], full=False)
    run.line("# Start sampling")
    load.go()
    run.signal(kdtest.signal.SIGINT)
    test.eq(run.wait(), 0, "status")
    sample = sample_of(path / "json")
    adds_up(test, sample)
    found = sample["critical_path"]
    test.ok(found["chosen"] in ("verdict", "kept"), "it says why this thread", found["chosen"])
    if found["chosen"] == "verdict":
        test.eq(found["thread"]["tid"], sample["verdict"][0]["worst_tid"],
                "the verdict names it first")


kdtest.main(case_relay, case_time)
