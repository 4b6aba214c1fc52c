#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Where each thread's time went, against the measurements of the kernel, the threads themselves and
the test."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import kdbooks
import kdneeds
import kdprocesses
import kdtest
import kdtraced
from kdtest import MS

RUNNING = ("user", "kernel", "page_fault", "reclaim", "hardirq", "softirq")
TRIES = 4
TICKS = 200  # of which a share is true to 3 of a hundred
TURNS = 3    # that rivals have in a window, however long each of them takes


def sample(test, load, seconds, rivals=()):
    """A window of at least some seconds over threads that work throughout, with a mark near each
    edge. Returns the report, the two marks and the kernel's own count of the time that each thread
    spent in a run queue. The kernel books a wait when it ends: of rivals' waits, all between the
    marks are counted, and none from before the window."""
    capture = test.capture(load.pid)
    next_turns(load, rivals)
    waited, first = waits(load), load.mark()
    time.sleep(seconds)
    for _ in range(TURNS):
        next_turns(load, rivals)
    second = load.mark()
    next_turns(load, rivals)
    more = waits(load)
    report = capture.close(test)
    test.books(report, first.bounds(second, report))
    return report, first, second, {tid: more[tid] - waited[tid] for tid in more}


def waits(load):
    return {tid: kdtest.schedstat(load.pid, tid)[1] for tid in kdtest.threads_of(load.pid)}


def next_turns(load, tids):
    """Waits until each of the threads was given a CPU once more."""
    before = {tid: kdtest.turns(load.pid, tid) for tid in tids}
    kdtest.wait_until(lambda: all(kdtest.turns(load.pid, tid) > before[tid] for tid in tids))


def case_two_hogs(test):
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", f"spin:{cpu}")
    hogs = load.tid("spin")
    report, first, second, delay = sample(test, load, 0.5, hogs)
    edges = report.window - first.until(second)
    both = sum(second.cpu[tid] - first.cpu[tid] for tid in hogs)
    reported = sum(report.thread(tid).running for tid in hogs)
    for tid, other in zip(hogs, reversed(hogs)):
        thread = report.thread(tid)
        shift, _ = kdbooks.clock_shift(thread)
        ready = thread.ns["ready after preemption"]
        test.between(ready, delay[tid] - shift - 5 * MS, delay[tid] + edges + shift + 5 * MS,
                     "ready after preemption is its run_delay")
        ran = second.cpu[tid] - first.cpu[tid]
        stolen = thread.ns["stolen by hypervisor"]
        test.between(ready, first.until(second) - ran - stolen - shift - 5 * MS,
                     report.window - ran + 5 * MS, "and what its run time leaves of the window")
        test.between(thread.running / reported, (ran - MS) / (both + edges),
                     (ran + edges) / (both + edges) + 0.01, "it had its share of what both had")
        test.ok(ready > report.thread(other).running * 0.99 - shift,
                "and waited while the other one had the CPU", thread.ns)
        test.ok(thread.tables["THREAD SWITCHES"].involuntary > 2, "it was preempted")
        test.eq(thread.tables["THREAD SWITCHES"].migrations, 0, "it stayed on its CPU")
        test.eq(thread.cpus, {cpu}, "which is named")


def case_signal_before_sleep(test):
    """A signal arrives while a thread is about to sleep, and another thread takes its CPU right
    then: the thread waits for a CPU, though the state that sched_switch passes is that of a sleeper
    (from 5.18 to 6.13; in 6.1 some 20 times a second)."""
    if not kdtest.VM:
        raise kdtest.Skip("other tests have threads of real time on that CPU")
    load = test.workload("roles", f"hasty:{kdtest.last_cpu()}:5")
    hasty = load.tid("hasty")[0]
    report, first, second, delay = sample(test, load, 5, [hasty])
    edges = report.window - first.until(second)
    thread = report.thread(hasty)
    shift, _ = kdbooks.clock_shift(thread)
    ready = thread.ns["ready after preemption"] + thread.ns["ready after wakeup"]
    most = delay[hasty] + edges + shift + 5 * MS
    # The kernel does not count who is preempted on its way to sleep (sched_info_depart()), as with
    # PREEMPT_RT many are: then it waits while the other one runs.
    if os.path.exists("/sys/kernel/realtime"):
        most = max(most, first.until(second) - (second.cpu[hasty] - first.cpu[hasty]))
    test.between(ready, delay[hasty] - shift - 5 * MS, most,
                 "it waits for its CPU as long as its run_delay says")


