#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Who had the CPU while a thread waited for it, against the run times of those who had it.

Whatever else runs on the machine is a culprit, too: so the time of each is compared with what
it says of itself, and the sum with the thread's states (in the check of the books)."""

import contextlib
import json
import os
import pathlib
import re
import time

import kdtest
from kdgroup import heavy_group, limited_group, throttled_ns
from kdneeds import need
from kdtest import MS

SPAN = 1.5  # seconds
PF_KTHREAD = 0x200000  # include/linux/sched.h


def hog(test, *roles, wrapper=()):
    return test.workload("roles", *roles, wrapper=wrapper)


def hidden_ns():
    """What threads have run that a kernel may hide from tracing: those of process 1, on the
    machine where such a kernel was seen. It is charged to whoever had the CPU before."""
    ran = 0
    for tid in kdtest.threads_of(1):
        with contextlib.suppress(OSError):  # it has ended
            ran += kdtest.schedstat(1, tid)[0]
    return ran


def observe(test, target, *others, seconds=SPAN):
    """A report on the target, and the run times of the others' threads in its window: at
    least those between two marks in it, at most what was outside of the marks more."""
    path = test.directory() / "sample.json"
    capture = test.capture(target.pid, "-o", "text", "-o", f"json:{path}")
    before, hidden = [other.mark() for other in others], hidden_ns()
    time.sleep(seconds)
    after = [other.mark() for other in others]
    report = capture.close(test)
    test.books(report)
    sample = next(json.loads(line) for line in path.open() if '"type":"sample"' in line)
    rows = {thread["tid"]: thread["ready_by"] for thread in sample["threads"]}
    for thread in report.threads:  # the report has five rows, JSON all
        thread.all = rows.get(thread.tid, [])
        thread.hidden = hidden_ns() - hidden
    bounds = {}
    for first, last in zip(before, after):
        outside = max(0, report.window - first.until(last))
        for tid, ran in first.cpu.items():
            bounds[tid] = (last.cpu[tid] - ran, last.cpu[tid] - ran + outside)
    return report, bounds


def of(thread, **wanted):
    return [row for row in thread.all
            if all(row.get(key) == value for key, value in wanted.items())]


def total(rows):
    return sum(row["woken_ns"] + row["preempted_ns"] for row in rows)


def named(test, thread, who, bounds, text, **properties):
    """Checks the row of a thread, or of a process of others, that took its time from this
    one: within 3 points of the whole wait, or 10 % of what it ran. So one with less
    need not have a row: among many others it may have lost it."""
    rows = of(thread, **who)
    least, most = bounds
    slack = max(thread.culprits.total * 0.03, most * 0.1) + thread.hidden
    test.between(total(rows), least - slack, most + slack, f"{text} has its time")
    for row in rows:
        test.eq({key: row.get(key) for key in properties}, properties, "and is called by its name")
    return rows


HIDDEN = 5 * MS  # a slice: some kernels hide the switches of other processes' threads, too


def unexplained(test, report, thread):
    """Where the kernel hid switches of the target, it is not known who had the CPU before."""
    test.between(total(of(thread, kind="unexplained")), 0,
                 thread.culprits.total / 50 + 20_000 + HIDDEN * report.unreported,
                 "all but 2 % is explained")


def case_fifo(test):
    """A real-time task takes the CPU for 60 of 100 ms."""
    cpu = kdtest.last_cpu()
    other = hog(test, f"fifo:{cpu}:60:100")
    target = hog(test, f"spin:{cpu}")
    report, ran = observe(test, target, other)
    thread, tid = report.thread(target.tid("spin")[0]), other.tid("fifo")[0]
    rows = named(test, thread, {"tid": tid}, ran[tid], "the real-time task", name="fifo",
                 pid=other.pid, policy="SCHED_FIFO", priority=10, own=None, kernel=None)
    test.ok(rows and rows[0]["longest_ns"] > 40 * MS / kdtest.SLACK, "the longest run is seen",
            rows)
    shown = [row for row in thread.culprits if row.tid == tid]
    test.ok(shown and shown[0]["class"] == "FIFO 10", "the report has it, too", *thread.culprits)
    unexplained(test, report, thread)
    kdtest.only_on_host("what conditions and metrics say")
    conditions(test, target)


def conditions(test, target):
    """What conditions and metrics say of the same two, in samples of their own."""
    path = test.directory() / "sample.prom"
    sample = "-p", target.pid, "--sample-time", "0.5", "--fail-if"
    done = test.program(*sample, "thread(spin).ready_by.fifo.pct>10", "-o", f"json:{path}.json",
                        "-o", f"openmetrics:{path}")
    test.eq(done.status, 4, "the condition holds")
    test.ok("ready_by.fifo.pct" in done.stderr, "and is named", done.stderr)
    test.eq(test.program(*sample, "ready_by.fi?o.pct>=100").status, 0, "a larger share does not")
    rows = [row for line in pathlib.Path(f"{path}.json").open() if '"type":"sample"' in line
            for thread in json.loads(line)["threads"] if thread["name"] == "spin"
            for row in thread["ready_by"]]
    wanted = total(row for row in rows if row.get("name") == "fifo") / 1e9
    series = re.compile(r'kernel_delay_ready_by_seconds_total\{thread="spin",.*culprit="fifo"\} (.*)')
    got = [float(match[1]) for match in map(series.match, path.read_text().splitlines()) if match]
    test.eq([round(value, 9) for value in got], [round(wanted, 9)], "metrics have its time")


