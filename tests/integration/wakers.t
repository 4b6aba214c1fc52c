#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who ended waits, in what context, and who had woken that thread: against tokens that record who
passed them on."""

import json
import os
import pathlib
import re

import kdtest
import kdtrigger


ROUNDS, PERIOD_US = 14, 15_000
DEPTH = 3
ALL = ("--wait-filter=*", "--stack-trace-size=0", "--per-thread")
NETWORK = ("near", "far")
MOST = 0.7  # of the waits at least
TRIES = 4


class Run:
    """The workload's rounds, their waits in JSON, and its log."""

    def __init__(self, test, *options, args=(ROUNDS, PERIOD_US)):
        path = test.directory() / "json"
        self.load = test.workload("wakers", *args)
        run = test.capture(self.load.pid, *ALL, *options, "-o", f"json:{path}", "-o", "-")
        self.truths = {thread["role"]: thread for thread in self.load.go()["threads"]}
        run.interrupt(test, "status")
        sample, = kdtest.samples_of(path)
        self.waits = [row for row in sample["traces"]["waits"]
                      if row["state"].startswith("blocked")]

    def tid(self, role):
        return self.truths[role]["tid"]

    def rows(self, role, state="blocked"):
        """(a wait in the report, the same wait in the log), for each wait that was logged."""
        rows = [row for row in self.waits
                if row["tid"] == self.tid(role) and row["state"] == state]
        return [(row, logged) for logged in self.truths[role]["waits"] for row in rows
                if logged[0] <= row["start_ns"] and row["end_ns"] <= logged[1]]


def chain(row):
    """[(TID or None, name, context, time)] of the chain of threads that ended a wait."""
    found, by = [], row.get("ended_by")
    while by:
        found.append((by.get("tid"), by["name"], by.get("context"), by.get("time_ns")))
        by = by.get("woken_by")
    return found


def wanted(run, role, logged, wakers):
    """What the chain of a wait should be, from the token's TIDs: [(TID or None, context)]."""
    had = [(tid, "network" if role in NETWORK and not position else "task")
           for position, tid in enumerate(logged[2])]
    # ring0 had been awake for long when it gave the second token of a round.
    if role == "after" and run.truths[role]["waits"].index(logged) % 2:
        return had
    own = {truth["tid"] for truth in run.truths.values()}
    for position, (tid, _) in enumerate(had):
        if tid not in own and not wakers:
            return had[:position + 1]
    return [*had, (None, "timer")][:DEPTH]


def fault(run, row, want):
    """What differs between a wait's chain and this one; None: nothing."""
    found = chain(row)
    got = [(tid, context) for tid, _, context, _ in found]
    # A thread that was late had been woken before this wait began. A packet may be received by
    # ksoftirqd, later; then nobody knows who sent it.
    if got != want[:len(got)] and (want[0][1] != "network" or got != [(None, "network")]):
        return f"got {got}, want {want}"
    names = {truth["tid"]: name for name, truth in run.truths.items()}
    if any(name != names.get(tid, "relay" if tid else context) for tid, name, context, _ in found):
        return f"other names: {found}"
    times = [time for _, _, _, time in found]
    # None where the kernel did not report the wakeup: check() allows for a few of these.
    if times != sorted(times, reverse=True) or (times and times[-1] < row["start_ns"]):
        return f"times from {row['start_ns']} on: {found}"
    return None


def waits_of(run, roles):
    """The number of logged waits, without the first of each thread, and how many of them the report
    has."""
    logged = [truth for role in roles for truth in run.truths[role]["waits"][1:]]
    seen = sum(logged != run.truths[role]["waits"][0] for role in roles for _, logged in run.rows(role))
    return len(logged), seen


def run_seen(test, roles, *options):
    """A run that has most waits. Repeated if it has not: on a busy machine some threads are late
    for their token, and sleep for less than the minimum asked for."""
    for _ in range(TRIES):
        run = Run(test, *options)
        made, seen = waits_of(run, roles)
        if seen >= MOST * made:
            break
    # Some kernels hide the switches of a thread.
    test.ok(seen >= MOST * made, f"{seen} of {made} waits", run.waits[:2])
    return run


def check(test, run, roles, wakers=False):
    whole = seen = 0
    for role in roles:
        # At first a thread may be awake since another one had its "go", which passes it on.
        rows = [(row, wanted(run, role, logged, wakers)) for row, logged in run.rows(role)
                if logged != run.truths[role]["waits"][0]]
        faults = [text for row, want in rows for text in [fault(run, row, want)] if text]
        test.ok(not faults, f"{role}: nobody else is named", *faults[:3])
        seen += len(rows)
        whole += sum(len(chain(row)) == len(want) for row, want in rows)
    test.ok(whole >= MOST * seen, f"{whole} of {seen} have all whom the token tells of")


