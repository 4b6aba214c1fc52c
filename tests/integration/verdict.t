#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Staged delays: the first screen names the one to blame, with the right share, and nobody where
nothing is wrong."""

import json
import os
import pathlib
import re
import signal
import time

import kdstaged
import kdtest
from kdgroup import limited_group, throttled_ns
from kdtest import MS

LINES, WIDTH = 25, 80
TRIES = 4


class Screen:
    """A sample as text and as JSON, which lasts for as long as while_open() takes."""

    def __init__(self, test, pid, *args, seconds=1.0, while_open=None):
        path = test.directory() / "sample.json"
        child = test.capture(pid, "--sample-time", kdtest.PATIENCE if while_open else seconds,
                             "--summary", "-o", "text", "-o", f"json:{path}", *args)
        if while_open:
            while_open()
            child.signal(signal.SIGINT)
        self.status = child.wait()
        test.eq((self.status, child.stderr), (0, ""), "a sample is taken")
        self.text = child.stdout[child.stdout.index("# Sample dump"):]
        self.json = json.loads(path.read_text())
        self.blamed = [row for row in self.json["verdict"] if row["cause"] != "stolen"]
        # How long the threads waited for a CPU, and were without one.
        self.ready, interrupted = (sum(thread["ledger"].get(f"{key}_ns", 0) for key in keys
                                       for thread in self.json["threads"]) for keys in (
            ("ready_woken", "ready_preempted", "throttled"), ("hardirq", "softirq")))
        self.without = self.ready + interrupted
        lines = self.text.splitlines()
        test.ok(len(lines) <= LINES and max(map(len, lines)) <= WIDTH, "it fits on a screen",
                self.text)
        joined = re.sub(r"\n {8}", " ", self.text)
        # The hypervisor may be a true culprit at any time, and is none that a test has staged.
        # Sentences without a culprit come where they are larger.
        self.verdict = [line for line in re.findall(r"^VERDICT (.*)$", joined, re.MULTILINE)
                        if not re.search(r"hypervisor| ran: user | unexplained: | outside system calls", line)]
        replayed = test.program("--replay", path, "--summary")
        test.eq(replayed.stdout, self.text, "replayed it is the same")

    def first(self, test, cause, pid=None):
        """The first one blamed, which has to be of this cause and process; others may only precede
        it if they had a CPU for as long as the threads were without one."""
        took = 0
        for row in self.blamed:
            if row["cause"] == cause and pid in (None, row["who"].get("pid")):
                break
            took += row["ns"]
            if row["cause"] not in kdstaged.TAKERS or took > self.without + MS:
                row = None
                break
        else:
            row = None
        if not test.ok(row, f"the first one is {cause}", self.text, self.blamed):
            raise kdtest.Skip("the wrong one")
        return row

    def says(self, test, row, words):
        """Its sentence contains these words, if there is room for them."""
        at = self.blamed.index(row)
        test.ok(at >= len(self.verdict) or words in self.verdict[at], "in words", *self.verdict)


def close_to(test, row, screen, least, most, text):
    """Within 3 points of the busy time or 10 % of the truth."""
    slack = max(0.03 * screen.json["busy_ns"], 0.1 * most) + kdtest.SLACK * 2 * MS
    test.ok(least - slack <= row["ns"] <= most + slack, text, least - slack, row["ns"], most + slack,
            [(each["cause"], each["who"], each["ns"]) for each in screen.json["verdict"]])


def interrupted(screen):
    """What interrupts took, also from who had the CPU: for the kernel it was that one's time."""
    return sum(row["ns"] for row in screen.json["verdict"] if row["cause"] in ("hardirq", "softirq"))


def ran_within(screen, first, last, tid):
    """The least and the most that a thread ran in the window, from two marks, each of which may
    have been late."""
    start, end = (screen.json["window"][key] for key in ("start_ns", "end_ns"))
    ran = last.cpu[tid] - first.cpu[tid]
    beyond = max(0, start - first.start) + max(0, last.end - end)
    outside = max(0, first.end - start) + max(0, end - last.start)
    return ran - beyond, ran + outside