def case_shared_with_fifo(test):
    """A hog below a SCHED_FIFO thread that runs for 10 ms of every 40."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", f"fifo:{cpu}:10:40")
    fifo, hog = load.tid("fifo")[0], load.tid("spin")[0]
    outer = kdtest.switches(load.pid, fifo)
    report, first, second, delay = sample(test, load, 0.5, [fifo])
    outer = kdtest.switches(load.pid, fifo) - outer
    edges = report.window - first.until(second)
    taken = second.cpu[fifo] - first.cpu[fifo]
    # Others may use this CPU too, and the hog waits for them as well.
    others = first.until(second) - taken - (second.cpu[hog] - first.cpu[hog])
    test.ok(taken > 15 * MS, "the FIFO thread ran its pattern", taken)
    test.between(report.thread(hog).ns["ready after preemption"], taken * 0.99,
                 taken * 1.01 + max(0, others) + edges + 5 * MS,
                 "the hog waits as long as the FIFO thread runs")
    thread = report.thread(fifo)
    test.between(thread.running, taken * 0.99, taken * 1.01 + edges + 5 * MS,
                 "the FIFO thread's own time")
    # Others of real time may go before it, as the program does on the one CPU of a virtual machine.
    test.between(thread.ns["ready after preemption"], 0, delay[fifo] + edges + 5 * MS,
                 "which waits after preemption no longer than the kernel counts")
    switched = thread.tables["THREAD SWITCHES"]
    run = thread.tables["THREAD RUN STATISTICS"]
    test.between(run.sched_cnt, 2, outer, "its runs are no more than its switches")
    test.between(switched.voluntary + switched.involuntary, run.sched_cnt, run.sched_cnt + 1,
                 "each run ends with a switch")


def edges_of(thread):
    """The parts inside the window of waits for a CPU that cross an edge, in ns."""
    return sum(item["inside_ns"] for item in thread["open_periods"] if item["kind"] == "ready")


def case_woken_often(test):
    """A thread that takes the CPU from another one thousands of times, against the kernel's tracing
    of the switches: the CPU's time is booked once, to the thread that had it."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}", "calls:1:3000:100")
    hog, sleeper = load.tid("spin")[0], load.tid("calls")[0]
    os.sched_setaffinity(sleeper, {cpu})
    os.sched_setscheduler(sleeper, os.SCHED_FIFO, os.sched_param(10))
    with kdtraced.Traced(f"{hog} {sleeper}", "sched/sched_switch") as traced:
        sample = test.sample(load.pid, load.go)
        events = traced.events()
    edges = [sample["window"][edge] for edge in ("start_ns", "end_ns")]
    for tid in (hog, sleeper):
        thread = kdtest.thread_of(sample, tid)
        ledger, count = thread["ledger"], thread["run"]["count"]
        ran = sum(min(until, edges[1]) - max(since, edges[0])
                  for since, until in kdtraced.on_cpu(events, tid)
                  if since < edges[1] and until > edges[0])
        said = sum(ledger[f"{state}_ns"] for state in (*RUNNING, "stolen"))
        ready = ledger["ready_woken_ns"] + ledger["ready_preempted_ns"] + ledger["throttled_ns"]
        # Others of real time may have the hog's CPU whenever the sleeper sleeps.
        if tid == sleeper:
            test.ok(count > 1000, "it ran often", count)
        # Times are traced in whole us; an emulated CPU may stand still between trace and program.
        off = count * 500 + (0.02 * ran + 20 * MS if kdtest.VM else MS // 5)
        test.between(said, ran - off, ran + off, "it ran as long")
        test.between(ready, thread["ready"]["total_ns"],
                     thread["ready"]["total_ns"] + edges_of(thread),
                     "its waits are one figure, but for those at the edges")


def case_stopped(test):
    load = test.workload("roles", "spin:-1", "poll", "calls:0:200:10000")
    capture = test.capture(load.pid)
    load.send("go")
    time.sleep(0.1)
    before = time.monotonic_ns()
    load.signal(signal.SIGSTOP)
    kdtest.wait_until(lambda: all_stopped(load.pid))
    stopped = time.monotonic_ns()
    time.sleep(0.3)
    continuing = time.monotonic_ns()
    load.signal(signal.SIGCONT)
    after = time.monotonic_ns()
    time.sleep(0.1)
    report = capture.close(test)
    least, most = continuing - stopped, after - before
    for tid in kdtest.threads_of(load.pid):
        thread = report.thread(tid)
        table = thread.tables.get("THREAD STOPPED STATISTICS")
        test.eq(table and table.stop_cnt, 1, f"{thread.name} was stopped once")
        test.between(table and table.total, least, most, "for as long as the test measured")
        test.between(thread.ns["stopped"], least, most, "so says its ledger")
    test.books(report)


def all_stopped(pid):
    return all(kdtest.state_of(pid, tid) == "T" for tid in kdtest.threads_of(pid))


def case_stopped_at_both_edges(test):
    """Stopped from before the window opens until after it closes: 100 % stopped."""
    load = test.workload("roles", "spin:-1", "poll")
    load.signal(signal.SIGSTOP)
    kdtest.wait_until(lambda: all_stopped(load.pid))
    capture = test.capture(load.pid)
    time.sleep(0.2)
    report = capture.close(test)
    for tid in kdtest.threads_of(load.pid):
        thread = report.thread(tid)
        test.between(thread.ns["stopped"], report.window * 0.999, report.window * 1.001,
                     f"{thread.name} was stopped throughout")
        test.ok("THREAD STOPPED STATISTICS" not in thread.tables,
                "a stop that neither began nor ended inside has no row")
    load.signal(signal.SIGCONT)
    test.books(report)


def case_spinner(test):
    """A FIFO spinner never leaves its CPU: all of the time between two marks is running. It becomes
    FIFO only then, so that others have the CPU while the program starts."""
    cpu, alone = kdtest.last_cpu(), kdtest.one_cpu()
    load = test.workload("roles", kdtest.spinner(cpu) if alone else f"spin:{cpu}")
    tid, = load.tid("fifo" if alone else "spin")
    capture = test.capture(load.pid)
    with contextlib.nullcontext() if alone else kdtest.real_time(load.pid, tid):
        first = load.mark()
        time.sleep(0.3)
        second = load.mark()
    report = capture.close(test)
    thread = report.thread(tid)
    ran = second.cpu[tid] - first.cpu[tid]
    if ran < first.until(second) * 0.8:
        raise kdtest.Skip("another real-time thread shared the CPU")
    test.between(thread.running, ran * 0.999, report.window * 1.001, "so says its ledger")
    # A call lasts on while an emulated processor stands still.
    most = 0.3 if kdtest.VM else 0.05
    test.ok(thread.ns["running kernel"] < thread.running * most,
            "hardly any of it in system calls", thread.ns, thread.calls, thread.flights)
    test.between(100 - sum(thread.percent[state] for state in kdtest.kdreport.RUNNING),
                 -0.05, 100 - 99 * ran / report.window, "in percent, too")
    test.books(report, first.bounds(second, report))


def case_poll_throughout(test):
    load = test.workload("roles", "poll")
    tid = load.tid("poll")[0]
    load.settle()
    report, *_ = sample(test, load, 0.2)
    thread = report.thread(tid)
    test.eq(thread.ns["blocked interruptible"], thread.life, "blocked all its life")
    test.between(thread.percent["blocked interruptible"], 99.995, 100.0, "100 % blocked")
    test.eq([flight.name in ("poll", "ppoll") for flight in thread.flights], [True],
            "one call in flight, a poll")
    flight = thread.flights[0]
    test.eq((flight.edge, flight.end, flight.inside), ("both", "still open", thread.life),
            "open at both edges, for the whole window, not returned")
    test.eq((flight.before, thread.calls), ("unknown", {}),
            "it began before tracing and is in no other table")


def case_call_begun_inside(test):
    """A call that is in flight only at the end, and one that returns in the window but began
    before."""
    load = test.workload("roles", "calls:1:1:100000", "pollonce:600000")
    load.settle()
    slept = {tid: kdtest.switches(load.pid, tid, ("voluntary",)) for tid in kdtest.threads_of(load.pid)}
    tids = (*load.tid("pollonce"), *load.tid("calls"))
    capture = test.capture(load.pid)
    started = time.monotonic_ns()
    load.send("go")
    # Asleep in what they do, no longer in the read that waits for that.
    kdtest.wait_until(lambda: all(
        kdtest.switches(load.pid, tid, ("voluntary",)) > slept[tid] and
        kdtest.state_of(load.pid, tid) == "S" for tid in tids))
    asleep = time.monotonic_ns()
    time.sleep(0.3)
    closing = time.monotonic_ns()
    report = capture.close(test)
    closed = time.monotonic_ns()
    poll = report.thread(tids[0])
    ends = [flight for flight in poll.flights if flight.edge == "end"]
    test.eq([(flight.name in ("poll", "ppoll"), flight.before, flight.end) for flight in ends],
            [(True, "-", "still open")], "a poll that began inside is open at the end")
    test.between(ends[0].inside if ends else None, closing - asleep, closed - started,
                 "since its entry")
    for tid in tids:
        starts = [flight for flight in report.thread(tid).flights if flight.edge == "start"]
        test.eq([(flight.name, flight.end) for flight in starts], [("read", "returned")],
                "the read that waited for the test returned inside")
        # The window ends when it is told to, or later, by a wall clock's microseconds.
        test.between(starts[0].inside if starts else None, 0,
                     report.window - (closing - asleep) + 2000, "before the thread slept again")
    test.books(report)


def migrations(load):
    """The kernel's count of each thread's migrations; empty if the kernel does not report it."""
    counts = {}
    for tid in kdtest.threads_of(load.pid):
        path = pathlib.Path(f"/proc/{load.pid}/task/{tid}/sched")
        match = path.exists() and re.search(r"se.nr_migrations +: +(\d+)", path.read_text())
        if match:
            counts[tid] = int(match[1])
    return counts


def more_switches(load, before):
    """The context switches of each thread since then, (voluntary, involuntary)."""
    return {tid: tuple(now - then for now, then in zip(counts, before[tid]))
            for tid, counts in kdtest.switches_of(load.pid).items()}


def case_ping_pong(test):
    load = test.workload("roles", f"pingpong:2000:{kdtest.last_cpu()}")
    load.settle()
    outer = kdtest.switches_of(load.pid)
    capture = test.capture(load.pid)
    moves = migrations(load)
    before = load.mark()
    truths = load.go()["threads"]
    after = load.mark()
    moves = {tid: count - moves[tid] for tid, count in migrations(load).items()}
    report = capture.close(test)
    most = more_switches(load, outer)
    for truth in truths:
        thread = report.thread(truth["tid"])
        switches = thread.tables["THREAD SWITCHES"]
        # It slept before the window and after it, so the kernel's counts are the window's.
        # The thread's own count lacks the move to its CPU and the wait for "end".
        test.eq((switches.voluntary, switches.involuntary), most[truth["tid"]],
                "voluntary and involuntary switches as the kernel counts them")
        test.ok(switches.voluntary >= truth["nvcsw"] and switches.involuntary >= truth["nivcsw"],
                "which are no fewer than in getrusage", truth)
        test.ok(truth["nvcsw"] + truth["nivcsw"] >= 1999, "it left its CPU in each round", truth)
        test.eq(thread.count("read"), 2000, "reads")
        test.eq(thread.count("write"), 2001, "writes, one of them to say that it is done")
        if truth["tid"] in moves:
            test.eq(switches.migrations, moves[truth["tid"]], "migrations as the kernel has them")
        else:
            test.skip("migrations", "this kernel has no /proc/PID/sched")
    test.books(report, before.bounds(after, report))


def case_vfork(test):
    """The parent of a vfork child waits for it in uninterruptible sleep."""
    load = test.workload("roles", "vfork:200")
    capture = test.capture(load.pid)
    before, _ = kdtest.schedstat(load.pid, load.tid("vfork")[0])
    truth = load.go()["threads"][0]
    ran = kdtest.schedstat(load.pid, truth["tid"])[0] - before
    report = capture.close(test)
    thread = report.thread(truth["tid"])
    # The child may begin while the parent has no CPU to fall asleep on, or is on its way to that.
    ready = sum(ns for state, ns in thread.ns.items() if state.startswith("ready"))
    test.between(thread.ns["blocked uninterruptible"], 200 * MS - ready - ran,
                 truth["around_ns"] + MS, "blocked uninterruptible while the child sleeps")
    call = thread.calls.get("vfork", thread.calls.get("clone"))  # of the C library's vfork()
    test.between(call and call.total, 200 * MS, truth["around_ns"] + MS, "inside of vfork")
    test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(load.pid)),
            "the child is another process")
    test.books(report)


