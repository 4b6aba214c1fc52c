#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Triggers over several processes, of one program and of several: hits in any of them count, also
in those that join later, and in no others. Windows against the log of the processes themselves."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import kdprocesses
import kdtest
from kdtest import MS
from kdtrigger import (BOTH, NO_LIMIT, UNLIMITED, Log, Triggered, check_reports, reported_once)

CALLS = 77
CALL = 30  # ms that a long call takes
DELTA = 10 * MS
ALL = ("--trigger-delta", "10ms", "--window-banks", "7", *UNLIMITED, *NO_LIMIT)
PAIRS = ("--trigger-same-thread", *ALL)
LONG = "sleeps:3:10:1:30000"  # of a caller: 3 calls, 10 a second, of 30 ms
EXITED = "# NOTE: The process that hit the start trigger exited; the sample ends there."


def entries(load, order):
    """Entries of the log of its children, by time."""
    return sorted(entry for log in load.ask(order).values() for entry in log)


def copied(test, name):
    """A copy of a workload in a file of its own."""
    path = test.directory() / f"kdt-{name}"
    shutil.copy(kdtest.WORKLOADS / name, path)
    path.parent.chmod(0o755)
    return path


@functools.lru_cache(maxsize=1)
def brood(test, _case):
    """A brood, in one file for all families of a case, which no other test runs, as outside hits
    are counted."""
    return copied(test, "brood")


def family(test, n=1):
    """A brood, and the PIDs of its children."""
    load = test.workload(brood(test, test.case), "brood")
    return load, load.ask(f"fork {n}")["pids"]


def run(test, target, *args):
    """A run on processes, or on the target that the arguments name."""
    words = target if isinstance(target, tuple) else ("-p", ",".join(map(str, target)))
    path = test.directory() / "samples"
    ran = Triggered(test, None, *words, *args, "-o", "text", "-o", f"json:{path}", urgent=True)
    ran.path = path
    return ran


def check(test, ran, expected, hits, outside=0):
    """Each of these calls is reported once, and nothing else was hit."""
    found = ran.stop(test)
    found.samples = kdtest.samples_of(ran.path)
    for report, sample in zip(found.reports, found.samples):
        report.stop = report.stop or sample["window"]["end_ns"]  # the end of a process
    reported_once(test, found.reports, expected, DELTA)
    check_reports(test, found.reports)
    test.eq(found.triggers.roles["start"].hits, hits, "hits of the target, and no others")
    test.eq(found.triggers.outside, outside, "those of other processes are counted, too")
    return found


def case_programs(test):
    """Two programs have the probe and one has not; one of the first two is not part of the target."""
    load, pids = family(test)
    other = test.workload(copied(test, "caller"), "caller", LONG)  # which no other test runs
    without = test.workload("sdt_plain")  # which has no such function
    outside, _ = family(test, 2)
    ran = run(test, [*pids, other.pid, without.pid], *BOTH, *PAIRS)
    expected = entries(load, f"call 3 {CALL}")
    entries(outside, f"call 4 {CALL}")
    log = Log(other, other.go())
    expected = sorted(expected + log.calls())
    found = check(test, ran, expected, 3 + log.made, outside=2 * 2 * 4)
    for trigger in BOTH[1::2]:
        told = re.findall(rf"trigger '{trigger}' is not in 1 of the target's 3 programs, such as "
                          rf"that of process {without.pid}, \S+/sdt_plain\n", ran.stderr)
        test.ok(len(told) == 1, f"{trigger} is not in one program, which is said once", ran.stderr)
    threads = {number for report in found.reports for notice in report.notices
               for number in re.findall(r"triggers were hit on thread (\d+)", notice)}
    tids = {str(pid) for pid in (*pids, *log.by_tid)}
    test.eq(threads, tids, "threads of both processes hit them")