def case_fifo(test):
    """A real-time thread takes the thread's CPU again and again."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    tid = load.tid("spin")[0]
    hog = test.workload("roles", f"fifo:{cpu}:60:90")
    marks = []

    def measure():
        marks.append(hog.mark())
        time.sleep(0.6)
        marks.append(hog.mark())
    screen = Screen(test, load.pid, while_open=measure)
    row, fifo = screen.first(test, "task", hog.pid), hog.tid("fifo")[0]
    # Whenever the hog runs the other one waits; there it may wait for others, too.
    least, most = ran_within(screen, *marks, fifo)
    close_to(test, row, screen, least - interrupted(screen), most, "as long as that ran")
    test.eq(row["worst_tid"], tid, "of the thread that spins")
    screen.says(test, row, f"spin[{tid}] waited for CPU {cpu}")
    test.eq((row["who"].get("tid"), row["who"]["policy"], row["who"]["priority"]),
            (fifo, "SCHED_FIFO", 10), "and who it was")
    screen.says(test, row, f"fifo[{fifo}] (SCHED_FIFO")
    hog.end()


def case_stopped(test):
    kdtest.only_beside_another_cpu("the thread is to run before all others")
    load = test.workload("roles", "spin:-1", wrapper=("chrt", "-f", "5"))
    tid = load.tid("spin")[0]
    stops = []

    def stop():
        for _ in range(3):
            time.sleep(0.05)
            times = [time.monotonic_ns()]
            os.kill(load.pid, signal.SIGSTOP)
            times.append(time.monotonic_ns())
            time.sleep(0.1)
            times.append(time.monotonic_ns())
            os.kill(load.pid, signal.SIGCONT)
            stops.append((*times, time.monotonic_ns()))
    screen = Screen(test, load.pid, while_open=stop)
    row = screen.first(test, "stopped")
    test.eq(row["who"].get("pid"), os.getpid(), "it is named who stopped it")
    thread = kdtest.thread_of(screen.json, tid)
    # A thread that has no CPU does not stop before it gets one.
    ready = thread["ledger"]["ready_woken_ns"] + thread["ledger"]["ready_preempted_ns"]
    test.between(thread["stopped"]["total_ns"], sum(end - begun for _, begun, end, _ in stops) - ready -
                 kdtest.SLACK * MS, sum(ended - begin for begin, _, _, ended in stops) + MS,
                 "as long as it was stopped")
    test.ok(re.search(r"^  stopped +-? +\d", screen.text, re.MULTILINE), "it is listed", screen.text)
    name = pathlib.Path("/proc/self/comm").read_text().strip()
    screen.says(test, row, f" stopped by {name}[{os.getpid()}]")


def case_before(test):
    """A stop that begins in one sample and ends in the next: only part of it lies in the latter,
    which says that it began before."""
    load = test.workload("roles", "poll")
    path = test.directory() / "samples.json"
    child = test.capture(load.pid, "--sample-time", "0.4", "--sample-count", "2", "--summary",
                         "-o", "text", "-o", f"json:{path}")
    before = time.monotonic_ns()
    load.signal(signal.SIGSTOP)
    kdtest.wait_until(lambda: path.exists() and path.read_text().count("\n"))
    load.signal(signal.SIGCONT)
    after = time.monotonic_ns()
    test.eq((child.wait(), child.stderr), (0, ""), "two samples are taken")
    first, second = kdtest.samples_of(path)
    row, = [row for row in first["verdict"] if row["cause"] == "stopped"]
    test.ok("longest_began_before" not in row, "not before the sample in which it began", row)
    row, = [row for row in second["verdict"] if row["cause"] == "stopped"]
    test.ok(row.get("longest_began_before"), "but before the next one", row)
    test.between(row["longest_ns"], row["ns"] // len(second["threads"]) + 1, after - before,
                 "as long as it was")
    said = re.sub(r"\n {8}", " ", child.stdout)
    test.eq((said.count("which began before"), said.count("* the longest began before")), (1, 1),
            "in words, once")


def case_lock(test):
    """A mutex whose holder sleeps: the waits match the thread's log."""
    load = test.workload("locks", "asleep")
    screen = Screen(test, load.pid)
    log = load.ask("log")["asleep"]
    start, end = (screen.json["window"][key] for key in ("start_ns", "end_ns"))
    waited = sum(max(0, min(after, end) - max(before, start)) for before, after in log["waits"])
    # What it logged ends when it has its CPU again; waiting for that is not for the lock. Nor is what
    # the holder waited for a CPU: who had that is to blame.
    ready = sum(kdtest.thread_of(screen.json, tid)["ledger"][key] for tid in (log["tid"], *log["holders"])
                for key in ("ready_woken_ns", "ready_preempted_ns"))
    if 2 * ready > waited:
        raise kdtest.Skip("for most of it they had no CPU, which is the cause then")
    row = screen.first(test, "lock")
    close_to(test, row, screen, waited - ready, waited, "as long as it logged")
    test.eq((row["worst_tid"], row["who"]["tid"] in log["holders"]), (log["tid"], True),
            "who waited, and for whom")
    screen.says(test, row, f"waited for a lock that holder[{row['who']['tid']}] held")


