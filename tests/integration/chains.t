#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thread that waits for another one of the target: what kept that one is the cause, in a window
that the user chose, and with locks. Who waits for whom, and why, is what the workload does."""

import json
import re
import sys

import kdtest
from kdtest import MS
from kdtrigger import BOTH, UNLIMITED, Triggered

WORK_NS = 30 * MS
LATE_NS = WORK_NS // 8
WAITS = {"condition": "wait", "poll": "wait", "mutex": "lock"}


def is_undisturbed(call):
    """Whether the main thread waited for nearly all of the work, which took no longer than it has to,
    by the workload's own clock."""
    before, waits, begun, ended, after = call
    return (waits - before < LATE_NS and ended - begun < WORK_NS + LATE_NS and
            after - ended < LATE_NS)


def chosen(test, wait, work):
    """Captures calls of the workload. Returns its truths, the window of the first call in which nobody
    else kept its threads from a CPU (None: there is none), and the sentences."""
    load = test.workload("led", wait, work, wrapper=() if kdtest.one_cpu() else ("chrt", "-f", "5"))
    path = test.directory() / "json"
    run = Triggered(test, load.pid, *BOTH, *UNLIMITED, "-o", f"json:{path}", "-o", "text")
    truths = load.ask("go")
    run.stop(test)
    load.end()
    for sample in kdtest.samples_of(path):
        call, = [call for call in truths["waits"]
                 if call[0] <= sample["window"]["start_ns"] < sample["window"]["end_ns"] <= call[-1]]
        if not is_undisturbed(call) and not kdtest.one_cpu():
            continue
        path.write_text(json.dumps(sample) + "\n")
        text = test.program("--replay", path, "--summary").stdout
        said = re.findall(r"^VERDICT (.*)$", re.sub(r"\n {8}", " ", text), re.MULTILINE)
        return truths, sample, " ".join(said)
    return truths, None, ""


def led_to(test, wait, work, cause, who, via, words):
    """Checks one window of it: the cause of most of the waits for the worker, whose doing it was,
    and what is said. who and via: names of truths."""
    what = f"{wait}, {work}"
    truths, sample, said = chosen(test, wait, work)
    if not sample:
        test.skip(what, f"others had its CPUs in each call: {truths['waits']}")
        return
    test.eq(sample["verdict_tid"], truths["main"], f"{what}: of the thread that waited")
    chains = kdtest.thread_of(sample, truths["main"])["chains"]
    test.eq({chain["ended_by_tid"] for chain in chains}, {truths["worker"]},
            f"{what}: for whom it waited")
    slept = sum(kdtest.thread_of(sample, truths["main"])["ledger"][state]
                for state in ("blocked_ns", "blocked_uninterruptible_ns"))
    followed = sum(chain["total_ns"] for chain in chains)
    test.between(followed, slept - 5 * MS, slept, f"{what}: all of its sleep is followed")
    test.ok(kdtest.thread_of(sample, truths["main"])["followed_ns"] >= followed,
            f"{what}: which is what it says")
    if kdtest.one_cpu():  # which worker and others have, too: a cause of its own, or another word
        return
    led = sum(row["ns"] for row in sample["verdict"]
              if row["cause"] == cause and row["who"].get("tid") == truths[who])
    test.ok(led > WORK_NS / 2, f"{what}: the cause, and whose doing", sample["verdict"])
    first = sample["verdict"][0]
    test.eq((first["cause"], first["who"].get("tid")), (cause, truths[who]), f"{what}: it is the first")
    for name in via:
        test.ok(f"{name}[{truths[name]}]" in said, f"{what}: {name} is named", said)
    # With one CPU the same thread may be the culprit of more than one cause, which has other words.
    for word in () if "largest_culprit" in sample else words:
        test.ok(word in said, f"{what}: in words", said)


def case_computes(test):
    for wait in ("condition", "poll", "mutex"):
        led_to(test, wait, "computes", WAITS[wait], "worker", ("worker",), ("which ran meanwhile",))


def case_sleeps(test):
    for wait in ("condition", "poll", "mutex"):
        led_to(test, wait, "sleeps", WAITS[wait], "worker", ("worker",), ("which slept meanwhile in",))