def case_across(test):
    """The start in one process and the stop in another; but not in one outside the target."""
    first, pids = family(test)
    second, others = family(test)
    outside, _ = family(test)
    ran = run(test, pids + others, *BOTH[:2], "--stop-trigger", "t:syscalls:sys_enter_getppid",
              *ALL)
    before, begin, *_ = entries(first, f"call 1 {CALL}")[0]
    entries(outside, "getppid")
    entries(outside, "call 1 0")
    _, end, after, _ = entries(second, "getppid")[0]
    found = check(test, ran, [[before, begin, end, after]], 1, outside=1)
    test.eq(found.triggers.roles["stop"].hits, 1, "one stop")


def case_births(test):
    """Children that are born during the run; and others after these have ended."""
    load, _ = family(test, 0)
    outside, _ = family(test)
    ran = run(test, ("-p", str(load.pid), "--follow-fork"), *BOTH, *PAIRS)
    load.ask("fork 3")
    expected = entries(load, f"call 2 {CALL}")
    load.ask("none")
    load.ask("fork 2")
    expected += entries(load, f"call 1 {CALL}")
    entries(outside, "call 5 0")
    check(test, ran, expected, 8, outside=2 * 5)


def now_in(ran, path):
    """Waits until both triggers are attached in this file, too."""
    kdtest.wait_until(lambda: len(re.findall(rf"is now also in {path}\n", ran.stderr)) == 2)


def check_group(test, mount):
    """A control group: children born into it, others that execute a program that no member had, and
    one that is moved into it."""
    load, _ = family(test)
    other = test.workload(copied(test, "caller"), "caller", LONG)
    with kdprocesses.group(mount / f"kdt-trigger{os.getpid()}") as group:
        kdprocesses.join(group, load.pid)
        ran = run(test, ("--cgroup", f"/{group.name}"), *BOTH, *PAIRS)
        entries(load, "call 3 0")  # by its first child, which is not in the group
        load.ask("none")
        load.ask("fork 2")
        expected = entries(load, f"call 2 {CALL}")
        load.ask("none")
        path = copied(test, "brood")
        load.ask(f"exec 2 {path}")
        now_in(ran, path)
        expected += entries(load, f"call 2 {CALL}")
        kdprocesses.join(group, other.pid)
        now_in(ran, os.readlink(f"/proc/{other.pid}/exe"))
        log = Log(other, other.go())
        expected += log.calls()
        check(test, ran, expected, 8 + log.made, outside=2 * 3)


def case_joins_behind(test):
    """A process joins a group after a window has ended, but before the program has read it: it was
    not in the window, so it lacks no hits there."""
    mount = kdprocesses.hierarchies().popitem()[1]
    load, _ = family(test, 0)
    other = test.workload(copied(test, "roles"), "roles", "poll")  # which no other test runs
    with kdprocesses.group(mount / f"kdt-behind{os.getpid()}") as group:
        kdprocesses.join(group, load.pid)
        load.ask("fork 2")
        ran = run(test, ("--cgroup", f"/{group.name}"), *BOTH, *PAIRS)
        ran.signal(signal.SIGSTOP)
        kdtest.wait_until(lambda: kdtest.state_of(ran.pid, ran.pid) == "T")
        expected = entries(load, f"call 1 {CALL}")
        kdprocesses.join(group, other.pid)
        ran.signal(signal.SIGCONT)
        check(test, ran, expected, 2)


def case_group(test):
    for version, mount in kdprocesses.hierarchies().items():
        test.remark(f"version {version}")
        check_group(test, mount)


