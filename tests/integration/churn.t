#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Threads that start, end and change their names during the sample."""

import json
import os
import re
import time

import kdbpfcall
import kdtest
from kdtest import MS

COUNT = 2000 if kdtest.VM else 10000
MEMORY_KB = 64 * 1024


def lost_threads(report):
    """The number of threads that the footer reports as missing from the tables."""
    lost = re.compile(r"# WARNING: ([\d,]+) threads? (?:are|is) missing")
    return sum(kdtest.kdreport.number(match[1]) for match in map(lost.match, report.warnings)
               if match)


def all_ended(load):
    """Waits until all threads have ended: joining a thread returns before it is gone from /proc."""
    kdtest.wait_until(lambda: kdtest.threads_of(load.pid) == [load.pid])


def churn_of(test, count):
    """A capture of so many threads: the workload, its truth, the report, and the program's peak
    memory in KiB."""
    load = test.workload("churn", str(count))
    capture = test.capture(load.pid)
    # It makes room for those that come, as long as others let it run.
    os.setpriority(os.PRIO_PROCESS, capture.pid, -20)
    truth = load.go()
    all_ended(load)
    peak = int(kdtest.status_field(capture.pid, "VmHWM"))
    return load, truth, capture.close(test), peak


def case_many_threads(test):
    # So many that each slot has had a thread.
    fewer = churn_of(test, COUNT // 5)[-1]
    load, truth, report, peak = churn_of(test, COUNT)
    # The leader has the name of its program and so that of many threads.
    churn = [thread for thread in report.named("churn") if thread.tid != load.pid]
    other = report.named("other")
    accounted = {name: sum(thread.members for thread in rows)
                 for name, rows in (("churn", churn), ("other", other))}
    lost = lost_threads(report)
    test.eq(sum(accounted.values()) + lost, truth["churn"] + truth["other"],
            "every thread is accounted or counted as lost")
    test.ok(accounted["churn"] > COUNT / 2, "most are accounted", accounted)
    test.eq((len(churn), len(other)), (1, 1), "one row per name")
    test.ok(all(thread.ended for thread in churn + other), "which says that they ended")
    test.eq(report.total("getppid"), 3 * accounted["churn"], "three getppid calls each")
    test.eq(report.total("getuid"), 2 * accounted["other"], "two getuid calls of the others")
    test.eq((report.total("getuid", churn), report.total("getppid", other)), (0, 0),
            "none is in the other's row")
    test.eq([thread for thread in report.threads if thread.name.startswith("<unknown")], [],
            "every name is known")
    test.eq({thread.tid for thread in report.threads if not thread.ended}, {load.pid},
            "the leader lives on in a row of its own")
    for thread in churn + other:
        test.ok(thread.members == 1 or thread.life < report.window * 11,
                "at most eleven were alive at one time", thread.life, report.window)
    test.books(report, losses=True)
    # A reader that got no CPU for a while finds the table of locks full of those that ended.
    told = [text for text in kdtest.losses_told(report) if "for locks" not in text]
    test.eq(len(told), int(lost > 0), "nothing else is lost") or test.remark(*told)
    test.between(peak, 1, MEMORY_KB, "memory of the program in KiB")
    # Their rows alone, were they kept, would be 10 MB; those of one tick differ in number.
    test.ok(peak - fewer < 4096, "which does not grow with the threads", peak, fewer)


def case_lossless_up_to_the_slots(test):
    """Moderate churn loses nothing."""
    load = test.workload("churn", "200")
    capture = test.capture(load.pid)
    truth = load.go()
    all_ended(load)
    report = capture.close(test)
    ended = [thread for thread in report.threads if thread.ended]
    test.eq({thread.name: thread.members for thread in ended},
            {"churn": truth["churn"], "other": truth["other"]}, "all in their rows")
    test.eq(report.total("getppid"), 600, "with their calls")
    leader = report.thread(load.pid)
    test.eq(leader.count("clone3") + leader.count("clone"), truth["churn"] + truth["other"],
            "the leader created them")
    test.books(report)


def case_born_in_the_window(test):
    """Threads that start in the window and are alive at its end."""
    load = test.workload("late", "5")
    capture = test.capture(load.pid)
    asked = time.monotonic_ns()
    truth = load.go()
    time.sleep(0.05)
    report = capture.close(test)
    closed = time.monotonic_ns()
    for born in truth["threads"]:
        thread = report.thread(born["tid"])
        test.eq((thread.name, thread.count("getppid")), (born["name"], born["getppid"]),
                "its name and calls")
        test.between(thread.life, 50 * MS, closed - asked, "it lived for a part of the window")
    test.books(report, late={born["tid"] for born in truth["threads"]})


def case_more_than_there_is_room_for(test):
    """A process that grows beyond the limit: threads are missing, and are counted."""
    # That many threads are what an emulated processor takes long for.
    for strict, status in ((["--strict"], 1),) if kdtest.VM else (([], 0), (["--strict"], 1)):
        load = test.workload("late", "1000")
        capture = test.capture(load.pid, *strict)
        truth = load.go()
        report = capture.close(test, want=status)
        lost = lost_threads(report)
        test.between(lost, 1, len(truth["threads"]), "some threads found no room")
        test.eq(len(report.threads) + lost, 1 + len(truth["threads"]), "the others are there")
        calls = {born["tid"]: born["getppid"] for born in truth["threads"]}
        wrong = [thread for thread in report.threads
                 if thread.count("getppid") != calls.get(thread.tid, 0)]
        test.eq(wrong, [], "each with its own calls")
        load.end()


FEW_TIDS = """
	if (command == BPF_MAP_CREATE && !strcmp(attr->map_name, "kd_tids"))
		attr->max_entries = 12;
	return false;
"""


def case_no_space_for_tids(test):
    """The hash of TIDs fills up while there are slots: whom no TID leads to is in no row, rather than
    in one state for ever."""
    load = test.workload("late", "40")
    library = kdbpfcall.library(test, FEW_TIDS)
    capture = test.capture(load.pid, env={**os.environ, "LD_PRELOAD": str(library)})
    truth = load.go()
    report = capture.close(test)
    late = [thread for thread in report.threads if thread.tid != load.pid]
    calls = {born["tid"]: born["getppid"] for born in truth["threads"]}
    test.between(len(late), 1, 12, "some are there")
    test.eq({thread.tid: thread.count("getppid") for thread in late},
            {thread.tid: calls[thread.tid] for thread in late}, "each with its own calls")
    test.ok(all(thread.ns["blocked interruptible"] for thread in late), "and its own sleep", late)
    test.books(report, losses=True, late=set(calls))
    test.ok(any("events are missing" in told for told in kdtest.losses_told(report)),
            "the others are told", report.warnings)


def case_rename(test):
    """A thread that changes its name is one row under its new name."""
    load = test.workload("names")
    renamed = [tid for tid in kdtest.threads_of(load.pid) if tid != load.pid]
    capture = test.capture(load.pid)
    truths = load.go()["threads"]
    report = capture.close(test)
    last = truths[-1]
    test.eq(sorted(thread["tid"] for thread in truths), renamed, "all changed their names")
    test.eq(report.thread(last["tid"]).name, bytes.fromhex(last["name_hex"]).decode(), "new name")
    test.eq(report.thread(last["tid"]).count("getppid"), last["getppid"], "all its calls")
    test.eq(report.named("name-before"), [], "no row has the old name")
    test.books(report)


def case_found_once(test):
    """A busy machine, whose threads are switched while the program looks for them: each is found
    exactly once."""
    if kdtest.VM:
        raise kdtest.Skip("too many switches for a virtual machine")
    test.workload("roles", "spin:-1")
    load = test.workload("roles", *["calls:0:1000000:200"] * 12)
    load.send("go")
    threads = len(kdtest.threads_of(load.pid))
    for _ in range(4):
        done = test.program("-p", load.pid, "--sample-time", "2ms", "-o", "json")
        rows = json.loads(done.stdout)["threads"] if done.status == 0 else []
        found = sum(row["members"] for row in rows)
        if found != threads or not all(row["name"] for row in rows):
            break
    test.eq(found, threads, "all threads are found, once each")
    test.ok(all(row["name"] for row in rows), "with their names", rows)


kdtest.main(case_many_threads, case_lossless_up_to_the_slots, case_born_in_the_window,
            case_more_than_there_is_room_for, case_no_space_for_tids, case_rename, case_found_once)