def case_deadlock(test):
    """Mutexes that nobody will unlock, before the program comes, and in its window."""
    held = "locker[{}] waited for a lock that {} held, which is {}"
    for kind, holder, what in (("ring", "locker[{}]", "in a deadlock with it"),
                               ("itself", "locker[{}]", "the same thread: a deadlock"),
                               ("gone", "thread[{}]", "gone, and did not unlock it"),
                               ("shared", "thread[{}]", "gone, and did not unlock it")):
        for inside in (False, True):
            load = test.workload("deadlocks", kind)
            truth = {}

            def hang(load=load, truth=truth, least=1.0 if inside else 0.0):
                began = time.monotonic()
                truth.update(load.ask("hang"))
                load.settle(truth["tids"])
                time.sleep(least + 2 * (time.monotonic() - began))  # most of the window
            if not inside:
                hang()
            screen = Screen(test, load.pid, while_open=hang if inside else lambda: time.sleep(0.3))
            wanted = {held.format(tid, holder.format(truth["gone"] or after), what) for tid, after in
                      zip(truth["tids"], truth["tids"][1:] + truth["tids"][:1])}
            said = re.findall("locker.[0-9]+. waited for a lock .*(?=[.]$)", "\n".join(screen.verdict), re.MULTILINE)
            test.ok(said and {*said} <= wanted, f"{kind}: what hangs{', in the window' * inside}", said, wanted)
            holders = {row["who"]["tid"] for row in screen.blamed if row["cause"] == "lock"}
            test.eq(holders, {truth["gone"]} if truth["gone"] else {*truth["tids"]}, "for whom")
            test.ok("'thread apply all bt'" in screen.text, "and how to see where", screen.text)
            load.end()


def case_passed_on(test):
    """Of a wait that is most of the window, who has the lock at the end, not who had it at first."""
    load = test.workload("deadlocks", "passed")
    truth = {}

    def hang():
        truth.update(load.ask("hang"))
        load.settle(truth["tids"])
        time.sleep(1)
    screen = Screen(test, load.pid, while_open=hang)
    row = screen.first(test, "lock")
    test.eq((row["worst_tid"], row["who"]["tid"]), (truth["tids"][0], truth["keeps"]), "who waits, and for whom")
    test.ok("in a deadlock" not in screen.text and "is gone" not in screen.text, "it may end", screen.text)


def case_quota(test):
    """A group that has used up its quota, against the kernel's count."""
    with limited_group("kd-verdict") as group:
        load = test.workload("roles", f"spin:{kdtest.last_cpu()}")
        (group / "cgroup.procs").write_text(str(load.pid))
        counts = [throttled_ns(group)]

        def measure():
            """The kernel counts a throttled period once it is over."""
            counts.append(throttled_ns(group))
            time.sleep(0.6)
            kdtest.wait_until(lambda: throttled_ns(group) >= counts[1] + 300 * MS)
            counts.append(throttled_ns(group))
        screen = Screen(test, load.pid, while_open=measure)
        counts.append(throttled_ns(group))
        row = screen.first(test, "throttled")
        test.between(row["ns"], (counts[2] - counts[1]) / 2 - 100 * MS,
                     counts[3] - counts[0] + 100 * MS, "as long as the kernel counts")
        test.eq(screen.json["cpu_quota"], {"group": "/kd-verdict", "quota_ns": 20 * MS,
                                           "period_ns": 100 * MS}, "the quota that it was given")
        screen.says(test, row, "had used up the CPU quota of the group /kd-verdict (20 ms per 100 ms)")


