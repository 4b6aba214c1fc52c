#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs call their waits: the functions in which threads sleep, whose stacks are read without
stopping them, and who has the lock of a file that a program tries to get."""

import json
import os
import re
import signal
import sys

import kdtest
from kdstaged import BEFORE_OTHERS
from kdtest import MS

ROLES = "lock", "idle", "turns", "own"
GIL, ROW_LOCK, SLEEP = 37 * MS, 33 * MS, 14 * MS  # for how long the workload sleeps in each function


class Sleepers(kdtest.Workload):
    """The workload, and the TIDs of its threads. They go before others: one that waits for a CPU for
    most of the time hardly sleeps."""

    def __init__(self, test):
        super().__init__("sleepers", wrapper=BEFORE_OTHERS)
        test.start(self)
        self.tids = dict(zip(ROLES, map(int, self.ready)))

    def log(self, until):
        """{role: [[function, began, ended], ...]}, and "early", with all sleeps that began by a time."""
        def logged():
            log = self.ask("log")
            return log if all(log[role] and log[role][-1][1] >= until for role in ("lock", "turns")) else None
        return kdtest.wait_until(logged)


def sample_of(test, pid, *args, time="1s"):
    """A sample in JSON, with the sentences of the verdict. The program looks at sleeping threads
    every 20 ms, for which it has to have a CPU."""
    path = test.directory() / "sample.json"
    done = test.program("-p", pid, "--sample-time", time, "--sample-count", "1", "--summary",
                        "-o", f"json:{path}", "-o", "-", *args, wrapper=BEFORE_OTHERS)
    said = re.sub(r"\n {8}", " ", done.stdout)
    return kdtest.samples_of(path)[0], re.findall(r"^VERDICT (.*)$", said, re.MULTILINE)


def sleeps_of(sample, tid):
    """{function: [rows of sleeps]} of a thread."""
    found = {}
    for thread in sample["threads"]:
        for row in thread["descriptors"] if thread["tid"] == tid else []:
            found.setdefault(row.get("user_function"), []).append(row)
    return found


def slept(log, start, end, lengths):
    """How long a thread slept in a window, at least and at most, by function: of each sleep that
    began in it as long as it had to, and of all the time until it had a CPU again."""
    least, most = [0] * len(lengths), [0] * len(lengths)
    for function, began, ended in log:
        if began >= start and began + lengths[function] <= end:
            least[function] += lengths[function]
        most[function] += max(0, min(ended, end) - max(began, start))
    return least, most


def case_functions(test):
    """Each is found, through frames whose size only a frame pointer tells, and has its share."""
    load = Sleepers(test)
    sample, said = sample_of(test, load.pid, time="2s")
    start, end = sample["window"]["start_ns"], sample["window"]["end_ns"]
    log = load.log(end)
    test.eq(log["early"], 0, "no sleep ended early")
    for role, function in (("lock", "take_gil"), ("idle", "secure_read"), ("own", "in_futex")):
        found = sleeps_of(sample, load.tids[role])
        test.ok(function in found, f"{role}: the function", found)
        others = [row for name, rows in found.items() for row in rows if name != function]
        # Of a sleep that began or ended with a switch that the kernel hid, nothing is known.
        if sum(row["count"] for row in others if "call" not in row) <= sample["resynced"]:
            others = [row for row in others if "call" in row]
        test.ok(sum(row["total_ns"] for row in others) < 0.05 * (end - start), f"{role}: and no other", found)
    found = sleeps_of(sample, load.tids["turns"])
    least, most = slept(log["turns"], start, end, (ROW_LOCK, SLEEP))
    if test.eq(set(found) - {None}, {"XactLockTableWait", "pg_sleep"}, "turns: both functions"):
        got = [sum(row["total_ns"] for row in found[name]) for name in ("XactLockTableWait", "pg_sleep")]
        test.between(sum(got), 0.9 * sum(least), sum(most), "turns: how long")
        # By some hundred looks, which two functions share.
        percent = 100 * least[0] / sum(least)
        test.between(100 * got[0] / sum(got), percent - 16, percent + 16,
                     "turns: the share of XactLockTableWait, in percent")
    rows = {row["program"]["function"]: row for row in sample["verdict"] if "program" in row}
    locks = [row for row in sample["verdict"] if row["cause"] == "lock"]
    (gil,), _ = slept(log["lock"], start, end, (GIL,))
    test.ok(sum(row["ns"] for row in locks) >= 0.9 * gil + least[0] - 0.2 * sum(least), "locks are a loss", locks)
    test.ok("take_gil" in rows or "XactLockTableWait" in rows, "by their functions", rows)
    test.ok(any("(take_gil)" in sentence or "(XactLockTableWait)" in sentence for sentence in said),
            "in words", said)
    idle, = [thread for thread in sample["threads"] if thread["tid"] == load.tids["idle"]]
    test.ok(not any(row["worst_tid"] == idle["tid"] for row in sample["verdict"]), "an idle one is idle")


def case_unwanted(test):
    """Who wants no stacks has none."""
    load = Sleepers(test)
    sample, _ = sample_of(test, load.pid, "--stack-trace-size", "0")
    found = sleeps_of(sample, load.tids["lock"])
    test.eq(set(found), {None}, "no function is looked for")


def case_window(test):
    """In windows that are over before anybody looks, stacks of -s say it."""
    load = Sleepers(test)
    path = test.directory() / "sample.json"
    test.program("-p", load.pid, "--start-trigger", "up:pg_sleep,same-thread", "--stop-trigger", "ur:pg_sleep",
                 "--sample-count", "6", "-s", "5ms", "-o", f"json:{path}", "-o", "-", "--summary")
    samples = kdtest.samples_of(path)
    found = [set(sleeps_of(sample, load.tids["turns"])) - {None} for sample in samples]
    # Of a sleep that began or ended with a switch that the kernel hid, nothing is known.
    known = [each for each, sample in zip(found, samples) if each or not sample["resynced"]]
    test.eq((len(found), known), (6, [{"pg_sleep"}] * max(3, len(known))), "in each of them") or \
        test.remark(*samples)


def case_other_object(test):
    """What a function of Python means for its own waits says nothing of those of a library that it
    calls: this is a semaphore, not its global lock."""
    target = test.child([sys.executable, "-c", """
