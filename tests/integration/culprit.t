#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Who had the CPU while a thread waited for it, against the run times of those who had it.

Whatever else runs on the machine is a culprit, too: so the time of each is compared with what
it says of itself, and the sum with the thread's states (in the check of the books)."""

import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import re
import signal
import struct
import sys
import time
import unittest.mock

import kdtest
from kdgroup import heavy_group
from kdneeds import named_objects, need
from kdothers import (HIDDEN, RUN, TICK, Herd, KernelThread, begin, hidden_ns, hog, named, observe,
                      of, total, unexplained)
from kdtest import MS

CELLS = 24  # of a thread, in the program
LISTED = 16  # who wait for a CPU
RUNQUEUE, UNLISTED = 192, 32  # bytes of struct kd_runqueue (bpf/others.h), and before the count
PF_KTHREAD = 0x200000  # include/linux/sched.h


def case_fifo(test):
    """A real-time task takes the CPU for 60 of every 100 ms; nobody takes it from a task that
    sleeps."""
    cpu = kdtest.last_cpu()
    other = hog(test, f"fifo:{cpu}:60:100")
    target = test.workload("roles", f"+spin:{cpu}", "poll")
    (spin,), (tid,), (poll,) = target.tid("spin"), other.tid("fifo"), target.tid("poll")
    target.settle([poll])
    turns = [kdtest.turns(target.pid, poll)]
    # The first of the conditions holds, a larger share does not.
    report, ran = observe(
        test, target, other, status=4,
        until=lambda ran: turns.append(kdtest.turns(target.pid, poll)) or ran[tid] >= 3 * RUN, options=(
            "--fail-if", "thread(spin).ready_by.fifo.pct>10", "--fail-if", "ready_by.fi?o.pct>=100",
            "--fail-if", "thread(spin).taken_by_others.pct>10",
            "--fail-if", "taken_by_own_threads.pct>10"))
    thread = report.thread(spin)
    test.eq(turns[-1], turns[0], "the one that sleeps does so throughout")
    test.eq((report.thread(poll).culprits.total, report.thread(poll).all), (0, []),
            "so nobody is blamed for that")
    rows = named(test, thread, {"tid": tid}, ran[tid], "the real-time task", name="fifo",
                 pid=other.pid, policy="SCHED_FIFO", priority=10, own=None, kernel=None)
    test.ok(rows and rows[0]["longest_ns"] > 40 * MS / kdtest.SLACK, "the longest run is seen",
            rows)
    shown = [row for row in thread.culprits if row.tid == tid]
    test.ok(shown and shown[0]["class"] == "FIFO 10", "the report has it, too", *thread.culprits)
    unexplained(test, report, thread)
    said = [line for line in report.errors.splitlines() if "--fail-if" in line]
    test.ok(len(said) == 2 and "ready_by.fifo.pct>10" in said[0] and
            "taken_by_others.pct>10" in said[1], "those that hold are named", *said)
    slack = max(thread.culprits.total * 0.03, ran[tid][1] * 0.1) + thread.hidden
    besides = thread.others - total(rows)  # whatever else ran on that CPU
    test.between(thread.others, ran[tid][0] - slack, ran[tid][1] + besides + slack,
                 "others took what the task ran")
    besides = sum(each.running for each in report.threads if each.tid != spin)  # who tells what ran
    test.between(thread.own, 0, besides + MS, "and its own threads next to nothing")


def watched_turns(child, pid, tid):
    """Polls a thread while a program runs: [(from, turns, run time, to)]."""
    polls = []
    while child.proc.poll() is None:
        start = time.monotonic_ns()
        polls.append((start, kdtest.turns(pid, tid), time.clock_gettime_ns(kdtest.cpu_clock(pid)),
                      time.monotonic_ns()))
        time.sleep(0.01)
    return polls