def case_idle(test):
    """A process that sleeps in all the ways in which idle servers do."""
    load = test.workload("roles", "poll", "poll")
    screen = Screen(test, load.pid, seconds=0.5)
    test.eq(screen.blamed, [], "nobody is blamed")
    test.ok(screen.verdict and screen.verdict[0].startswith("Nothing kept it from running"),
            "in words", screen.text)


def ns_of(text):
    """The duration in ns of a text such as "1.10 ms"."""
    number, unit = text.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def case_little(test):
    """A real-time thread that nearly always sleeps: its run time is what the kernel counts, in user
    and in kernel mode, and the report may say that nothing kept it from running only if its little
    work was hardly delayed."""
    load = test.workload("sleeper", "fifo:5:0")
    tid, = load.ask("log").values()
    marks = []

    def ran_so_far():
        return kdtest.schedstat(load.pid, tid["tid"])[0]

    def measure():
        marks[:] = [ran_so_far()]
        time.sleep(0.3)
        marks.append(ran_so_far())
    for _ in range(TRIES):
        screen = Screen(test, load.pid, "--tid", tid["tid"], while_open=measure)
        said = re.search(r"^VERDICT (Nothing kept it from running|It had little to do): it ran for "
                         r"(.*?) \(user (.*?), kernel (.*?)\)(?:, was kept from running for (.*?))?,",
                         re.sub(r"\n {8}", " ", screen.text), re.MULTILINE)
        if said:
            break
    else:
        raise kdtest.Skip("others kept it from running")
    ran, user, kernel = map(ns_of, said.groups()[1:4])
    test.between(user + kernel, 0.98 * ran, 1.02 * ran, "both modes are all of it")
    ledger = kdtest.thread_of(screen.json, tid["tid"])["ledger"]
    # To the kernel a thread that preempts another one runs from its wakeup on, and what interrupts
    # it runs, too.
    test.between(ledger["sum_exec_runtime_ns"], 0.98 * (marks[1] - marks[0]), ran_so_far(), "the kernel's count")
    apart = sum(ns for state, ns in ledger.items() if state in (
        "hardirq_ns", "softirq_ns", "page_fault_ns", "reclaim_ns"))
    early = max(0, ledger["sum_exec_runtime_ns"] - apart - ledger["user_ns"] - ledger["kernel_ns"])
    test.between(ran, 0.5 * (marks[1] - marks[0]) - apart - early, 1.02 * ran_so_far(),
                 "as the kernel counts")
    kept = ns_of(said[5]) if said[5] else screen.without
    test.eq(bool(said[5]), kept >= 0.1 * (kept + ran), f"nothing, or a little: {said[0]}")


def case_busy(test):
    """The thread computes; whoever else is on its CPU is a true culprit, and there is no other."""
    kdtest.only_beside_another_cpu("the thread is to run before all others")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    tid, marks = load.tid("spin")[0], []

    def waited():
        """The time waited by the kernel's count, which includes a wait once it is over."""
        return sum(kdtest.schedstat(load.pid, each)[1] for each in kdtest.threads_of(load.pid))

    def measure():
        marks.append((waited(), time.monotonic_ns()))
        time.sleep(0.3)
    with kdtest.real_time(load.pid, tid):
        screen = Screen(test, load.pid, while_open=measure)
        kdtest.until_run(load.pid, tid)
        after = waited()
    # Even then the kernel gives others a twentieth of each second, and whoever works on another
    # CPU may have it interrupted.
    others = [row for row in screen.blamed if row["cause"] not in (*kdstaged.TAKERS, "throttled")]
    test.eq(others, [], "nobody else is blamed")
    (before, since), = marks
    test.between(screen.ready, 0, after - before + since - screen.json["window"]["start_ns"] +
                 kdtest.SLACK * 5 * MS, "it waited no longer than the kernel counts")
    test.between(sum(row["ns"] for row in screen.blamed), 0, screen.without + MS,
                 "and they took no more than it was without a CPU") or test.remark(*screen.blamed)
    # What is unexplained may be larger, and is said in its place.
    if not screen.json["verdict"]:
        text = re.sub(r"\n {8}", " ", screen.text)
        test.ok(re.search(r"^VERDICT (Nothing kept it from running: it ran for|.* unexplained: )", text,
                          re.MULTILINE), "in words", screen.text)


