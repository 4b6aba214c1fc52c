#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What threads waited for. Each kind of wait is staged by a thread that logs its waits; their sum
matches that of the kind, except for the time that falling asleep and waking up take."""

import collections
import ctypes
import datetime
import errno
import json
import os
import pathlib
import re
import signal
import time

import kdreport
import kdtest
from kdtest import MS


KINDS = {"pipe": "pipe", "unix": "socket", "tcp": "socket", "eventfd": "eventfd", "tty": "tty",
         "poll": "work", "select": "work", "epoll": "work", "accept": "work", "futex": "lock",
         "flock": "lock", "signal": "signal", "child": "child", "timer": "timer",
         "fsync": "disk", "page": "page", "seccomp": "kernel", "uring": "work"}
# Kernels name some waits by what several kinds share.
SHARED = {"tty": "n_tty_read", "tcp": "sk_wait_data", "eventfd": "eventfd_read"}
SAMPLE = 0.6  # s
EACH = 150_000  # ns: from the workload's clock to its sleep and back, for each wait


class Run:
    """A sample of the workload, as JSON and as text, and the workload's log."""

    def __init__(self, test, *roles, options=()):
        self.test = test
        self.load = test.workload("blocked", *roles)
        kdtest.wait_until(lambda: all(role["waits"] for role in self.ask().values()))
        path = test.directory() / "report.json"
        done = test.program("-p", self.load.pid, "--sample-time", SAMPLE, "-o", f"json:{path}",
                            "-o", "-", *options)
        self.status, self.text, self.stderr = done.status, done.stdout, done.stderr
        self.log = self.ask()
        self.wall = kdtest.wall_ahead()
        self.sample = kdtest.samples_of(path)[0]
        self.start, self.end = self.sample["window"]["start_ns"], self.sample["window"]["end_ns"]

    def ask(self):
        return self.load.ask("log")

    def thread(self, role):
        tid = self.log[role]["tid"]
        return kdtest.thread_of(self.sample, tid)

    def truth(self, role):
        """For the waits in the window that are longer than a moment: their number, their total up
        to the wakeup and as a whole, and the same for the longest, whose beginning is not cut
        off."""
        log = list(self.log[role]["waits"])
        # The one that it is in has not been logged.
        log.append((log[-1][2], 0, self.end))
        log = [(before, woken, min(after, self.end)) for before, woken, after in log]
        log = [wait for wait in log if wait[2] > max(wait[0], self.start)]
        waits = [(max(before, self.start), min(woken, end), end) for before, woken, end in log]
        least = [max(0, woken - start) for start, woken, _ in waits]
        most = [end - start for start, _, end in waits]
        return (sum(length > MS // 4 for length in most), sum(least), sum(most), max(least),
                max(end - before for before, _, end in log))


def asleep(thread):
    return thread["ledger"]["blocked_ns"] + thread["ledger"]["blocked_uninterruptible_ns"]


def check_books(test, sample):
    faults = [f"{row['tid']}: {row['blocked']} is not {asleep(row)}" for row in sample["threads"]
              if sum(kind["total_ns"] for kind in row["blocked"].values()) != asleep(row)]
    test.ok(not faults, "the kinds add up to the blocked states, to the ns", *faults)
    faults = [f"{row['tid']}: {kind}" for row in sample["threads"]
              for kind in row["blocked"].values()
              if not kind["total_ns"] <= kind["max_ns"] * kind["count"]]
    test.ok(not faults, "none is longer than the longest", *faults)


def check_role(test, run, role):
    thread, kind = run.thread(role), KINDS[role]
    count, least, most, *longest = run.truth(role)
    got = thread["blocked"].get(kind, {"count": 0, "total_ns": 0, "max_ns": 0})
    if role == "seccomp":  # of the wait that it was in at first its registers say the call
        got["total_ns"] += thread["blocked"].pop("file", {"total_ns": 0})["total_ns"]
    ledger = thread["ledger"]
    awake = thread["ledger"]["life_ns"] - asleep(thread)
    if role in ("fsync", "page"):  # which end by themselves
        least, some = most, EACH
    else:
        some = EACH * count
    test.between(got["total_ns"], least - awake - some, most + some,
                 f"{role}: the time blocked for {kind}")
    others = {name: row["total_ns"] for name, row in thread["blocked"].items() if name != kind}
    test.ok(sum(others.values()) <= ledger["life_ns"] / 50 * kdtest.SLACK, f"{role}: and for nothing else",
            others, got)
    return got, count, longest[0] - awake - EACH, longest[1] + EACH


def wall_ns(text):
    """A timestamp of the JSON output, in ns since 1970."""
    second, _, ns = text.rstrip("Z").partition(".")
    return int(datetime.datetime.fromisoformat(f"{second}+00:00").timestamp()) * 10**9 + int(ns)


def check_when(test, run, role, of, key, what):
    """The time given for the longest wait lies in a wait of the log that is at least as long.
    Nearly all others are shorter."""
    length, said = of[f"{key}_ns"], of.get(f"{key}_at")
    at = said and wall_ns(said) - run.wall
    log = run.log[role]["waits"]
    log = log + [[log[-1][2], 0, run.end]]
    test.ok(said and any(before - MS / 10 <= at <= after + MS / 10 and after - before >= length
                         for before, _, after in log), f"{role}: {what}: when the longest was",
            said, at, length, max(after - before for before, _, after in log),
            [wait for wait in log if at and abs(wait[0] - at) < 20 * MS])


def check_times(test, run, role, got):
    """The time of the longest wait, also in lists, and as local time in the full report."""
    thread, kind = run.thread(role), KINDS[role]
    check_when(test, run, role, got, "max", kind)
    if role in ("pipe", "tcp", "timer"):
        call = max(thread["syscalls"], key=lambda call: call["max_ns"])
        check_when(test, run, role, call, "max", call["name"])
    rows = thread["locks"] if role == "futex" else thread["descriptors"] if role == "pipe" else []
    for row in sorted(rows, key=lambda row: -row["total_ns"])[:1]:
        check_when(test, run, role, row, "max", "in its list")
    row = kdreport.parse(run.text)[0].thread(thread["tid"]).blocked
    local = datetime.datetime.fromtimestamp(wall_ns(got["max_at"]) // 1000 / 10**6)
    test.eq([each.max_at for each in row.values() if each.max == got["max_ns"]],
            [local.strftime("%H:%M:%S.%f")], f"{role}: in the full report")


def case_kinds(test):
    roles = [role for role in KINDS if role not in ("fsync", "page", "child")]
    # While a process forks, page faults of its threads wait.
    for run in Run(test, *roles), Run(test, "child"):
        check_books(test, run.sample)
        for role in run.log:
            got, count, least, most = check_role(test, run, role)
            # Some wait twice.
            test.between(got["count"], count / 2, count * 2 + 5, f"{role}: the number of waits")
            test.between(got["max_ns"], least, most, f"{role}: the longest")
            check_times(test, run, role, got)
            if role == "seccomp":  # which comes before the call begins
                function = run.thread(role).get("kernel_function", "")
                test.ok("seccomp" in function, f"{role}: where", function)


def wchan_of(tid):
    """Where the kernel says that a thread sleeps, most of the time; "" if it hides that."""
    names = []
    path = pathlib.Path(f"/proc/{tid}/wchan")

    def look():
        name = path.read_text().split(".")[0]
        names.extend([name] if name != "0" else [])
        return len(names) >= 9
    try:
        kdtest.wait_until(look, 5)
    except TimeoutError:
        return ""
    return collections.Counter(names).most_common(1)[0][0]


def case_wchan(test):
    """Where threads slept, as the kernel says it, too, and that no sleep is missing."""
    roles = [role for role in KINDS if role not in ("fsync", "page", "child")]
    run = Run(test, *roles)
    for role in roles:
        thread, truth = run.thread(role), wchan_of(run.log[role]["tid"])
        if not truth:
            raise kdtest.Skip("/proc/PID/wchan does not tell")
        rows = [row for row in thread["descriptors"] if row["for"] == KINDS[role]]
        most = max(rows, key=lambda row: row["total_ns"])
        if truth in ("wait_woken", "do_wait_intr_irq"):
            truth = SHARED[role]
        test.eq(most.get("wchan", "").split("<")[0], truth, f"{role}: where it slept")
        slept = sum(row["total_ns"] for row in thread["descriptors"])
        before = sum(kind["total_ns"] for kind in thread["blocked"].values())
        longest = max(row["max_ns"] for row in thread["descriptors"])
        test.between(slept, before - 2 * EACH, before + longest, f"{role}: all sleeps are listed")


def case_disk(test):
    """Waits for a disk, on machines whose files are on one."""
    if kdtest.VM:
        raise kdtest.Skip("the machine has no disk")
    run = Run(test, "fsync", "/var/tmp/")
    check_books(test, run.sample)
    got, *_ = check_role(test, run, "fsync")
    if not got["count"]:
        raise kdtest.Skip("fsync does not wait here")
    test.between(got["count"], 1, 20 * len(run.log["fsync"]["waits"]), "the number of waits")


def case_requests(test):
    """In io_uring_enter and io_getevents a thread waits for a disk where a request to one ended that,
    and took most of it; else for work, as with a socket's, or with none."""
    disabled = pathlib.Path("/proc/sys/kernel/io_uring_disabled")
    if not disabled.exists() or disabled.read_text().strip() == "0":
        check_role(test, Run(test, "uring"), "uring")
    else:
        test.skip("io_uring", "it is disabled")
    if kdtest.VM:
        raise kdtest.Skip("the machine has no disk")
    run = Run(test, "aio", "aio_idle", "/var/tmp/")
    check_books(test, run.sample)
    disk = {role: run.thread(role)["blocked"].get("disk", {"total_ns": 0})["total_ns"]
            for role in ("aio", "aio_idle")}
    # Some were nearly over when it fell asleep.
    test.between(disk["aio"], 0.9 * asleep(run.thread("aio")), asleep(run.thread("aio")),
                 "aio: its own requests")
    waits = [(max(before, run.start), woken, min(after, run.end))
             for before, woken, after in run.log["aio_idle"]["waits"]
             if after > run.start and before < run.end]
    most = sum(after - before for before, woken, after in waits if after - woken > (woken - before) / 3)
    test.between(disk["aio_idle"], 0, most + EACH, "aio_idle: those that took most of its waits")


def case_pages(test):
    run = Run(test, "page", "/var/tmp/")
    check_books(test, run.sample)
    if not run.log["page"]["faults"]:
        raise kdtest.Skip("files are in memory here")
    got, *_ = check_role(test, run, "page")
    test.between(got["count"], 1, run.log["page"]["faults"] * 2, "no more waits than faults")


def case_asleep_before(test):
    """What threads wait for that sleep throughout: no event saw them fall asleep."""
    load = test.workload("blocked", "pipe", "epoll", "futex", "tcp", "child")
    load.signal(signal.SIGSTOP)
    path = test.directory() / "report.json"
    for tid in kdtest.threads_of(load.pid):
        kdtest.wait_until(lambda tid=tid: kdtest.status_field(f"{load.pid}/task/{tid}",
                                                              "State") == "T")
    test.program("-p", load.pid, "--sample-time", "0.05", "-o", f"json:{path}")
    load.signal(signal.SIGCONT)
    sample = json.loads(path.read_text().splitlines()[0])
    test.ok(not any(row["blocked"] for row in sample["threads"]), "stopped threads do not wait",
            *(row["blocked"] for row in sample["threads"]))


def case_whole(test):
    """A sleep that spans many samples is one wait of its full length; the kernel's sleep knows how
    long."""
    metrics, captured = test.directory() / "metrics", test.directory() / "json"
    done = test.program("--sample-time", "0.15", "--sample-count", "30", "--quiet", "-o",
                        f"prometheus:{metrics}", "-o", f"json:{captured}", "--fail-if",
                        "blocked_for.timer.max>=1s", "--", "sleep", "1.5")
    test.ok(done.status == 4 and re.search(r" and \d more", done.stderr),
            "a sleep longer than a sample, in each that it is so long in", done.status, done.stderr)
    labels = dict(re.findall(r'^kernel_delay_(blocked\w*){[^}]*kind="timer"} (.*)$',
                             metrics.read_text(), re.M))
    test.eq(labels.get("blocked_total"), "1", "a sleep of ten samples is one")
    samples = kdtest.samples_of(captured)
    rows = [row["blocked"]["timer"] for sample in samples for row in sample["threads"]
            if "timer" in row["blocked"]]
    longest = max(row["max_ns"] for row in rows)
    total = sum(row["total_ns"] for row in rows)
    test.between(longest, 1500 * MS, 1500 * MS + total / 5 * kdtest.SLACK, "and as long")
    test.between(total, 0, longest, "which no part of it is")
    done = test.program("-p", test.workload("roles", "poll").pid, "--sample-time", "0.1",
                        "--sample-count", "4", "--quiet", "--fail-if",
                        "thread(roles).blocked_for.pipe.max>=150ms")
    test.ok(done.status == 4 and " so far " in done.stderr, "one that goes on", done.status,
            done.stderr)


# --- Time-outs ---
#
# Sleeps with a time-out: how much later than requested a thread was woken, against its own log and
# its timer slack.

CALLS = ("nanosleep", "until", "wall", "poll", "ppoll", "select", "pselect", "epoll", "epoll2",
         "futex", "condition")
EPOLL_PWAIT2 = 441  # since Linux 5.11
LATE, PARTS = MS, 20  # what matters: by so much, and by this part of what was requested


def calls():
    """The calls that this kernel has."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(EPOLL_PWAIT2, -1, None, 0, None, None, 0)
    return [call for call in CALLS if call != "epoll2" or ctypes.get_errno() != errno.ENOSYS]


def sample_of(test, *sleepers, seconds=1.0):
    load = test.workload("sleeper", *sleepers)
    time.sleep(0.1)
    path = test.directory() / "report.json"
    done = test.program("-p", load.pid, "--sample-time", seconds, "--full", "-o", "-", "-o",
                        f"json:{path}")
    log = load.ask("log")
    test.books(kdreport.parse(done.stdout)[0])
    return json.loads(path.read_text()), log


def check(test, sample, log, call, slack):
    """The log includes more than the sleep: the thread also runs and waits for a CPU before and
    after it."""
    start, end = sample["window"]["start_ns"], sample["window"]["end_ns"]
    thread = kdtest.thread_of(sample, log["tid"])
    ledger, got = thread["ledger"], thread.get("overslept")
    # What ended near an edge may be counted or not.
    inside = [(requested, after - before - requested) for before, requested, after in log["sleeps"]
              if before + requested > start and after < end]
    if not test.ok(got and inside, f"{call}: there are sleeps", thread):
        return
    awake = ledger["life_ns"] - ledger["blocked_ns"] - ledger["blocked_uninterruptible_ns"]
    most, longest = sum(over for _, over in inside), max(over for _, over in inside)
    # Nothing is known of one that lost its CPU between its call and its sleep, or did not sleep
    # because the machine stood still until its time was over.
    missing = thread["involuntary_switches"] + len(inside) // 20 + 2
    test.between(got["count"], len(inside) - missing, len(inside) + 1, f"{call}: their number")
    # And one at an edge may count for one of which nothing is known.
    lost = max(0, len(inside) + min(1, thread["involuntary_switches"]) - got["count"]) * longest
    test.between(got["total_ns"], most - awake - lost, most + got["max_ns"],
                 f"{call}: by how much they were too long")
    test.between(got["max_ns"], longest - awake if not lost else 0, longest + awake + 100 * MS,
                 f"{call}: the longest")
    # An absolute time is nearer when the call begins.
    most = got["count"] * inside[0][0]
    test.between(got["requested_ns"], most - awake if call in ("until", "wall", "condition") else
                 most, most, f"{call}: what was requested")
    test.eq(got["slack_ns"], slack, f"{call}: the timer slack")
    late = [over for requested, over in inside if over >= LATE and over * PARTS >= requested]
    test.ok(got["late_count"] <= len(late) + 1, f"{call}: those that matter", got, len(late))


def case_slack(test):
    """With a timer slack of 10 ms the kernel may let threads oversleep, and does."""
    sample, log = sample_of(test, *(f"{call}:20:10000" for call in calls()))
    for call in calls():
        check(test, sample, log[call], call, 10 * MS)
    row = next((row for row in sample["verdict"] if row["cause"] == "timer"), None)
    late = sum(thread["overslept"]["late_total_ns"] for thread in sample["threads"]
               if "overslept" in thread)
    if test.ok(row, "they are blamed", sample["verdict"]):
        test.eq(row["ns"], late, "for all that were late")


def case_as_it_is(test):
    """The slack that threads have by default, that of a real-time thread, which has none, and the
    slack of a long timeout, which grows with it."""
    sample, log = sample_of(test, "nanosleep:5:0", "fifo:5:0", "poll:200:0", seconds=0.7)
    check(test, sample, log["nanosleep"], "nanosleep", 50_000)
    check(test, sample, log["fifo"], "fifo", 0)
    check(test, sample, log["poll"], "poll", 200_000)


# Submits what it is told to a worker of io_uring (IOSQE_ASYNC): the number of the operation, and a path.
URING = """import ctypes, mmap, struct, sys
libc = ctypes.CDLL(None)
params = ctypes.create_string_buffer(120)
ring = libc.syscall(425, 4, params)
print(ring, flush=True)
entries, tail, array = (struct.unpack("30I", params)[at] for at in (0, 11, 16))
queue = mmap.mmap(ring, array + 4 * entries)
requests = mmap.mmap(ring, 64 * entries, offset=0x10000000)
for line in sys.stdin:
    operation, _, path = line.strip().partition(" ")
    name = ctypes.create_string_buffer(path.encode())
    at, = struct.unpack_from("I", queue, tail)
    struct.pack_into("BBHiQQI36x", requests, at % entries * 64, int(operation), 16, 0, -100, 0,
                     ctypes.addressof(name), 0)
    struct.pack_into("I", queue, array + at % entries * 4, at % entries)
    struct.pack_into("I", queue, tail, at + 1)
    print(libc.syscall(426, ring, 1, 0, 0, None, 0), flush=True)"""
NOTHING, OPEN = "0", "18"  # IORING_OP_NOP, IORING_OP_OPENAT


def case_idle_worker(test):
    """A sleeping io_uring worker has nothing to do unless its request blocks, here in the open of a
    FIFO. A thread stays a worker for 5 s after its first request."""
    child = test.child(["python3", "-c", URING])
    if int(child.line()) < 0:
        raise kdtest.Skip("there is no io_uring")

    def submit(request):
        before = time.monotonic_ns()
        child.send(request)
        test.eq(child.line(), "1", "a request is submitted")
        return before, time.monotonic_ns()

    def asleep():
        return [tid for tid in kdtest.threads_of(child.pid)
                if tid != child.pid and kdtest.state_of(child.pid, tid) == "S"]

    submit(NOTHING)
    if [int(part) for part in os.uname().release.split(".")[:2]] < [5, 12]:
        raise kdtest.Skip("its workers are threads of the kernel")
    worker, = kdtest.wait_until(asleep)
    fifo = test.directory() / "fifo"
    os.mkfifo(fifo)
    at = []

    def act():
        for request in (NOTHING, NOTHING, f"{OPEN} {fifo}"):
            slept = kdtest.switches(child.pid, worker)
            at[:] = submit(request)
            kdtest.wait_until(lambda: kdtest.switches(child.pid, worker) > slept and asleep())
            at.append(time.monotonic_ns())
            time.sleep(0.1)

    sample = test.sample(child.pid, act)
    thread, end = kdtest.thread_of(sample, worker), sample["window"]["end_ns"]
    blocked = thread["blocked"]
    test.eq(set(blocked), {"work", "kernel"}, "what it waited for")
    test.between(blocked["kernel"]["total_ns"], end - at[2], end - at[0], "in a request")
    test.between(blocked["work"]["total_ns"], 200 * MS - 20 * EACH,
                 at[1] - sample["window"]["start_ns"], "without one")


kdtest.main(case_kinds, case_wchan, case_disk, case_requests, case_pages, case_asleep_before, case_whole,
            case_slack, case_as_it_is, case_idle_worker)