def had_throughout(polls, window):
    """Whether the thread had a CPU throughout a window: it was given none between the last poll
    before and the first poll after, and ran all that time except for 5 % of the window, as it may
    rest by then."""
    before = [poll for poll in polls if poll[3] <= window["start_ns"]][-1:]
    after = [poll for poll in polls if poll[0] >= window["end_ns"]][:1]
    rest = 0.05 * (window["end_ns"] - window["start_ns"])
    return bool(before and after and before[0][1] == after[0][1] and
                after[0][2] - before[0][2] > after[0][0] - before[0][3] - rest)


def case_never_switched(test):
    """A task that had the CPU before the sample and has it after: no switch shows it. Repeated
    where that was not so, as the task rests now and again and may be kept off the CPU."""
    kdtest.only_on_host("it takes long")
    cpu, path = kdtest.last_cpu(), test.directory() / "sample.json"
    target = test.workload("roles", f"spin:{cpu}")
    other = test.workload("roles", f"fifo:{cpu}:400:410")
    spin, tid, found = target.tid("spin")[0], other.tid("fifo")[0], 0
    while found < 2:
        child = test.child([kdtest.PROGRAM, "-p", target.pid, "--sample-time", "0.02",
                            "--sample-count", 20, "-o", f"json:{path}"])
        hidden = hidden_ns()
        polls = watched_turns(child, other.pid, tid)
        test.eq(child.wait(), 0, "status")
        hidden = hidden_ns() - hidden
        for line in path.read_text().splitlines():
            sample = json.loads(line)
            if sample["type"] != "sample" or not had_throughout(polls, sample["window"]):
                continue
            found += 1
            window = sample["window"]["end_ns"] - sample["window"]["start_ns"]
            rows = [row for thread in sample["threads"] if thread.get("tid") == spin
                    for row in thread["ready_by"]]
            # It has its CPU in interrupts, too, which are named as what they are.
            besides = total(row for row in rows if row["kind"] in ("hardirq", "softirq", "stolen"))
            test.between(total(row for row in rows if row.get("tid") == tid),
                         max(0.9 * window - besides - hidden, window / 2), window,
                         "it is named for the whole sample") or test.remark(*rows)


def case_nice(test):
    """Two hogs of lower priority, and one of the target's own threads."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    others = [hog(test, f"spin:{cpu}", wrapper=("nice", "-n", str(nice))) for nice in (3, 7)]
    target = hog(test, f"spin:{cpu}", f"spin:{cpu}")
    report, ran = observe(test, target, *others, target)
    first, second = target.tid("spin")
    for tid, sibling in ((first, second), (second, first)):
        thread = report.thread(tid)
        for other, nice in zip(others, (3, 7)):
            spin = other.tid("spin")[0]
            named(test, thread, {"pid": other.pid}, ran[spin], f"the hog of nice {nice}",
                  policy=None, priority=nice, own=None)
        named(test, thread, {"tid": sibling}, ran[sibling], "the sibling", own=True)
        unexplained(test, report, thread)


def case_round_robin(test):
    kdtest.only_beside_another_cpu("its tasks leave nothing to others")
    cpu = kdtest.last_cpu()
    others = [hog(test, f"fifo:{cpu}:20:100"),
              hog(test, f"spin:{cpu}", wrapper=("chrt", "-r", "5"))]
    target = hog(test, f"spin:{cpu}")
    report, ran = observe(test, target, *others)
    thread, tid = report.thread(target.tid("spin")[0]), others[1].tid("spin")[0]
    named(test, thread, {"pid": others[1].pid, "policy": "SCHED_RR"}, ran[tid],
          "the round-robin task", priority=5)
    unexplained(test, report, thread)


def stale_ns(report, tids):
    """What threads ran beyond their own clocks, by TID: some 10 us for each wakeup that preempted
    them, see clock_shift() in kdbooks. It is the report's RESIDUAL, which ledger.t compares with
    the kernel's tracing."""
    exact = {thread.get("tid"): thread["ledger"]["sum_exec_runtime_ns"]
             for thread in report.sample["threads"]}
    return {thread.tid: max(0, thread.running - exact.get(thread.tid, thread.running))
            for thread in report.threads if thread.tid in tids}