def case_never_switched(test):
    """One that had the CPU before the sample and has it after: no switch shows it."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    target = hog(test, f"spin:{cpu}")
    other = hog(test, f"fifo:{cpu}:400:410")
    tid, found = other.tid("fifo")[0], 0
    for _ in range(6):
        done = test.program("-p", target.pid, "--sample-time", "0.02")
        thread = kdtest.kdreport.parse(done.stdout)[0].thread(target.tid("spin")[0])
        found += any(row.tid == tid and row.ns > 0.9 * thread.life for row in thread.culprits)
    test.ok(found >= 2, "it is named for whole samples", found)


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


def case_many_waiters(test):
    """A dozen threads of the target share a CPU."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    target = hog(test, *[f"spin:{cpu}"] * 12)
    report, ran = observe(test, target, target)
    tids = target.tid("spin")
    for thread in report.threads:
        tid = thread.tid
        if tid not in tids or thread.silent or not thread.culprits.total:
            continue  # several that never ran share a row
        test.ok(not of(thread, tid=tid), "it is not its own culprit", *thread.all)
        took = total(of(thread, own=True))
        least, most = (sum(ran[other][i] for other in tids if other != tid) for i in (0, 1))
        slack = 0.03 * thread.culprits.total + total(of(thread, kind="stolen"))
        test.between(took, least - slack, most + slack,
                     "its siblings have their time")
        unexplained(test, report, thread)


def case_crowd(test):
    """More threads wait for a CPU than its list has entries: whose time it was is known all the
    same, if not by name, and the sums are exact."""
    kdtest.only_on_host("it takes long")
    cpu, waiters = kdtest.last_cpu(), 60
    other = hog(test, f"fifo:{cpu}:30:100")
    target = hog(test, *[f"spin:{cpu}"] * waiters)
    report, ran = observe(test, target, target, other)
    tids, fifo = target.tid("spin"), ran[other.tid("fifo")[0]]
    test.eq(kdtest.losses_told(report, culprits=True), [], "nothing is lost")
    looked = 0
    for thread in report.threads:
        if thread.tid not in tids or thread.culprits.total < report.window / 2:
            continue
        looked += 1
        least, most = (sum(ran[tid][i] for tid in tids if tid != thread.tid) for i in (0, 1))
        # A thread's own clock may run on while the hypervisor has its CPU.
        slack = 0.03 * thread.culprits.total + total(of(thread, kind="stolen"))
        test.between(total(of(thread, own=True)), least - slack, most + slack,
                     "its siblings have their time")
        test.ok(total(of(thread, kind="task", own=None)) + total(of(thread, kind="rest")) >=
                fifo[0] - slack, "others have theirs", *thread.all)
        unexplained(test, report, thread)
    # Those that never ran share a row; on a busy machine they are most.
    test.ok(looked >= 3, "of several threads", looked)


