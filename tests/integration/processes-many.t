#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""A control group of many processes with many threads each: every call of every thread, by the
threads' own counts, and nothing lost."""

import kdprocesses
import kdtest

PROCESSES, THREADS = (50, 10) if kdtest.VM else (200, 10)


def calls_of(thread, name):
    return sum(row["count"] for row in thread["syscalls"] if row["name"] == name)


def check(test, run, truth, parent):
    sample = run.sample
    threads = {thread["tid"]: thread for thread in sample["threads"]}
    # Who had the CPU is not known where several are woken for one at the same moment.
    lost = {loss: n for loss, n in sample["losses"].items() if n and loss != "waiters"}
    test.eq(lost, {}, "nothing is lost")
    test.eq(set(threads), {tid for _, tid, _ in truth} | {parent}, "all threads, and no others")
    wrong = [(tid, name, calls, calls_of(threads[tid], name))
             for pid, tid, calls in truth for name in ("getppid", "clock_nanosleep")
             if threads[tid]["pid"] != pid or calls_of(threads[tid], name) != calls]
    test.ok(not wrong, "each with all of its calls, in its own process", wrong[:5])
    test.eq({row["pid"]: row["threads"] for row in sample["processes"] if row["pid"] != parent},
            {pid: THREADS for pid, _, _ in truth}, "each process has the sums of its threads")


def case_group(test):
    mounts = kdprocesses.hierarchies()
    mount = mounts[min(mounts)]
    with kdprocesses.group(mount / f"kdt-many-{kdtest.os.getpid()}") as group:
        # What is forked in the group is in it.
        load = test.child(["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec "
                           f"{kdtest.WORKLOADS}/herd {PROCESSES} {THREADS}"])
        load.line("ready")
        run = kdprocesses.Run(test, "--cgroup", group)
        load.send("go")
        truth = kdtest.json.loads(load.line())["threads"]
        test.eq(len(truth), PROCESSES * THREADS, "all have done their work")
        run.close()
        check(test, run, truth, load.pid)
        load.send("end")
        load.wait()


kdtest.main(case_group)
