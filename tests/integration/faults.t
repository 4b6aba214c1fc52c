#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Page faults and reclaim, against what the kernel counts and what the threads measured: how long
touching a page takes when it is absent, and when it is present."""

import contextlib
import json
import os
import pathlib
import sys
import tempfile

import kdtest
import kdtraced
from kdbtf import without_tracepoint
from kdgroup import memory_group
from kdtest import MS

TRIES = 5
US = 1000
# Of what a fault takes: the handler's part is timed, entry and exit have a price that was measured
# when the program began. A hypervisor with page tables of its own makes that nine tenths of 19 us,
# dear or cheap by turns. Without a price it is 0.06 here.
LEAST, MOST = 0.5, 1.15


def without_timing(test, report):
    """Whether this kernel cannot time page faults, which the report then says."""
    told = [line for line in report.notices if "[THREAD TIME] has no page faults" in line]
    if told:
        test.skip("the time of page faults", told[0])
    return bool(told)


def run(test, *roles, tracing=lambda load: contextlib.nullcontext(), more=(), **options):
    """A report on a workload that has done its work, and the truths of its first thread. Repeated,
    as the report advises, where the kernel skipped programs because a task had lost the CPU in
    bpf(2)."""
    for _ in range(TRIES):
        load = test.workload("faulter", *roles, **options)
        capture = test.capture(load.pid, *more)
        with tracing(load) as traced:
            truth = load.go()["threads"][0]
            truth["events"] = traced and traced.events()
        report = capture.close(test)
        load.end()
        if not any("skipped by the kernel" in text for text in report.warnings):
            break
    test.books(report)
    return report, report.thread(truth["tid"]), truth


def counted(test, thread, truth):
    """A few more come from what a thread of the workload does around its work."""
    table = thread.tables.get("PAGE FAULTS")
    test.between(table and table.minor, truth["minor"], truth["minor"] + 20,
                 "minor ones as in getrusage")
    test.between(table and table.major, truth["major"], truth["major"] + 5, "and major ones")


@contextlib.contextmanager
def file_of(pages):
    """A file of so many pages on a disk, written back. (/tmp may be in memory.)"""
    with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="kdtest") as file:
        for at in range(pages):
            file.write(b"%4096d" % at)
        file.flush()
        os.fsync(file.fileno())
        yield file.name


def check_minor(test, more=()):
    for _ in range(TRIES):
        report, thread, truth = run(test, f"minor:400:10:{kdtest.last_cpu()}", more=more)
        if without_timing(test, report):
            break
        waited = sum(thread.ns[state] for state in kdtest.kdreport.STATES
                     if state.startswith(("ready", "stolen")))
        taken = truth["first_ns"] - truth["again_ns"]
        # Where others make all faults dear, the program stops timing them.
        if taken * LEAST - waited <= thread.ns["page faults"] <= taken * MOST and not report.untimed:
            break
    counted(test, thread, truth)
    test.ok(truth["minor"] >= truth["pages"], "the truth: a fault for each page", truth)
    if not without_timing(test, report):
        test.between(thread.ns["page faults"], taken * LEAST - waited, taken * MOST,
                     "as long as the thread itself measured")
        test.eq(report.untimed, 0, "all were timed")


def case_minor(test):
    """The extra time that touching takes when pages are absent counts as page faults, not as user.
    Another thread may take the CPU, but a wrong figure would fit in no attempt."""
    check_minor(test)


def majors(test, sample, truth, asleep):
    """The thread's sleep matches the kernel's count, and the total of touching its own log."""
    causes = {row["cause"]: row for row in sample["verdict"]}
    row, others = causes["major_fault"], causes.get("page_fault", {"ns": 0})
    test.between(row["ns"], 0.95 * asleep, truth["first_ns"], "what they take")
    test.between(row["count"], truth["major"] / 2, truth["major"] + 5, "how many they are")
    test.between(row["longest_ns"], row["ns"] / row["count"], row["ns"], "the longest")
    # They are as dear as without a disk, see check_minor().
    test.between(others["ns"], 0, truth["fresh_ns"] * MOST + MS, "others are not among them")


def case_major(test):
    """Faults that wait for a disk: the waiting is blocked, the rest page faults. They are a cause
    of their own, beside the many that read nothing."""
    pages = 400
    captured = test.directory() / "json"
    with file_of(pages) as path:
        report, thread, truth = run(
            test, f"major:{pages}:4000:-1", env={**os.environ, "FAULTER_FILE": path},
            tracing=lambda load: kdtraced.Traced(load.tid("major")[0], *kdtraced.SLEEPS),
            more=("-o", f"json:{captured}", "-o", "-"))
    if truth["major"] < pages / 2:
        raise kdtest.Skip(f"{truth['major']} of {pages} pages had to be read: no disk")
    counted(test, thread, truth)
    blocked = thread.ns["blocked uninterruptible"]
    count, least, most = kdtraced.disk_sleeps(truth["events"], truth["tid"])
    test.ok(count >= pages / 2, "the truth: it waits for the disk", count, truth)
    # Of a sleep whose switch the kernel hid, the tracing has nothing.
    most = 1.02 * most + count * US if not report.unreported else truth["first_ns"]
    test.between(blocked, 0.98 * least - count * US, most,
                 "waiting for the disk is no page fault, and as long as the kernel's tracing has")
    if not without_timing(test, report):
        touched = truth["first_ns"] - truth["again_ns"]
        if not report.untimed:
            majors(test, json.loads(captured.read_text().splitlines()[0]), truth, least)
        # It may lose the CPU to others. What comes before and after a fault is left with user mode
        # where it is more than its price, and a wake-up that preempts is the kernel's.
        others = sum(thread.ns[state] for state in kdtest.kdreport.STATES if state.startswith(
            ("running", "ready", "hard", "soft", "stolen"))) - sum(
                call.total for call in thread.calls.values())
        test.between(thread.ns["page faults"] + blocked, touched * 0.98 - others,
                     touched * 1.1 + truth["fresh_ns"] + 5 * MS,
                     "both are what touching takes longer")
        test.ok(thread.ns["page faults"] > truth["major"] * 500, "and they take time",
                thread.ns)


def check_failed(test, more=()):
    report, thread, truth = run(test, f"fail:200:1000:{kdtest.last_cpu()}", more=more)
    if without_timing(test, report):
        return
    off = thread.life - thread.running
    user = thread.ns["running user"] + thread.ns["hard irq"] + thread.ns["soft irq"]
    # What interrupts lead to may be the kernel's, by the ticks that find the thread there.
    test.ok(truth["spun_ns"] * 0.98 - off - thread.ns["running kernel"] <= user <=
            truth["spun_ns"] * 1.05 + 5 * MS,
            "what it computes is user", user, off, truth, thread.ns)
    test.between(thread.ns["page faults"], 200 * 100, truth["spun_ns"] * 0.1,
                 "what the faults take is page faults")


def case_failed(test):
    """A fault that ends with a signal is not left open: what the thread then computes, without a
    system call, is user."""
    check_failed(test)


def case_by_event(test):
    """The same where the kernel has no tracepoint at which faults begin."""
    more = ("--btf", without_tracepoint(test, "page_fault_user"))
    check_minor(test, more)
    check_failed(test, more)


def user_shares(report, thread, truth):
    """In percent of the CPU time: what is running user, what is user by the kernel's ticks, the
    accuracy of the ticks (three standard deviations at 10 ms each), and half of the price of calls
    and faults, which was measured when the program began, with warm caches."""
    ticks = truth["utime_us"] + truth["stime_us"]
    said = truth["utime_us"] / ticks
    least = max(0.1, 3 * (said * (1 - said) * 10_000 / ticks) ** 0.5)
    prices = report.entry * sum(call.count for call in thread.calls.values()) + \
        report.fault_entry * truth["minor"]
    return (100 * thread.ns["running user"] / thread.running, 100 * said, 100 * least,
            min(15, 50 * prices / thread.running))


def ticked(test, report, thread, truth):
    ours, said, least, half = user_shares(report, thread, truth)
    test.between(ours, said - least - half, said + least + half, "percent of user mode as by ticks")


def case_signals(test):
    """The kernel's work of delivering signals is not user, though no call is in flight. Repeated
    where the price of a call has changed since it was measured."""
    for _ in range(TRIES):
        ran = run(test, f"signals:1000:0:{kdtest.last_cpu()}")
        ours, said, least, _ = user_shares(*ran)
        if abs(ours - said) <= least:
            break
    ticked(test, *ran)


def case_storm(test):
    """With as many faults as a thread can make in its CPU time, timing them stops and counting goes
    on; that costs the thread less than 25 % (some 10 where a function's return is not guarded;
    timing would cost 30 to 60). Where others share the processor's core, speeds vary from run to
    run: the best of several counts."""
    cpu = kdtest.last_cpu()
    role = f"storm:500:800:{cpu}"
    alone, watched = [], []
    for _ in range(TRIES):
        load = test.workload("faulter", role)
        truth = load.go()["threads"][0]
        load.end()
        alone.append(truth["cpu_ns"] / truth["pages"])
        report, thread, truth = run(test, role)
        watched.append(truth["cpu_ns"] / truth["pages"])
        ours, said, least, _ = user_shares(report, thread, truth)
        kernel = truth["stime_us"] * 1000
        if min(watched) <= min(alone) * 1.25 and abs(ours - said) <= least and \
                thread.ns["page faults"] >= kernel * 0.7:  # or the price of a fault has changed
            break
    if without_timing(test, report):
        return
    ticked(test, report, thread, truth)
    counted(test, thread, truth)
    if truth["cpu_ns"] / truth["pages"] > 20_000:
        test.skip("the cost", "a fault takes too long here for a storm")
        return
    test.ok(report.untimed > 0, "the report says that they were not timed throughout",
            report.notices)
    kdtest.only_on_host("it compares speeds, and those of a virtual machine vary by as much")
    test.between(min(watched), 0, min(alone) * 1.25, "a fault takes 25 % longer at most")
    test.between(thread.ns["page faults"], kernel * 0.7, kernel * 1.2,
                 "what the kernel did by its ticks is page faults")


# Touches memory again and again, which faults each time: new one, or that of a file.
TOUCHING = """
import mmap, sys
size = 16 << 20
if sys.argv[1:]:
    file = open(sys.argv[1], "rb")
    memory = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
