#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether other CPUs were idle while a thread waited for one, against the kernel's own tracing of
all switches."""

import os
import re

import kdtest
from kdothers import hog, observe
from kdtest import MS
from kdtraced import Traced

SWITCH = re.compile(r" \[(\d+)\] .*? (\d+)\.(\d{6}): sched_switch: .*?prev_pid=(\d+) .*?"
                    r"prev_state=(\S+) ==> .*?next_pid=(\d+) ")
TICK = 10 * MS  # of a kernel with CONFIG_HZ_100


def switches(trace):
    """[(time in ns, CPU, the thread that leaves it, its state, the one that comes)]"""
    trace.write("tracing_on", 0)
    text = (trace.folder / "trace").read_text(errors="replace")
    return [(int(seconds) * kdtest.SECOND + int(micros) * 1000, int(cpu), int(prev), state, int(next_))
            for cpu, seconds, micros, prev, state, next_ in SWITCH.findall(text)]


def spans(window, edges, begun):
    """[(since, until)] in a window of what begins and ends at [(time, begins)], or had begun before."""
    found, since = [], window[0] if begun else None
    for at, begins in edges:
        if begins and since is None:
            since = at
        elif not begins and since is not None:
            found.append((max(since, window[0]), min(at, window[1])))
            since = None
    if since is not None:
        found.append((max(since, window[0]), window[1]))
    return [span for span in found if span[0] < span[1]]


def both(waits, idle, spare=0):
    """How long two lists of spans overlap, without so much of each."""
    return sum(max(0, min(wait[1], rest[1]) - max(wait[0], rest[0]) - spare)
               for wait in waits for rest in idle)


def check(test, *others):
    """Lets the target compete for the last CPU with these, and compares. Returns the time that its
    thread waited, and the overlap by the trace."""
    kdtest.only_beside_another_cpu("for others to be idle")
    cpu = kdtest.last_cpu()
    target = hog(test, f"spin:{cpu}")
    tid, = target.tid("spin")
    with Traced(None, "sched/sched_switch") as trace:
        report, _ = observe(test, target, *others, freeze=False,
                            until=lambda ran: min(ran.values()) >= 300 * MS)
        events = switches(trace)
    thread, = (row for row in report.sample["threads"] if row["tid"] == tid)
    window = report.sample["window"]["start_ns"], report.sample["window"]["end_ns"]
    turns = [event for event in events if tid in (event[2], event[4])]
    waits = spans(window, [(at, prev == tid and state[0] == "R") for at, _, prev, state, _ in turns],
                  not turns or turns[0][4] == tid)
    most = least = 0
    for each in os.sched_getaffinity(0) - {cpu}:
        here = [event for event in events if event[1] == each]
        # Without any, the CPU is idle or busy throughout.
        idle = spans(window, [(at, next_ == 0) for at, _, _, _, next_ in here],
                     not here or here[0][2] == 0)
        most += both(waits, idle)
        if os.path.exists("/proc/schedstat"):  # else only idle time that goes on at a tick is seen
            least = max(least, 0.6 * both(waits, idle) - TICK if here else 0)
        else:
            least = max(least, both(waits, idle, 2 * TICK) if here else 0)
    waited = sum(until - since for since, until in waits)
    ready = sum(ns for state, ns in thread["ledger"].items() if state.startswith("ready"))
    if report.sample["resynced"] or abs(ready - waited) > TICK:
        raise kdtest.Skip(f"the kernel's tracing has not all switches: {ready} ns ready, {waited} traced")
    allowed, barred, none = (thread[f"waited_idle_{kind}_ns"] for kind in ("allowed", "barred", "none"))
    print(f"# waited {waited / MS:.1f} ms, idle meanwhile {least / MS:.1f} to {most / MS:.1f}: "
          f"{allowed / MS:.1f}, {barred / MS:.1f}, {none / MS:.1f}")
    test.between(allowed, 0, MS, "it may use no other")
    test.between(barred, least, most + 0.05 * waited + TICK, "others were idle as traced")
    test.between(none, 0.7 * waited - most - 2 * TICK, waited - least + TICK, "and the rest of it, none")
    for row in report.sample["verdict"]:
        if row["cause"] == "task" and row["ns"] > waited / 2:
            test.between(row["waited_idle_barred_ns"], 0.5 * barred * row["ns"] / waited,
                         1.1 * barred, "its cause has that of its share")
    return target, waited, barred, most


def said(test, target):
    """The sentence of the verdict, and the advice."""
    text = test.program("-p", target.pid, "--summary", "--sample-time", "300ms").stdout
    text = " ".join(text.split())
    return text.partition("VERDICT")[2].partition("STATE")[0], text.partition("NEXT")[2]


def case_barred(test):
    """The other CPUs have nothing to do but what else runs on the machine, and the thread may not
    use them."""
    cpu = kdtest.last_cpu()
    target, *_ = check(test, hog(test, f"fifo:{cpu}:60:100"))
    for _ in range(10):
        verdict, advice = said(test, target)
        if "only CPUs that it may not use were idle, for" in verdict:
            break
    else:
        raise kdtest.Skip("they were never idle")
    test.ok("taskset: move it, or who had its CPU, to those that were idle" in advice,
            "and what to do", advice)


def case_busy(test):
    """The other CPUs are busy."""
    cpu = kdtest.last_cpu()
    rest = sorted(set(range(cpu)) & set(os.sched_getaffinity(0)))
    others = [hog(test, f"spin:{each}") for each in rest]
    for other in others:
        other.send("begin")
    target, waited, barred, _ = check(test, hog(test, f"fifo:{cpu}:60:100"))
    test.between(barred, 0, 0.1 * waited + TICK, "so none was idle")
    verdict, _ = said(test, target)
    test.ok("idle" not in verdict, "and it is not said", verdict)


if __name__ == "__main__":
    kdtest.main(case_barred, case_busy)
