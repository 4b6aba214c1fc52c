#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who held the lock that a thread waited for, what the holder did meanwhile, and who released it:
staged locks, about which the workload knows all this."""

import collections
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import kdreport
import kdstacks
import kdtest
import kdunseen
from kdheld import Held
from kdneeds import need, tool
from kdprocesses import children_of
from kdtest import MS

WAITS = 12  # that each thread has in a window, however long that takes; join: 1
SAMPLE = 0.3  # s, where one of them is enough
EACH = 200_000  # ns: from the workload's clock to its sleep and back, for each wait
KINDS = {"asleep": "mutex", "heap": "mutex", "busy": "mutex", "reading": "mutex", "preempted": "mutex",
         "pi": "pi_mutex", "robust": "robust_mutex", "rwlock": "rwlock", "two": "mutex",
         "condition": "condition", "join": "join", "timed": "condition",
         "page_pipe": "kernel_mutex", "page_outside": "kernel_mutex", "page_net": "kernel_mutex",
         "page_file": "kernel_rwsem_write", "page_directory": "kernel_rwsem_write"}


class Run:
    """A window with so many waits of each role."""

    def __init__(self, test, *roles, options=()):
        self.load = test.workload("locks", *roles)
        path = test.directory() / "report.json"
        capture = test.capture(self.load.pid, "-o", f"json:{path}", "-o", "-", *options)
        kdtest.wait_until(lambda: all(
            sum(before > capture.opened for before, _ in log["waits"]) >= (1 if role == "join" else WAITS)
            for role, log in self.load.ask("log").items()))
        if "join" in roles:  # the next one is to go on
            self.load.settle([self.load.ask("log")["join"]["tid"]])
        capture.signal(signal.SIGINT)
        test.eq((capture.wait(), capture.stderr), (0, ""), "a sample is taken")
        self.log = self.load.ask("log")
        self.load.signal(signal.SIGSTOP)  # nobody looks any more
        self.sample = json.loads(path.read_text().splitlines()[0])
        self.start, self.end = self.sample["window"]["start_ns"], self.sample["window"]["end_ns"]
        self.text = capture.stdout
        text, _ = kdstacks.parse(capture.stdout)
        self.report = kdreport.parse(text)[0]
        # Those that are waited for; the last may not have got its own name yet.
        born = {thread.tid for thread in self.report.threads if thread.name in ("holder", "join")}
        test.books(self.report, late=born - {self.log["join"]["tid"]} if "join" in roles else ())

    def thread(self, role):
        return kdtest.thread_of(self.sample, self.log[role]["tid"])

    def truth(self, role):
        """The number of waits in the window, the time of those that began there, and the time of
        all. One wait may be several to the kernel if somebody else got the lock first."""
        waits = [(before, min(after, self.end)) for before, after in self.log[role]["waits"]
                 if after > self.start and before < self.end]
        return (len(waits), sum(after - before for before, after in waits if before > self.start),
                sum(after - before for before, after in waits))


def merged(rows):
    rows = list(rows)
    keys = ("count", "total_ns", "holder_running_ns", "holder_ready_ns", "holder_asleep_ns",
            "ended_by_others")
    return {key: sum(row[key] for row in rows) for key in keys}


def check_role(test, run, role):
    """Compares the sum of a thread's waits for the lock of its role."""
    thread, kind, log = run.thread(role), KINDS[role], run.log[role]
    rows = [row for row in thread["locks"] if row["kind"] == kind]
    count, least, most = run.truth(role)
    if not test.ok(rows, f"{role}: there are waits for a {kind}", thread["locks"]):
        return rows, None
    lock = merged(rows)
    ledger = thread["ledger"]
    awake = ledger["life_ns"] - ledger["blocked_ns"] - ledger["blocked_uninterruptible_ns"]
    if role != "join":  # of which the one that goes on is not logged
        # Who takes a lock writes afterwards who has it: one that lost the CPU between is not known.
        # A wait whose end the kernel did not report is in the row of others.
        unnamed = sum(row["total_ns"] for row in thread["locks"]
                      if row["kind"] in ("futex", "condition", "other") and row["kind"] != kind)
        test.between(lock["total_ns"], 0.98 * least - awake - EACH * count - unnamed,
                     # The last one may not have been logged.
                     most + EACH * (count + 2) + 100 * MS, f"{role}: the time that it waited")
    if kind != "condition":
        # A new thread logs its TID itself: one that has had no CPU yet is not in the log.
        unborn = {row["holder_tid"] for row in rows if role == "join" and not
                  row["holder_running_ns"] + row["holder_asleep_ns"]}
        test.ok({row.get("holder_tid") for row in rows} - unborn <= set(log["holders"]) and
                len(unborn) < 2, f"{role}: for those who had it", rows, log["holders"])
        doing = lock["holder_running_ns"] + lock["holder_ready_ns"] + lock["holder_asleep_ns"]
        off = lock["total_ns"] * 0.02 * kdtest.SLACK + EACH
        test.between(doing, lock["total_ns"] - off, lock["total_ns"] + off,
                     f"{role}: what the holder did is all of that time")
    else:
        test.ok(not any("holder_tid" in row for row in rows), f"{role}: nobody has it", rows)
    return rows, lock


