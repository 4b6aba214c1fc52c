#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""What control groups and sessions decide about CPU time: who had it, whose quota was used up, and
which knob helps."""

import contextlib
import os
import pathlib
import re
import signal

import kdgroup
import kdtest
import kdtraced
from kdgroup import heavy_group, join_thread, limited_group, set_quota, throttled_periods
from kdothers import RUN, Quota, hog, named, observe, of, total
from kdtest import MS


@contextlib.contextmanager
def weighty_session(pid="self"):
    """Processes of a process's session get nearly all of a CPU for which they compete with those of
    other sessions."""
    nice = pathlib.Path(f"/proc/{pid}/autogroup")
    with contextlib.suppress(OSError):  # there may be no groups of sessions
        nice.write_text("-20")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            nice.write_text("0")


TRIES = 10


def advice(test, target, other):
    """The advice for what to do next, in a window in which this process had the target's CPU for most
    of the time: by the kernel's count, which has interrupts, and by its tracing, which has them alone.
    Then it is stopped."""
    tid, path = other.tid("spin")[0], test.directory() / "json"
    for load in (target, other):
        load.signal(signal.SIGCONT)
    os.setpriority(os.PRIO_PROCESS, tid, -15)  # beside load others have less
    with kdtest.RealTime.alone():
        for _ in range(TRIES):
            with kdtraced.Traced(None, *kdtraced.INTERRUPTS) as traced:
                capture = test.capture(target.pid, "--summary", "-o", "text", "-o", f"json:{path}")
                before = kdtest.schedstat(other.pid, tid)[0]
                kdtest.wait_until(lambda since=before: kdtest.schedstat(other.pid, tid)[0] - since >= 2 * RUN)
                ran = kdtest.schedstat(other.pid, tid)[0] - before
                capture.interrupt(test, "a sample")
                events = [event[:3] for event in traced.of_cpu(kdtest.last_cpu())]
            window = kdtest.samples_of(path)[0]["window"]
            interrupted = sum(max(0, min(until, window["end_ns"]) - max(since, window["start_ns"]))
                              for since, until in kdtraced.stretches(events))
            ran -= interrupted
            if ran > 0.6 * (window["end_ns"] - window["start_ns"]):
                break
    other.signal(signal.SIGSTOP)
    if ran <= 0.6 * (window["end_ns"] - window["start_ns"]):
        raise kdtest.Skip(f"others had the CPU: this one for {ran:,} ns of {window}")
    text = capture.stdout
    first = text.partition("VERDICT")[2].partition("VERDICT")[0].partition("STATE")[0]
    test.ok(f"[{tid}]" in first or f"[{other.pid}]" in first, "it is blamed", text, interrupted)
    return text.partition("NEXT")[2]


def case_group(test):
    """A culprit in another control group, which is named; one in the same group, where none is."""
    kdtest.only_on_host("it takes long")
    cpu = kdtest.last_cpu()
    others = [hog(test, f"spin:{cpu}") for _ in range(2)]
    target = hog(test, f"spin:{cpu}")
    with heavy_group() as join:
        join(others[0])
        groups = [pathlib.Path(f"/proc/{other.pid}/cgroup").read_text() for other in others]
        if groups[0] == groups[1]:
            raise kdtest.Skip("no control groups can be made")
        tids = [other.tid("spin")[0] for other in others]
        report, ran = observe(test, target, *others, until=lambda ran: ran[tids[0]] >= RUN)
        thread = report.thread(target.tid("spin")[0])
        rows = named(test, thread, {"pid": others[0].pid}, ran[tids[0]], "the one in a group")
        path = rows[0].get("group") if rows else None
        test.ok(path and f":{path}\n" in groups[0], "with its group", path, groups[0])
        shown = [row for row in thread.culprits if row.pid == others[0].pid]
        test.ok(shown and f"in {path}" in (shown[0].remarks or ""), "in the report, too",
                *thread.culprits)
        for row in of(thread, pid=others[1].pid):
            test.eq((row.get("group"), row.get("same_group")), (None, True),
                    "that of the other is the target's")
        if rows:
            test.eq(rows[0].get("same_group"), None, "and that of the first is not")
        with weighty_session():
            for other, helps in zip(others, (False, True)):
                test.eq("(taskset, chrt, nice)" in advice(test, target, other), helps, f"nice is advised: {helps}")
        for other in others:
            other.end()


OWN_SESSION = ("python3", "-c", "import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])")


def case_knobs(test):
    """nice has no effect between sessions that the kernel groups, nor taskset beyond a cpuset."""
    kdtest.only_on_host("files, read in the same way with each kernel")
    cpu = kdtest.last_cpu()
    target, other = hog(test, f"spin:{cpu}"), hog(test, f"spin:{cpu}", wrapper=OWN_SESSION)
    sessions = [pathlib.Path(f"/proc/{load.pid}/autogroup") for load in (target, other)]
    sessions = [path.read_text().split()[0] if path.exists() else None for path in sessions]
    report, _ = observe(test, target, other, freeze=False)
    rules = report.sample["cpu_rules"]
    if (sessions[0] != sessions[1] and rules.get("rival") == other.pid and
            pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled").read_text() == "1\n"):
        test.eq((rules["decided_by"], rules["weighed"]), ("autogroup", sessions[0]), "its session decides")
        with weighty_session(other.pid):
            said = advice(test, target, other)
        test.ok(f"echo -10 >/proc/{target.tid('spin')[0]}/autogroup (its nice is 0)" in said, "and how to change it", said)
    with kdgroup.cpuset_group(str(cpu)) as group:
        (group / "cgroup.procs").write_text(str(target.pid))
        with weighty_session(other.pid):
            said = advice(test, target, other)
        test.ok(f"widen cpuset.cpus of /{group.name} ({cpu})" in said, "the cpuset is named", said)
        found = test.program("--machine", target.pid).stdout
        test.ok(f"CPUs {cpu}, of /{group.name}" in found, "by --machine, too", found)
    os.sched_setscheduler(target.tid("spin")[0], os.SCHED_IDLE, os.sched_param(0))
    with heavy_group() as join:
        join(target, other)
        said = advice(test, target, other)
        test.ok(f"chrt -o -p 0 {target.tid('spin')[0]}" in said, "nice does nothing for SCHED_IDLE", said)
        for load in (target, other):
            load.signal(signal.SIGCONT)
            load.end()


def of_quota(test, thread, group, bounds):
    """Checks that as much of the thread's time is blamed on that group as the kernel counts for it.
    The kernel counts a period once it is over. Time during which the thread had to wait for others
    anyway is theirs."""
    least, most = bounds
    rows = of(thread, kind="throttled", group=f"/{group.name}")
    others = thread.culprits.total - total(rows)
    test.between(total(rows), max(0.98 * least - others, least / 2), most + 100 * MS,
                 f"as long as the kernel counts of {group.name}")
    test.eq([(row["quota_ns"], row["period_ns"]) for row in rows], [(20 * MS, 100 * MS)],
            "with its quota")
    return rows


def case_quota(test):
    """A group that uses up its quota, against the kernel's count. Meanwhile another task takes the
    CPU again and again."""
    cpu = kdtest.last_cpu()
    with limited_group() as group:
        test.workload("roles", f"fifo:{cpu}:1:5")
        target = hog(test, f"spin:{cpu}")
        (group / "cgroup.procs").write_text(str(target.pid))
        periods = -throttled_periods(group)
        report, counts = observe(test, target, Quota(group), until=lambda ran: ran[group] >= 3 * RUN)
        periods += throttled_periods(group)
        thread = report.thread(target.tid("spin")[0])
        (found,) = of_quota(test, thread, group, counts[group])
        test.between(found["longest_ns"], counts[group][0] / (periods + 1) * 0.9, thread.life,
                     "one wait at least is as long as the mean")
        rows = [row for row in thread.culprits if row.name == "throttled"]
        test.ok(rows and "/kd-culprit may have 20 ms per 100 ms" in (rows[0].remarks or ""),
                "with the group and its quota", *thread.culprits)
        test.eq(thread.ns["throttled"], total([found]), "it is a state")


def case_quota_of_neighbour(test):
    """A process that computes little, in the group of another one that uses up the quota."""
    cpu = kdtest.last_cpu()
    with limited_group() as group:
        target, other = hog(test, f"enters:{cpu}:20000"), hog(test, f"spin:{cpu}", f"spin:{cpu}", f"spin:{cpu}")
        for load in (target, other):
            (group / "cgroup.procs").write_text(str(load.pid))
        report, _ = observe(test, target, other, Quota(group), until=lambda ran: ran[group] >= 3 * RUN,
                            options=("--threads", "enters"))
        use = report.sample["quota_use"]
        ran = [sum(kdtest.schedstat(load.pid, tid)[0] for tid in kdtest.threads_of(load.pid))
               for load in (target, other)]
        if ran[1] < 0.6 * sum(ran):
            raise kdtest.Skip(f"the one who was to use it up ran for {ran[1]:,} of {sum(ran):,} ns only")
        test.eq((use["pid"], use["name"]), (other.pid, "roles"), "the neighbour used it up")
        for key, ns in (("target_ns", ran[0]), ("pid_ns", ran[1])):
            # It is counted in ticks, which may be few: three standard deviations of those.
            share = ns / sum(ran)
            most = 100 * max(0.2, 3 * (share * (1 - share) / (use["all_ns"] / (10 * MS))) ** 0.5)
            test.between(100 * use[key] / use["all_ns"], 100 * share - most, 100 * share + most,
                         f"{key}: its percentage, by the threads' clocks") or test.remark(use, ran)
        if report.sample["verdict"][0]["cause"] != "throttled":
            raise kdtest.Skip("others kept it from running for longer")
        said = re.sub(r"\n {8}", " ", kdtest.Finished(test.child(
            [kdtest.PROGRAM, "--replay", report.path, "--summary"], full=False)).stdout)
        test.ok(re.search(rf"quota of the group /{group.name} \(20 ms per 100 ms\) was used up, mostly by "
                          rf"roles\[{other.pid}\]", said), "and the sentence says so", said)
        for load in (target, other):
            load.end()


def case_own_quotas(test):
    """Threads of one process in groups of their own, one of which gets its quota within the window."""
    with limited_group("kd-first") as first, limited_group("kd-second") as second:
        set_quota(second, -1)
        target = hog(test, *(f"spin:{kdtest.last_cpu()}" for _ in range(2)))
        tids = target.tid("spin")
        for group, tid in zip((first, second), tids):
            join_thread(group, tid)

        quotas = [20000]

        def happened(ran):
            if quotas and ran[first] >= RUN:
                set_quota(second, quotas.pop())
            return min(ran.values()) >= 3 * RUN
        report, counts = observe(test, target, Quota(first), Quota(second), until=happened)
        for group, tid in zip((first, second), tids):
            of_quota(test, report.thread(tid), group, counts[group])


def case_nested_quotas(test):
    """The quota of a parent group is used up, by others too, while the thread's own group has some
    left."""
    kdtest.only_on_host("groups in groups")
    cpus = sorted(os.sched_getaffinity(0))
    kdtest.only_beside_another_cpu("for others")
    with limited_group("kd-outer") as outer, limited_group("kd-outer/kd-own") as own, \
            limited_group("kd-outer/kd-other") as others:
        set_quota(own, 200_000, 1_000_000)
        other = hog(test, *(f"spin:{cpu}" for cpu in (cpus[0], cpus[-1])))
        target = hog(test, f"spin:{cpus[-1]}")
        for group, load in ((others, other), (own, target)):
            (group / "cgroup.procs").write_text(str(load.pid))
        report, counts = observe(test, target, other, Quota(outer),
                                 until=lambda ran: ran[outer] >= 6 * RUN)
        rows = of(report.thread(target.tid("spin")[0]), kind="throttled")
        test.eq([row.get("group") for row in rows], [f"/{outer.name}"], "the group above, and no other one")
        test.between(total(rows), RUN, counts[outer][1], "for at most as long as the kernel counts")
        use = report.sample["quota_use"]
        ran = [sum(kdtest.schedstat(load.pid, tid)[0] for tid in load.tid("spin")) for load in (other, target)]
        if ran[0] < 0.6 * sum(ran):
            raise kdtest.Skip("others took the CPUs of the one who was to use it up")
        test.eq((use["group"], use["user"], use.get("own")), ("/kd-outer", "/kd-outer/kd-other", None),
                "the other group used it up")
        test.between(use["used_ns"] / use["all_ns"], ran[0] / sum(ran) - 0.2, ran[0] / sum(ran) + 0.2,
                     "its share, by the threads' clocks")
        for load in (other, target):
            load.end()


kdtest.main(case_group, case_knobs, case_quota, case_quota_of_neighbour, case_own_quotas, case_nested_quotas)
