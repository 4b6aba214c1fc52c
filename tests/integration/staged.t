#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Staged delays of threads that compute: the first VERDICT names whoever had their CPU, with the
share logged by those, or by the threads themselves."""

import ctypes
import os
import re
import time

import kdstaged
import kdtest
import kdtraced
from kdgroup import heavy_group, memory_group
from kdneeds import need
from kdtest import MS

SAMPLE = 0.4
ENOUGH = 200 * MS  # of run time, of who has the CPU
TRIES = 8
LEAST = 0.025  # of the window: what is below 2 % is no verdict
ADVISED = 10
MOVES = 4
READ = 500  # ns between two readings of the clock at an event
PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207


def watched(test, name, load, seconds=SAMPLE, **options):
    return kdstaged.watch(test, {name: load}, seconds, **options)[name]


def beside(test, name, load, hog, *words):
    """The other workload, which has the CPU whenever it runs, is the first to be blamed. It does
    not run before it is released in the window, but may still run after its last mark."""
    marks = [hog.mark()]

    def measure():
        hog.send("begin")
        kdtest.wait_until(lambda: sum(hog.mark().cpu.values()) >= ENOUGH)
        marks.append(hog.mark())
    screen = watched(test, name, load, None, while_open=measure, stop=[hog])
    row = kdstaged.check_first(test, name, screen, ("task",), *words, who=hog.pid)
    if row:
        first, last = marks
        ran = sum(ran - first.cpu[tid] for tid, ran in last.cpu.items())
        kdstaged.check_share(test, name, screen, row["ns"], ran, screen.besides,
                             most=ran + max(0, screen.stop - last.start))


def case_nice(test):
    """Another process with a better nice value."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    hog = test.workload("roles", f"+spin:{cpu}", wrapper=("nice", "-n", "-10"))
    with heavy_group() as join, kdtest.RealTime.alone():  # both: others are no match for them
        join(load, hog)
        beside(test, "nice", load, hog, "(nice -10) ran")
        load.end()
        hog.end()


def case_group(test):
    """An overload in another control group, which has a higher weight."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    hog = test.workload("roles", *[f"+spin:{cpu}"] * 4)
    with heavy_group() as join, kdtest.RealTime.alone():
        join(hog)
        beside(test, "group", load, hog, f"on which roles[{hog.pid}] ran")
        hog.end()


def case_siblings(test):
    """Each of three threads makes the other two wait."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", *[f"spin:{cpu}"] * 3)
    with heavy_group() as join, kdtest.RealTime.alone():
        join(load)
        screen = watched(test, "siblings", load)
        kdstaged.check_first(test, "siblings", screen, ("own_threads",), ", also of the target, ran")
        tids = load.tid("spin")
        took = {tid: sum(row["ns"] for row in screen.blamed if row["who"].get("tid") == tid)
                for tid in tids}
        # Beside load each may have little, and all of them one row.
        for tid in tids if any(took.values()) else ():
            kdstaged.check_share(test, "siblings", screen, took[tid], 2 * screen.ran[tid],
                                 screen.besides)
        kdstaged.check_share(test, "all siblings", screen,
                             sum(row["ns"] for row in screen.blamed if row["cause"] == "own_threads"),
                             2 * sum(screen.ran[tid] for tid in tids), screen.besides)
        load.end()


def case_migrations(test):
    """The thread is sent to a CPU that a real-time thread needs, and away again."""
    cpus = sorted(os.sched_getaffinity(0))
    kdtest.only_beside_another_cpu("where it could be better off")
    load = test.workload("roles", f"spin:{cpus[0]}")
    hog = test.workload("roles", f"+fifo:{cpus[-1]}:45:50")
    tid, took = load.tid("spin")[0], [0, 0]  # while it certainly was there, and may have been

    def send(cpu):
        """Sends the thread to a CPU; returns what the other one has run before and after that."""
        times = [time.clock_gettime_ns(kdtest.cpu_clock(hog.pid))]
        os.sched_setaffinity(tid, {cpu})
        times.append(time.clock_gettime_ns(kdtest.cpu_clock(hog.pid)))
        kdtest.until_run(load.pid, tid)
        return times

    def move():
        hog.send("begin")
        for _ in range(MOVES):
            there = send(cpus[-1])
            kdtest.wait_until(lambda there=there: time.clock_gettime_ns(
                kdtest.cpu_clock(hog.pid)) >= there[1] + ENOUGH / MOVES)
            back = send(cpus[0])
            took[0] += back[0] - there[1]
            took[1] += back[1] - there[0]
    with heavy_group() as join:
        join(load)
        screen = watched(test, "migrations", load, None, while_open=move, stop=[hog])
        load.end()
    row = kdstaged.check_first(test, "migrations", screen, ("task",),
                               f"on which fifo[{hog.tid('fifo')[0]}]", "(SCHED_FIFO 10) ran",
                               who=hog.pid)
    if row:
        kdstaged.check_share(test, "migrations", screen, row["ns"], took[0], screen.besides, most=took[1])
    thread = kdtest.thread_of(screen.json, tid)
    test.eq(thread["affinity_migrations"], 2 * MOVES, "migrations: so often")