def threads_of(text):
    """Threads with full sections, and those that only have a line."""
    blocks = re.findall(r"^ +([\d,]+x?) (\S+) *(?:\[SYSCALL STATISTICS\])?$", text, re.MULTILINE)
    other = re.search(r"^(?:OTHER|TID) +THREAD +KEPT  STATES$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^ +([\d,]+x?) (\S+) +\d", other[1], re.MULTILINE) if other else []
    return [name for _, name in blocks], [name for _, name in lines]


def case_selection(test):
    kdtest.only_on_host("which threads have sections")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", f"spin:{cpu}", "poll", "poll")
    path = test.directory() / "json"

    def shown(*args, of=("--replay", path)):
        done = test.program(*of, *args, full=False)
        test.eq((done.status, done.stderr), (0, ""), " ".join(args) or "as it is")
        return done.stdout, *threads_of(done.stdout)
    text, blocks, lines = shown(of=("-p", load.pid, "--sample-time", "0.3", "-o", "text", "-o",
                                    f"json:{path}"))
    load.end()
    test.eq((len(blocks), len(lines)), (5, 0), "sections of all five threads")
    test.ok("VERDICT" in text and not re.search(r" 0     0\.00$", text, re.MULTILINE),
            "no lines of zeros", text)
    text, blocks, lines = shown("-o", "text,top=2")
    test.eq((blocks, len(lines)), (["spin", "spin"], 3), "two that were kept from running")
    text, blocks, lines = shown("-o", "text,top=0,sort=name")
    test.eq((blocks, lines), ([], sorted(lines)), "by name")
    test.eq(len(lines), 5, "a line for each")
    text, blocks, lines = shown("--threads", "sp*")
    test.eq((blocks, lines), (["spin", "spin"], []), "those that match")
    text, blocks, lines = shown("--summary")
    test.ok("VERDICT" in text and "SYSCALL STATISTICS" not in text and not lines, "one screen", text)
    text, blocks, lines = shown("--full")
    test.ok("VERDICT" not in text and len(blocks) == 5, "everything, without the screen", text)


def case_database(test):
    """63 threads that wait for locks and for their CPU yield a report that people can read.
    Repeated if a real-time thread of another test had that CPU, so that they mostly waited for
    locks."""
    kdtest.only_on_host("a report's length")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", *[f"convoy:{cpu}:300:100"] * 62)
    for _ in range(TRIES):
        done = test.program("-p", load.pid, "--sample-time", "0.5", full=False)
        if "taken by others" not in done.stdout:
            break
    blocks, lines = threads_of(done.stdout)
    test.eq(done.status, 0, "a report")
    test.between(len(blocks), 5, 10, "so many threads have sections")
    test.between(len(done.stdout.splitlines()), 100, 400, "lines")
    for section in "READY: WHO HAD THE CPU", "THREAD LOCK STATISTICS":
        test.ok(done.stdout.count(f"[{section}]") >= 5, f"they have [{section}]", done.stdout)
    members = re.findall(r"^ +(?:(\d+)x|\d+) (?:convoy|roles)\b",
                         done.stdout.split("NEXT", 1)[1], re.MULTILINE)
    test.eq(sum(int(count or 1) for count in members), 63, "every thread is in it")
    states, kept = (re.search(rf"^{header}.*\n((?:  .*\n)+)", done.stdout, re.MULTILINE)[1]
                    for header in ("STATE  ", "    TID THREAD"))
    shares = [float(share) for share in re.findall(r" [mun]?s +<?([\d.]+) %", states)]
    test.between(sum(shares), 98, 102, f"all states, and those that have no line, are all of it: {states}")
    others = re.search(r"and (\d+) others", kept)
    without = len(re.findall(r"^ .{27} +0 ns  ", done.stdout, re.MULTILINE))
    test.between(len(re.findall(r"\d+ convoy", kept)) + int(others[1] if others else 0),
                 63 - without - len(blocks), 63 - without, "of threads that were kept ten have room")