def case_yield(test):
    """Threads that yield to each other are ready, not blocked."""
    load = test.workload("roles", f"yield:2000:{kdtest.last_cpu()}")
    outer = kdtest.switches_of(load.pid)
    capture = test.capture(load.pid)
    before = load.mark()
    truths = load.go()["threads"]
    after = load.mark()
    report = capture.close(test)
    most = more_switches(load, outer)
    for truth in truths:
        thread = report.thread(truth["tid"])
        switches = thread.tables["THREAD SWITCHES"]
        test.eq(thread.count("sched_yield"), 2000, "its calls")
        # One that is charged for the time in which an emulated processor stands still is behind.
        if truth["nivcsw"] > 10 or not kdtest.VM:
            test.ok(truth["nivcsw"] > 10, "the two did yield to each other", truth)
        else:
            test.skip("the two did yield to each other", "the kernel let only one of them run")
        test.between(switches.involuntary, truth["nivcsw"], most[truth["tid"]][1],
                     "involuntary switches as in getrusage")
        test.ok(thread.ns["ready after preemption"] > 0, "it waited for the other")
    test.books(report, before.bounds(after, report))


def like_ticks(test):
    """Whether the report names a price per call, and [(running user, utime, half of that price)],
    all in percent, for a loop with little and one with much work between calls that do next to
    nothing."""
    cpus = sorted(os.sched_getaffinity(0))
    load = test.workload("roles", f"enters:{cpus[0]}:0", f"enters:{cpus[-1]}:300")
    tids = load.tid("enters")
    capture = test.capture(load.pid)
    before = {tid: kdtest.ticks(load.pid, tid) for tid in tids}
    kdtest.wait_until(lambda: all(sum(kdtest.ticks(load.pid, tid)) - sum(before[tid]) >= TICKS
                                  for tid in tids))
    after = {tid: kdtest.ticks(load.pid, tid) for tid in tids}
    report, shares = capture.close(test), []
    load.end()
    named = re.search(r"([\d,]+) ns of each system call count as running kernel", capture.stdout)
    price = int(named[1].replace(",", "")) if named else 0
    for tid in tids:
        user, system = (new - old for old, new in zip(before[tid], after[tid]))
        thread = report.thread(tid)
        ran = thread.ns["running user"] + thread.ns["running kernel"]
        if test.ok(ran, "it has run", capture.stdout):
            calls = sum(call.count for call in thread.calls.values())
            shares.append((100 * thread.ns["running user"] / ran, 100 * user / (user + system),
                           min(15, 50 * price * calls / ran)))
    test.books(report)
    return bool(named), shares