def names_of(rows):
    return {row["holder_slept_in"]["name"] for row in rows if "holder_slept_in" in row}


def case_holder_asleep(test):
    roles = ("asleep", "reading", "pi", "robust", "rwlock")
    run = Run(test, *roles)
    for role in roles:
        rows, lock = check_role(test, run, role)
        if not lock:
            continue
        # And waited for a CPU, where others have it.
        test.ok(lock["holder_asleep_ns"] > 4 * lock["holder_running_ns"],
                f"{role}: the holder slept", lock)
        test.eq(names_of(rows), {"read" if role == "reading" else "clock_nanosleep"},
                f"{role}: in which call")
        test.ok({row.get("released_by_tid") for row in rows} <= {*run.log[role]["holders"]},
                f"{role}: it was the holder who released it", rows)
        test.eq({row.get("released_by_name") for row in rows}, {"holder"}, f"{role}: its name")
        if run.log[role]["address"]:
            test.eq({int(row["address"], 16) for row in rows}, {run.log[role]["address"]},
                    f"{role}: the lock's address")


def case_holder_awake(test):
    """A holder that computes; or would, if a real-time thread did not have its CPU."""
    run = Run(test, "busy", "preempted")
    _, busy = check_role(test, run, "busy")
    _, preempted = check_role(test, run, "preempted")
    for role, lock in (("busy", busy), ("preempted", preempted)):
        test.ok(lock and lock["holder_asleep_ns"] <= lock["total_ns"] / 50,
                f"{role}: the holder did not sleep", lock)
    test.ok(preempted and preempted["holder_ready_ns"] > preempted["holder_running_ns"],
            "preempted: it had no CPU", preempted)
    test.ok(busy and busy["holder_running_ns"] > 0, "busy: it ran", busy)


def symbols():
    """{name: (start, end)} of the workload's functions and variables, as binutils find them."""
    nm = subprocess.run(["nm", "--format=posix", "--defined-only", kdtest.WORKLOADS / "locks"],
                        check=True, stdout=subprocess.PIPE, text=True).stdout
    fields = [line.split() for line in nm.splitlines()]
    return {name: (int(start, 16), int(start, 16) + int(size, 16))
            for name, _, start, size in (each for each in fields if len(each) == 4)}


def case_variables(test):
    """Locks inside a variable of the program, whose place binutils know; in memory that the program
    allocated; and on a stack, about which nothing is known."""
    run = Run(test, "asleep", "heap", "join")
    start, _ = symbols()["scenes"]
    base = next(int(line.split("-")[0], 16)
                for line in pathlib.Path(f"/proc/{run.load.pid}/maps").read_text().splitlines()
                if line.endswith("/locks"))
    for role, want in (("asleep", ("scenes", run.log["asleep"]["address"] - base - start, "locks")),
                       ("heap", (None, None, "[heap]")), ("join", (None, None, None))):
        rows = [row for row in run.thread(role)["locks"] if row["kind"] == KINDS[role]]
        test.eq({(row.get("symbol"), row.get("offset"), row.get("object")) for row in rows}, {want},
                f"{role}: what it is")