# A thread that asks one process, which answers after 5 ms and then keeps the CPU for as long, and
# another, which answers after 7 ms. It logs when it asked, and when it could go on.
ASKS = '''
import ctypes, json, os, select, sys, time

def role(name, priority):
    ctypes.CDLL(None).prctl(15, name.encode())  # PR_SET_NAME
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))

def answers(name, delay, burn):
    asked, ask = os.pipe()
    answer, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(asked), os.close(told)
        return pid, ask, answer
    os.close(ask), os.close(answer)
    role(name, 2)
    while os.read(asked, 1):
        time.sleep(delay)
        os.write(told, b"x")
        end = time.monotonic() + burn
        while time.monotonic() < end:
            pass
    os._exit(0)

os.sched_setaffinity(0, {int(sys.argv[1])})
of = {name: answers(name, *how) for name, how in {"hog": (.005, .005), "slow": (.007, 0)}.items()}
role("asks", 1)
log = {name: {"pid": pid, "waits": []} for name, (pid, *_) in of.items()}
print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    for name, (_, ask, answer) in of.items():
        before = time.monotonic_ns()
        os.write(ask, b"x")
        os.read(answer, 1)
        log[name]["waits"].append((before, time.monotonic_ns()))
print(json.dumps(log), flush=True)
'''


def case_together(test):
    """One process keeps a thread waiting in two ways, each for less time than another process does,
    but longer in total: it is named with the sum."""
    with kdtest.RealTime.alone():
        child = test.child(["python3", "-c", ASKS, str(kdtest.last_cpu())])
        child.line("ready")
        screen = Screen(test, child.pid, seconds=0.6)
        log = child.ask("end")
    start, end = (screen.json["window"][key] for key in ("start_ns", "end_ns"))
    took = {name: sum(max(0, min(after, end) - max(before, start)) for before, after in of["waits"])
            for name, of in log.items()}
    hog, slow = log["hog"]["pid"], log["slow"]["pid"]
    if took["hog"] * 0.6 > took["slow"] or took["hog"] < took["slow"] * 1.1:
        raise kdtest.Skip(f"the machine was late: {took}")
    rows = screen.json["verdict"]
    test.ok(rows and rows[0]["who"].get("pid") == slow, "no row is larger than the other one's", rows)
    largest = screen.json.get("largest_culprit", {"who": {}, "ns": 0, "causes": []})
    test.eq((largest["who"].get("pid"), largest["who"].get("comm")), (hog, "hog"), "it is who took most")
    if not test.between(largest["ns"], took["hog"] * 0.8, took["hog"],
                        "for as long as the thread's clock has it"):
        test.remark(start, end, log, *rows, screen.json.get("resynced"))
    test.eq({part["cause"] for part in largest["causes"]}, {"peer", "task"}, "by two causes")
    test.eq(sum(part["ns"] for part in largest["causes"]), largest["ns"], "which add up to that")
    first = re.findall(r"^VERDICT .*\n(?: {8}.*\n)*", screen.text, re.MULTILINE)[0]
    test.ok(re.search(rf"asks\[\d+\] waited for hog\[{hog}\].*, which .*CPU.* and .*pipe", " ".join(first.split())) or
            re.search(rf"asks\[\d+\] waited for hog\[{hog}\].*, which .*pipe.* and .*CPU", " ".join(first.split())),
            "the first sentence is about it", first)
    line = re.findall(rf"^  (\S.*?) +hog\[{hog}\] ", screen.text, re.MULTILINE)
    test.ok(len(line) == 1 and set(line[0].split(", ")) == {"CPU", "pipe/socket"},
            "it has one line in the table", line, screen.text)


kdtest.main(case_fifo, case_together, case_stopped, case_before, case_lock, case_deadlock, case_passed_on, case_quota, case_idle, case_little, case_busy, case_selection,
            case_database)
