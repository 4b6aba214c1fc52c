#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Staged delays of threads that compute: the first VERDICT names who had their CPU, with the
share that those have logged, or the threads themselves."""

import contextlib
import ctypes
import os
import re
import time

import kdstaged
import kdtest
from kdgroup import heavy_group, memory_group
from kdneeds import need, tracefs
from kdtest import MS

SAMPLE = 0.5
TRIES = 8  # until prices have stayed the same for one sample
MOVES = 4
PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207


def watched(test, name, load, seconds=SAMPLE, **options):
    return kdstaged.watch(test, {name: load}, seconds, **options)[name]


def beside(test, name, load, hog, *words):
    """The other workload, which has the CPU for as long as it runs, is the first that is blamed.
    What it runs is certain between two moments in the window; it may run in the rest of it."""
    marks = []

    def measure():
        marks.append(hog.mark())
        time.sleep(SAMPLE)
        marks.append(hog.mark())
    screen = watched(test, name, load, None, while_open=measure)
    row = kdstaged.check_first(test, name, screen, ("task",), *words, who=hog.pid)
    if row:
        first, last = marks
        ran = sum(ran - first.cpu[tid] for tid, ran in last.cpu.items())
        kdstaged.check_share(test, name, screen, row["ns"], ran, most=ran + screen.stop -
                             screen.start - first.until(last))


def case_nice(test):
    """Another process with a better nice value."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    hog = test.workload("roles", f"spin:{cpu}", wrapper=("nice", "-n", "-10"))
    with heavy_group() as join:  # both: others are no match for them
        join(load, hog)
        beside(test, "nice", load, hog, "(nice -10) ran")
        load.end()
        hog.end()


def case_group(test):
    """An overload in another control group, which has more weight."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    hog = test.workload("roles", *[f"spin:{cpu}"] * 4)
    with heavy_group() as join:
        join(hog)
        beside(test, "group", load, hog, f"on which roles[{hog.pid}] ran")
        hog.end()


def case_siblings(test):
    """Each of three threads makes the two others wait."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", *[f"spin:{cpu}"] * 3)
    with heavy_group() as join:
        join(load)
        screen = watched(test, "siblings", load)
        kdstaged.check_first(test, "siblings", screen, ("own_threads",), ", also of the target, ran")
        for tid in load.tid("spin"):
            took = sum(row["ns"] for row in screen.blamed if row["who"].get("tid") == tid)
            kdstaged.check_share(test, "siblings", screen, took, 2 * screen.ran[tid])
        load.end()