def case_late_library(test):
    """A program whose libraries are mapped long after its execve: here the dynamic linker first
    waits for someone to open a pipe."""
    other = test.workload("roles", "poll")
    place = copied(test, "roles").parent
    library = place / "libc.so.6"
    shutil.copy(mapped(other.pid, "libc.so.6"), library)
    pipe = place / "pipe"
    os.mkfifo(pipe)
    shell = test.child(["sh", "-c", f"echo; read line; LD_PRELOAD={pipe} LD_LIBRARY_PATH={place} "
                        f"exec {place}/kdt-roles roles calls:{CALLS}:0:0"])
    shell.line("")
    ran = run(test, [shell.pid, other.pid], "--start-trigger", "up:libc.so.6:syscall",
              "--trigger-delta", "1min", *UNLIMITED, *NO_LIMIT)
    shell.send("go")
    kdtest.wait_until(lambda: os.readlink(f"/proc/{shell.pid}/exe") == f"{place}/kdt-roles")
    time.sleep(0.2)
    test.ok(f"is now also in {library}" not in ran.stderr, "it is not mapped yet")
    pipe.open("w", encoding="ascii").close()
    kdtest.wait_until(lambda: f"is now also in {library}\n" in ran.stderr)
    shell.line("ready")
    shell.send("go")
    shell.line("{")
    found = ran.stop(test).triggers
    test.eq(found.roles["start"].hits, CALLS, "all calls after that")


def case_spoilt_library(test):
    """While probes are detached, one file becomes impossible to probe: in the others they are
    attached again."""
    load = test.workload("roles", "calls:400000:0:0", "poll")
    place = copied(test, "roles").parent
    library = place / "libc.so.6"
    shutil.copy(mapped(load.pid, "libc.so.6"), library)
    victim = test.child(["env", f"LD_LIBRARY_PATH={place}", place / "kdt-roles", "roles", "poll"])
    victim.line("ready")
    ran = run(test, [load.pid, victim.proc.pid], "--start-trigger", "up:libc.so.6:syscall",
              "--trigger-delta", "1min", *UNLIMITED, "--max-overhead", "1")
    load.send("go")
    spoil(library, "syscall")
    load.line("{")
    kdtest.wait_until(lambda: f"'up:libc.so.6:syscall': left out in {library}\n" in ran.stderr)
    before = ran.stderr
    load.send("end")
    found = ran.stop(test).triggers
    test.ok(found.duty.phases >= 1, "probes were taken out and put in again", found.duty)
    test.ok(before.count("left out") == 1, "that is said once", before)
    test.ok(found.roles["start"].hits > 0, "hits of the other file are counted")


def spoil(path, function):
    """Puts a breakpoint at the start of a function, where the kernel then refuses probes
    (prepare_uprobe())."""
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True,
                            check=True).stdout
    address = re.search(rf"^ *\d+: ([0-9a-f]+) .* {function}@@", listed, re.M)[1]
    with path.open("r+b") as file:
        file.seek(int(address, 16))  # of libc: the same as in the file
        file.write(b"\xcc")


