#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Interruptions (--interruptions): those of a thread that reads the clock all the time, and so
notices each one itself; who caused them; the list, its sums, and the other places that show
them."""

import contextlib
import itertools
import json
import os
import signal
import time

import kdneeds
import kdtest
import kdtraced
from kdgroup import limited_group, throttled_ns, throttled_periods
from kdheld import Held
from kdneeds import need
from kdtest import MS

US = 1000
LEAST = 10 * US
TRIES = 4


def overlap(gap, interruption):
    """How much of a gap an interruption covers, with its estimated part. Stolen time lies anywhere
    between its two times."""
    both = min(gap[1], interruption["until_ns"]) - max(gap[0], interruption["since_ns"])
    if interruption["cause"] == "stolen":
        both = min(both, interruption["ns"])
    return min(gap[1] - gap[0], both + interruption["estimated_ns"]) if both > 0 else 0


def capture(test, load, *options, least=LEAST, priority=5, until=lambda: time.sleep(0.3)):
    """The run, its sample, and the file that contains it: a window that lasts until something has
    happened. Only then does the thread run before all that are not real-time (0: it does not)."""
    path, tid = test.directory() / "sample.json", int(load.ready[0])
    child = test.capture(load.pid, f"--interruptions={least}ns", "-o", "text", "-o", f"json:{path}",
                         *options)
    with kdtest.real_time(load.pid, tid, priority) if priority else contextlib.nullcontext():
        until()
    child.signal(signal.SIGINT)
    return kdtest.Finished(child), json.loads(path.read_text()), path


def after_runs(hog, tid, runs=10):
    """Waits until a thread that takes the CPU now and again has done so several times."""
    before = kdtest.switches(hog.pid, tid, ("voluntary",))
    kdtest.wait_until(lambda: kdtest.switches(hog.pid, tid, ("voluntary",)) >= before + runs)


def check_sums(test, thread):
    """The causes add up to the sum of all interruptions."""
    sums = thread["interruptions"]
    test.eq(sum(row["total_ns"] for cause, row in sums.items() if cause != "all"),
            sums["all"]["total_ns"], "the causes add up")
    for cause, row in sums.items():
        test.eq(sum(bucket["count"] for bucket in row["buckets"]), row["count"],
                f"{cause}: as many as its buckets have")
        test.ok(row["max_ns"] <= row["total_ns"], f"{cause}: the longest is among them")


def covered(stretches, rows):
    """How much of these stretches of time lies in rows, which may be nested (an interrupt in a page
    fault); both are sorted."""
    ns = at = 0
    for since, until in stretches:
        while at < len(rows) and rows[at]["until_ns"] <= since:
            at += 1
        for row in itertools.takewhile(lambda row, until=until: row["since_ns"] < until, rows[at:]):
            ns += max(0, min(until, row["until_ns"]) - max(since, row["since_ns"]))
            since = max(since, row["until_ns"])
    return ns


def case_preempted(test):
    """A spinner, and a thread of higher priority that takes its CPU for 2 ms of every 40."""
    cpu = kdtest.last_cpu()
    hog = test.workload("roles", f"fifo:{cpu}:2:40")
    load = test.workload("gaps", cpu, 0, 2 * US)
    tid = int(load.ready[0])
    fifo = hog.tid("fifo")[0]
    runs = kdtest.switches(hog.pid, fifo, ("voluntary",))
    with kdtraced.Traced(tid, "sched/sched_switch") as traced:
        done, sample, _ = capture(test, load, until=lambda: after_runs(hog, fifo))
        events = traced.events()
    runs = kdtest.switches(hog.pid, fifo, ("voluntary",)) - runs
    gaps = load.ask("log")["gaps"]
    test.eq(done.status, 0, "status")
    listed = [row for row in sample["interruptions"] if row["tid"] == tid]
    thread = kdtest.thread_of(sample, tid)
    invented = [row for row in listed if not any(overlap(gap, row) for gap in gaps)]
    test.ok(not invented, f"the thread felt all {len(listed)}", *invented[:3])
    # Others may have threads of this name.
    ours = [row for row in listed if row.get("by_tid") == fifo]
    test.eq({row["cause"] for row in ours}, {"preempted"}, "the thread above took its CPU")
    test.eq({row["by"] for row in ours}, {"fifo"}, "with its name")
    test.between(len(ours), 1, runs + 1, "not more often than it ran")
    window = sample["window"]
    # What the hypervisor takes no event of this kernel explains, so this is not what it felt. The
    # window ends when a run has been counted: one that ends with it may belong to either side.
    lost = [(since, until) for since, until in kdtraced.off_cpu(events, tid)
            if until - since >= 2 * MS and window["start_ns"] < since and until < window["end_ns"] - MS]
    missed = [(since, until) for since, until in lost
              if covered([(since, until)], listed) < 0.98 * (until - since)]
    test.eq(missed, [], f"each of {len(lost)} times of 2 ms without the CPU, by the kernel's tracing")
    inside = [row for row in ours if row["since_ns"] > window["start_ns"] and
              row["until_ns"] < window["end_ns"] and not row["open"]]
    test.ok(len(lost) >= max(5, len([row for row in inside if row["ns"] >= 2.1 * MS])),
            "and no more are long", lost, inside)
    test.ok(all(row["ns"] >= LEAST for row in listed), "none is shorter than was asked for")
    test.ok(all(sum(row[f"{cause}_ns"] for cause in (
        "hardirq", "softirq", "preempted", "throttled", "page_fault", "stolen",
        "unexplained")) == row["ns"]
                for row in listed), "the causes of each add up")
    check_sums(test, thread)
    test.ok(thread["interruptions"]["all"]["count"] >= len(listed),
            "the shorter ones are counted, too")


def case_explained(test):
    """Packets from another CPU, and everything else that comes: the kernel's own tracing of it, and
    what the thread noticed, against the list."""
    kdtest.only_on_host("it compares times")
    need("unshare", "ip", "mount")
    kdtest.only_beside_another_cpu("for who sends")
    cpu = kdtest.last_cpu()
    script = ("mount -t sysfs sysfs /sys && ip link set lo up && echo "
              f"{1 << cpu:x} >/sys/class/net/lo/queues/rx-0/rps_cpus && exec \"$@\"")
    load = test.workload("gaps", cpu, 0, 2 * US)
    flood = test.workload("staged", "+flood:0:9999:40", wrapper=(
        "chrt", "-f", "10", "unshare", "-n", "-m", "sh", "-c", script, "sh"))
    tid = int(load.ready[0])

    def until():
        flood.send("begin")
        ran = kdtest.schedstat(load.pid, tid)[0]
        kdtest.wait_until(lambda: kdtest.schedstat(load.pid, tid)[0] >= ran + 200 * MS)
        flood.end()
    with kdtraced.Traced(tid, *kdtraced.INTERRUPTS) as traced:
        _, sample, _ = capture(test, load, least=5 * US, priority=50, until=until)
        events = traced.events()
    gaps = load.ask("log")["gaps"]
    start, end = sample["window"]["start_ns"], sample["window"]["end_ns"]
    rows = sorted((row for row in sample["interruptions"] if row["tid"] == tid),
                  key=lambda row: row["since_ns"])
    seen = [(since, until) for since, until in kdtraced.stretches(events)
            if until - since >= 10 * US and start < since and until < end]
    total = sum(until - since for since, until in seen)
    # Beside load few are long, instead of many short.
    test.ok(len(seen) >= 3 and total >= 30 * 10 * US, f"{len(seen)} interrupts of 10 us", total)
    softirqs = sum(row["softirq_ns"] for row in rows)
    test.ok(softirqs >= total / 10, f"{softirqs / MS:.1f} ms of softirqs are part of them")
    # The tracing's times are in us.
    test.between(covered(seen, rows), 0.95 * total - len(seen) * US, total, "they are listed")
    explained = sum(row["hardirq_ns"] + row["softirq_ns"] for row in rows)
    test.ok(explained >= 0.95 * total - len(seen) * US, "as interrupts", explained, total)
    long = [row for row in rows if row["ns"] >= 20 * US]
    felt = [{"since_ns": since, "until_ns": until} for since, until in gaps]
    invented = [row for row in long if row["cause"] != "stolen" and
                not covered([(row["since_ns"], row["until_ns"])], felt)]
    test.eq(invented, [], f"the thread felt all {len(long)} of 20 us")


def case_softirq_delays(test):
    """Softirqs that take long, so that others run late: by the kernel's own tracing of both, in
    windows whose edges lie in the middle of them."""
    need("unshare", "ip")
    cpu, windows = kdtest.last_cpu(), 40
    load, path = test.workload("roles", f"spin:{cpu}"), test.directory() / "samples.json"
    without = test.capture(load.pid)
    test.eq({name for name in kdneeds.programs_of(without.pid) if name.startswith("kd_softirq_")} -
            {"kd_softirq_entry", "kd_softirq_entr", "kd_softirq_exit"}, set(),
            "none of its programs is loaded without the option")
    without.close(test)
    flood = test.workload("staged", f"+flood:{cpu}:9999:500:{300 // kdtest.SLACK}", wrapper=(
        "unshare", "-n", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"))
    with kdtraced.Traced(None, "irq/softirq_raise", "irq/softirq_entry") as traced:
        flood.send("begin")
        done = test.program("-p", load.pid, "--interruptions", "--sample-time", "0.01",
                            "--sample-count", windows, "-o", "text", "-o", f"json:{path}")
        flood.end()
        events = {each: traced.of_cpu(each) for each in os.sched_getaffinity(0)}
    test.eq(done.status, 0, "status")
    samples = kdtest.samples_of(path)
    test.eq(len(samples), windows, "samples")
    rows, named, cut, longest = 0, [], [], 0
    apart = []  # where the machine stood still between the tracing's turn and the program's
    for sample in samples:
        window, delays = sample["window"], sample["softirq_delays"]
        test.eq(delays, sorted(delays, key=lambda row: -row["max_ns"]), "the longest first")
        for each, of_cpu in events.items():
            truth = kdtraced.softirq_delays(of_cpu, window["start_ns"], window["end_ns"])
            found = {row["vector"]: row for row in delays if row["cpu"] == each}
            rows += len({*truth, *found})
            for vector in {*truth, *found}:
                compare_delays(f"CPU {each}, vector {vector}", found.get(vector),
                               truth.get(vector, ()), apart, named, cut)
            longest = max(longest, *(ns for delays in truth.values() for ns, *_ in delays), 0)
    test.ok(len(apart) <= rows / 20, f"numbers, sums and longest delays of {rows}", *apart)
    test.ok(sum(cut) >= 0.7 * len(cut), "those that an edge cuts", cut)
    test.ok(longest >= 500 * US, f"the truth: one was {longest / US:,.0f} us late")
    test.ok(len(named) >= (1 if kdtest.VM else 3) and sum(named) >= 0.9 * len(named), "who had the CPU", named)
    test.ok("# SOFT IRQ DELAYS" in done.stdout, "they are in the report", done.stdout[-1000:])


def compare_delays(what, row, truth, apart, named, cut):
    """A row, or None, with what kdtraced.softirq_delays() has of it. The tracing's times are in us.
    apart: receives what differs. Where one delay stands out: named: whether who had the CPU is
    right; cut: whether the delay is, of one that an edge of the window cuts."""
    row = row or {"count": 0, "total_ns": 0, "max_ns": 0}
    slack, total = 10 * US * kdtest.SLACK, sum(ns for ns, *_ in truth)
    (most, *tids, is_cut), (second, *_) = sorted([*truth, (0, 0, 0, 0), (0, 0, 0, 0)],
                                                 reverse=True)[:2]
    stands_out = most > 2 * second + 10 * slack
    right = abs(row["max_ns"] - most) <= 0.05 * most + slack
    as_many = abs(row["count"] - len(truth)) <= 2 + len(truth) // 50
    if is_cut and stands_out:
        cut.append(right)
    if not right or not as_many or abs(row["total_ns"] - total) > 0.05 * total + slack + slack / 5 * len(truth):
        apart.append((what, row, truth))
    elif stands_out:
        found = [row.get("raised_tid", 0), row.get("ran_tid", 0)]
        named.append(found == tids or bool(row.get("open")) and found[0] == tids[0])


def case_longest(test):
    """Two threads take the CPU one right after the other: the one that has it for longer is named,
    whether it comes first or last."""
    cpu = kdtest.last_cpu()
    for first_ms, next_ms in ((4, 1), (1, 4)):
        hogs = test.workload("roles", f"relay:{cpu}:{first_ms}:{next_ms}:40")
        load = test.workload("gaps", cpu, 0, 2 * US)
        tids = hogs.tid("relay")
        with kdtraced.Traced(" ".join(map(str, tids)), "sched/sched_switch") as traced:
            _, sample, _ = capture(test, load,
                                   until=lambda hogs=hogs, tid=tids[0]: after_runs(hogs, tid))
            events = traced.events()
        on_cpu = {tid: kdtraced.on_cpu(events, tid) for tid in tids}
        load.end()
        hogs.end()
        both = [row for row in sample["interruptions"]
                if row.get("by_tid") in tids and row["preempted_ns"] >= 4.5 * MS and
                not row["open"]]
        named = 0
        for row in both:
            # By the kernel's tracing: the hypervisor may lengthen the short one.
            ran = {tid: sum(max(0, min(until, row["until_ns"]) - max(since, row["since_ns"]))
                            for since, until in on_cpu[tid]) for tid in tids}
            shorter, longer = sorted(tids, key=ran.get)
            if ran[longer] >= 1.5 * ran[shorter]:
                named += 1
                test.ok(row["by_tid"] == longer, f"{first_ms} ms and {next_ms} ms: the longer one",
                        ran, row)
        test.ok(named >= 3, f"{named} of {len(both)} times one of them had it for longer", tids,
                *both[:3])
        test.ok(all(row.get("by_others", 0) >= 1 for row in both), "and that there was another",
                *both[:3])


def case_open(test):
    """A thread that has lost its CPU to another when the window ends: the interruption is listed as
    unfinished. Repeated where the kernel's real-time limit came first."""
    cpu = kdtest.last_cpu()
    kdtest.only_beside_another_cpu("for the program, while one has the CPU")
    hog = test.workload("roles", f"spin:{cpu}")
    spin = hog.tid("spin")[0]
    load = test.workload("gaps", cpu, 0, 2 * US)
    path, tid = test.directory() / "sample.json", int(load.ready[0])
    for _ in range(TRIES):
        child = test.capture(load.pid, "--interruptions", "-o", "text", "-o", f"json:{path}")
        # It runs, whatever else of real time other tests have on this CPU.
        before = kdtest.schedstat(load.pid, tid)[0]
        kdtest.wait_until(lambda ran=before: kdtest.schedstat(load.pid, tid)[0] > ran + MS)
        with kdtest.real_time(hog.pid, spin):
            ran = kdtest.schedstat(hog.pid, spin)[0]
            # Longer than any other that the thread had lost its CPU to before.
            kdtest.wait_until(lambda ran=ran: kdtest.schedstat(hog.pid, spin)[0] - ran > 100 * MS)
            child.interrupt(test, "status")
        sample = json.loads(path.read_text())
        row = (sample["interruptions"] or [{}])[-1]
        if row.get("open") and row.get("by_tid") == spin:
            break
    test.eq((row.get("cause"), row.get("by"), row.get("by_tid")), ("preempted", "spin", spin),
            "who has the CPU")
    test.eq(row.get("until_ns"), sample["window"]["end_ns"], "it counts up to the window's end")
    test.eq(row.get("ns"), row["until_ns"] - row["since_ns"], "with its length so far")
    all_of_them = sample["threads"][-1]["interruptions"]["all"]
    test.ok(all_of_them["max_ns"] >= row["ns"], "which is in the sums", all_of_them)


