#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--tid and --threads: only the chosen threads are followed and reported."""

import json
import os
import pathlib

import kdtest
from kdtest import MS
from kdtrigger import UNLIMITED, Triggered


def sampled(test, pid, *options, until):
    """The sample of a run as JSON and as text. until: a count that has to grow by three within the
    window."""
    path = test.directory() / "report.json"
    capture = test.capture(pid, "-o", f"json:{path}", "-o", "-", *options)
    before = until()
    kdtest.wait_until(lambda: until() - before >= 3)
    report = capture.close(test)
    test.eq(capture.stderr, "", "nothing is said")
    test.books(report)
    return json.loads(path.read_text().splitlines()[0]), report


def tids(report):
    return sorted(thread.tid for thread in report.threads)


def check_chosen(test, load, want, *options):
    capture = test.capture(load.pid, *options)
    truths = load.go()["threads"]
    report = capture.close(test)
    test.books(report)
    test.eq(tids(report), sorted(want), "the report has the threads that were chosen")
    for truth in truths:
        if truth["tid"] not in want:
            continue
        thread = report.thread(truth["tid"])
        test.eq(thread.count("getppid"), truth["getppid"], "every call of it is counted")
        test.between(thread.life, report.window - 1000, report.window + 1000, "from the window's first moment to its last")
    return report


def case_by_name(test):
    load = test.workload("roles", "calls:1000:5:1000", "poll", "calls:500:1:1000", "poll")
    report = check_chosen(test, load, load.tid("calls"), "--threads", "call?")
    test.eq(report.total("getppid"), 1500, "sums are theirs")
    test.eq(report.total("poll"), 0, "and not of others")


def case_by_tid(test):
    load = test.workload("roles", "calls:1000:5:1000", "poll", "calls:500:1:1000", "poll")
    second = load.tid("calls")[1]
    report = check_chosen(test, load, [second], "--tid", second)
    test.eq(report.total("getppid"), 500, "sums are its")
    load = test.workload("roles", "calls:1000:5:1000", "poll", "calls:500:1:1000")
    chosen = [*load.tid("calls"), load.pid]
    check_chosen(test, load, load.tid("calls"), "--tid", ",".join(map(str, load.tid("calls"))))
    done = test.program("-p", load.pid, "--tid", f"{chosen[0]},1")
    test.eq((done.status, done.stdout), (69, ""), "a thread of another process is refused")
    test.ok("the target has no thread 1" in done.stderr, "with its number", done.stderr)


def case_renamed(test):
    """Threads that get their names while the window is open."""
    load = test.workload("names")
    capture = test.capture(load.pid, "--threads", "[bf]*[xh]")
    truths = load.go()["threads"]
    report = capture.close(test)
    want = {truth["tid"]: truth["getppid"] for truth in truths
            if bytes.fromhex(truth["name_hex"]) in (b"fifteen-bytes-x", b"back\\slash")}
    test.books(report, late=set(want))
    test.eq(tids(report), sorted(want), "those that got a matching name")
    for tid, calls in want.items():
        thread = report.thread(tid)
        test.eq(thread.count("getppid"), calls, "have all calls since then")
        test.ok(0 < thread.life < report.window, "and live from then on", thread.life)


def case_renamed_away(test):
    """All names match when the window opens; one thread then takes another matching name."""
    load = test.workload("names")
    capture = test.capture(load.pid, "--threads", "name-*")
    truths = load.go()["threads"]
    report = capture.close(test)
    test.books(report)
    last = [truth for truth in truths if bytes.fromhex(truth["name_hex"]) == b"name-after"]
    test.eq(tids(report), [truth["tid"] for truth in last], "those that still have one")
    test.eq(report.total("getppid"), last[0]["getppid"], "with their calls")


def case_born(test):
    """Threads that are created, named and ended by the thousand."""
    load = test.workload("churn", 2000)
    capture = test.capture(load.pid, "--threads", "other")
    truth = load.go()
    kdtest.wait_until(lambda: kdtest.threads_of(load.pid) == [load.pid])
    report = capture.close(test)
    test.books(report)
    test.eq([(thread.name, thread.members) for thread in report.threads],
            [("other", truth["other"])], "each is accounted, and no other")
    test.eq(report.total("getuid"), 2 * truth["other"], "with each call")
    test.eq(report.total("getppid"), 0, "and none of others")


