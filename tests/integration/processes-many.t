#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Many processes with many threads each: every call of every thread, by the threads' own counts,
and nothing lost; what they take of memory is said before it is taken."""

import pathlib
import re

import kdneeds
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


def taken(pid):
    """Bytes of the BPF maps that a process has, as the kernel counts them."""
    maps = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\t(\S+)", path.read_text(), re.MULTILINE))
        if "map_id" in fields:
            maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values())


def case_memory(test):
    """Much memory for many threads is said before it is taken, with what to give to take less."""
    strace = kdneeds.tool("strace")
    load = test.child([kdtest.WORKLOADS / "herd", 4, 600])
    load.line("ready")
    pids = kdprocesses.children_of(load.pid)
    threads = sum(len(kdtest.threads_of(pid)) for pid in pids)
    path = test.directory() / "calls"
    run = test.child([strace, "-f", "-qq", "-e", "trace=write,bpf", "-o", path, kdtest.PROGRAM, "-p",
                      ",".join(map(str, pids)), "--histogram", "--window-banks", 7, "--start-trigger",
                      "t:syscalls:sys_enter_getuid", "--sample-time", "1ms"])
    kdtest.wait_until(lambda: "waiting for" in run.stderr)
    program = kdprocesses.children_of(run.pid)[0]
    told = re.search(r"room for (\d+) threads takes ([\d.]+) GB of memory\n(.*)", run.stderr)
    test.ok(told, "it is said", run.stderr)
    test.ok(told and all(option in told[3] for option in ("--tid", "--window-banks", "--histogram")),
            "with what takes less", told and told[3])
    test.between(int(told[1]), threads, 2 * threads, "room for all threads, and more")
    test.between(float(told[2]) * 1e9, 0.9 * taken(program), 1.1 * taken(program),
                 "so much as the kernel counts")
    kdtest.os.kill(program, kdtest.signal.SIGINT)
    run.wait()
    calls = path.read_text()
    test.ok(0 < calls.find("room for") < calls.find('map_name="kd_threads"'),
            "before any of it is taken", calls[:2000])
    load.send("end")


def case_memory_recorded(test):
    """What was asked for is not said again, nor that threads take it."""
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--record", "--record-memory=600M", "--sample-time", "1ms")
    test.ok(done.status == 0 and "room for" not in done.stderr, "nothing is said", done.stderr)


kdtest.main(case_group, case_memory, case_memory_recorded)