def case_own_softirqs(test):
    """A thread that sends datagrams to itself: between the softirqs that receive them it runs its
    own system calls, so each softirq is an interruption."""
    packets = 5000
    load = test.workload("roles", f"udp:{packets}:{kdtest.last_cpu()}")
    path = test.directory() / "sample.json"
    child = test.capture(load.pid, "--interruptions", "-o", "text", "-o", f"json:{path}")
    (tid,) = load.tid("udp")
    with kdtraced.Traced(tid, "irq/softirq_e*") as traced:
        load.go()
        received = kdtraced.interrupts(traced.events(), 0, kdtest.SECOND ** 2)[1]["net_rx"]
    child.close(test)
    threads = json.loads(path.read_text())["threads"]
    sums = next(thread for thread in threads if thread["tid"] == tid)["interruptions"]
    # Others are left to ksoftirqd, or one takes several.
    test.ok(len(received) >= packets / 10, f"the truth: {len(received)} softirqs hit the thread")
    test.ok(sums.get("softirq", {"count": 0})["count"] >= 0.98 * len(received), "one for each of them",
            sums)
    unexplained = sums.get("unexplained", {}).get("total_ns", 0)
    test.ok(unexplained <= sums["softirq"]["total_ns"] / 20, "its own work is none of it", sums)


