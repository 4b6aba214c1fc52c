#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--compare: a capture does not differ from itself; when a real-time program takes the CPU of a
thread, that program comes first, with its share of the CPU."""

import json
import math
import re
import statistics
import time

import kdformats
import kdreport
import kdtest

SAMPLES, SECONDS = 8, 0.08
HOG = 0.5  # of the CPU


def capture(test, load, path, *args):
    done = test.program("-p", load.pid, "--sample-time", SECONDS, "--sample-count", SAMPLES, "-o",
                        f"json:{path}", *args)
    test.eq(done.status, 0, "a capture")
    return [json.loads(line) for line in path.read_text().splitlines()]


def rates(samples, name, key):
    """Rate per second of a figure, summed over all threads of a name, sample by sample."""
    return [sum(thread["ledger"][key] for thread in sample["threads"] if thread["name"] == name) /
            sample["window"]["duration_ns"] * 1e9 for sample in samples
            if sample["type"] == "sample"]


def replay(test, path, before, *args):
    return test.start(kdtest.Child([kdtest.PROGRAM, "--replay", path, "--compare", before, *args],
                                   full=False))


def case_hog(test):
    folder = test.directory()
    load = test.workload("roles", "spin:0")
    with kdtest.RealTime.alone():
        capture(test, load, folder / "before")
    hog = test.workload("roles", f"fifo:0:{int(40 * HOG)}:40")
    tid, = hog.tid("fifo")
    since, ran = time.monotonic_ns(), kdtest.schedstat(hog.pid, tid)[0]
    now = capture(test, load, folder / "now", "--compare", folder / "before")
    ran = (kdtest.schedstat(hog.pid, tid)[0] - ran) / (time.monotonic_ns() - since)
    hog.end()
    if ran < 0.6 * HOG:
        raise kdtest.Skip(f"others had the CPU: the hog ran for {ran:.0%} of the time")
    found = now[-1]
    test.eq([each["type"] for each in now[-2:]], ["summary", "comparison"], "the last objects")
    kdformats.check_json(test, (folder / "now").read_text())
    test.eq((found["samples_before"], found["samples_now"], found["too_few"]),
            (SAMPLES, SAMPLES, False), "so many samples")
    # Other tests' tasks may come and go on this CPU, too.
    differences = [each for each in found["differences"] if each["change"] > 0]
    if not test.ok(differences, "there are differences", found):
        return
    first = differences[0]
    test.eq((first.get("cause"), first.get("who")), ("task", "fifo"), "the first is the hog")
    test.between(first["change"], 0.6 * HOG * 1e9, 1.2 * HOG * 1e9, "it takes what it does")
    again = replay(test, folder / "now", folder / "before", "-o", "json", "-o",
                   f"text:{folder}/text")
    test.eq(again.wait(), 0, "again from files")
    test.eq(json.loads(again.stdout.splitlines()[-1]), found, "JSON is the same")
    text = (folder / "text").read_text()
    section = text[text.index("# Comparison of"):].splitlines()
    test.ok("Mann-Whitney U" in section[0], "the text names the test", section[0])
    more = [line for line in section[2:] if not re.search(r" (gone|-[\d.,]+ %) ", line)][:1]
    test.ok("fifo" in "".join(more) and "CPU taken by others" in more[0], "and the hog first", *section[:4])
    done = replay(test, folder / "now", folder / "before", "--quiet", "--fail-if",
                  "changed.task.pct>100")
    test.eq(done.wait(), 4, "a condition finds it")


def staged(template, path, waits):
    """Writes captures in which the thread waited so many ms for its CPU."""
    lines = []
    for number, wait in enumerate(waits, 1):
        sample = json.loads(template)
        sample["number"] = number
        for thread in sample["threads"]:
            ledger, part = thread["ledger"], sample["window"]["duration_ns"]
            thread["ready_by"] = []
            for key in ledger:
                ledger[key] = 0
            ledger["life_ns"] = ledger["blocked_ns"] = part
            thread["blocked"] = {"work": {"count": 0, "total_ns": part, "max_ns": part}}
            if thread["name"] == "spin":
                thread["blocked"], ledger["blocked_ns"] = {}, 0
                ledger["ready_preempted_ns"] = wait * kdtest.MS
                ledger["user_ns"] = part - wait * kdtest.MS
                thread["ready_by"] = [{"kind": "task", "name": "hog", "tid": 7,
                                       "preempted_ns": wait * kdtest.MS, "longest_ns": wait}]
        lines.append(json.dumps(sample) + "\n")
    path.write_text("".join(lines))
    return [json.loads(line) for line in lines]


def case_staged(test):
    """Captures with known figures."""
    folder = test.directory()
    load = test.workload("roles", "spin:0")
    test.program("-p", load.pid, "--sample-time", "100ms", "-o", f"json:{folder}/one", "--quiet")
    template = (folder / "one").read_text()
    before = staged(template, folder / "before", [10, 12, 9, 11, 10, 13, 10, 11])
    now = staged(template, folder / "now", [41, 40, 43, 39, 42, 40, 44, 41])
    again = replay(test, folder / "now", folder / "before", "-o", "json")
    test.eq(again.wait(), 0, "status 0")
    found = json.loads(again.stdout.splitlines()[-1])
    first = found["differences"][0]
    test.eq((first.get("cause"), first.get("who")), ("task", "hog"), "the hog comes first")
    spin = next((each for each in found["differences"] if each.get("thread") == "spin" and
                 each["measure"] == "ledger.ready_preempted_ns"), None)
    if test.ok(spin, "the thread waits for its CPU", found["differences"]):
        for side, samples in (("before", before), ("now", now)):
            values = rates(samples, "spin", "ready_preempted_ns")
            test.between(spin[side]["mean"], statistics.fmean(values) * (1 - 1e-9),
                         statistics.fmean(values) * (1 + 1e-9), f"{side}: the mean")
            test.between(spin[side]["stddev"], statistics.stdev(values) * (1 - 1e-9),
                         statistics.stdev(values) * (1 + 1e-9), f"{side}: the deviation")
        # Eight below eight others: 2 of so many ways to divide them.
        test.between(spin["p"], 2 / math.comb(16, 8) * (1 - 1e-9),
                     2 / math.comb(16, 8) * (1 + 1e-9), "the probability")
    for condition, status in (("changed.count>0", 4), ("changed.task.pct>100", 4),
                              ("changed.softirq.count>0", 0),
                              ("thread(spin).changed.ledger.ready_preempted_ns.pct>200", 4),
                              ("thread(spin).changed.ledger.ready_preempted_ns.pct>400", 0),
                              ("thread(nobody).changed.count>0", 0)):
        done = replay(test, folder / "now", folder / "before", "--quiet", "--fail-if", condition)
        test.eq(done.wait(), status, f"{condition}: status {status}")
        test.ok(not status or "in the comparison" in done.stderr, "it says where", done.stderr)


def case_same(test):
    folder = test.directory()
    load = test.workload("roles", "spin", "fifo:0:3:30")
    capture(test, load, folder / "file")
    done = replay(test, folder / "file", folder / "file", "--fail-if", "changed.count>0")
    test.eq(done.wait(), 0, "a capture does not differ from itself")
    test.ok("nothing differs beyond the spread" in done.stdout, "it says so",
            done.stdout[-300:])
    live = test.program("-p", load.pid, "--sample-time", SECONDS, "--compare", folder / "file")
    test.ok("too few to tell" in live.stdout, "one sample is too few", live.stderr)
    test.ok(kdreport.parse(live.stdout), "the report is there")
    done = test.program("-p", load.pid, "--sample-time", SECONDS, "--compare", folder / "file",
                        "--fail-if", "changed.count>0", "--quiet")
    test.eq(done.status, 65, "for a condition on changes, too: status 65")
    test.ok("too few samples to tell" in done.stderr, "it says so", done.stderr)


def case_unlike(test):
    """Captures that cannot be compared: with different sample times, of triggered windows, or with
    data that only one of them has."""
    folder = test.directory()
    load = test.workload("roles", "spin", "poll")
    capture(test, load, folder / "before")
    capture(test, load, folder / "more", "--resources")
    done = test.program("-p", load.pid, "--sample-time", 5 * SECONDS, "--sample-count", SAMPLES,
                        "--compare", folder / "before")
    test.eq((done.status, done.stdout), (65, ""), "longer samples are refused before they begin")
    test.program("-p", load.pid, "--sample-time", 3 * SECONDS, "--sample-count", SAMPLES, "-o",
                 f"json:{folder}/longer")
    lines = (folder / "before").read_text().splitlines()
    windows = [json.loads(line) for line in lines if '"sample"' in line]
    for window in windows:
        window["capture"]["start_trigger"] = "t:sched:sched_switch"
    (folder / "windows").write_text("\n".join(map(json.dumps, windows)))
    for now, before, said in (("longer", "before", "--sample-time"), ("before", "longer", "--sample-time"),
                              ("windows", "before", "triggers"), ("before", "windows", "triggers")):
        done = replay(test, folder / now, folder / before, "--quiet")
        test.eq(done.wait(), 65, f"{now} with {before}: status 65")
        test.ok(said in done.stderr, "it says why", done.stderr)
    (folder / "one").write_text((folder / "longer").read_text().splitlines()[0])
    done = replay(test, folder / "one", folder / "before")
    test.eq(done.wait(), 0, "of one sample it does not matter")
    test.ok("too few to tell" in done.stdout, "but it is too few", done.stdout[-300:])
    done = replay(test, folder / "more", folder / "before", "-o", "json", "--fail-if",
                  "changed.io.file.read_bytes.count>0")
    test.eq(done.wait(), 65, "what one has only is not compared: status 65")
    found = json.loads(done.stdout.splitlines()[-1])
    test.eq([each for each in found["differences"] if each.get("measure", "").startswith("io.")], [],
            "nothing of it is new")


def case_refused(test):
    folder = test.directory()
    (folder / "bad").write_text("{}")
    load = test.workload("roles", "poll")
    for args, status in ((("--compare", folder / "none"), 66), (("--compare", folder / "bad"), 65),
                         (("--compare", folder / "bad", "--long-poll=1s"), 64),
                         (("--fail-if", "changed.count>0"), 64),
                         (("--compare", folder / "bad", "--fail-if", "changed.kept.pct>1"), 64)):
        done = test.program("-p", load.pid, "--sample-time", "20ms", *args)
        test.eq(done.status, status, f"{args[1:]}: status {status}")
        test.ok("# Start" not in done.stdout and done.stderr, "no sample, but why", done.stdout)


kdtest.main(case_hog, case_staged, case_same, case_unlike, case_refused)