def case_many_culprits(test):
    """More than a thread has cells for: those with least are the rest, and nothing is lost (the
    check of the books)."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    target = hog(test, f"spin:{cpu}")
    others = [hog(test, f"spin:{cpu}") for _ in range(40)]
    report, _ = observe(test, target, seconds=2)
    thread = report.thread(target.tid("spin")[0])
    tasks = of(thread, kind="task")
    test.ok({row["pid"] for row in tasks} & {other.pid for other in others}, "some have cells", *tasks)
    # Who has the CPU at the window's end needs no cell.
    test.between(len(tasks), 10, 24 + 1, "so many have cells, with whoever else ran")
    test.ok(total(of(thread, kind="rest")) > thread.culprits.total / 10, "others are the rest",
            *thread.all)
    unexplained(test, report, thread)


class KernelThread:
    """One of the kernel, as far as observe() knows workloads."""

    def __init__(self, name):
        self.tid = None
        for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):  # it may have ended
                if path.read_text(errors="replace").strip() == name:
                    self.tid = int(path.parent.name)
        if self.tid is None:
            raise kdtest.Skip(f"there is no {name}")

    def mark(self):
        start = time.monotonic_ns()
        ran, _ = kdtest.schedstat(self.tid, self.tid)
        return kdtest.Mark(start, {self.tid: ran}, time.monotonic_ns())


def case_ksoftirqd(test):
    """So many packets from another CPU that their softirqs are handled in ksoftirqd; and other
    threads of the kernel are known, too."""
    need("unshare", "ip", "mount")
    if len(os.sched_getaffinity(0)) < 2:
        raise kdtest.Skip("there is no other CPU")
    cpu = kdtest.last_cpu()
    thread = KernelThread(f"ksoftirqd/{cpu}")
    script = ("mount -t sysfs sysfs /sys && ip link set lo up && echo "
              f"{1 << cpu:x} >/sys/class/net/lo/queues/rx-0/rps_cpus && exec \"$@\"")
    test.workload("staged", "flood:0:9999:1", wrapper=(
        "chrt", "-f", "10", "unshare", "-n", "-m", "sh", "-c", script, "sh"))
    target = hog(test, f"spin:{cpu}")
    for _ in range(8):  # one run of ksoftirqd before a hidden switch is longer than HIDDEN
        report, ran = observe(test, target, thread, seconds=0.3)
        if ran[thread.tid][0] >= 20 * MS and not report.unreported:
            break
    if ran[thread.tid][0] < 20 * MS:
        raise kdtest.Skip(f"ksoftirqd ran for {ran[thread.tid][0]:,} ns only")
    victim = report.thread(target.tid("spin")[0])
    named(test, victim, {"tid": thread.tid}, ran[thread.tid], "ksoftirqd", kernel=True,
          ksoftirqd=True, own=None, policy=None, name=f"ksoftirqd/{cpu}")
    shown = [row for row in victim.culprits if row.tid == thread.tid]
    test.ok(shown and "kernel: soft irqs" in shown[0].remarks, "marked in the report",
            *victim.culprits)
    for row in of(victim, kind="task"):
        with contextlib.suppress(OSError, IndexError):  # it may have ended
            stat = pathlib.Path(f"/proc/{row['pid']}/stat").read_text()
            flags = int(stat.rsplit(")", 1)[1].split()[6])
            test.eq(bool(row.get("kernel")), bool(flags & PF_KTHREAD),
                    f"whether {row['name']} is one of the kernel")
    unexplained(test, report, victim)


def case_group(test):
    """One in another control group, which is named; one in the same, which is not."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    others = [hog(test, f"spin:{cpu}") for _ in range(2)]
    target = hog(test, f"spin:{cpu}")
    with heavy_group() as join:
        join(others[0])
        groups = [pathlib.Path(f"/proc/{other.pid}/cgroup").read_text() for other in others]
        if groups[0] == groups[1]:
            raise kdtest.Skip("no control groups can be made")
        report, ran = observe(test, target, *others)
        thread = report.thread(target.tid("spin")[0])
        tids = [other.tid("spin")[0] for other in others]
        rows = named(test, thread, {"pid": others[0].pid}, ran[tids[0]], "the one in a group")
        path = rows[0].get("group") if rows else None
        test.ok(path and f":{path}\n" in groups[0], "with its group", path, groups[0])
        shown = [row for row in thread.culprits if row.pid == others[0].pid]
        test.ok(shown and f"in {path}" in (shown[0].remarks or ""), "in the report, too",
                *thread.culprits)
        for row in of(thread, pid=others[1].pid):
            test.eq(row.get("group"), None, "that of the other is the target's")
        for other in others:
            other.end()


def case_idle(test):
    """Who sleeps waits for no CPU."""
    kdtest.only_on_host("it takes long")
    target = hog(test, "poll")
    report, _ = observe(test, target, seconds=0.2)
    for thread in report.threads:
        test.ok(thread.culprits.total < 10 * MS * kdtest.SLACK, "nobody is blamed",
                *thread.culprits)


class Quota:
    """The time that a group was throttled, as far as observe() knows workloads."""

    def __init__(self, group):
        self.group = group

    def mark(self):
        start = time.monotonic_ns()
        return kdtest.Mark(start, {self.group: throttled_ns(self.group)}, time.monotonic_ns())


def case_quota(test):
    """A group that has used up its quota, against the kernel's count of that."""
    cpu = kdtest.last_cpu()
    with limited_group() as group:
        target = hog(test, f"spin:{cpu}")
        (group / "cgroup.procs").write_text(str(target.pid))
        report, counts = observe(test, target, Quota(group))
        thread = report.thread(target.tid("spin")[0])
        # The kernel counts a period of it when that is over.
        least, most = counts[group]
        test.between(total(of(thread, kind="throttled")), least - 100 * MS, most + 100 * MS,
                     "as long as the kernel counts")
        rows = [row for row in thread.culprits if row.name == "throttled"]
        test.ok(rows and "/kd-culprit may have 20 ms per 100 ms" in (rows[0].remarks or ""),
                "with the group and its quota", *thread.culprits)
        test.eq(thread.ns["throttled"], total(of(thread, kind="throttled")), "it is a state")


kdtest.main(case_fifo, case_never_switched, case_nice, case_round_robin, case_many_waiters,
            case_crowd, case_many_culprits, case_ksoftirqd, case_group, case_idle, case_quota)
