#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PID that another process gets while the window is open: what belongs to the target of either
process, which is nothing if the process is not in it. And threads whose TIDs differ in their upper
bits only."""

import os
import pathlib
import re
import signal
import sys

import kdprocesses
import kdtest
from kdprocesses import Run

FIRST, SECOND = 300, 70  # calls


class Turns(kdtest.Workload):
    """Processes that have the same PID, one after the other."""

    def __init__(self):
        super().__init__("turns")

    def ask(self, question, answer):
        self.send(question)
        line = self.line()
        if line == "taken":
            raise kdtest.Skip("another process has got the PID")
        if not line.startswith(answer):
            raise ValueError(line)
        return line.split()[1:]

    def begin(self, name):
        return int(self.ask(f"begin {name}", "pid")[0])

    def work(self, calls):
        self.ask(f"work {calls}", "done")

    def turn(self, name, calls):
        """Ends the current process; another one gets its PID."""
        self.ask("finish", "finished")
        self.begin(name)
        self.work(calls)


# "begin TID NAME CALLS": a thread with that TID, which makes so many calls; "finish TID": it ends.
THREADS = """
import ctypes, os, sys, threading
ends = {}
def live(tid, name, calls, ready, end):
    ready.right = threading.get_native_id() == tid
    if ready.right:
        ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
        for _ in range(calls):
            os.getppid()
    ready.set()
    if ready.right:
        end.wait()
def begin(tid, name, calls):
    for _ in range(1000):
        ready, end = threading.Event(), threading.Event()
        with open("/proc/sys/kernel/ns_last_pid", "w") as last:
            last.write(str(tid - 1))
        thread = threading.Thread(target=live, args=(tid, name, calls, ready, end))
        thread.start()
        ready.wait()
        if ready.right:
            ends[tid] = thread, end
            return "done"
        thread.join()
    return "taken"
print("ready", flush=True)
for line in sys.stdin:
    word, tid, *rest = line.split()
    if word == "begin":
        print(begin(int(tid), rest[0], int(rest[1])), flush=True)
    else:
        thread, end = ends.pop(int(tid))
        end.set()
        thread.join()
        while os.path.exists(f"/proc/self/task/{tid}"):
            pass
        print("done", flush=True)