def case_user_like_ticks(test):
    """Repeated on a mismatch: on a shared machine the price of a system call may change by half
    after it was measured, or not be measured at all. A wrong figure would fit in no attempt."""
    if kdtest.VM:
        raise kdtest.Skip("entering an emulated kernel costs something else")
    for _ in range(TRIES):
        is_named, shares = like_ticks(test)
        if is_named and all(abs(ours - utime) <= 10 + half for ours, utime, half in shares):
            break
    test.ok(is_named, "the estimate is named")
    for ours, utime, half in shares:
        test.between(ours, utime - 10 - half, utime + 10 + half,
                     "running user is what utime has, of a hundred")


OUTSIDE = {0: "seccomp filters", 1: "calls that seccomp refuses", 2: "breakpoints",
           3: "files closed after calls", 4: "the same in calls"}
WITHIN = 50  # ticks
FILLED = 3  # lines of a verdict of at most four, by its first sentence: the next one has two


def outside(test):
    """Returns the sample, its path, and for each kind (row, CPU time by its states, user and system
    time by the kernel's ticks)."""
    load = test.workload("roles", *(f"outside:{kind}" for kind in OUTSIDE))
    tids = load.tid("outside")
    path = test.directory() / "report.json"
    capture = test.capture(load.pid, "-o", "text", "-o", f"json:{path}")
    before = {tid: kdtest.ticks(load.pid, tid) for tid in tids}
    kdtest.wait_until(lambda: all(sum(kdtest.ticks(load.pid, tid)) - sum(before[tid]) >= WITHIN
                                  for tid in tids))
    after = {tid: kdtest.ticks(load.pid, tid) for tid in tids}
    test.books(capture.close(test))
    load.end()
    sample, kinds = kdtest.samples_of(path)[0], []
    for tid in tids:
        row = kdtest.thread_of(sample, tid)
        ran = sum(row["ledger"][key] for key in ("user_ns", "kernel_ns", "page_fault_ns"))
        kinds.append((row, ran, *(new - old for old, new in zip(before[tid], after[tid]))))
    return sample, path, kinds