CALLERS = {"asleep": "mutex_take", "heap": "heap_take", "pi": "mutex_take", "rwlock": "reader_take",
           "condition": "condition_take", "timed": "timed_take", "page_pipe": "page_pipe_take"}


def case_callers(test):
    """The functions of the program that waited, without any option for stacks: each role has its
    own, and all call the same locking function."""
    known = symbols()
    for roles in (("asleep", "heap", "pi", "rwlock"), ("condition", "timed", "page_pipe")):
        run = Run(test, *roles)
        for role in roles:
            if role.startswith("page") and not kernel_tells_locks():
                continue
            rows = [row for row in run.thread(role)["locks"] if row["kind"] == KINDS[role]
                    and row["max_ns"] >= 6 * MS]
            test.ok(rows and all("called_from" in row for row in rows), f"{role}: it is known", rows)
            for row in rows:
                match = re.fullmatch(r"(\w+)\+(0x\w+) < waiter\+(0x\w+) < .*\[locks\]",
                                     row.get("called_from", ""))
                if test.ok(match and match[1] == CALLERS[role], f"{role}: which function",
                           row.get("called_from")):
                    for name, offset in ((match[1], match[2]), ("waiter", match[3])):
                        start, end = known[name]
                        test.between(int(offset, 16), 1, end - start, f"{role}: where in {name}")


def case_memory(test):
    """The child that resolves stacks maps none of the memory that BPF programs read."""
    load = test.workload("locks", "asleep")
    child = test.child([kdtest.PROGRAM, "-p", load.pid, "--sample-time", SAMPLE, "--sample-count",
                        0])
    child.line("# Sample dump")
    children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
    pids = kdtest.wait_until(lambda: children.read_text().split())
    maps = [pathlib.Path(f"/proc/{pid}/maps").read_text() for pid in (child.pid, *pids)]
    test.eq(["bpf-map" in text for text in maps], [True] + [False] * len(pids),
            "only the program itself has mapped it")


def case_kept_waiting(test):
    """The mappings of a process cannot be read in time, as when somebody takes long to change them:
    the report comes nevertheless, without variables and functions."""
    need("strace")
    load = test.workload("locks", "asleep")
    path, calls = test.directory() / "report.json", test.directory() / "calls"
    done = test.program("-p", load.pid, "--sample-time", SAMPLE, "--sample-count", 2, "-o",
                        f"json:{path}", wrapper=(
                            "strace", "-f", "-qq", "-o", calls, "-e", "trace=openat", "-P",
                            f"/proc/{load.pid}/maps", "-e", "inject=openat:delay_enter=4000000"))
    said = [line for line in done.stderr.splitlines() if not line.startswith("strace: ")]
    test.eq((done.status, said), (0, []), "nothing is wrong")
    test.ok(calls.read_text().count("openat("), "it was kept waiting", calls.read_text())
    samples = kdtest.samples_of(path)
    rows = [row for found in samples for thread in found["threads"] for row in thread["locks"]
            # Short ones, and those whose wakeup the kernel did not report, are nobody's.
            if "shorter_than_ns" not in row and row["address"] != "0x0"]
    test.ok(rows and all("holder_tid" in row for row in rows), "locks and holders are known", rows)
    test.eq([row for row in rows if {"symbol", "object", "called_from"} & set(row)], [],
            "and nothing else")


def kernel_tells_locks():
    return b"btf_trace_contention_begin" in pathlib.Path("/sys/kernel/btf/vmlinux").read_bytes()


def run_late(test, *roles):
    """Roles whose holders keep a lock of the kernel until a page arrives."""
    run = Run(test, *roles)
    if not kernel_tells_locks():
        test.ok(any("leaves out locks of the kernel" in row["what"]
                    for row in run.sample["absent"]), "what is missing is said",
                run.sample["absent"])
        raise kdtest.Skip("this kernel does not tell of its locks (before 5.19)")
    return run