def siblings_have_theirs(test, report, target, ran, slack=0):
    """For each thread of a target that is confined to one CPU: its siblings had that CPU for as
    long as they ran, and no thread is its own culprit."""
    tids = target.tid("spin")
    threads = [thread for thread in report.threads if thread.tid in tids]
    test.eq(sorted(thread.tid for thread in threads), tids, "all of them are there")
    stale = stale_ns(report, tids)
    for thread in threads:
        test.ok(not of(thread, tid=thread.tid), "it is not its own culprit", *thread.all)
        least, most = (sum(ran[tid][i] for tid in tids if tid != thread.tid) for i in (0, 1))
        most -= report.outside * (len(tids) - 2)  # one after the other
        unsure = slack + 0.03 * thread.culprits.total
        # A thread's own clock may run on while the hypervisor has its CPU; whom the kernel hides had it
        # in the time of who had it before, and so had those to whom it reports no switch: a sibling
        # that followed a hidden one, too, in that of others.
        least -= unsure + thread.hidden + total(of(thread, kind="stolen"))
        most += unsure + thread.hidden + HIDDEN * report.unreported
        most += sum(ns for tid, ns in stale.items() if tid != thread.tid)
        test.between(total(of(thread, own=True)), least, most,
                     "its siblings have their time") or \
            test.remark(thread.hidden, report.unreported, report.outside, stale, ran, *thread.all)
        test.between(thread.own, least, most, "which own threads took together")
        if len(tids) <= LISTED:
            unexplained(test, report, thread)
    return threads


def case_many_waiters(test):
    """A dozen threads of the target share a CPU."""
    kdtest.only_on_host("it takes long")
    target = hog(test, *[f"spin:{kdtest.last_cpu()}"] * 12)
    report, ran = observe(test, target, target, until=lambda ran: min(ran.values()) >= 10 * MS)
    siblings_have_theirs(test, report, target, ran)


def waits_lost(test, report):
    """Of how many waits the program says that a part is not explained: wakers of other CPUs may
    overwrite an entry of a CPU's list at the same moment (bpf/runqueue.bpf.h)."""
    told = kdtest.losses_told(report, culprits=True)
    found = [re.search(r"(\d+) waits? for a CPU (?:is|are) in part unexplained", line) for line in told]
    lost = sum(int(each[1]) for each in found if each)
    test.ok(all(found) and lost <= 2, "nothing is lost, but for a wait or two", *told)
    return lost


def crowd(test, **options):
    """More threads wait for a CPU than its list has entries, and a real-time thread comes and goes."""
    kdtest.only_on_host("it takes long")
    cpu, waiters = kdtest.last_cpu(), 60
    other = hog(test, f"fifo:{cpu}:30:100")
    target = hog(test, *[f"spin:{cpu}"] * waiters)
    fifo = other.tid("fifo")[0]
    report, ran = observe(test, target, target, other, until=lambda ran: (
        min(ran.values()) >= MS and ran[fifo] >= RUN), **options)
    report.lost = waits_lost(test, report)
    return report, target, fifo, ran


def case_crowd(test):
    """With more waiters than entries, it is still known whose time it was, if not by name, and the
    sums are exact."""
    report, target, fifo, ran = crowd(test)
    threads = siblings_have_theirs(test, report, target, ran)
    # One that is not listed is charged at the end of its wait: if the kernel hides that, all of it is
    # unexplained.
    lost = [thread for thread in threads
            if total(of(thread, kind="unexplained")) > thread.culprits.total / 50 + 20_000]
    test.ok(len(lost) <= report.unreported + report.lost, "all but 2 % is explained", report.unreported,
            *(thread.all for thread in lost))
    for thread in threads:
        others = total(of(thread, kind="task", own=None)) + total(of(thread, kind="rest"))
        test.ok(others >= ran[fifo][0] - 0.03 * thread.culprits.total -
                total(of(thread, kind="stolen")), "others have theirs", others, *thread.all)