def is_told(kind, row, ran):
    """Whether time outside of calls is reported as such; where calls end in it, it may pass for
    their price. So may a breakpoint for its signal's: without it an exception takes 0 to 9 % of the
    time, and the price is not known better."""
    told = row["outside_calls_ns"]
    return kind < 3 or (told > ran / 20 if kind < 4 else told <= ran / 10)


def case_outside_calls(test):
    """Kernel time that no event brackets is counted as kernel, too, in line with utime and stime;
    thread, process and table have the same figures, which exclude time in calls. Repeated where the
    prices of calls and signals have changed since they were measured."""
    for _ in range(TRIES):
        sample, path, kinds = outside(test)
        if all(is_told(kind, row, ran) for kind, (row, ran, _, _) in enumerate(kinds)):
            break
    for kind, (row, ran, user, system) in enumerate(kinds):
        # Ten points, and what three standard deviations of so many ticks are: of calls it is known
        # exactly how long they took.
        share = user / (user + system)
        most = 10 + 300 * (share * (1 - share) / (user + system)) ** 0.5
        test.between(100 * row["ledger"]["user_ns"] / ran, 100 * share - most, 100 * share + most,
                     f"{OUTSIDE[kind]}: user mode, of a hundred")
        test.ok(row["outside_calls_ns"] <= row["ledger"]["kernel_ns"],
                f"{OUTSIDE[kind]}: part of the kernel's")
        test.ok(is_told(kind, row, ran), f"{OUTSIDE[kind]}: outside of calls or not",
                f"{row['outside_calls_ns']} of {ran}")
    test.eq(sample["outside_calls_ns"], sum(row["outside_calls_ns"] for row in sample["threads"]),
            "the sum of all threads")
    screen = test.program("--replay", path, "--summary").stdout
    verdict = screen.partition("VERDICT")[2].partition("STATE ")[0].splitlines()[:-1]
    test.ok("ran in the kernel outside system calls" in " ".join(screen.split()) or
            len(verdict) >= FILLED and " ".join(verdict).count(" % (") == 1, "is said on the first screen, if it has lines left", screen)