def case_kernel_lock(test):
    """The kernel's own locks, held for a known time by the workload's doing."""
    roles = ("page_pipe", "page_outside", "page_file", "page_directory")
    run = run_late(test, *roles)
    for role in roles:
        thread, log, (count, _, most) = run.thread(role), run.log[role], run.truth(role)
        # What goes on at the end may be over before it is read.
        least = sum(after - before for before, after in log["waits"]
                    if before > run.start and after < run.end)
        holder = log["holders"][0]
        # Others of the machine use the same directory.
        rows = [row for row in thread["locks"] if row["kind"] == KINDS[role]
                and row.get("holder_tid") == holder]
        if not test.ok(rows, f"{role}: there are waits for its holder", thread["locks"]):
            continue
        lock = max(rows, key=lambda row: row["total_ns"])
        ledger = thread["ledger"]
        awake = ledger["life_ns"] - ledger["blocked_ns"] - ledger["blocked_uninterruptible_ns"]
        test.between(lock["total_ns"], 0.98 * least - awake - EACH * count,
                     most + EACH * (count + 2) + 100 * MS, f"{role}: the time that it waited")
        test.ok(lock["max_ns"] >= lock["total_ns"] / lock["count"], f"{role}: the longest", lock)
        blocked = thread["blocked"]["kernel_lock"]
        # Of what crosses an edge only the part inside.
        test.between(blocked["total_ns"], 0.98 * least - awake - EACH * count,
                     most + EACH * (count + 2) + 100 * MS, f"{role}: blocked for that")
        test.eq(lock.get("released_by_tid"), holder, f"{role}: who released it")
        if role == "page_outside":
            test.eq((lock.get("holder_pid"), lock["holder_name"]), (holder, "outsider"),
                    f"{role}: a thread of another process has it")
            test.eq(lock.get("holder_parent_pid"), run.load.pid, f"{role}: a child of the workload")
            continue
        test.eq((lock.get("holder_pid"), lock["holder_name"]), (None, "holder"), f"{role}: its own")
        call = {"page_pipe": "write", "page_file": "pwrite64", "page_directory": "getdents64"}[role]
        test.eq(names_of([lock]), {call}, f"{role}: where that one slept")
        doing = lock["holder_running_ns"] + lock["holder_ready_ns"] + lock["holder_asleep_ns"]
        off = lock["total_ns"] * 0.02 * kdtest.SLACK + EACH
        # While it attached, a wait may have begun before its holder was met.
        before = sum(end - begin for begin, end in log["waits"] if begin < run.start < end)
        if not test.between(doing, lock["total_ns"] - before - off, lock["total_ns"] + off,
                            f"{role}: what it did is all of that time"):
            test.remark(lock, kdtest.thread_of(run.sample, holder)["ledger"], run.report.unreported, log)
        test.ok(lock["holder_asleep_ns"] > 4 * lock["holder_running_ns"], f"{role}: it slept", lock)


def case_kernel_lock_blamed(test):
    """The holder is blamed; a thread that does not wait for it is not held up by it."""
    run = run_late(test, "page_outside", "asleep")
    outsider = run.log["page_outside"]["holders"][0]
    rows = [row for row in run.sample["verdict"] if row["cause"] == "kernel_lock"]
    test.ok(rows, "a lock of the kernel is blamed", run.sample["verdict"])
    for row in rows[:1]:
        test.eq((row["who"].get("tid"), row["who"].get("pid"), row["worst_tid"]),
                (outsider, outsider, run.log["page_outside"]["tid"]), "and who had it")
        test.ok("pipe:[" in row.get("at", {}).get("what", ""), "and which pipe it was of", row)
    other = run.thread("asleep")
    test.ok("kernel_lock" not in other["blocked"]
            or other["blocked"]["kernel_lock"]["total_ns"] < 20 * MS,
            "a mutex of the program is none of the kernel", other["blocked"])


def kernel_variables():
    """{address: name} of the kernel's variables, without those of modules: none if it hides them, or
    has only the marks of its sections."""
    lines = [line.split() for line in pathlib.Path("/proc/kallsyms").read_text().splitlines()]
    found = [(int(fields[0], 16), fields[1], fields[2]) for fields in lines
             if fields[1] in "dDbB" and len(fields) == 3]
    return ({address: name for address, _, name in found if address}
            if any(kind in "db" for _, kind, _ in found) else {})


