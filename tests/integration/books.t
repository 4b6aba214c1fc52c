#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The books of a mixed process; and the check of books itself, which has to find the faults in a
report that was tampered with."""

import functools

import kdbooks
import kdtest
from kdtest import MS

BUSY = 100 * MS  # of CPU time, however long that takes


@functools.cache
def mixed_sample(test):
    """The report and its text, the bounds of the run times, the threads, and the TIDs of the
    spinning ones."""
    cpu = kdtest.last_cpu()
    # Few of what hands a CPU to others: beside load each time waits for all of them.
    load = test.workload("roles", "spin:-1", f"spin:{cpu}", f"fifo:{cpu}:2:20", "poll", "poll",
                         "pingpong:300:0", "yield:200:0", "vfork:100", "calls:5000:50:2000",
                         f"udp:500:{cpu}", "pollonce:300")
    capture = test.capture(load.pid)
    first = load.mark()
    load.go()

    def busy():
        second = load.mark()
        ran = sorted(second.cpu[tid] - first.cpu[tid] for tid in first.cpu)
        return second if ran[-2] >= BUSY + MS else None

    second = kdtest.wait_until(busy)
    report = capture.close(test)
    return (report, capture.stdout, first.bounds(second, report), kdtest.threads_of(load.pid),
            load.tid("spin"))


def case_mixed_process(test):
    report, _, bounds, tids, _ = mixed_sample(test)
    test.ok(sum(least > BUSY for least, _ in bounds.values()) >= 2, "some threads were busy")
    test.books(report, bounds)
    test.eq({thread.tid for thread in report.threads}, set(tids),
            "every thread is there")
    known = [thread for thread in report.threads if thread.books.get("KERNEL'S COUNT") is not None]
    test.ok(known, "the kernel's count is known")
    for thread in known:
        least, most = bounds.get(thread.tid, (0, report.window))
        test.between(thread.books["KERNEL'S COUNT"], least, most,
                     f"{thread.name}: the kernel's count is what the thread's clock says")


def case_the_check_finds_faults(test):
    kdtest.only_on_host("the check of reports")
    report, text, bounds, _, (spinner, *_) = mixed_sample(test)
    test.eq(kdbooks.book_faults(report, bounds), [], "a good report has no faults")

    def spoilt(what, change):
        copy = kdtest.kdreport.parse(text)[0]
        change(copy.thread(spinner))
        test.ok(kdbooks.book_faults(copy, bounds), what)

    def wait_instead(thread):
        """Books half of the running time as ready, and adjusts everything else accordingly."""
        state = max(kdtest.kdreport.RUNNING, key=thread.ns.get)
        moved = thread.ns[state] // 2
        for name, change in ((state, -moved), ("ready after wakeup", moved)):
            thread.ns[name] += change
            thread.percent[name] = 100 * thread.ns[name] / thread.life
        thread.books["RUNNING"] -= moved
        thread.books["RESIDUAL"] -= moved

    spoilt("a state that is too large", lambda thread: thread.ns.update(stopped=5 * MS))
    spoilt("a wrong percentage", lambda thread: thread.percent.update({"soft irq": 7.0}))
    spoilt("a life that is too short",
           lambda thread: thread.books.update(SUM=thread.books["SUM"] * 9 // 10))
    spoilt("running that was taken for waiting", wait_instead)
    spoilt("a ledger that is missing", lambda thread: thread.books.clear())

    def breaks(what, old, new):
        try:
            kdtest.kdreport.parse(text.replace(old, new, 1))
        except kdtest.kdreport.ReportError:
            test.ok(old in text, what)
        else:
            test.ok(False, what)

    breaks("a torn line", "[THREAD TIME]\n", "[THREAD TIME]\nred\n")
    breaks("an unknown section", "[THREAD TIME]", "[THREAD TOME]")
    breaks("wrong columns", "SCHED_CNT", "COUNT")


kdtest.main(case_mixed_process, case_the_check_finds_faults)