# Holds up who reads what an iterator of BPF has to say.
LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
ssize_t read(int fd, void *into, size_t size)
{
	ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
	char path[64], link[64] = "";
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, link, sizeof(link) - 1) > 0 && strstr(link, "bpf_iter"))
		usleep(70000);
	return next(fd, into, size);
}
"""


def case_late(test):
    """The window is read long after its end: nothing that happens in between is counted."""
    with unittest.mock.patch.dict(os.environ, LD_PRELOAD=test.preload(LATE)):
        report, target, _, ran = crowd(test, freeze=False)
    siblings_have_theirs(test, report, target, ran, slack=10 * MS)


def case_many_culprits(test):
    """More culprits than a thread has cells for: those with the least time are summed up as the
    rest, and nothing is lost (the check of the books)."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    target, herd = hog(test, f"spin:{cpu}"), Herd(test, cpu, 40)
    report, ran = observe(test, target, herd, until=lambda ran: (
        sum(ns >= 4 * MS for ns in ran.values()) >= 32))
    thread = report.thread(target.tid("spin")[0])
    tasks = of(thread, kind="task")
    test.ok({row["pid"] for row in tasks} & set(herd.pids), "some have cells", *tasks)
    # Who has the CPU at the window's end needs no cell.
    test.between(len(tasks), 10, CELLS + 1, "so many have cells, with whoever else ran")
    had = {pid: total(of(thread, pid=pid)) for pid in herd.pids}
    slack = 0.1 * sum(least for least, _ in ran.values()) + thread.hidden
    unlisted = [ran[pid][0] for pid, ns in had.items() if not ns]
    rest = total(of(thread, kind="rest"))
    test.ok(sum(unlisted) >= 4 * MS, "more ran than have cells", unlisted)
    test.ok(rest >= sum(unlisted) * 0.9 - thread.hidden, "the others are the rest", rest, unlisted,
            *thread.all)
    # One may have lost its cell, and got another one later.
    test.ok(sum(had.values()) + rest >= sum(least for least, _ in ran.values()) - slack,
            "all have their time", had, rest, ran)
    wrong = [(pid, ns, ran[pid]) for pid, ns in had.items() if ns > 1.1 * ran[pid][1] + MS + thread.hidden]
    test.eq(wrong, [], "and none has more")
    unexplained(test, report, thread)


def case_in_common(test):
    """Many small culprits share one row, by their control group or else by the process that started
    them, with the time of all of them."""
    cpu = kdtest.last_cpu()
    target = hog(test, f"spin:{cpu}")
    spin, = target.tid("spin")
    with heavy_group() as join:
        herds = Herd(test, cpu, 8), Herd(test, cpu, 8)
        for pid in herds[0].pids:
            join(unittest.mock.Mock(pid=pid))
        groups = [pathlib.Path(f"/proc/{herd.pids[0]}/cgroup").read_text() for herd in herds]
        for herd, grouped in zip(herds, (groups[0] != groups[1], False)):
            report, ran = observe(test, target, herd, freeze=False,
                                  until=lambda ran: min(ran.values()) >= 20 * MS)
            for pid in herd.pids:
                os.kill(pid, signal.SIGSTOP)
            thread = report.thread(spin)
            rows = [row for row in report.sample["verdict"]
                    if row["who"].get("parent_pid") == herd.load.pid and row.get("culprits", 1) > 1]
            test.eq(len(rows), 1, "one row")
            test.ok(rows and rows[0]["culprits"] >= 6, "of nearly all of them", *rows)
            had = sum(total(of(thread, pid=pid)) for pid in herd.pids)
            least = sum(least for least, _ in ran.values())
            test.between(had, least * 0.9 - thread.hidden, sum(most for _, most in ran.values()) * 1.1
                         + thread.hidden, "they have what they ran")
            for row in rows:
                everyone = sum(total(of(each, pid=pid)) for each in report.threads for pid in herd.pids)
                test.between(row["ns"], had * 0.6, everyone, "and it has what they have, of all threads")
                path = row["who"].get("group")
                test.eq(bool(path), grouped, "with their group, if they have one")
                test.ok(not path or f":{path}\n" in groups[0], "which it is", path, groups[0])