def case_kernel_lock_named(test):
    """A lock that is a variable of the kernel has its name; that of a pipe is in none."""
    run = run_late(test, "page_net", "page_pipe")
    kinds = ("kernel_mutex", "kernel_rtmutex")  # PREEMPT_RT
    rows = {role: [row for row in run.thread(role)["locks"] if row["kind"] in kinds
                   and row.get("holder_tid") == run.log[role]["holders"][0]]
            for role in ("page_net", "page_pipe")}
    if not test.ok(all(rows.values()), "there are waits for both holders", rows):
        return
    # Nothing else is locked while the page is missing, which is nearly all of the time.
    lock, other = (max(rows[role], key=lambda row: row["total_ns"]) for role in rows)
    test.eq({"symbol", "offset", "object"} & set(other), set(), "a pipe's lock has none")
    variables = kernel_variables()
    if not variables:
        test.eq({"symbol", "offset", "object"} & set(lock), set(), "no names, if there are none")
        raise kdtest.Skip("this kernel does not name its variables")
    test.eq(variables.get(int(lock["address"], 16)), "rtnl_mutex", "the lock is what is staged")
    test.eq((lock.get("symbol"), lock.get("offset"), lock.get("object")),
            ("rtnl_mutex", None, "kernel"), "it has its name")
    row = next((row for row in run.sample["verdict"] if row["cause"] == "kernel_lock"
                and row["who"].get("tid") == run.log["page_net"]["holders"][0]), None)
    test.eq(row and (row["lock"]["symbol"], row["lock"]["object"], row["lock"]["ns"] > 0.9 * row["ns"]),
            ("rtnl_mutex", "kernel", True), "in the verdict, too")
    test.ok(re.search(r"^ +is rtnl_mutex \[kernel\]$", run.text, re.MULTILINE), "below its row",
            run.text)


def case_several_holders(test):
    run = Run(test, "two")
    rows, lock = check_role(test, run, "two")
    test.eq({row["holder_tid"] for row in rows}, set(run.log["two"]["holders"]), "both are named")
    test.ok(lock["count"] >= lock["ended_by_others"], "others ended no more than there were", lock)


def case_no_holder(test):
    """Nobody holds a condition variable: the thread that signalled it is named. Nobody causes a
    timeout."""
    run = Run(test, "condition", "timed")
    rows, _ = check_role(test, run, "condition")
    test.ok({row.get("released_by_tid") for row in rows} <= {*run.log["condition"]["holders"], None}
            and any("released_by_tid" in row for row in rows), "condition: who signalled", rows)
    rows, _ = check_role(test, run, "timed")
    test.ok(not any("released_by_tid" in row for row in rows), "timed: nobody did", rows)


def case_namespace(test):
    """In a PID namespace a lock stores its holder's TID there; the report names the TID outside."""
    unshare = test.child([tool("unshare"), "--pid", "--fork", "--kill-child", kdtest.WORKLOADS / "locks",
                          "asleep", "robust"])
    kdtest.wait_until(lambda: len(children_of(unshare.pid)) == 1)
    pid = children_of(unshare.pid)[0]
    def named(name):
        return {tid for tid in kdtest.threads_of(pid)
                if kdtest.thread_name(pid, tid) == name}
    kdtest.wait_until(lambda: len(named("holder")) == 2 and named("asleep") and named("robust"))
    path = test.directory() / "report.json"
    done = test.program("-p", pid, "--sample-time", SAMPLE, "-o", f"json:{path}")
    test.eq((done.status, done.stderr), (0, ""), "a sample is taken")
    sample = kdtest.samples_of(path)[0]
    for role, kind in (("asleep", "mutex"), ("robust", "robust_mutex")):
        tid, = named(role)
        rows = [row for row in kdtest.thread_of(sample, tid)["locks"] if row["kind"] == kind]
        held = {row.get("holder_tid") for row in rows}
        test.ok(rows and held <= named("holder"), f"{role}: a holder by its TID outside", rows)