# struct io_uring_params: flags, sq_thread_idle (ms), for which the ring's thread looks for work once it
# has been woken (IORING_ENTER_SQ_WAKEUP); it prints the ring's descriptor.
POLLS = """import ctypes, struct, sys
params = ctypes.create_string_buffer(struct.pack("8xI4xI", 2, 60000).ljust(120, b"\\0"), 120)
ring = ctypes.CDLL(None).syscall(425, 4, params)
print(ring, flush=True)
for line in sys.stdin: ctypes.CDLL(None).syscall(426, ring, 0, 0, 2, None, 0)"""
# It is asleep in a call, and has much to give back.
HOLDS = """import contextlib, mmap, signal
memory = mmap.mmap(-1, 512 << 20)
with contextlib.suppress(OSError): memory.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, len(memory), 4096): memory[at] = 1
print("ready", flush=True)
signal.pause()"""


def case_never_in_user_mode(test):
    """An io_uring thread that is on a CPU when the window opens stays in the kernel for ever; one
    that is killed in its sleep frees its memory there."""
    poller = test.child(["python3", "-c", POLLS])
    poller.line()
    own = [tid for tid in kdtest.threads_of(poller.pid) if tid != poller.pid]
    if not own:
        test.skip("a thread of io_uring", "it is none of the process (before 5.12), or there is no io_uring")
    for tid in own:
        kdtest.wait_until(lambda: kdtest.state_of(poller.pid, tid) == "S")
        poller.send("go")
        kdtest.wait_until(lambda: kdtest.state_of(poller.pid, tid) == "R")
        report = observed(test, poller.pid, lambda: time.sleep(0.3))
        ran = report.thread(tid).ns
        test.ok(ran["running kernel"] > 0, "a thread of io_uring runs", ran)
        test.eq(ran["running user"], 0, "never in user mode")
    holder = test.child(["python3", "-c", HOLDS])
    holder.line("ready")
    kdtest.wait_until(lambda: kdtest.state_of(holder.pid, holder.pid) == "S")
    report = observed(test, holder.pid, lambda: (holder.signal(signal.SIGKILL), holder.proc.wait()))
    ran = report.thread(holder.pid, ended=True).ns
    test.ok(ran["running kernel"] > 5 * MS, "what is killed gives back its memory", ran)
    test.between(ran["running user"], 0, ran["running kernel"] / 10, "which is the kernel's work")