def case_rt_limit(test):
    """A real-time thread that never sleeps: once a second the kernel takes its CPU and gives it to
    another. Fewer than three times would not be blamed."""
    kdtest.only_beside_another_cpu("for the test")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", wrapper=kdstaged.BEFORE_OTHERS)
    hog = test.workload("roles", f"+spin:{cpu}")
    tid, other = load.tid("spin")[0], hog.tid("spin")[0]
    marks = []

    def four_times():
        """Waits until the other thread has run before each of four turns of the first."""
        marks.append(hog.mark())
        hog.send("begin")
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
        screen = watched(test, "RT limit", load, None, while_open=four_times, stop=[hog])
        row = kdstaged.check_first(test, "RT limit", screen, ("rt_limit",),
                                   "which the real-time limit gave to ", who=hog.pid)
        if row:
            ran = marks[1].cpu[other] - marks[0].cpu[other]
            test.between(row["ns"], 0.9 * ran - MS, 1.05 * ran + MS + screen.stop - screen.start -
                         marks[0].until(marks[1]), "RT limit: as long as that")
        load.end()
        hog.end()


def after_running(load, tid, ns=ENOUGH):
    """Waits until a thread has run for so long, without asking the process: its main thread would
    have waited for the question."""
    before = kdtest.schedstat(load.pid, tid)[0]
    kdtest.wait_until(lambda: kdtest.schedstat(load.pid, tid)[0] >= before + ns)


def interrupted(test, name, cause, culprit, advice, by):
    """A thread that computes and is interrupted, against the kernel's own tracing. Its tables are
    compared, as the ledger adds a price to each interrupt, measured at the start (irq.t checks
    that). Repeated if others interrupted the thread for longer, as disks may, or left too little of
    the other CPU for a verdict; or if programs of other tests, between the two that read the clock,
    made these differ."""
    kdtest.only_on_host("the interrupts of an emulated machine")
    for _ in range(TRIES):
        load = test.workload("staged", f"gaps:{kdtest.last_cpu()}", wrapper=kdstaged.BEFORE_OTHERS)
        tid, = load.tid("gaps")
        other = by()

        def work(load=load, tid=tid, other=other):
            other.send("begin")
            after_running(load, tid)
        with kdtraced.Traced(tid, *kdtraced.INTERRUPTS) as traced:
            screen = watched(test, name, load, None, while_open=work, stop=[other], calm=[tid])
            hard, soft, hits = kdtraced.interrupts(traced.events(), screen.start, screen.stop)
        other.end()
        load.end()
        staged = hard if cause == "hardirq" else soft
        first = max(staged, key=lambda who, of=staged: sum(of[who]), default="")
        took = sum(each["ledger"][f"{cause}_ns"] for each in screen.json["threads"])
        sums = [sum(map(sum, kind.values())) for kind in (hard, soft)]
        each = [ns for all_of_it in staged.values() for ns in all_of_it]
        # The clock is read a little later or earlier than the kernel's tracing reads it.
        slack = 0.03 * sum(each) + (len(each) + (hits if staged is soft else 0)) * READ
        counted = sum(irq["total_ns"] for irq in kdtest.thread_of(screen.json, tid)[f"{cause}s"])
        if (culprit in first and took >= LEAST * (screen.stop - screen.start) and
                sums[staged is soft] == max(sums) and abs(counted - sum(each)) <= slack):
            break
    words = "interrupted by softirqs, mostly" if staged is soft else "interrupted, mostly by"
    kdstaged.check_first(test, name, screen, (cause,), f"{words} {culprit}")
    row = next((row for row in screen.blamed if row["cause"] == cause), None)
    # The first may be the hypervisor; and there is advice on what is a tenth of the busy time.
    if (row and row is screen.json["verdict"][0] and
            row["ns"] * ADVISED >= screen.json["busy_ns"]):
        test.ok(re.search(f"^(?:NEXT    | {{8}}).*{advice}", screen.text, re.MULTILINE),
                f"{name}: what to do", screen.text)
    thread = kdtest.thread_of(screen.json, tid)
    # Or more: waits of those that were ready meanwhile.
    waits = sum(by["woken_ns"] + by["preempted_ns"] for each in screen.json["threads"]
                for by in each.get("ready_by", ()) if by["kind"] == cause or
                (cause == "softirq" and by.get("ksoftirqd")))
    test.between(row and row["ns"], took, took + waits, f"{name}: all of it is blamed")
    kinds = [each["cause"] for each in screen.json["verdict"]]
    test.ok(kinds.count("hardirq") <= 1 and kinds.count("softirq") <= 1, f"{name}: in one row",
            screen.json["verdict"])
    test.between(counted, sum(each) - slack, sum(each) + slack, f"{name}: as long as the kernel itself saw")
    test.ok(thread["ledger"][f"{cause}_ns"] >= sum(each) - slack,
            f"{name}: which is what is blamed, or more", thread["ledger"], sum(each))


