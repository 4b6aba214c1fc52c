#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""execve and the end of the leader: the events after it belong to the thread that lives on. A
ledger that is wrong here can still add up."""

import contextlib
import os
import socket
import struct

import kdbooks
import kdtest
from kdtest import MS

GETUIDS, GETPPIDS = 40, 5000
TRIES = 4

# <linux/netlink.h>, <linux/connector.h>, <linux/cn_proc.h>
NETLINK_CONNECTOR, NLMSG_DONE = 11, 3
CN_IDX_PROC, CN_VAL_PROC, PROC_CN_MCAST_LISTEN = 1, 1, 1
LISTENERS = 300


def run(test, who, options=lambda tid: (), cpu=(), first=False, beside=()):
    """One window around the exec; returns the report, the truths and the TIDs before it. Among the
    truths is how long the thread ran by the kernel's count, over a time that begins before the
    window and ends after it. options: called with the TID of the thread that executes the program,
    or of the leader (first). cpu: where it does so. beside: a role that runs from when the window
    is open."""
    load = test.workload("execer", who, GETUIDS, GETPPIDS, *cpu)
    # Until all but the leader have taken their own names.
    kdtest.wait_until(lambda: [kdtest.thread_name(load.pid, tid)
                               for tid in kdtest.threads_of(load.pid)].count("execer") == 1)
    before = {tid: kdtest.thread_name(load.pid, tid) for tid in kdtest.threads_of(load.pid)}
    successor = int(load.ready[0])
    ran, _ = kdtest.schedstat(load.pid, successor)
    capture = test.capture(load.pid, *options(load.pid if first else successor))
    others = test.workload("roles", *beside) if beside else None
    truth = load.ask("go")
    report = capture.close(test)
    if others:
        others.end()
    truth["ran"] = kdtest.schedstat(load.pid, truth["tid"])[0] - ran
    return report, truth, before, successor


def living(report, successor):
    """TIDs of the threads that have not ended. If the kernel has hidden a last switch, it ends no
    thread: then the old leader may live on, under the TID that it got from the other."""
    return [thread.tid for thread in report.threads if not thread.ended and
            not (report.unreported and thread.tid == successor)]


def check_new_program(test, report, truth, successor):
    """The thread that executed the new program, now the only one."""
    test.eq(living(report, successor), [truth["pid"]], "one thread lives on, as TID == PID") or \
        test.remark(report.unreported, *report.threads)
    thread = report.thread(truth["pid"])
    test.eq(thread.name, "execer", "it has the program's name")
    test.eq(thread.count("getppid"), GETPPIDS, "the new program's calls are its own")
    test.eq(report.total("getppid"), GETPPIDS, "and nobody else's")
    test.eq(thread.count("execve"), 1, "the execve that led to it as well")
    test.eq(report.total("getuid"), GETUIDS, "the calls before the exec are there, once")
    test.between(thread.ns["blocked interruptible"], truth["slept_ns"], report.window,
                 "it slept")
    # Its clock was read after "go" had arrived and before the truths were printed.
    lacks, exceeds = kdbooks.clock_shift(thread)
    test.between(thread.running, truth["cpu"] * 0.999 - exceeds, truth["ran"] * 1.01 + 5 * MS + lacks,
                 "it ran as long as its own clock says")
    test.between(thread.life, report.window * 0.999, report.window * 1.001,
                 "it was there throughout")


def case_exec_by_another_thread(test):
    report, truth, before, successor = run(test, "thread")
    check_new_program(test, report, truth, successor)
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


def slow_exec(test, options, ended):
    """An exec while others have the thread's CPU: it waits for that CPU most of the time between
    the old leader's end and the event that reports the exec. ended: names of those that ended."""
    cpu = kdtest.last_cpu()
    report, truth, before, successor = run(test, "thread", options, [cpu], beside=[f"spin:{cpu}"] * 2)
    check_new_program(test, report, truth, successor)
    thread = report.thread(truth["pid"])
    waited = thread.ns["ready after wakeup"] + thread.ns["ready after preemption"]
    test.ok(waited > thread.running, "it waited for its CPU for long", waited, thread.running)
    test.eq({thread.name for thread in report.threads if thread.ended},
            {name for tid, name in before.items() if tid != successor} & ended,
            "those of the others that were followed have ended")
    test.books(report)


def case_followed_by_process(test):
    slow_exec(test, lambda tid: ["--follow-fork"], {"execer", "bystander", "burner"})


def case_followed_by_name(test):
    """The names of the old leader and the thread match, before the exec and after it."""
    slow_exec(test, lambda tid: ["--threads", "*ce*"], {"execer"})


def case_followed_by_tid(test):
    """The old leader is not followed."""
    slow_exec(test, lambda tid: ["--tid", tid], set())