# The init of a PID namespace, to which a fatal signal comes in vain from within; then it computes. In
# C, as an interpreter makes calls.
INIT = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	puts("ready");
	fflush(stdout);
	getchar();
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	for (volatile long i = 0; i < 500 * 1000 * 1000; i++)
		;
	puts("done");
	fflush(stdout);
	pause();
}
"""


def case_spared_init(test):
    """A signal that kills others is delivered to a container's init, which goes on in user mode."""
    folder = test.directory()
    (folder / "init.c").write_text(INIT)
    subprocess.run([kdneeds.tool("cc"), "-O1", "-o", folder / "init", folder / "init.c"], check=True)
    outer = test.child([kdneeds.tool("unshare"), "--pid", "--fork", "--kill-child", folder / "init"])
    outer.line("ready")
    pid, = kdprocesses.children_of(outer.pid)
    before, after = kdtest.ticks(pid, pid), []

    def act():
        outer.send("go")
        outer.line("done")
        after.extend(kdtest.ticks(pid, pid))

    ran = observed(test, pid, act).thread(pid).ns
    user, system = (new - old for old, new in zip(before, after))
    test.ok(user > 5 * max(1, system), "its ticks found it in user mode", user, system)
    test.between(ran["running kernel"], 0, ran["running user"] / 4, "and it ran there")


def observed(test, pid, act):
    capture = test.capture(pid)
    act()
    if not os.path.exists(f"/proc/{pid}"):
        capture.wait()  # it ends with its target: a signal might come when it no longer expects one
    report = capture.close(test)
    test.books(report)
    return report


kdtest.main(case_two_hogs, case_signal_before_sleep, case_shared_with_fifo, case_woken_often, case_stopped,
            case_stopped_at_both_edges, case_spinner, case_poll_throughout, case_call_begun_inside,
            case_ping_pong, case_vfork, case_yield, case_user_like_ticks, case_outside_calls,
            case_never_in_user_mode, case_spared_init)
