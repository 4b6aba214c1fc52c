#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interrupts that hit the target's threads, against the kernel's counters."""

import contextlib
import json
import os
import pathlib
import re
import time

import kdbpfcall
import kdtest
from kdtest import interrupts

TIMERS = 10000
TRIES = 4


def timer():
    """Its row of /proc/interrupts, and what reports call it. On arm64 it has a line."""
    if os.uname().machine == "x86_64":
        return "LOC", "local_timer"
    text = pathlib.Path("/proc/interrupts").read_text()
    return re.search(r"^ *(\d+):.* arch_timer$", text, re.MULTILINE)[1], "arch_timer"


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
    switched = thread.tables["THREAD SWITCHES"]
    # A busy CPU leaves softirqs to ksoftirqd, for which the receiver waits or has to make way.
    least = packets * 0.9 - switched.voluntary - switched.involuntary
    test.eq((thread.count("sendto"), thread.count("recvfrom")), (truth["sent"], truth["sent"]),
            "calls")
    row = thread.softirqs.get("net_rx")
    test.between(row and row.count, least, most, "net_rx in the sender, at most the CPU's")
    test.eq(row and row.vect_nr, 3, "its vector")
    test.between(row and row.total, 1, report.window, "its time")
    soft = sum(row.total for row in thread.softirqs.values())
    test.between(thread.ns["soft irq"], soft * 0.5, soft * 1.001,
                 "the ledger's line is the table's time less nested interrupts")
    test.ok(row and thread.ns["running kernel"] + thread.ns["soft irq"] <=
            sum(call.total + call.count * report.entry for call in thread.calls.values()) +
            report.window * 0.1,
            "the softirqs are taken out of the system calls")
    test.books(report)


def case_local_timer(test):
    """A real-time spinner, alone on its CPU, takes the timer interrupts of that CPU."""
    cpu, alone = kdtest.last_cpu(), kdtest.one_cpu()
    line, name = timer()
    load = test.workload("roles", kdtest.spinner(cpu) if alone else f"spin:{cpu}")
    tid, = load.tid("fifo" if alone else "spin")
    outer = interrupts(line, cpu)
    capture = test.capture(load.pid)
    with contextlib.nullcontext() if alone else kdtest.real_time(load.pid, tid):
        inner, first = interrupts(line, cpu), load.mark()
        time.sleep(0.4)
        second, least = load.mark(), interrupts(line, cpu) - inner
    report = capture.close(test)
    most = interrupts(line, cpu) - outer
    if any("HARD IRQ" in line for line in report.notices):
        test.skip(name, report.notices[0])
        return
    if not least:
        test.skip(name, "no timer interrupt: a nohz_full CPU")
        return
    thread = report.thread(tid)
    entries = report.irq_entries(thread)
    row = thread.hardirqs.get(name)
    # Those that hit while another thread had the CPU are not its own.
    share = (second.cpu[tid] - first.cpu[tid]) / (second.end - first.start)
    test.ok(share > 0.2, "it had the CPU", share)
    test.between(row and row.count, least * share * 0.9 - 2, most,
                 "as many as in /proc/interrupts")
    test.between(row and row.total, row and row.count, report.window * 0.2, "their time")
    test.between(thread.ns["hard irq"], 1 + entries,
                 sum(row.total for row in thread.hardirqs.values()) + entries,
                 "which is the ledger's line, with what the tracepoints do not see")
    test.books(report)


def case_recorded(test):
    """The recorder names the timer, too, when it hits another thread, for which one waits."""
    cpu, folder = kdtest.last_cpu(), test.directory()
    load, other = (test.workload("roles", f"spin:{cpu}") for _ in range(2))
    tid, = other.tid("spin")
    done = test.program("-p", load.pid, "--record=500ms", "--sample-time", "200ms", "-o",
                        f"json:{folder}/json")
    test.ok(done.status == 0, "status", done.stderr)
    lists = (json.loads(line) for line in (folder / "json").read_text().splitlines())
    names = {kind["name"] for rows in lists if rows.get("list") == "irqs"
             for kind in rows["kinds"] if kind.get("hard") and kind.get("tid") == tid}
    test.ok(timer()[1] in names, "by its name", names)


NAMES = """
	if (command == BPF_RAW_TRACEPOINT_OPEN && attr->raw_tracepoint.name)
		fprintf(stderr, "attached %s\\n", (const char *)(uintptr_t)attr->raw_tracepoint.name);
	return false;
"""


def case_exits_first(test):
    """An interrupt that begins and ends while the program attaches is never taken for one that goes
    on, as its end is attached before its beginning."""
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time", "0.1", wrapper=(
        "env", f"LD_PRELOAD={kdbpfcall.library(test, NAMES)}"))
    names = re.findall("^attached (\\w+)$", done.stderr, re.MULTILINE)
    pairs = [(name, name.removesuffix("exit") + "entry") for name in names if name.endswith("_exit")]
    pairs = [pair for pair in pairs if pair[1] in names and not pair[0].startswith("sys_")]
    test.ok({"softirq_exit", "irq_handler_exit"} <= {first for first, _ in pairs}, "there are some", names)
    test.eq([pair for pair in pairs if names.index(pair[0]) > names.index(pair[1])], [], "none is late")


def case_whole(test):
    """An interrupt takes more from its thread than its handler's time: compared with how long the
    thread saw its clock stand still. Repeated on a mismatch: other interrupts come, and on a shared
    machine prices change. A wrong estimate would match in no attempt."""
    if kdtest.VM:
        raise kdtest.Skip("an emulated interrupt costs what the emulation takes")
    for _ in range(TRIES):
        load = test.workload("roles", f"timers:{TIMERS}:20:{kdtest.last_cpu()}")
        capture = test.capture(load.pid)
        truth = load.go()["threads"][0]
        report = capture.close(test)
        load.end()
        thread = report.thread(truth["tid"])
        came = sum(row.count for row in thread.hardirqs.values())
        each = (thread.ns["hard irq"] + thread.ns["soft irq"]) / max(came, 1)
        if truth["gap_ns"] * 0.75 <= each <= truth["gap_ns"] * 1.25:
            break
    test.ok(came >= TIMERS, "all timers' interrupts hit it", came)
    test.ok(report.irq_entry, "the estimate is named", report.notices)
    test.between(each, truth["gap_ns"] * 0.75, truth["gap_ns"] * 1.25,
                 "what each took, from entry to exit")
    test.books(report)


kdtest.main(case_net_rx, case_local_timer, case_recorded, case_exits_first, case_whole)