def case_reads(test):
    for wait in ("condition", "poll", "mutex"):
        led_to(test, wait, "reads", "peer", "outside", ("worker", "outside"),
               ("which waited for outside",))


def case_two(test):
    led_to(test, "condition", "two", "peer", "outside", ("worker", "second", "outside"),
           ("which waited for second",))


def case_crowded(test):
    kdtest.only_beside_another_cpu("who waits for a thread without a CPU would be without, too")
    for wait in ("condition", "mutex"):
        led_to(test, wait, "crowded", "task", "outside", ("worker", "outside"),
               ("which waited for a CPU, on which outside",))


# A thread waits for another one, again and again; prints how often it did, when, and how long each
# of the last hundred waits took.
AGAIN = """
import threading, time
asked, done = threading.Semaphore(0), threading.Semaphore(0)
def work():
    while True:
        asked.acquire()
        time.sleep(0.0015)
        done.release()
threading.Thread(target=work, daemon=True).start()
n, took = 0, [0] * 100
print("ready", flush=True)
while True:
    before = time.monotonic_ns()
    asked.release()
    done.acquire()
    took[n % 100] = time.monotonic_ns() - before
    n += 1
    if n % 100 == 0:
        print("n", n, time.monotonic_ns(), *took, flush=True)
"""
KNOWN = 128  # long sleeps of a thread, half of them of less than 4 ms


def case_part(test):
    """Of many sleeps only the last ones are followed, and the report says over what it speaks."""
    load = test.child([sys.executable, "-c", AGAIN])
    load.line("ready")
    path = test.directory() / "json"
    done = test.program("-p", load.pid, "--sample-time", "2s", "--sample-count", "1", "--full",
                        "-o", f"json:{path}", "-o", "-")
    sample, = kdtest.samples_of(path)
    window = sample["window"]
    waits, took = 0, []
    while waits == 0 or at < window["end_ns"]:
        n, at, *lengths = map(int, load.line("n").split()[1:])
        waits += 100 * (window["start_ns"] <= at < window["end_ns"])
        took += lengths if at >= window["start_ns"] else []
    if waits < 3 * KNOWN:
        test.skip("a part is followed", f"it waited {waits} times only: the machine is busy")
        return
    thread = kdtest.thread_of(sample, load.pid)
    asleep = sum(thread["ledger"][state] for state in ("blocked_ns", "blocked_uninterruptible_ns"))
    # A long sleep takes 1 ms at least, and no longer than the wait of which it is.
    test.between(thread["followed_ns"], min(0.9 * KNOWN / 2 * MS, asleep / 2), sum(sorted(took)[-KNOWN - 1:]),
                 "as much as those that are known")
    line = re.search(r"sleeps of ([0-9,]+) ns were followed, of ([0-9,]+) ns asleep$", done.stdout,
                     re.MULTILINE)
    test.eq(line and [int(part.replace(",", "")) for part in line.groups()],
            [thread["followed_ns"], asleep], "and the section says so")


# When told to, waits for another thread for 0.3 s, and then sleeps for a millisecond, many times.
THEN_MANY = """
import sys, threading, time
asked, done = threading.Semaphore(0), threading.Semaphore(0)
def work():
    asked.acquire()
    time.sleep(0.3)
    done.release()
    asked.acquire()
other = threading.Thread(target=work, daemon=True)
other.start()
print("ready", other.native_id, flush=True)
sys.stdin.readline()
asked.release()
done.acquire()
for _ in range(500):
    time.sleep(0.001)
print("done", flush=True)
sys.stdin.readline()
"""


def case_outnumbered(test):
    """One long sleep is followed, however many short ones come after it."""
    load = test.child([sys.executable, "-c", THEN_MANY])
    other = int(load.line("ready").split()[1])

    def act():
        load.send("go")
        load.line("done")
    sample = test.sample(load.pid, act)
    chains = kdtest.thread_of(sample, load.pid).get("chains", ())
    test.ok(sum(chain["total_ns"] for chain in chains if chain.get("tid") == other) > 250 * MS,
            "it is known for whom it waited", chains)


kdtest.main(case_computes, case_sleeps, case_reads, case_two, case_crowded, case_part, case_outnumbered)