def case_migrations(test):
    """It is sent to a CPU that a thread of real time needs, and away again."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise kdtest.Skip("there is no CPU where it could be better off")
    load = test.workload("roles", f"spin:{cpus[0]}")
    hog = test.workload("roles", f"fifo:{cpus[-1]}:45:50")
    tid, took = load.tid("spin")[0], [0, 0]  # while it certainly was there, and may have been

    def send(cpu):
        """Sends it there; what the other one has run before and after that."""
        times = [time.clock_gettime_ns(kdtest.cpu_clock(hog.pid))]
        os.sched_setaffinity(tid, {cpu})
        times.append(time.clock_gettime_ns(kdtest.cpu_clock(hog.pid)))
        kdtest.until_run(load.pid, tid)
        return times

    def move():
        for _ in range(MOVES):
            there = send(cpus[-1])
            time.sleep(0.1)
            back = send(cpus[0])
            took[0] += back[0] - there[1]
            took[1] += back[1] - there[0]
    with heavy_group() as join:
        join(load)
        screen = watched(test, "migrations", load, None, while_open=move)
        load.end()
    row = kdstaged.check_first(test, "migrations", screen, ("task",),
                               f"on which fifo[{hog.tid('fifo')[0]}]", "(SCHED_FIFO 10) ran",
                               who=hog.pid)
    if row:
        kdstaged.check_share(test, "migrations", screen, row["ns"], took[0], most=took[1])
    thread = next(thread for thread in screen.json["threads"] if thread["tid"] == tid)
    test.eq(thread["affinity_migrations"], 2 * MOVES, "migrations: so often")


def case_rt_limit(test):
    """A thread of real time that never sleeps: once a second the kernel takes its CPU and gives
    it to another. Less than three times would not be blamed."""
    if len(os.sched_getaffinity(0)) < 2:
        raise kdtest.Skip("there is no CPU for the test")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", wrapper=kdstaged.BEFORE_OTHERS)
    hog = test.workload("roles", f"spin:{cpu}")
    tid, other = load.tid("spin")[0], hog.tid("spin")[0]
    marks = []

    def four_times():
        """Until the other one has run before each of four turns of the thread."""
        marks.append(hog.mark())
        times, ran, turns = 0, marks[0].cpu[other], kdtest.turns(load.pid, tid)

        def happened():
            nonlocal times, ran, turns
            now, later = kdtest.turns(load.pid, tid), hog.mark().cpu[other]
            if now > turns and later > ran + MS:
                times, ran, turns = times + 1, later, now
            return times >= 4
        kdtest.wait_until(happened)
        marks.append(hog.mark())
    with heavy_group() as join:
        join(hog)
        screen = watched(test, "RT limit", load, None, while_open=four_times)
        row = kdstaged.check_first(test, "RT limit", screen, ("rt_limit",),
                                   "which the real-time limit gave to spin[", who=hog.pid)
        if row:
            ran = marks[1].cpu[other] - marks[0].cpu[other]
            test.between(row["ns"], 0.9 * ran - MS, 1.05 * ran + MS + screen.stop - screen.start -
                         marks[0].until(marks[1]), "RT limit: as long as that")
        load.end()
        hog.end()


def still_without(load):
    """For what part of the time its clock stands still while nothing is done to it: all of a
    virtual machine may."""
    steps = kdstaged.log_of(load)["gaps"]["steps"]
    return sum(steps) / (len(steps) * MS)


def interrupted(test, name, cause, culprit, advice, by, dearest=0.5):
    """A thread with a clock that interrupts make stand still: hardirqs and softirqs nest, so it
    is their sum. Again where the share is not right, or disks interrupt it more: on a shared
    machine prices change from one moment to the next. What is wrong by itself never fits.
    dearest: how much of the price of a hardirq may be too much; it follows that of system calls,
    for which other tests that trace them make everyone pay."""
    kdtest.only_on_host("a clock that stands still while an emulated machine does")
    for _ in range(TRIES):
        load = test.workload("staged", f"gaps:{kdtest.last_cpu()}", wrapper=kdstaged.BEFORE_OTHERS)
        time.sleep(0.1)
        alone = still_without(load)
        other = by()
        screen = watched(test, name, load, logs=True)
        other.end()
        gaps = screen.logged(screen.log["gaps"])
        load.end()
        took = sum(row["ns"] for row in screen.blamed if row["cause"] in ("hardirq", "softirq"))
        thread = next(thread for thread in screen.json["threads"] if thread["name"] == "gaps")
        least, most = kdstaged.bounds(screen, gaps, alone * (screen.stop - screen.start))
        most += dearest * screen.json.get("irq_entry_exit_ns", 0) * sum(
            irq["count"] for irq in thread["hardirqs"])
        if least <= took <= most and any(culprit in line for line in screen.verdict):
            break
    row = kdstaged.check_first(test, name, screen, (cause,), culprit)
    if row and row is screen.json["verdict"][0]:  # it may be the hypervisor
        test.ok(re.search(f"^NEXT    .*{advice}", screen.text, re.MULTILINE), f"{name}: what to do",
                screen.text)
    test.between(took, least, most, f"{name}: as long as its clock stood still")


def case_softirqs(test):
    """What another process sends on another CPU is received on this one."""
    need("unshare", "ip", "mount")
    if len(os.sched_getaffinity(0)) < 2:
        raise kdtest.Skip("there is no other CPU")
    script = ("mount -t sysfs sysfs /sys && ip link set lo up && echo "
              f"{1 << kdtest.last_cpu():x} >/sys/class/net/lo/queues/rx-0/rps_cpus && exec \"$@\"")
    interrupted(test, "softirqs", "softirq", "interrupted by softirqs, mostly net_rx", "RSS",
                lambda: test.workload("staged", "flood:0:9999:40", wrapper=(
                    *kdstaged.BEFORE_OTHERS, "unshare", "-n", "-m", "sh", "-c", script, "sh")))


def case_timers(test):
    """Of another process, with time between them also where each takes 50 us."""
    interrupted(test, "timers", "hardirq", "interrupted, mostly by local_timer", "nohz_full",
                lambda: test.workload("staged", f"ticks:{kdtest.last_cpu()}:200:2"))


def case_ipis(test):
    """From another CPU, where another process asks for them. What an interrupt takes around its
    handler is measured with timers; these take less."""
    if len(os.sched_getaffinity(0)) < 2:
        raise kdtest.Skip("there is no other CPU")
    interrupted(test, "IPIs", "hardirq", "interrupted, mostly by call_function", "membarrier",
                lambda: test.workload("staged", "barrier:0"), dearest=1)


def case_minor_faults(test):
    for _ in range(TRIES):  # see interrupted()
        load = test.workload("staged", f"minor:{kdtest.last_cpu()}:100",
                             wrapper=kdstaged.BEFORE_OTHERS)
        screen = watched(test, "faults", load, logs=True)
        touched = screen.logged(screen.log["minor"])
        load.end()
        took = sum(row["ns"] for row in screen.blamed if row["cause"] == "page_fault")
        least, most = kdstaged.bounds(screen, touched)
        most += 0.5 * screen.json.get("fault_entry_exit_ns", 0) * sum(
            thread["minor_faults"] for thread in screen.json["threads"])
        if least <= took <= most:
            break
    kdstaged.check_first(test, "faults", screen, ("page_fault",), "had page faults")
    test.between(took, least, most, "faults: as long as touching took longer")


@contextlib.contextmanager
def recorded(pid):
    """Gives a function for the time between begin and end of reclaim as the kernel's own tracing
    has it, of a thread in a window."""
    folder = tracefs() / "instances" / f"kdtest-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / "buffer_size_kb").write_text("4096")
        (folder / "trace_clock").write_text("mono")
        (folder / "set_event_pid").write_text(" ".join(map(str, kdtest.threads_of(pid))))
        for end in ("begin", "end"):
            for kind in ("memcg", "direct"):
                (folder / f"events/vmscan/mm_vmscan_{kind}_reclaim_{end}/enable").write_text("1")

        def spent(start, stop):
            (folder / "tracing_on").write_text("0")
            since, ns = None, 0
            for seconds, micros, end in re.findall(
                    r" (\d+)\.(\d{6}): mm_vmscan_\w+_reclaim_(begin|end):",
                    (folder / "trace").read_text()):
                at = int(seconds) * kdtest.SECOND + int(micros) * 1000
                if end == "begin":
                    since = at
                elif since is not None:
                    ns += max(0, min(at, stop) - max(since, start))
                    since = None
            return ns
        yield spent
    finally:
        folder.rmdir()


def case_reclaim(test):
    """A file that is larger than what its control group may have, and of which nothing is on a
    disk."""
    path = test.directory() / "sparse"
    path.touch()
    os.truncate(path, 256 << 20)
    with memory_group(8 << 20) as procs:
        load = test.workload("staged", f"read:{kdtest.last_cpu()}",
                             wrapper=("sh", "-c", f"echo $$ >{procs}; exec \"$@\"", "sh",
                                      *kdstaged.BEFORE_OTHERS),
                             env={**os.environ, "STAGED_FILE": path})
        with recorded(load.pid) as spent:
            screen = watched(test, "reclaim", load)
            truth = spent(screen.start, screen.stop)
        load.end()
    if kdtest.VM and not truth:
        raise kdtest.Skip("the file system of this machine keeps nothing of a file in memory")
    row = kdstaged.check_first(test, "reclaim", screen, ("reclaim",), "was made to free memory")
    if row:
        kdstaged.check_share(test, "reclaim", screen, row["ns"], truth,
                             screen.ready[row["worst_tid"]])


def case_ptrace(test):
    """A debugger that stops it again and again."""
    libc = ctypes.CDLL(None, use_errno=True)
    load = test.workload("roles", f"spin:{kdtest.last_cpu()}", wrapper=kdstaged.BEFORE_OTHERS)
    tid, stops = load.tid("spin")[0], []

    def ptrace(what):
        if libc.ptrace(what, tid, None, None):
            raise OSError(ctypes.get_errno(), f"ptrace {what:#x}")

    def trace():
        ptrace(PTRACE_SEIZE)
        # A stop that is over at once may be none: the thread need not have left its CPU by then.
        for last in (False, False, False, True):
            time.sleep(0.02)
            ptrace(PTRACE_INTERRUPT)
            os.waitpid(tid, 0x40000000)  # __WALL
            began = time.monotonic_ns()
            time.sleep(0.1)
            stops.append((began, time.monotonic_ns()))
            ptrace(PTRACE_DETACH if last else PTRACE_CONT)
    screen = watched(test, "ptrace", load, None, while_open=trace)
    row = kdstaged.check_first(test, "ptrace", screen, ("stopped",), "was stopped by ")
    if row:
        kdstaged.check_share(test, "ptrace", screen, row["ns"], screen.inside(stops))
        test.eq((row["count"], row["worst_tid"], row["who"].get("tid")), (4, tid, os.getpid()),
                "how often, which thread, and by whom")


kdtest.main(case_nice, case_group, case_siblings, case_migrations, case_rt_limit, case_softirqs, case_timers,
            case_ipis, case_minor_faults, case_reclaim, case_ptrace)
