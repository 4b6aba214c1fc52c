#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Real processes: ovs-vswitchd with traffic through a netdev bridge, and
redis-server under redis-benchmark."""

import kdservers
import kdtest


def check(test, pid, worked):
    """One sample of a process until it has worked: complete and balanced, and run times
    as the kernel's schedstat has them. Returns the report."""
    before = set(kdtest.threads_of(pid))
    capture = test.capture(pid)
    first = kdtest.proc_mark(pid)
    kdtest.wait_until(worked)
    second = kdtest.proc_mark(pid)
    report = capture.close(test)
    throughout = before & set(kdtest.threads_of(pid))
    complete(test, report, throughout, pid)
    # A running thread's schedstat may be older than a tick at either mark.
    tick = 12 * kdtest.MS
    bounds = {tid: (least - tick, most + tick)
              for tid, (least, most) in first.bounds(second, report).items()}
    late = {thread.tid for thread in report.threads} - throughout
    test.books(report, bounds, late)
    return report


class After:
    """True when counts have grown by so much since it was first asked."""

    def __init__(self, *counts):
        self.counts, self.wanted = [count for count, _ in counts], None
        self.more = [more for _, more in counts]

    def __call__(self):
        now = [count() for count in self.counts]
        self.wanted = self.wanted or [count + more for count, more in zip(now, self.more)]
        return all(count >= wanted for count, wanted in zip(now, self.wanted))


def complete(test, report, throughout, pid):
    """Every thread has its row, or is one of those folded under its name."""
    rows = {thread.tid for thread in report.threads}
    folded = {}
    for thread in report.threads:
        if thread.tid is None and not thread.ended:
            folded[thread.name] = folded.get(thread.name, 0) + thread.members
    for tid in throughout - rows:
        name = kdtest.thread_name(pid, tid)
        folded[name] = folded.get(name, 0) - 1
    missing = {name: count for name, count in folded.items() if count}
    test.eq(missing, {}, f"all {len(throughout)} threads are in the report (by name: excess)")


def case_ovs_vswitchd(test):
    switch = kdservers.start(test, kdservers.NetdevSwitch())
    switch.send()
    main_thread = (switch.pid, switch.pid, ("voluntary",))
    report = check(test, switch.pid, After((switch.received, 200), (
        lambda: kdtest.switches(*main_thread), 40)))
    main = [thread for thread in report.threads if thread.tid == switch.pid]
    test.eq([thread.name for thread in main], ["ovs-vswitchd"], "the main thread")
    reads = sum(thread.count(call) for thread in report.threads
                for call in ("recvmmsg", "recvmsg", "recvfrom"))
    test.ok(reads > 10, "the packets were received by system calls", reads)
    polled = sum(thread.count("poll") + thread.count("ppoll") for thread in report.threads)
    test.ok(polled > 10, "it polls", polled)
    default_target(test, switch.pid)


def default_target(test, pid):
    """Other tests have one, too, for a while."""
    def alone():
        return kdtest.processes_named("ovs-vswitchd") == [pid]
    done = None
    while not done or done.status and not alone():
        try:
            kdtest.wait_until(alone, patience=60)
        except TimeoutError:
            test.skip("the default target", "another ovs-vswitchd runs on this machine")
            return
        done = test.program("--sample-time", "0.3")
    test.eq(done.status, 0, "without -p the ovs-vswitchd is the target")
    report = kdtest.kdreport.parse(done.stdout)[0]
    test.ok(pid in {thread.tid for thread in report.threads}, "it is this one")
    test.books(report)


def case_redis_server(test):
    server = kdservers.start(test, kdservers.Redis())
    benchmark = server.send(100_000_000)
    kdtest.wait_until(lambda: kdtest.schedstat(server.pid, server.pid)[0] > 200 * kdtest.MS)
    ran = lambda: kdtest.schedstat(server.pid, server.pid)[0]
    report = check(test, server.pid, After((ran, 400 * kdtest.MS)))
    test.ok(benchmark.proc.poll() is None, "it was under load throughout")
    main = report.thread(server.pid)
    test.ok(main.count("read") > 1000 and main.count("write") > 1000, "it served requests",
            main.calls)
    test.ok(main.running > 300 * kdtest.MS, "it was busy", main.ns)


kdtest.main(case_ovs_vswitchd, case_redis_server)