import multiprocessing
semaphore = multiprocessing.Semaphore(0)
print("ready", flush=True)
semaphore.acquire()"""])
    target.line("ready")
    kdtest.wait_until(lambda: kdtest.waits_in(target.pid, "futex"))
    sample, said = sample_of(test, target.pid)
    test.ok(not sample["verdict"], "it is idle", said)


HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_SH if sys.argv[2] == "read" else fcntl.LOCK_EX, 1)
print("ready", flush=True)
time.sleep(1000)
"""
# As SQLite does: functions with its names, as a library that is compiled for this.
TRY = """
import ctypes, sys
file = open(sys.argv[1], "r+b")
library = ctypes.CDLL(sys.argv[2])
print("ready", flush=True)
while True: library.sqlite3_step(20000)
"""
STEP = "#include <unistd.h>\nvoid sqlite3_step(int us) { usleep(us); asm volatile(\"\" ::: \"memory\"); }\n"


def case_file_lock(test):
    """Who has the lock of a file of SQLite: who writes, before who reads; of several, nobody."""
    path = test.directory() / "base"
    path.write_bytes(b"x" * 100)
    library = test.preload(STEP)
    reader = script(test, HOLD, path, "read")
    target = script(test, TRY, path, library, wrapper=BEFORE_OTHERS)  # it sleeps for most of the time
    sample, said = sample_of(test, target.pid, time="1s")
    row, = [row for row in sample["verdict"] if row["cause"] == "lock"] or [{}]
    test.eq(row.get("program", {}).get("function"), "sqlite3_step", "the function")
    test.eq(row.get("who", {}).get("pid"), reader.pid, "the only one, who reads")
    test.ok(any(f"which python3[{reader.pid}] ha" in sentence for sentence in said) or
            any(f"[{reader.pid}] ha" in sentence for sentence in said), "in words", said)
    script(test, HOLD, path, "read")
    sample, _ = sample_of(test, target.pid, time="1s")
    row, = [row for row in sample["verdict"] if row["cause"] == "lock"] or [{}]
    test.eq(row.get("who"), {}, "two of them")


LIBRARY = "#include <poll.h>\nvoid XactLockTableWait(int ms) { poll(0, 0, ms); asm volatile(\"\" ::: \"memory\"); }\n"
WAIT = "import ctypes, sys; print('ready', flush=True); ctypes.CDLL(sys.argv[1]).XactLockTableWait(-1)"
SERVER = """
import os, subprocess, sys
for title in sys.argv[2:]:
    print(subprocess.Popen([title, "1000"], executable="/bin/sleep").pid)
waiter = subprocess.Popen([sys.argv[1].split("|")[0], "-c", *sys.argv[1].split("|")[1:]], executable=sys.executable)
print(waiter.pid, flush=True)
waiter.wait()
"""


def case_sessions(test):
    """Who has a lock of PostgreSQL, by titles: the only one in a transaction that does not wait."""
    library = test.preload(LIBRARY)
    server = "postgres: "
    others = [server + title for title in (
        "checkpointer", "walwriter", "autovacuum launcher", "me base [local] idle",
        "me base 10.0.0.7(51934) idle", "me base [local] SELECT waiting")]

    def holder(*titles, waits="UPDATE waiting"):
        said = f"{server}me base [local] {waits}|{WAIT}|{library}"
        child = test.child([sys.executable, "-c", SERVER, said, *others, *(server + title for title in titles)],
                           start_new_session=True)
        test.stack.callback(lambda: os.killpg(child.pid, signal.SIGKILL))
        child.line("ready")
        pids = [int(word) for word in child.stdout.split() if word.isdigit()]
        kdtest.wait_until(lambda: kdtest.waits_in(pids[-1], "poll"))
        sample, said = sample_of(test, pids[-1])
        row, = [row for row in sample["verdict"] if row["cause"] == "lock"] or [{}]
        test.eq(row.get("program", {}).get("function"), "XactLockTableWait", "the function")
        return row.get("who", {}).get("pid"), pids[len(others):-1], said
    found, (pid,), said = holder("me base 10.0.0.7(51934) idle in transaction")
    test.eq(found, pid, "the one that is idle in a transaction")
    test.ok(f"[{pid}] has (idle in transaction)" in said[0], "in words", said)
    found, (pid,), _ = holder("autovacuum worker base")
    test.eq(found, pid, "or one that cleans up")
    found, _, _ = holder("me base [local] UPDATE", "me base [local] idle in transaction")
    test.eq(found, None, "of two it may be either")
    found, _, _ = holder("me base [local] UPDATE", waits="UPDATE")
    test.eq(found, None, "nobody, if it does not say that it waits")


def script(test, text, *args, wrapper=()):
    child = test.child([*wrapper, sys.executable, "-c", text, *args])
    child.line("ready")
    return child


kdtest.main(case_functions, case_unwanted, case_other_object, case_window, case_file_lock, case_sessions)