"""
PID_MAX = pathlib.Path("/proc/sys/kernel/pid_max")
UPPER = 1 << 15  # the bits below are looked at first


class Alike:
    """A process whose threads have TIDs that differ in the upper bits only."""

    def __init__(self, test):
        self.child = test.child([sys.executable, "-c", THREADS])
        self.child.line("ready")
        self.pid = self.child.pid

    def ask(self, *words):
        self.child.send(" ".join(map(str, words)))
        if self.child.line() == "taken":
            raise kdtest.Skip("another thread has got the TID")

    def begin(self, tid, name, calls):
        self.ask("begin", tid, name, calls)
        return name, calls


def calls_of(sample, pid):
    """[(name of a thread, its getppid calls)]"""
    return sorted((thread["name"], sum(row["count"] for row in thread["syscalls"]
                                       if row["name"] == "getppid"))
                  for thread in sample["threads"] if thread.get("pid", pid) == pid)


def lives(sample, pid):
    """[(name, getppid calls, processes, whether it ended)] of the processes that had a PID, the
    oldest first, from the threads of each."""
    rows = sorted((row for row in sample["processes"] if row["pid"] == pid),
                  key=lambda row: row["start_ns"])
    threads = [thread for thread in sample["threads"] if thread["pid"] == pid]
    return [(row["name"], sum(call["count"] for thread in threads for call in thread["syscalls"]
                              if thread["process_start_ns"] == row["start_ns"]
                              and thread["name"] == row["name"] and call["name"] == "getppid"),
             row["members"], row["ended"]) for row in rows]


def case_one_process(test):
    """The target ends, and a stranger gets its PID before the program learns of the end."""
    turns = test.start(Turns())
    pid = turns.begin("first")
    run = Run(test, "-p", pid)
    turns.work(FIRST)
    run.child.signal(signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(run.child.pid, run.child.pid) == "T")
    turns.turn("second", SECOND)
    run.child.signal(signal.SIGCONT)
    sample = run.sample_of_late(signalled=False)
    test.ok(sample["target_exited"], "the target has ended")
    test.eq(calls_of(sample, pid), [("first", FIRST)], "the report has its calls alone")


def case_several(test):
    """One of several processes ends, and a stranger gets its PID."""
    turns, other = test.start(Turns()), test.workload("roles", "poll")
    pid = turns.begin("first")
    run = Run(test, "-p", f"{pid},{other.pid}")
    turns.work(FIRST)
    turns.turn("second", SECOND)
    sample = run.sample_of_late()
    test.eq(calls_of(sample, pid), [("first", FIRST)], "the report has its calls alone")
    rows = [row for row in sample["processes"] if row["pid"] == pid]
    test.eq([(row["name"], row.get("ended")) for row in rows], [("first", True)], "and its end")


def case_group(test):
    """A member of a control group ends, and a process outside gets its PID."""
    for version, top in kdprocesses.hierarchies().items():
        path = top / f"kdtest-reused-{os.getpid()}-{version}"
        with kdprocesses.group(path):
            turns, other = test.start(Turns()), test.workload("roles", "poll")
            pid = turns.begin("first")
            for member in (pid, other.pid):
                kdprocesses.join(path, member)
            run = Run(test, "--cgroup", path)
            turns.work(FIRST)
            turns.turn("second", SECOND)
            sample = run.sample_of_late()
            test.eq(calls_of(sample, pid), [("first", FIRST)],
                    f"version {version}: the report has its calls alone")


def case_member_again(test):
    """A child gets the PID of another child that has ended: both belong to the target."""
    for name in ("second", "first"):
        for ends in (False, True):
            turns = test.start(Turns())
            run = Run(test, "-p", turns.pid, "--follow-fork", "--resources")
            pid = turns.begin("first")
            turns.work(FIRST)
            turns.turn(name, SECOND)
            if ends:
                turns.ask("finish", "finished")
            sample = run.sample_of_late()
            stays = f"{name}, which {'ends' if ends else 'stays'}"
            test.eq(lives(sample, pid), [("first", FIRST, 1, True), (name, SECOND, 1, ends)],
                    f"{stays}: each has its own calls")
            test.eq([row["began"] for row in sample["processes"] if row["pid"] == pid],
                    [True, True], "and both began")
            used = [row for row in sample["resources"] if row["pid"] == pid]
            test.eq([row["process_start_ns"] for row in used],
                    sorted(row["start_ns"] for row in sample["processes"] if row["pid"] == pid),
                    "each has its own resources")
            test.eq(["memory_end_bytes" in row for row in used], [False, not ends],
                    "of which memory is that of the one that is there")
            check_text(test, run, pid, ["first", name])


def check_text(test, run, pid, names):
    """Each thread is listed below its process, also with --replay."""
    for source, text in (("report", run.child.stdout),
                         ("replay", test.program("--replay", run.path, "--full").stdout)):
        lines = re.findall(rf"^(PROCESS(?= {pid} )| *(?:{pid}|1x) +(?:first|second)\b)", text, re.MULTILINE)
        test.eq([line.split()[-1] for line in lines],
                [word for name in names for word in ("PROCESS", name)],
                f"{source}: a thread below each heading")


def case_many_turns(test):
    """A dozen processes have the same PID before the program looks again; then one more gets it."""
    turns = test.start(Turns())
    run = Run(test, "-p", turns.pid, "--follow-fork")
    run.child.signal(signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(run.child.pid, run.child.pid) == "T")
    pid = turns.begin("turn-0")
    turns.work(10)
    for turn in range(1, 12):
        turns.turn(f"turn-{turn}", 10 + turn)
    run.child.signal(signal.SIGCONT)
    turns.turn("turn-12", 22)
    sample = run.sample_of_late()
    test.eq(lives(sample, pid), [(f"turn-{turn}", 10 + turn, 1, turn < 12) for turn in range(13)],
            "each has its name, calls and end")


def case_folded(test):
    """So many processes have had one PID that they share a row, while others go on."""
    turns = test.start(Turns())
    run = Run(test, "-p", turns.pid, "--follow-fork")
    pid = turns.begin("first")
    turns.work(FIRST)
    for _ in range(30):
        turns.turn("same", SECOND)
    turns.turn("last", FIRST)
    sample = run.sample_of_late()
    test.eq(lives(sample, pid), [("first", FIRST, 1, True), ("same", 30 * SECOND, 30, True),
                                 ("last", FIRST, 1, False)], "rows by name, with all of their calls")


def alike(test, away, *options):
    """Each thread has its own calls: two that live at once, one whose TID another one gets, and
    those that start after the first of them has gone."""
    target = Alike(test)
    low = (target.pid + away) % UPPER
    tids = [low + part * UPPER for part in range(1, 6)]
    want = [target.begin(tids[0], "alike-0", 10), target.begin(tids[1], "alike-1", 20)]
    run = Run(test, "-p", target.pid, *options)
    want.append(target.begin(tids[2], "alike-2", 30))
    target.ask("finish", tids[0])
    want.append(target.begin(tids[3], "alike-3", 40))
    want.append(target.begin(tids[0], "alike-4", 50))
    for tid in (tids[1], tids[3]):
        target.ask("finish", tid)
    want.append(target.begin(tids[3], "alike-5", 60))
    for tid in (tids[0], tids[2]):
        target.ask("finish", tid)
    want.append(target.begin(tids[4], "alike-6", 70))
    sample = run.sample_of_late()
    # A thread that has ended, and to the report has not: it has the name that it was born with, too.
    if any(thread.get("tid") in tids[:1] + tids[2:4] and not thread["ended"] and
           not thread["name"].startswith("alike") for thread in sample["threads"]):
        raise kdtest.Skip("the kernel has hidden a last switch")
    got = [row for row in calls_of(sample, target.pid) if row[0].startswith("alike")]
    test.eq(got, [(name, calls if name > "alike-1" else 0) for name, calls in want],
            f"{' '.join(options) or 'all threads'}: each has its own calls")
    test.ok(not any(sample["losses"].values()), "and nothing is lost", sample["losses"])


def case_same_bits(test):
    """TIDs that are equal except for their upper bits, of threads that come and go."""
    before = PID_MAX.read_text()
    try:
        PID_MAX.write_text(str(1 << 22))
        for options in ((), ("--threads", "alike-*"), ("--follow-fork",)):
            for tries_left, away in enumerate((9000, 15000, 21000), -2):
                try:
                    alike(test, away, *options)
                    break
                except kdtest.Skip:  # of others, who have got one of the TIDs; or a switch was hidden
                    if not tries_left:
                        raise
    except OSError as error:
        raise kdtest.Skip(f"TIDs cannot be chosen: {error}")
    finally:
        PID_MAX.write_text(before)


kdtest.main(case_one_process, case_several, case_group, case_member_again, case_many_turns,
            case_folded, case_same_bits)
