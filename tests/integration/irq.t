#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interrupts that hit the target's threads, against the kernel's counters."""

import time

import kdtest
from kdtest import interrupts


def case_net_rx(test):
    """Datagrams over the loopback are received in a softirq of their sender."""
    cpu, packets = kdtest.last_cpu(), 5000
    load = test.workload("roles", f"udp:{packets}:{cpu}")
    before = interrupts("NET_RX", cpu)
    capture = test.capture(load.pid)
    truth = load.go()["threads"][0]
    report = capture.close(test)
    most = interrupts("NET_RX", cpu) - before
    thread = report.thread(truth["tid"])
    test.eq(truth["received"], packets, "all were received")
    test.eq((thread.count("sendto"), thread.count("recvfrom")), (packets, packets), "calls")
    row = thread.softirqs.get("net_rx")
    test.between(row and row.count, packets * 0.9, most, "net_rx in the sender, at most the CPU's")
    test.eq(row and row.vect_nr, 3, "its vector")
    test.between(row and row.total, 1, report.window, "its time")
    soft = sum(row.total for row in thread.softirqs.values())
    test.between(thread.ns["soft irq"], soft * 0.5, soft * 1.001,
                 "the ledger's line is the table's time less nested interrupts")
    test.ok(row and thread.ns["running kernel"] + thread.ns["soft irq"] <=
            sum(call.total for call in thread.calls.values()) + report.window * 0.1,
            "the softirqs are taken out of the system calls")
    test.books(report)


def case_local_timer(test):
    """A spinner alone on its CPU takes the timer interrupts of that CPU."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"fifo:{cpu}:1500:1500")
    outer = interrupts("LOC", cpu)
    capture = test.capture(load.pid)
    inner = interrupts("LOC", cpu)
    time.sleep(1.0)
    least = interrupts("LOC", cpu) - inner
    report = capture.close(test)
    most = interrupts("LOC", cpu) - outer
    if any("HARD IRQ" in line for line in report.notices):
        test.skip("local_timer", report.notices[0])
        return
    if not least:
        test.skip("local_timer", "no timer interrupt in a second: a nohz_full CPU")
        return
    thread = report.thread(load.tid("fifo")[0])
    row = thread.hardirqs.get("local_timer")
    # Those that hit while another thread had the CPU are not its own.
    share = thread.running / thread.life
    test.ok(share > 0.2, "it had the CPU", share)
    test.between(row and row.count, least * share * 0.9 - 2, most,
                 "as many as in /proc/interrupts")
    test.between(row and row.total, row and row.count, report.window * 0.2, "their time")
    test.between(thread.ns["hard irq"], 1, sum(row.total for row in thread.hardirqs.values()),
                 "which is the ledger's line")
    test.books(report)


kdtest.main(case_net_rx, case_local_timer)