def case_ends_before_reading(test):
    """A thread that has lost its CPU when a window ends, and has it back by the time the program
    reads the window."""
    cpu = kdtest.last_cpu()
    kdtest.only_beside_another_cpu("for the program")
    for _ in range(TRIES):
        with kdtest.RealTime.alone():  # or one interruption is by others, too
            held = Held(test, "--interruptions")
            tid, began = held.begin(f"spin {cpu}", "spinner")
            kdtest.until_run(held.load.pid, tid)
            held.open()
            hog = test.workload("roles", f"spin:{cpu}", wrapper=("chrt", "-f", "10"))
            (spin,) = hog.tid("spin")
            # Longer than any other that the thread had lost its CPU to before.
            kdtest.wait_until(lambda spin=spin, pid=hog.pid: kdtest.schedstat(pid, spin)[0] > 100 * MS)
            ran, by = kdtest.schedstat(held.load.pid, tid)[0], time.monotonic_ns()
            least, most = held.close()
            lost = kdtest.schedstat(held.load.pid, tid)[0] == ran
            hog.end()
        kdtest.until_run(held.load.pid, tid)
        sample = held.read()
        held.load.end()
        found = [row for row in sample["interruptions"] if row["tid"] == tid]
        rows = [row for row in found if row["open"]]
        longest = max((row["ns"] for row in found), default=0)
        # And not the kernel's limit of those of real time; nor had it lost it for longer before, or in
        # the same interruption to another one.
        if lost and rows and rows[0]["ns"] == longest and rows[0].get("by_tid", spin) == spin:
            break
    test.ok(lost, "the other one has the CPU")
    # All threads of that process have one priority: if its first one ran there, too, they are one.
    test.ok(len(rows) == 1 and rows[0]["cause"] == "preempted" and
            rows[0]["by"] in ("spin", "roles") and rows[0].get("by_tid", spin) == spin,
            "it is listed, with who had the CPU", spin, *rows)
    test.eq(rows[0]["until_ns"], sample["window"]["end_ns"], "up to the window's end")
    test.between(rows[0]["ns"], least - by, most - began, "with its length so far")
    all_of_them = held.thread(sample, tid)["interruptions"]["all"]
    test.eq(all_of_them["max_ns"], longest, "the longest of those listed is that of the sums")