def mapped(pid, name):
    """The path of a file that a process maps."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return next(path for path in (line.split()[-1] for line in maps)
                    if path.endswith(f"/{name}"))


def case_container(test):
    """A container: processes in it and those born there count, and nothing outside."""
    name = f"kdt-t{os.getpid()}"
    identity = kdprocesses.container(test, name)
    for mount in kdprocesses.hierarchies().values():
        load, _ = family(test)
        outside, _ = family(test)
        with kdprocesses.group(mount / "docker" / identity) as group:
            kdprocesses.join(group, load.pid)
            ran = run(test, ("--container", name), *BOTH, *PAIRS)
            entries(load, "call 3 0")  # by its first child, which is not in the group
            load.ask("none")
            load.ask("fork 2")
            expected = entries(load, f"call 2 {CALL}")
            entries(outside, f"call 2 {CALL}")
            check(test, ran, expected, 4, outside=2 * (3 + 2))


def case_exit(test):
    """A window ends with the process that opened it; the others go on."""
    for args in (ALL, PAIRS):
        first, pids = family(test)
        second, others = family(test)
        ran = run(test, pids + others, *BOTH, *args)
        expected = entries(first, f"exit {CALL}")
        found = entries(second, f"call 2 {CALL}")
        reports = check(test, ran, expected + found, 3)
        test.eq([EXITED in report.notices for report in reports.reports], [True, False, False],
                "the first report says so")
        test.eq([sample["target_exited"] for sample in reports.samples], [True, False, False],
                "and the first sample")
        test.eq((reports.triggers.roles["start"].ended, reports.triggers.roles["stop"].hits),
                (1, 2), "no stop has ended it")


def case_exit_missed(test):
    """Windows that a process's end would have closed, but no bank was free for them."""
    load, pids = family(test, 5)
    _, others = family(test)  # with these the run goes on
    ran = run(test, pids + others, *BOTH, "--trigger-same-thread", "--trigger-delta", "10ms",
              "--window-banks", "2", *UNLIMITED, *NO_LIMIT)
    ran.signal(signal.SIGSTOP)  # it reads none
    kdtest.wait_until(lambda: kdtest.state_of(ran.pid, ran.pid) == "T")
    expected = entries(load, f"exit {CALL}")
    ran.signal(signal.SIGCONT)
    found = ran.stop(test)
    start = found.triggers.roles["start"]
    test.eq(len(expected), 5, "all have ended")
    test.eq((start.hits, start.ended, start.missed), (5, 2, 3), "two had a bank, three were missed")
    test.ok(any("missed" in line for line in found.triggers.warnings), "a note says so",
            found.triggers.warnings)


def case_other_exit(test):
    """The end of another process ends no window."""
    first, pids = family(test)
    second, others = family(test)
    ran = run(test, pids + others, *BOTH, *ALL)
    first.send(f"call 1 {10 * CALL}")
    kdtest.wait_until(lambda: kdtest.waits_in(pids[0], "nanosleep"))
    second.ask("none")
    log = json.loads(first.line("{"))
    reports = check(test, ran, log[str(pids[0])], 1)
    test.ok(EXITED not in reports.reports[0].notices, "which is not said, either")


def case_execve(test):
    """A window that a new program can no longer close is dropped; later ones are not."""
    for args in (ALL, PAIRS):
        first, pids = family(test)
        second, others = family(test)
        ran = run(test, pids + others, *BOTH, *args)
        entries(first, f"again {CALL}")
        expected = entries(second, f"call 1 {CALL}") + entries(first, f"call 1 {CALL}")
        found = check(test, ran, expected, 3)
        test.eq(found.triggers.roles["start"].ended, 1, "one was dropped")


def case_usdt(test):
    """USDT probes with semaphores, which are raised in each process of the target."""
    loads = [test.workload("sdt") for _ in range(2)]
    if loads[0].ready:
        raise kdtest.Skip("sys/sdt.h was not there when it was built")
    ran = run(test, [load.pid for load in loads], "--start-trigger", "u:kdtest:begin",
              "--stop-trigger", "u:kdtest:end", *PAIRS)
    for load in loads:
        load.send(f"pair 3 {CALL * 1000}")
        load.line("done")
    counts = [load.ask("counts") for load in loads]
    check(test, ran, [pair for count in counts for pair in count["pairs"]], 6)
    for count in counts:
        test.ok(min(count["semaphores"][2:]) > 0, "the semaphores are up", count["semaphores"])
    kdtest.wait_until(lambda: all(load.ask("counts")["semaphores"] == [0] * 4 for load in loads))