@contextlib.contextmanager
def slow_ends():
    """When a thread has told the others of its end, and before its last switch, the kernel tells
    those who have asked for it (proc_exit_connector() in do_exit()): here so many that the thread
    that waits for its end in an execve has exchanged TIDs with it by then."""
    with contextlib.ExitStack() as stack:
        for _ in range(LISTENERS):
            link = stack.enter_context(socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM,
                                                     NETLINK_CONNECTOR))
            link.bind((0, CN_IDX_PROC))
            link.send(struct.pack("=IHHIIIIIIHHI", 40, NLMSG_DONE, 0, 0, 0, CN_IDX_PROC,
                                  CN_VAL_PROC, 0, 0, 4, 0, PROC_CN_MCAST_LISTEN))
        yield


def urgent_exec(test, options, followed):
    """followed: whether the thread is followed, beside the old leader; None: from the exec on."""
    cpus = sorted(os.sched_getaffinity(0))

    def prepare(pid):
        os.sched_setaffinity(pid, cpus[-1:])
        return options(pid)
    with slow_ends():
        report, truth, _, successor = run(test, "urgent", prepare, cpus[:1], first=True)
    leaders = [thread for thread in report.threads if thread.ended and thread.name == "execer"]
    test.eq([thread.members for thread in leaders], [1], "the old leader is there, and has ended")
    test.ok(leaders and leaders[0].life < report.window, "before the window did")
    alive = set(living(report, successor))
    test.eq(alive, set() if followed is False else {truth["pid"]}, "who lives on")
    if followed:
        check_new_program(test, report, truth, successor)
    test.books(report, late=alive if followed is None else ())


def case_urgent(test):
    urgent_exec(test, lambda pid: (), True)


def case_urgent_by_process(test):
    urgent_exec(test, lambda pid: ["--follow-fork"], True)


def case_urgent_by_name(test):
    urgent_exec(test, lambda pid: ["--threads", "*ce*"], True)


def case_urgent_leader_alone(test):
    """The thread is not followed."""
    for _ in range(TRIES):
        urgent_exec(test, lambda pid: ["--tid", pid], False)


def case_urgent_leader_by_name(test):
    """The thread is followed once the exec gives it a matching name."""
    for _ in range(TRIES):
        urgent_exec(test, lambda pid: ["--threads", "execer"], None)


def case_name_by_exec(test):
    """The new program has a matching name; the thread that executes it had none."""
    report, truth, _, _ = run(test, "thread", lambda tid: ["--threads", "execer"])
    alive = [thread for thread in report.threads if not thread.ended]
    test.eq([thread.tid for thread in alive], [truth["pid"]], "one thread lives on, as TID == PID")
    test.eq(alive[0].count("getppid"), GETPPIDS, "with the calls of the new program")
    test.eq(report.total("getuid"), 0, "and none of the old one")
    test.ok(0 < alive[0].life < report.window, "since the exec", alive[0].life)
    test.eq([thread.name for thread in report.threads if thread.ended], ["execer"],
            "the old leader has ended")
    test.books(report, late={truth["pid"]})


def case_name_lost_by_exec(test):
    """The thread has a matching name; the new program has none."""
    report, _, _, _ = run(test, "thread", lambda tid: ["--threads", "[sb]*"])
    test.eq({thread.name for thread in report.threads}, {"bystander", "burner"},
            "it is left out of the report, which has the others")
    test.ok(all(thread.ended for thread in report.threads), "who have ended")
    test.books(report)


def all_reported(test, who, ended):
    """What run() returns, of a try in which the kernel has not hidden a last switch, which ends no
    thread. Where nothing shows that it did, fewer than so many have ended. ended: called with the
    number of threads before."""
    for _ in range(TRIES):
        found = run(test, who)
        report, _, before, _ = found
        if not report.unreported and sum(thread.members for thread in report.threads if
                                         thread.ended) >= ended(len(before)):
            break
    return found


def case_exec_by_the_leader(test):
    report, truth, before, _ = all_reported(test, "leader", lambda threads: threads - 1)
    check_new_program(test, report, truth, None)
    ended = [thread for thread in report.threads if thread.ended]
    test.eq(sum(thread.members for thread in ended), len(before) - 1, "the other threads ended")
    test.books(report)


def case_leader_ends_first(test):
    report, truth, before, survivor = all_reported(test, "leader-exit", lambda threads: 1)
    thread = report.thread(survivor)
    test.eq(thread.count("getppid"), GETPPIDS, "the survivor's calls")
    test.eq(report.total("getppid"), GETPPIDS, "are nobody else's")
    test.between(thread.life, report.window * 0.999, report.window * 1.001,
                 "the survivor was there throughout")
    ended = [thread for thread in report.threads if thread.ended]
    test.eq([(thread.name, thread.members) for thread in ended], [("execer", 1)],
            "only the leader ended")
    test.eq(sum(thread.members for thread in report.threads), len(before), "nobody is missing")
    test.books(report)


# Its own clock and the switches of a slow machine differ by too much if there are so many.
SLOW = () if kdtest.VM else (case_followed_by_process, case_followed_by_name, case_followed_by_tid)

kdtest.main(case_exec_by_another_thread, *SLOW, case_urgent, case_urgent_by_process,
            case_urgent_by_name, case_urgent_leader_alone, case_urgent_leader_by_name,
            case_name_by_exec, case_name_lost_by_exec, case_exec_by_the_leader,
            case_leader_ends_first)
