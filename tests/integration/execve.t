#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""execve and the end of the leader: the events after it belong to the thread
that lives on. A ledger that is wrong here can still add up."""

import json

import kdtest
from kdtest import MS, SECOND

GETUIDS, GETPPIDS = 40, 20000


def run(test, who):
    """One window around the exec; returns the report, the truths and the TIDs before.
    Among the truths is how long the kernel says that the thread ran, for a time that
    begins before the window does and ends after it."""
    load = test.workload("execer", who, GETUIDS, GETPPIDS)
    # Until all but the leader have taken their own names.
    kdtest.wait_until(lambda: [kdtest.thread_name(load.pid, tid)
                               for tid in kdtest.threads_of(load.pid)].count("execer") == 1)
    before = {tid: kdtest.thread_name(load.pid, tid) for tid in kdtest.threads_of(load.pid)}
    successor = int(load.ready[0])
    ran, _ = kdtest.schedstat(load.pid, successor)
    capture = test.capture(load.pid)
    load.send("go")
    truth = json.loads(load.line("{"))
    report = capture.close(test)
    truth["ran"] = kdtest.schedstat(load.pid, truth["tid"])[0] - ran
    return report, truth, before, successor


def check_new_program(test, report, truth):
    """The thread that executed the new program, now the only one."""
    alive = [thread for thread in report.threads if not thread.ended]
    test.eq([thread.tid for thread in alive], [truth["pid"]], "one thread lives on, as TID == PID")
    thread = report.thread(truth["pid"])
    test.eq(thread.name, "execer", "it has the program's name")
    test.eq(thread.count("getppid"), GETPPIDS, "the new program's calls are its own")
    test.eq(report.total("getppid"), GETPPIDS, "and nobody else's")
    test.eq(thread.count("execve"), 1, "the execve that led to it as well")
    test.eq(report.total("getuid"), GETUIDS, "the calls before the exec are there, once")
    test.between(thread.ns["blocked interruptible"], truth["slept_ns"], report.window,
                 "it slept")
    # Its clock was read after "go" had arrived and before the truths were printed.
    test.between(thread.running, truth["cpu"] * 0.999, truth["ran"] * 1.01 + 5 * MS,
                 "it ran as long as its own clock says")
    test.between(thread.life, report.window * 0.999, report.window * 1.001,
                 "it was there throughout")


def case_exec_by_another_thread(test):
    report, truth, before, successor = run(test, "thread")
    check_new_program(test, report, truth)
    ended = [thread for thread in report.threads if thread.ended]
    test.eq(sum(thread.members for thread in ended), len(before) - 1,
            "the old leader and the other threads ended")
    leader = report.thread(truth["pid"], ended=True)
    test.eq([(flight.edge, flight.end) for flight in leader.flights
             if flight.name in ("poll", "ppoll")], [("start", "returned")],
            "the old leader's poll was in flight when the window opened")
    names = {name for tid, name in before.items() if tid != successor}
    test.eq({thread.name for thread in ended}, names, "under their own names")
    test.ok(all(thread.life < report.window * thread.members for thread in ended),
            "before the window did")
    test.books(report)


def case_exec_by_the_leader(test):
    report, truth, before, _ = run(test, "leader")
    check_new_program(test, report, truth)
    ended = [thread for thread in report.threads if thread.ended]
    test.eq(sum(thread.members for thread in ended), len(before) - 1, "the other threads ended")
    test.books(report)


def case_leader_ends_first(test):
    report, truth, before, survivor = run(test, "leader-exit")
    thread = report.thread(survivor)
    test.eq(thread.count("getppid"), GETPPIDS, "the survivor's calls")
    test.eq(report.total("getppid"), GETPPIDS, "are nobody else's")
    test.between(thread.life, report.window * 0.999, report.window * 1.001,
                 "the survivor was there throughout")
    ended = [thread for thread in report.threads if thread.ended]
    test.eq([(thread.name, thread.members) for thread in ended], [("execer", 1)],
            "only the leader ended")
    test.eq(sum(thread.members for thread in report.threads), len(before), "nobody is missing")
    test.ok(report.window < 20 * SECOND, "its end was not taken for the process's")
    test.books(report)


kdtest.main(case_exec_by_another_thread, case_exec_by_the_leader, case_leader_ends_first)