def case_join(test):
    """The thread that is joined, also while the wait goes on."""
    run = Run(test, "join")
    rows, _ = check_role(test, run, "join")
    still = [row for row in rows if "released_by_tid" not in row]
    test.eq(len(still), 1, "one of them goes on")
    test.eq(names_of(rows), {"clock_nanosleep"}, "which slept")


class Spent:
    """What the kernel counts for some threads between two moments, in ns."""

    def __init__(self, pid, tids):
        self.pid, self.tids = pid, tids
        self.before, self.start = self.read(), time.monotonic_ns()

    def read(self):
        return {tid: kdtest.schedstat(self.pid, tid) for tid in self.tids}

    def end(self):
        self.stop = time.monotonic_ns()
        self.ran, self.ready = ({tid: now[at] - self.before[tid][at]
                                 for tid, now in self.read().items()} for at in (0, 1))


def case_edges(test):
    """Samples that end while threads wait, and are read later: what the holder did after the end is
    left out, and everything that it did before is included, by its kind."""
    load = test.workload("locks", "asleep", "busy", "two")
    roles = {role: log for role, log in load.ask("log").items() if role != "two"}
    path = test.directory() / "report.json"
    child = test.capture(load.pid, "--sample-time", 0.01, "--sample-count", 80, "--summary", "-o",
                         "text", "-o", f"json:{path}")
    spent = Spent(load.pid, [tid for log in roles.values() for tid in (log["tid"], *log["holders"])])
    time.sleep(0.5)
    spent.end()
    test.eq(child.wait(), 0, "samples are taken")
    log = load.ask("log")
    samples = [json.loads(line) for line in path.read_text().splitlines() if '"sample"' in line]
    rows = [row for sample in samples for thread in sample.get("threads", ())
            for row in thread["locks"] if "holder_tid" in row]
    test.ok(len(rows) > 40, "with waits", len(rows))
    over = [row for row in rows
            if row["holder_running_ns"] + row["holder_ready_ns"] + row["holder_asleep_ns"] >
            row["total_ns"]]
    test.eq(over, [], "the holder has done no more than that")
    kdtest.only_on_host("samples of 10 ms that follow each other closely")
    sampled = sum(max(0, min(sample["window"]["end_ns"], spent.stop) -
                      max(sample["window"]["start_ns"], spent.start)) for sample in samples)
    for role in roles:
        check_composition(test, role, log[role], rows, spent, spent.stop - spent.start - sampled)


def check_composition(test, role, log, rows, spent, unseen):
    """What a holder did during waits for its lock, by the kernel's counts and the waits' log: while
    it holds the lock it does only one of two things. A wait that crosses an edge is in both
    samples, so the sums may be larger. unseen: the part of the counted time that no sample
    covers."""
    holder, = log["holders"]
    lock = merged(row for row in rows if row["holder_tid"] == holder)
    total, ran, ready = lock["total_ns"], spent.ran[holder], spent.ready[holder]
    running, asleep = lock["holder_running_ns"], lock["holder_asleep_ns"]
    off = total * 0.02 * kdtest.SLACK + EACH * lock["count"]
    test.between(running + lock["holder_ready_ns"] + asleep, total - off, total,
                 f"{role}: all of it is known")
    logged = sum(max(0, min(after, spent.stop) - max(before, spent.start))
                 for before, after in log["waits"])
    # It may have got the lock and no CPU yet.
    waited = logged - spent.ready[log["tid"]] - unseen - off
    if role == "busy":
        test.between(asleep, 0, off, f"{role}: the holder did not sleep")
        test.between(running, ran - (spent.stop - spent.start - waited), total, f"{role}: it ran")
    else:
        test.between(asleep, waited - ran - ready, total, f"{role}: the holder slept")
        test.between(running, 0, off, f"{role}: it did not compute")