def case_own(test):
    """A token goes through four threads, another process and back, and UDP on loopback; wakeups of
    other processes are not followed."""
    roles = ("ring0", "ring1", "ring2", "ring3", "after", "near", "back", "far", "sleeper", "timeout")
    check(test, run_seen(test, roles, "--off-cpu=5ms"), roles)


def case_others(test):
    """With wakers, they are followed, too."""
    roles = ("ring3", "back", "far")
    check(test, run_seen(test, roles, "--off-cpu=5ms,wakers"), roles, wakers=True)


def disk_of(path):
    """The name of the disk that a file is on; "": it is on none."""
    device = os.stat(path).st_dev
    place = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    return place.resolve().name if place.exists() else ""


def case_disk(test):
    """A read from a disk ends when the disk's interrupt completes it."""
    path = test.directory() / "file"
    with path.open("wb") as file:  # whose pages are on the disk, and need not be written first
        file.write(os.urandom(ROUNDS << 20))
        file.flush()
        os.fsync(file.fileno())
    if not re.match(r"vd|nvme|sd|xvd", disk_of(path)):
        raise kdtest.Skip("temporary files are on no disk of their own")
    run = Run(test, "--off-cpu=1us", args=(ROUNDS, 1000, path))
    waited = len(run.truths["reader"]["waits"])
    if not waited:  # a virtual disk may answer before its interrupt could have been waited for
        raise kdtest.Skip("the disk answered each read at once")
    rows = [row for row, _ in run.rows("reader", "blocked_uninterruptible")]
    # Some kernels hide switches: as many of these, then, as of its sleeps before each read.
    slept = [row for row in run.waits if row["tid"] == run.tid("reader") and
             row.get("syscall", {}).get("name") == "clock_nanosleep"]
    hidden = max(0, ROUNDS - len(slept))
    test.ok(len(rows) + hidden >= MOST * waited, f"reads that waited: {waited}",
            [(row["state"], row["duration_ns"]) for row in run.waits])
    contexts = [by[0][2] if by else None for by in map(chain, rows)]
    test.ok(contexts.count("disk") >= MOST * len(rows), "the disk ended them", contexts)


# --- The critical path ---
#
# The critical path of a window, against a token that logs its way through eight threads, a pipe, a
# lock, a fsync and another process.

TOLERANCE = 0.02  # of the window, for each leg
RUNNING = ("user", "kernel", "page_fault", "reclaim", "running")
LEG_MS = 20
TRIGGERS = ("--start-trigger", "up:relay_round", "--stop-trigger", "ur:relay_round",
            "--sample-count", "1")


def inside(row, start, end):
    return max(0, min(row["end_ns"], end) - max(row["start_ns"], start))


def adds_up(test, sample):
    """The rows have no holes, and cover the whole window."""
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
    """{state: ns} of a thread in an interval; rows with several states count in proportion."""
    sums = {}
    for row in rows:
        length = row["end_ns"] - row["start_ns"]
        for state, ns in row["states_ns"].items() if row["thread"]["tid"] == tid else ():
            sums[state] = sums.get(state, 0) + ns * inside(row, start, end) / length
    return sums


def leg_check(test, path, leg, last):
    """Checks a leg of the log: the time in it that the path is not on its thread, and what the
    thread does."""
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
    sample = kdtest.samples_of(path / "json")[0]
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
    """The text has a table of few lines, with the longest rows, which add up to the window."""
    lines = text[text.index("CRITICAL PATH"):].split("\n\n")[0].split("\n")
    test.ok(len(lines) <= 12, "the table has 12 lines at most", *lines)
    shares = [float(share) for share in re.findall(r" <?([0-9.]+) %  ", "\n".join(lines[2:]))]
    test.between(sum(shares), 97, 103, "its shares add up to the window")
    names = {row["thread"]["name"] for row in path["rows"]
             if row["end_ns"] - row["start_ns"] > 0.2 * (path["end_ns"] - path["start_ns"])}
    test.ok(all(any(f"{name}[" in line for line in lines) for name in names),
            "the longest legs have lines", names, *lines)


def case_time(test):
    """Without triggers the path follows the thread that was kept from running."""
    path = test.directory()
    load = test.workload("relay", LEG_MS, path)
    run = test.capture(load.pid, "--record=10ms", "-o", f"json:{path}/json", "-o", "-", full=False)
    load.go()
    run.interrupt(test, "status")
    sample = kdtest.samples_of(path / "json")[0]
    adds_up(test, sample)
    found = sample["critical_path"]
    test.ok(found["chosen"] in ("verdict", "kept"), "it says why this thread", found["chosen"])
    if found["chosen"] == "verdict":
        test.eq(found["thread"]["tid"], sample["verdict"][0]["worst_tid"],
                "the verdict names it first")


kdtest.main(case_own, case_others, case_disk, case_relay, case_time)