else:
    memory = mmap.mmap(-1, size)
print("ready", flush=True)
while True:
    for at in range(0, size, 4096):
        if sys.argv[1:]: memory[at]
        else: memory[at] = 1
    memory.madvise(mmap.MADV_DONTNEED)
"""


def case_for(test):
    """What page faults are for: new memory, or pages of a file."""
    with file_of((16 << 20) // 4096) as path:
        for args, want, says in (((), {"for": "new"}, "for new memory"),
                                 ((path,), {"for": "file", "path": path}, "for pages of a mapped file")):
            load = test.child([sys.executable, "-c", TOUCHING, *args])
            load.line("ready")
            captured = test.directory() / "json"
            for _ in range(TRIES):  # others may be what is said first
                text = test.program("-p", load.pid, "--summary", "--sample-time", "0.5", "-o",
                                    f"json:{captured}", "-o", "-").stdout
                if "had page faults" in text:
                    break
            load.end()
            sample = json.loads(captured.read_text().splitlines()[0])
            if "has no page faults" in text:
                raise kdtest.Skip("this kernel cannot time page faults")
            test.eq(sample.get("faulted", {}).get("minor"), want, "what they are for")
            if "had page faults" in text:
                test.ok(f"had page faults, mostly {says}" in " ".join(text.split()), "which is said",
                        text)


def limit_hits(path):
    """How often a group reached its limit."""
    if (path / "memory.failcnt").exists():
        return int((path / "memory.failcnt").read_text())
    events = dict(line.split() for line in (path / "memory.events").read_text().splitlines())
    return int(events["max"])


def case_reclaim(test):
    """A file larger than the limit of its control group is read: memory has to be reclaimed within
    the system call."""
    pages = 16384
    with file_of(pages) as path, memory_group(pages * 4096 // 4) as procs:
        load = test.workload("faulter", "read:0:0:-1", env={**os.environ, "FAULTER_FILE": path})
        procs.write_text(str(load.pid))
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("1")
        capture = test.capture(load.pid)
        truth = load.go()["threads"][0]
        report = capture.close(test)
        hits = limit_hits(procs.parent)
        load.end()
    test.books(report)
    thread = report.thread(truth["tid"])
    if not hits:
        raise kdtest.Skip("the group's limit was not reached: its pages are not those of a disk")
    test.eq(truth["read"], pages * 4096, "the truth: all was read")
    told = [line for line in report.notices if "[THREAD TIME] has no reclaim" in line]
    if told:
        test.skip("the time", told[0])
        return
    test.between(thread.ns["reclaim"], 10_000, thread.running, "freeing it took time")
    test.ok(thread.ns["running kernel"] > 0, "which is not in running kernel alone", thread.ns)


kdtest.main(case_minor, case_major, case_failed, case_by_event, case_signals, case_storm, case_for, case_reclaim)