def case_ksoftirqd(test):
    """So many packets from another CPU that their softirqs are handled in ksoftirqd; other kernel
    threads are recognised, too."""
    need("unshare", "ip", "mount")
    kdtest.only_beside_another_cpu("for who sends")
    cpu = kdtest.last_cpu()
    thread = KernelThread(f"ksoftirqd/{cpu}")
    script = ("mount -t sysfs sysfs /sys && ip link set lo up && echo "
              f"{1 << cpu:x} >/sys/class/net/lo/queues/rx-0/rps_cpus && exec \"$@\"")
    marked = []
    # One run of ksoftirqd before a hidden switch is longer than HIDDEN; and the report has those
    # with most, which others may be.
    for _ in range(8):
        flood = test.workload("staged", "+flood:0:9999:0:20", wrapper=(
            "nice", "-n", "-20", "unshare", "-n", "-m", "sh", "-c", script, "sh"))
        target = hog(test, f"spin:{cpu}")
        report, ran = observe(test, target, thread, flood, until=lambda ran: (
            ran[thread.tid] >= 30 * MS or max(ran.values()) >= 2000 * MS))
        victim = report.thread(target.tid("spin")[0])
        marked += ["kernel: soft irqs" in (row.remarks or "") for row in victim.culprits
                   if row.tid == thread.tid]
        if marked and not report.unreported or ran[thread.tid][0] < 30 * MS:
            break
    if ran[thread.tid][0] < 30 * MS:
        raise kdtest.Skip(f"ksoftirqd ran for {ran[thread.tid][0]:,} ns only")
    least, most = ran[thread.tid]
    # The kernel's count may be a tick old.
    named(test, victim, {"tid": thread.tid}, (least - TICK, most + TICK), "ksoftirqd", points=0,
          kernel=True, ksoftirqd=True, own=None, policy=None, name=f"ksoftirqd/{cpu}")
    test.ok(marked and all(marked), "marked in the report", marked, *victim.culprits)
    for row in of(victim, kind="task"):
        with contextlib.suppress(OSError, IndexError):  # it may have ended
            stat = pathlib.Path(f"/proc/{row['pid']}/stat").read_text(errors="replace")
            flags = int(stat.rsplit(")", 1)[1].split()[6])
            test.eq(bool(row.get("kernel")), bool(flags & PF_KTHREAD),
                    f"whether {row['name']} is one of the kernel")
    unexplained(test, report, victim)


def case_same_entry(test):
    """Two threads that would share an entry in the list of the CPU that they wait for."""
    kdtest.only_on_host("the list is the program's own")
    cpu = kdtest.last_cpu()
    target = hog(test, f"spin:{cpu}", *["poll"] * (LISTED - 1), f"spin:{cpu}")
    other = hog(test, f"spin:{cpu}")
    report, ran = observe(test, target, other)
    for spin in target.tid("spin"):
        named(test, report.thread(spin), {"pid": other.pid}, ran[other.tid("spin")[0]], "who made both wait")


RENAMED = """import ctypes, os, signal, sys, time
os.sched_setaffinity(0, {int(sys.argv[2])})
libc = ctypes.CDLL(None)
def spend(name, ns):
    libc.prctl(15, name.encode())  # PR_SET_NAME
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end: pass
if sys.argv[3] == "before":
    print("ready", flush=True)
    input()
    for i in range(50): spend(f"step-{i}", int(2.5e6))
    spend("before", int(25e6))
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], *sys.argv[1:3], "after"])
spend("after", int(150e6))
print("done", flush=True)
signal.pause()"""