def case_throttled(test):
    """A thread whose group has used up its quota: each pause is one interruption, by its own log
    and by the kernel's count."""
    kdtest.only_on_host("it compares times")
    # Others of real time would take the CPU, too.
    with limited_group("kd-interruptions") as group, kdtest.RealTime.alone():
        load = test.workload("gaps", kdtest.last_cpu(), 0, 2 * US)
        (group / "cgroup.procs").write_text(str(load.pid))
        count = throttled_ns(group)
        _, sample, _ = capture(test, load, priority=0, until=lambda: kdtest.wait_until(
            lambda begun=throttled_periods(group): throttled_periods(group) >= begun + 8))
        count = throttled_ns(group) - count
        gaps = load.ask("log")["gaps"]
    start, end = sample["window"]["start_ns"], sample["window"]["end_ns"]
    pauses = [gap for gap in gaps if gap[1] - gap[0] >= 20 * MS and start < gap[0] and gap[1] < end]
    rows = [row for row in sample["interruptions"]
            if start < row["since_ns"] and row["until_ns"] < end]
    test.ok(len(pauses) >= 5, f"{len(pauses)} pauses of 20 ms and more")
    long = [row for row in rows if row["ns"] >= 20 * MS]
    test.ok(sum(row["cause"] == "throttled" for row in long) >= 5, "the quota is the cause", *long[:9])
    missed = [gap for gap in pauses if sum(row["throttled_ns"] + row["preempted_ns"] for row in rows
                                           if overlap(gap, row)) < 0.9 * (gap[1] - gap[0])]
    test.eq(missed, [], "of nearly all of each pause")
    thread = kdtest.thread_of(sample, int(load.ready[0]))
    # The kernel counts a period when that is over, and those outside the window, too.
    test.between(thread["interruptions"]["throttled"]["total_ns"],
                 0.9 * sum(gap[1] - gap[0] for gap in pauses) - sum(row["preempted_ns"] for row in rows),
                 count + 100 * MS,
                 "as long as they were, and as the kernel counts")
    check_sums(test, thread)


kdtest.main(case_own_softirqs, case_preempted, case_explained, case_softirq_delays, case_longest,
            case_open, case_ends_before_reading, case_throttled)