def check_traced_holder(test, run, role):
    """The calls and waits of a role name the holder of its lock."""
    log, outside = run.log[role], role == "page_outside"
    want = (log["holders"][0], "outsider" if outside else "holder",
            log["holders"][0] if outside else None)
    # A slow machine may have few of them.
    whole = sum(before > run.start and after < run.end and after - before > 6 * MS
                for before, after in log["waits"])
    for kind in ("syscalls", "waits"):
        found = {(row.get("holder_tid"), row.get("holder_name"), row.get("holder_pid"))
                 for row in run.sample["traces"][kind]
                 if row["tid"] == log["tid"] and row.get("lock_kind") == KINDS[role]
                 and "holder_tid" in row}
        test.ok(found == {want} or (not found and whole < 5), f"{role}: {kind} name who had it",
                found, want, whole)


def case_traces(test):
    """Slow calls, finished or not, and long waits show the lock that they were for, its holder, and
    the function that wanted it."""
    roles = ("asleep", "busy", "pi", "robust")
    kernel = ("page_pipe", "page_outside") if kernel_tells_locks() else ()
    run = Run(test, *roles, *kernel, options=("-s", "5ms", "--off-cpu=5ms", "--stack-trace-size=overhead=0",
                                                  "--buffer-page-count=4096"))
    traces = run.sample["traces"]
    for role in kernel:
        check_traced_holder(test, run, role)
    for role in roles:
        log = run.log[role]
        for kind in ("syscalls", "waits"):
            rows = [row for row in traces[kind] if row["tid"] == log["tid"] and
                    row.get("syscall", {}).get("name") == "futex" and
                    not row.get("state", "").startswith("ready")]
            test.eq({row.get("lock") for row in rows}, {f"{log['address']:#x}"},
                    f"{role}: {kind} have the lock's address")
            functions = [[frame.get("function") for frame in
                          traces["stacks"][row["user_stack"]]["frames"]] for row in rows
                         if "user_stack" in row]
            test.ok(functions and all("mutex_take" in names for names in functions),
                    f"{role}: {kind} have the function", functions[:2])
        check_traced_holder(test, run, role)


def case_ends_before_reading(test):
    """A wait that continues past the window's end, and is over by the time the program reads it."""
    kdtest.only_on_host("a program that is stopped, and what others do meanwhile")
    held = Held(test)
    tid, began = held.begin("wait", "waiter")
    asleep = held.asleep(tid)
    held.open()
    time.sleep(0.05)
    least, most = held.close()
    held.release()
    thread = held.thread(held.read(), tid)
    test.eq([(row["kind"], row["holder_tid"], row["count"]) for row in thread["locks"]],
            [("mutex", held.load.pid, 1)], "it is listed, with who had the mutex")
    test.between(thread["locks"][0]["total_ns"], least - asleep, most - began,
                 "with its time until the window's end")
    test.eq(thread["locks"][0].get("released_by_tid"), None, "and nobody has released it by then")


# Threads that wait for locks of their own, one after the other, in vain.
MANY = """
import sys, threading
THREADS, EACH = map(int, sys.argv[1:])
rounds = [0] * THREADS
def wait(number, locks):
    while True:
        for lock in locks:
            lock.acquire(timeout=0.005)
        rounds[number] += 1
for number in range(THREADS):
    locks = [threading.Lock() for _ in range(EACH)]
    for lock in locks:
        lock.acquire()
    threading.Thread(target=wait, args=(number, locks), daemon=True).start()
print("ready", flush=True)
for _ in sys.stdin:
    print(*rounds, flush=True)
"""


def case_many(test):
    """More locks than are read from the BPF side's table at once: all are in the list."""
    kdtest.only_on_host("it takes long")
    threads, each = 60, 6
    child = test.child([sys.executable, "-c", MANY, threads, each])
    child.line("ready")
    path = test.directory() / "json"

    def rounds():
        child.send("rounds")
        return [int(word) for word in child.line().split()]
    capture = test.capture(child.pid, "-o", f"json:{path}", "-o", "-")
    before = rounds()
    # One that is not begun after the window was opened may have been half over by then.
    kdtest.wait_until(lambda: all(now - then >= 2 for now, then in zip(rounds(), before)))
    capture.interrupt(test, "a sample is taken")
    sample = next(json.loads(line) for line in path.open() if '"type":"sample"' in line)
    test.eq(sample["losses"]["locks"], 0, "no lock is lost")
    of_one = collections.Counter(address for thread in sample["threads"]
                                 for address in {row["address"] for row in thread["locks"]})
    own = [address for address, waiters in of_one.items() if waiters == 1]
    test.between(len(own), threads * each, threads * each + 10, "each lock of each thread")
    # KD_CALLERS, and one for each thread that was there
    test.ok(sample["losses"]["lock_callers"] >= threads * each - 256 - threads - 1,
            "those are counted of which no function is known", sample["losses"])