def case_softirqs(test):
    """Packets that another process sends on another CPU are received on this one."""
    need("unshare", "ip", "mount")
    kdtest.only_beside_another_cpu("for who sends")
    script = ("mount -t sysfs sysfs /sys && ip link set lo up && echo "
              f"{1 << kdtest.last_cpu():x} >/sys/class/net/lo/queues/rx-0/rps_cpus && exec \"$@\"")
    interrupted(test, "softirqs", "softirq", "net_rx", "RSS",
                lambda: test.workload("staged", "+flood:0:9999:40", wrapper=(
                    *kdstaged.BEFORE_OTHERS, "unshare", "-n", "-m", "sh", "-c", script, "sh")))


def case_timers(test):
    """Timers of another process, with pauses between them even where each takes 50 us."""
    interrupted(test, "timers", "hardirq", "local_timer", "nohz_full",
                lambda: test.workload("staged", f"+ticks:{kdtest.last_cpu()}:200:4"))  # more than a tenth


def case_ipis(test):
    """IPIs from another CPU, where another process requests them."""
    kdtest.only_beside_another_cpu("for who asks")
    with heavy_group() as join:
        def barrier():
            other = test.workload("staged", "+barrier:0")
            join(other)
            return other
        interrupted(test, "IPIs", "hardirq", "call_function", "membarrier", barrier)


def case_minor_faults(test):
    load = test.workload("staged", f"minor:{kdtest.last_cpu()}:100", wrapper=kdstaged.BEFORE_OTHERS)
    tid, = load.tid("minor")
    before = kdtest.ticks(load.pid, tid)
    with kdtraced.Traced(tid, "exceptions/page_fault_*", "kmem/rss_stat") as traced:
        screen = watched(test, "faults", load, None, while_open=lambda: after_running(load, tid),
                         logs=True, calm=[tid])
        count, least = kdtraced.faults(traced.events(), screen.start, screen.stop)
    user, system = (new - old for old, new in zip(before, kdtest.ticks(load.pid, tid)))
    load.end()
    kdstaged.check_first(test, "faults", screen, ("page_fault",), "had page faults")
    thread = kdtest.thread_of(screen.json, tid)
    # The price of what is around each was measured when the program began (faults.t compares that),
    # and is moved from user mode, as far as the ticks did not find the thread there: a price that was
    # measured beside others may be too high. What interrupts a fault is none of it, nor is what the
    # tracing does between its stamp and the program's: slow where it is emulated.
    ledger, price = thread["ledger"], screen.json.get("fault_entry_exit_ns", 0)
    took, interrupts = ledger["page_fault_ns"], ledger["hardirq_ns"] + ledger["softirq_ns"]
    stamps = 1000 * count if kdtest.VM else 0
    # In the window the ticks' share is true to three standard deviations, at 10 ms each.
    ran, share = ledger["sum_exec_runtime_ns"], system / (user + system)
    most = ran * (share - 3 * (share * (1 - share) * 10 * MS / ran) ** 0.5)
    test.ok(took >= 0.95 * min(least + count * price, max(least, most)) - interrupts - stamps,
            "faults: as long as the kernel itself saw, and the price of each", ledger, least, count,
            price, user, system)
    test.ok(took - thread["minor_faults"] * price <= 1.03 * screen.logged(screen.log["minor"]) + MS,
            "faults: without that no longer than touching took", took, thread, screen.log)
    test.between(sum(row["ns"] for row in screen.blamed if row["cause"] == "page_fault"), took,
                 sum(thread["ledger"]["page_fault_ns"] for thread in screen.json["threads"]),
                 "faults: that is blamed")


def case_reclaim(test):
    """A file larger than the memory limit of its control group, none of it on a disk."""
    path = test.directory() / "sparse"
    path.touch()
    os.truncate(path, 256 << 20)
    with memory_group(8 << 20) as procs:
        load = test.workload("staged", f"read:{kdtest.last_cpu()}",
                             wrapper=("sh", "-c", f"echo $$ >{procs}; exec \"$@\"", "sh",
                                      *kdstaged.BEFORE_OTHERS),
                             env={**os.environ, "STAGED_FILE": path})
        tid, = load.tid("read")
        with kdtraced.Traced(tid, "vmscan/mm_vmscan_memcg_reclaim_*",
                             "vmscan/mm_vmscan_direct_reclaim_*") as traced:
            screen = watched(test, "reclaim", load, calm=[tid])
            truth = kdtraced.reclaim(traced.events(), screen.start, screen.stop)
        load.end()
    if kdtest.VM and not truth:
        raise kdtest.Skip("the file system of this machine keeps nothing of a file in memory")
    row = kdstaged.check_first(test, "reclaim", screen, ("reclaim",), "was made to free memory")
    if row:
        kdstaged.check_share(test, "reclaim", screen, row["ns"], truth,
                             screen.ready[row["worst_tid"]])
        test.eq(row["who"], {"comm": f"/{procs.parent.name}"}, "reclaim: the group whose limit it is")


def case_ptrace(test):
    """A debugger that stops the thread again and again."""
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