def case_libraries(test):
    """A return from a library that other programs use, too: no return probe is used; --check says
    so."""
    loads = [test.workload("roles", "calls:1000:0:0") for _ in range(2)]
    outside = test.workload("roles", "calls:500:0:0")
    target = [load.pid for load in loads]
    trigger = ("--start-trigger", "up:libc.so.6:syscall", "--stop-trigger", "ur:libc.so.6:syscall")
    done = test.program("-p", ",".join(map(str, target)), *trigger, "--check")
    test.ok(done.status == 0, "it is possible", done.stderr)
    test.eq(re.findall("^start|^stop", done.stdout, re.MULTILINE), ["start", "stop"],
            "one file, though two processes have it")
    for word in ("a return instruction (other programs use the file, too)",
                 "other processes that run this code pay as much"):
        test.ok(word in done.stdout, word, done.stdout)
    ran = run(test, target, *trigger, "--trigger-same-thread", "--trigger-delta", "1min",
              *UNLIMITED, *NO_LIMIT)
    made = sum(load.go()["threads"][0]["getppid"] for load in loads)
    outside.go()
    found = ran.stop(test).triggers
    test.eq((found.roles["start"].hits, found.roles["stop"].hits), (made, made), "all calls")
    test.ok(found.outside >= 2 * 500, "and those of others", found.outside)


def case_long_poll(test):
    """Long rounds of event loops, for each process by itself."""
    loads = [test.workload("poller", f"{role}:60:30:60:10") for role in ("poll", "epoll_wait")]
    outside = test.workload("poller", "poll:60:30:60:10")
    ran = run(test, [load.pid for load in loads], "--long-poll=50ms", *UNLIMITED)
    rounds = [entry for load in (*loads, outside)
              for thread in load.go()["threads"] if load is not outside
              for entry in thread["long"]]
    found = ran.stop(test)
    # After its last call a thread works until the run ends.
    ended = [report for report in found.reports if report.stop is not None]
    test.ok(len(found.reports) - len(ended) <= len(loads), "at most one of each has no end")
    reported_once(test, ended, rounds, 50 * MS, "long round")
    test.ok(len(ended) >= 2 * len(loads), "there are some of each", len(ended))


def case_overhead(test):
    """The overhead for processes outside the target is limited, too."""
    loads = [test.workload("caller", "sleeper") for _ in range(2)]
    outside = test.workload("caller", "spins:1000000000:0:1000000000:1")
    ran = run(test, [load.pid for load in loads], *BOTH, *UNLIMITED, "--max-overhead", "1,stop")
    outside.send("go")
    ran.finish(test, want=75)
    test.ok("of the CPU time of other processes: they were detached" in ran.stderr,
            "it says whose it was", ran.stderr)


def case_nowhere(test):
    """A trigger that no process has is an error, as with a single process."""
    pids = [test.workload("sdt_plain").pid for _ in range(2)]
    done = test.program("-p", ",".join(map(str, pids)), *BOTH)
    test.eq(done.status, 78, "it is refused")
    test.ok("has no function probed_call" in done.stderr, "with the reason", done.stderr)


def address_of(path, function):
    """The address of a function, from nm."""
    listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^0*([0-9a-f]+) [tT] {function}$", listed, re.M)[1]


def case_address(test):
    """An address only makes sense in one file: elsewhere a probe might crash the program."""
    load, pids = family(test)
    other = test.workload(copied(test, "caller"), "caller", LONG)
    own = f"/proc/{other.pid}/exe"
    address = address_of(os.readlink(own), "probed_call")
    both = ",".join(map(str, [*pids, other.pid]))
    done = test.program("-p", both, "--start-trigger", f"up:0x{address}")
    test.eq((done.status, "with several processes an address needs its file" in done.stderr),
            (78, True), "an address without a file is refused")
    ran = run(test, [*pids, other.pid], "--start-trigger", f"up:kdt-caller:0x{address}",
              *BOTH[2:], *ALL)
    entries(load, "call 3 0")
    log = Log(other, other.go())
    found = ran.stop(test)
    test.eq(found.triggers.roles["start"].hits, log.made, "it is in the file that was named")


kdtest.main(case_programs, case_across, case_births, case_group, case_joins_behind, case_late_library,
            case_spoilt_library, case_container, case_exit, case_exit_missed, case_other_exit,
            case_execve, case_usdt, case_libraries, case_long_poll, case_overhead, case_nowhere,
            case_address)