def waits_of(test, *args, options=()):
    """The sample, what the workload has measured of its waits in vain, and the exit status."""
    load = test.workload("futexes", *args)
    path = test.directory() / "json"
    capture = test.capture(load.pid, "-o", f"json:{path}", "-o", "-", *options)
    truth = load.go()
    capture.signal(signal.SIGINT)
    status = capture.wait()
    return kdtest.samples_of(path)[0], truth, status


def case_futex_calls(test):
    """Every call that waits for a futex has it in the list."""
    for call in ("futex", "wait", "waitv", "int"):
        try:
            sample, truth, status = waits_of(test, 3, 30_000, call)
        except EOFError:  # the kernel kills a program that makes a 32-bit call it has none for
            truth = {"count": 0}
        if not truth["count"]:
            test.remark(f"{call}: the kernel has no such call")
            continue
        rows = kdtest.thread_of(sample, truth["tid"])["locks"]
        test.eq(status, 0, f"{call}: the program ends with status 0")
        test.eq(sorted((row["address"], row["kind"], row["count"]) for row in rows),
                [(hex(truth["address"] + 4 * number), "condition", 1) for number in range(3)],
                f"{call}: each of the three futexes")
        if any(row["kind"] == "other" for row in rows):
            test.remark(f"{sample['resynced']} switches were hidden, {sample['lost']} events lost: {rows}")


def case_too_many(test):
    """Waits that the kernel side's table has no space for are one row, and the report says so."""
    sample, truth, status = waits_of(test, 5096, 200, "futex", options=("--detail=0",))
    rows = kdtest.thread_of(sample, truth["tid"])["locks"]
    lost = truth["slept"] - 4096  # KD_LOCKS
    test.eq(status, 0, "a sample is taken")
    test.between(sum(row["count"] for row in rows), truth["slept"] * 0.99, truth["slept"],
                 "all waits are in the list")
    test.between(sum(row["total_ns"] for row in rows), truth["slept"] * 100_000, truth["ns"],
                 "with their time")
    # A wait whose end the kernel did not report has no lock, either: see case_unseen_wakeups().
    test.between(sample["losses"]["locks"], lost * 0.9, lost, "those without their lock are counted")


def case_unseen_wakeups(test):
    """Waits whose ends the kernel did not report are in the lists, too, without anybody who ended
    them."""
    with kdunseen.unseen(test, *kdunseen.WAKEUPS):
        run = Run(test, "asleep", "reading")
    for role in ("asleep", "reading"):
        locks = run.thread(role)["locks"]
        lock = run.thread(role)["blocked"]["lock"]
        others = [row for row in locks if row["address"] == "0x0" and "shorter_than_ns" not in row]
        test.between(sum(row["total_ns"] for row in locks), lock["total_ns"], lock["total_ns"] + 20 * MS,
                     f"{role}: all waits have a row")
        test.eq([row for row in others if "holder_tid" in row or "released_by_tid" in row or
                 row["kind"] != "other"], [], f"{role}: nobody is blamed, for any lock")
        test.ok(others and max(row["max_ns"] for row in others) <= lock["max_ns"],
                f"{role}: none is longer than the longest", lock, *locks)


if __name__ == "__main__":
    kdtest.main(case_many, case_holder_asleep, case_holder_awake, case_variables, case_callers,
            case_memory, case_kept_waiting, case_kernel_lock, case_kernel_lock_blamed, case_kernel_lock_named,
            case_several_holders, case_no_holder, case_namespace, case_join, case_edges, case_traces,
            case_ends_before_reading, case_unseen_wakeups, case_futex_calls, case_too_many)