def case_refused_a_slot(test):
    """Threads that found no free slot, and have another name when there is one."""
    path = test.directory() / "samples.json"
    load = test.workload("flock", 1000)
    run = test.capture(load.pid, "--threads", "early", "--sample-time", "0.3s", "--sample-count", 0,
                       "-o", "text", "-o", f"json:{path}")
    seen = []
    for word, answer in (("go", "begun"), ("rename", "renamed"), ("work", "worked")):
        load.send(word)
        load.line(answer)
        seen.append(lines_of(path))
        kdtest.wait_until(lambda: lines_of(path) > seen[-1] + 1)
    run.interrupt(test, "the run ends well")
    samples = kdtest.samples_of(path)
    refused = sum(sample["losses"]["threads"] for sample in samples[:seen[1] + 1])
    test.ok(refused > 0, "there was no room for some", refused)
    test.eq({thread["name"] for sample in samples[seen[1] + 1:] for thread in sample["threads"]}, set(),
            "none is followed by its later name")


def lines_of(path):
    return path.read_text().count("\n") if path.exists() else 0


def case_culprit(test):
    """A culprit is named even if it was not chosen."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"fifo:{cpu}:10:40", f"spin:{cpu}")
    fifo, = load.tid("fifo")
    slept = lambda: kdtest.switches(load.pid, fifo, ("voluntary",))
    sample, report = sampled(test, load.pid, "--threads", "spin", until=slept)
    test.eq(tids(report), load.tid("spin"), "only the one that waits is in the report")
    rows = [row for row in sample["threads"][0]["ready_by"] if row.get("name") == "fifo"]
    test.ok(rows and rows[0]["own"], "the other had the CPU, as one of its own process",
            sample["threads"][0]["ready_by"])


def case_holder(test):
    load = test.workload("locks", "asleep")
    sample, report = sampled(test, load.pid, "--threads", "asleep",
                             until=lambda: len(load.ask("log")["asleep"]["waits"]))
    log = load.ask("log")["asleep"]
    test.eq(tids(report), [log["tid"]], "only the one that waits is in the report")
    locks = [row for row in sample["threads"][0]["locks"] if row["kind"] == "mutex"]
    test.ok(locks, "it waits for a mutex", sample["threads"][0]["locks"])
    test.eq({(row["holder_tid"], row["holder_name"]) for row in locks},
            {(log["holders"][0], "holder")}, "whose holder is known")
    test.between(sum(row["total_ns"] for row in locks), 1 * MS, report.window, "for some time")


def case_pair(test):
    """A thread hits the start trigger while it is not followed, and the stop when it is, under
    another name."""
    load = test.workload("names")
    run = Triggered(test, load.pid, "--threads", "fifteen*", "--trigger-same-thread",
                    "--start-trigger", "t:syscalls:sys_enter_prctl",
                    "--stop-trigger", "t:syscalls:sys_enter_getppid", *UNLIMITED)
    truths = load.go()["threads"]
    run = run.stop(test)
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    test.eq((start.hits, start.unmatched), (len(truths), 0), "each start has its stop")
    test.eq(run.triggers.durations.count, len(truths), "and each pair its time")
    test.eq(stop.hits, sum(truth["getppid"] for truth in truths), "all hits are counted")


def case_refused(test):
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--threads", "?" * 64)
    test.eq(done.status, 64, "too long a pattern is refused")
    test.ok("is too long" in done.stderr, "with the reason", done.stderr)


def case_no_match(test):
    """A pattern of names that no thread has is reported, and makes a script fail."""
    load, saved = test.workload("roles", "poll"), test.directory() / "saved"
    short = ("-p", load.pid, "--sample-time", "0.1")
    for arguments in ((*short, "--threads", "none*", "-o", "text"),
                      (*short, "--threads", "none*", "--follow-fork", "-o", f"json:{saved}")):
        done = test.program(*arguments)
        test.eq(done.status, 69, " ".join(map(str, arguments)))
        test.ok("no thread has matched --threads 'none*'" in done.stderr, "and why", done.stderr)
        names = {pathlib.Path(f"/proc/{load.pid}/task/{tid}/comm").read_text().strip()
                 for tid in os.listdir(f"/proc/{load.pid}/task")}
        said = done.stderr.splitlines()[-1].removeprefix("  the threads are called: ")
        test.eq(set(said.split(", ")), names, "the names that there are")
        test.ok("steal clock" not in done.stdout, "nothing is noted of times that nobody had")
    test.program(*short, "-o", f"json:{saved}")
    for names, status in (("none*", 69), ("pol*", 0)):
        done = test.program("--replay", saved, "--threads", names)
        test.eq(done.status, status, f"--replay --threads {names}")


kdtest.main(case_by_name, case_by_tid, case_renamed, case_renamed_away, case_born,
            case_refused_a_slot, case_culprit, case_holder, case_pair, case_refused, case_no_match)