def case_renamed(test):
    """A task that changes its name again and again is one culprit, by its last one; it becomes another
    if it executes another program while it has the CPU."""
    kdtest.only_on_host("names are compared by the program itself")
    target, names = hog(test, f"spin:{kdtest.last_cpu()}"), ("before", "after")
    other = test.child([sys.executable, "-c", RENAMED, RENAMED, kdtest.last_cpu(), "before"])
    other.line("ready")
    path = test.directory() / "sample.json"
    capture = test.capture(target.pid, "-o", "text", "-o", f"json:{path}")
    hidden = hidden_ns()
    begin(target)
    other.send("go")
    other.line("done")
    hidden = hidden_ns() - hidden
    test.books(capture.close(test))
    sample = next(json.loads(line) for line in path.open() if '"type":"sample"' in line)
    (thread,) = (row for row in sample["threads"] if row["tid"] == target.tid("spin")[0])
    # The turn in which it executes the other program may count for either, which also takes time to
    # begin. Beside many others, part of its time may be in the rest.
    found = [[row for row in thread["ready_by"] if (row.get("pid"), row.get("name")) == (other.pid, name)]
             for name in names]
    unsure = hidden + max((row["longest_ns"] for row in found[0] + found[1]), default=0)
    unsure += total([row for row in thread["ready_by"] if row["kind"] == "rest"])
    ran = kdtest.schedstat(other.pid, other.pid)[0]
    for name, rows in zip(names, found):
        test.between(total(rows), 135 * MS - unsure, ran - 135 * MS + unsure,
                     f"{name} has its time") or test.remark(*thread["ready_by"])
    rows = [row for row in sample["verdict"] if row["who"].get("pid") == other.pid]
    test.ok(len(rows) <= 1, "the verdict does not have it twice", *sample["verdict"])


def runqueues_of(pid):
    """The memory of a program's BPF map of run queues."""
    number, = (number for number, name in named_objects(pid, "map").items() if name == "kd_runqueues")
    fd = ctypes.CDLL("libbpf.so.1").bpf_map_get_fd_by_id(number)
    try:
        return mmap.mmap(fd, os.cpu_count() * RUNQUEUE)
    finally:
        os.close(fd)


def idle_ticks(cpu):
    return int(re.search(rf"^cpu{cpu}((?: \d+)+)$", pathlib.Path("/proc/stat").read_text(),
                         re.MULTILINE)[1].split()[3])


def case_hidden_ends(test):
    """A wait that has no entry in its CPU's list, and whose end the kernel hid from tracing, counts
    until that CPU goes idle."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", "poll")
    capture = test.capture(load.pid)
    cpus = os.sched_getaffinity(0)
    with runqueues_of(capture.pid) as memory:
        struct.pack_into("I", memory, cpu * RUNQUEUE + UNLISTED, 3)
        before = idle_ticks(cpu)
        os.sched_setaffinity(0, {cpu})  # it becomes idle each time that this thread rests
        try:
            kdtest.wait_until(lambda: idle_ticks(cpu) > before + 2, patience=30)
        except TimeoutError:
            raise kdtest.Skip("the CPU always has something to do") from None
        finally:
            os.sched_setaffinity(0, cpus)
        test.eq(struct.unpack_from("I", memory, cpu * RUNQUEUE + UNLISTED)[0], 0, "nobody waits")
    test.books(capture.close(test))


def case_deadline(test):
    """A thread that uses up its own deadline runtime, by its own clock."""
    load = test.workload("roles", "deadline:5:20:30")
    capture = test.capture(load.pid, "-o", "text")
    log = load.go()["threads"][0]
    if "refused" in log:
        raise kdtest.Skip("no SCHED_DEADLINE")
    report = capture.close(test)
    test.books(report)
    rows = [row for row in report.thread(log["tid"]).culprits if row.name == "own deadline"]
    # What is longer than a period was something else, such as the hypervisor.
    least = 0.8 * (log["kept_ns"] - max(0, log["longest_ns"] - 20 * MS))
    test.between(sum(row.ns for row in rows), least, log["kept_ns"] + 30 * MS, "as long as it logged")
    test.between(max(row.longest for row in rows), least / 30, log["longest_ns"] + MS,
                 "and its longest")
    test.ok("it may have 5 ms per 20 ms" in (rows[0].remarks or ""), "with what it may have", *rows)


kdtest.main(case_fifo, case_never_switched, case_nice, case_round_robin, case_many_waiters,
            case_crowd, case_late, case_many_culprits, case_in_common, case_ksoftirqd, case_same_entry,
            case_renamed, case_hidden_ends, case_deadline)
