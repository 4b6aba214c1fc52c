#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Metrics, shown to other programs' parsers and compared with the text report of the
same sample."""

import difflib
import json
import math
import re
import signal
import subprocess
import sys

import kdneeds
import kdreport
import kdtest
from kdformats import in_flight, unit_reports

GOLDEN = kdtest.ROOT / "tests" / "golden"
MAN = kdtest.ROOT / "man" / "kernel_delay-metrics.5"
STATES = {"user": "running user", "kernel": "running kernel", "page_fault": "page faults",
          "reclaim": "reclaim", "hardirq": "hard irq",
          "softirq": "soft irq", "stolen": "stolen by hypervisor",
          "throttled": "throttled", "ready_woken": "ready after wakeup",
          "ready_preempted": "ready after preemption", "blocked": "blocked interruptible",
          "blocked_uninterruptible": "blocked uninterruptible", "stopped": "stopped",
          "frozen": "frozen"}


def series_of(test, what, text, name="prometheus_client.openmetrics.parser"):
    """{(name, labels): value} of a file that the parser takes; no series may be twice."""
    parse = kdneeds.module(name).text_string_to_metric_families
    try:
        samples = [sample for family in parse(text) for sample in family.samples]
    except Exception as error:  # pylint: disable=broad-except
        test.ok(False, f"{what}: the parser takes it", repr(error))
        return {}
    test.ok(samples, f"{what}: the parser takes it")
    series = {}
    for sample in samples:
        key = (sample.name, frozenset(sample.labels.items()))
        if key in series:
            test.ok(False, f"{what}: no series is there twice", key)
        series[key] = sample.value
    test.eq(len(series), len(samples), f"{what}: no series is there twice")
    return series


def promtool(test, what, *args, text=None):
    tool = kdneeds.optional(test, what, kdneeds.tool, "promtool")
    if not tool:
        return None
    done = subprocess.run([tool, *args], input=text, text=True, capture_output=True, check=False)
    test.ok(done.returncode == 0 and not done.stderr, what, done.stdout, done.stderr)
    return done.stdout


def block_check(test, path):
    """Makes a block of a database out of a file; every series has one value there."""
    folder = test.directory()
    said = promtool(test, f"{path.name}: becomes a block", "tsdb", "create-blocks-from",
                    "openmetrics", str(path), str(folder))
    if said:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        numbers = said.splitlines()[-1].split()
        test.ok(str(len(lines)) in numbers, f"{path.name}: all {len(lines)} series are in it", said)


def case_unit_reports(test):
    """What a unit test has made of its samples."""
    paths = unit_reports(test, "openmetrics", "test_metrics")
    test.ok(len(paths) > 5, "there are reports")
    for path in paths:
        series = series_of(test, path.name, path.read_text())
        older = path.with_name(path.name.replace("openmetrics", "prometheus"))
        other = series_of(test, older.name, older.read_text(), "prometheus_client.parser")
        test.eq(other, series, f"{older.name}: has the same values")
        promtool(test, f"{older.name}: promtool finds no fault", "check", "metrics",
                 text=older.read_text())
        if path.name == "openmetrics_timed.txt":
            block_check(test, path)


def listed(text):
    """[(name, type, unit, labels, help)] out of the list."""
    lines = text.splitlines()[1:]
    return [(*line.split(), said.strip()) for line, said in zip(lines[::2], lines[1::2])]


def case_manual_page(test):
    """It has the families that there are, in their order, and nothing else of them."""
    families = listed((GOLDEN / "metrics_list.txt").read_text())
    test.ok(len(families) > 40, "the list has families")
    program = test.program("--list-metrics")
    test.eq((program.status, program.stderr), (0, ""), "--list-metrics prints them")
    test.eq(listed(program.stdout), families, "as they are listed")
    page = subprocess.run([kdneeds.tool("mandoc"), "-T", "utf8", "-O", "width=1000", str(MAN)], text=True,
                          capture_output=True, check=True).stdout
    section = re.search(r"^FAMILIES$(.*?)^EXAMPLES$", re.sub(".\b", "", page), re.M | re.S)[1]
    described = []
    for entry in section.strip().split("\n\n")[1:]:
        name, form, said = (line.strip() for line in entry.split("\n"))
        match = re.fullmatch(r"(\w+)(?: of (\w+))?(?: \{(.*)\})?", form)
        described.append((name, match[1], match[2] or "-", match[3] or "-", said))
    test.eq(sorted(set(described) ^ set(families)), [], "the manual page describes them")
    test.ok(described == families, "in the same order")


def ns_of(series, name, **labels):
    value = series.get((f"kernel_delay_{name}", frozenset(labels.items())))
    return None if value is None else round(value * 1e9)


def count_of(series, name, **labels):
    return series.get((f"kernel_delay_{name}", frozenset(labels.items())))


def labels_of(series, tid):
    """The labels of a thread."""
    return [dict(labels) for name, labels in series
            if name == "kernel_delay_threads" and dict(labels).get("tid") == str(tid)]


def longest_of(longest, flights, name):
    """The longest of a table, and of what crosses the window's edges."""
    return max([longest] + [flight.longest for flight in flights if flight.name == name])


def table_faults(series, labels, table, names, flights=()):
    """Where rows of the report differ from metrics of the names (label, count, ...)."""
    label, count, seconds, longest = names
    for name, row in table.items():
        where = {**labels, label: name}
        got = (count_of(series, count, **where), ns_of(series, seconds, **where),
               ns_of(series, longest, **where))
        if got != (row.count, row.total, longest_of(row.max, flights, name)):
            yield f"{where}: {got} in metrics, {row} in the report"


def thread_faults(series, labels, thread):
    for state, title in STATES.items():
        got = ns_of(series, "thread_seconds_total", **labels, state=state)
        if got != thread.ns[title]:
            yield f"{labels}: {got} ns {state}, {thread.ns[title]} in the report"
    yield from table_faults(series, labels, thread.calls, (
        "syscall", "syscalls_total", "syscall_seconds_total", "syscall_max_seconds"),
                            thread.flights)
    yield from table_faults(series, labels, thread.softirqs, (
        "vector", "softirqs_total", "softirq_seconds_total", "softirq_max_seconds"))
    for state, section in (("ready", "THREAD READY STATISTICS"),
                           ("running", "THREAD RUN STATISTICS")):
        row = thread.tables.get(section) or kdreport.Row(sched_cnt=0, total=0, max=0)
        got = (count_of(series, "thread_periods_total", **labels, state=state),
               ns_of(series, "thread_period_seconds_total", **labels, state=state),
               ns_of(series, "thread_max_seconds", **labels, state=state))
        if got != (row.sched_cnt, row.total, longest_of(row.max, thread.periods, state)):
            yield f"{labels}: {got} {state}, {row} in the report"
        still = [period.longest for period in thread.periods
                 if (period.name, period.end) == (state, "still open")]
        if (ns_of(series, "thread_open_seconds", **labels, state=state) or 0) != max(still, default=0):
            yield f"{labels}: other periods {state} are still open"
    row = thread.tables.get("THREAD SWITCHES")
    if row:
        for kind in ("voluntary", "involuntary"):
            if count_of(series, "context_switches_total", **labels, type=kind) != row[kind]:
                yield f"{labels}: other {kind} switches"


def compare(test, report, series):
    """Every thread of the report has its figures in the metrics."""
    faults = []
    for thread in report.threads:
        if thread.tid is None:
            continue
        found = labels_of(series, thread.tid)
        if len(found) != 1:
            faults.append(f"{thread!r}: {len(found)} series")
            continue
        faults += thread_faults(series, found[0], thread)
        lived = sum(ns_of(series, "thread_seconds_total", **found[0], state=state) or 0
                    for state in STATES)
        if abs(lived - report.window) > report.window / 1000 + 20_000:
            faults.append(f"{found[0]}: states add up to {lived}, the window is {report.window}")
    test.ok(not faults, "all figures are those of the report", *faults[:12])


def captured(test, load, *options, work):
    """Takes one sample in all forms, for as long as the work takes: (report, series, folder, what
    that returned)."""
    folder = test.directory()
    files = [folder / name for name in ("text", "metrics.om", "metrics.prom")]
    done = test.child([
        kdtest.PROGRAM, "-p", load.pid, "--sample-time", 60, "--sample-count", 1, *options,
        "-o", "-", "-o", f"text:{files[0]}", "-o", f"openmetrics:{files[1]}",
        "-o", f"prometheus:{files[2]}"])
    done.line("# Start sampling")
    truths = work()
    done.signal(signal.SIGINT)
    test.eq(done.wait(), 0, "a sample is taken")
    test.eq(done.stdout, files[0].read_text(), "standard output and a file are the same")
    series = series_of(test, "a capture", files[1].read_text())
    older = series_of(test, "0.0.4", files[2].read_text(), "prometheus_client.parser")
    test.eq(older, series, "0.0.4: has the same values")
    promtool(test, "0.0.4: promtool finds no fault", "check", "metrics", text=files[2].read_text())
    reports = kdreport.parse(files[0].read_text())
    test.eq(len(reports), 1, "one report")
    return reports[0], series, folder, truths


def case_capture(test):
    load = test.workload("roles", "poll", "calls:1:0:0", "calls:1:0:0")
    report, series, folder, _ = captured(test, load, "--timestamps", work=load.go)
    test.ok(any(thread.calls for thread in report.threads), "there are calls")
    compare(test, report, series)
    test.between(ns_of(series, "measured_seconds_total"), report.window - 2000,
                 report.window + 2000, "the window is as long")
    test.eq(count_of(series, "captures_total", result="interrupted"), 1, "one sample, which was ended")
    block_check(test, folder / "metrics.om")


def case_hostile_names(test):
    load = test.workload("names")
    report, series, _, truths = captured(test, load, work=load.go)
    names = {dict(labels)["thread"] for name, labels in series if name == "kernel_delay_threads"}
    test.ok(len(names) > 5, "there are names", names)
    bad = {char for name in names for char in name
           if char not in "\n\t" and (ord(char) < 32 or 127 <= ord(char) < 160)}
    test.eq(bad, set(), "no control characters")
    compare(test, report, series)
    for truth in truths["threads"]:
        name = bytes.fromhex(truth["name_hex"])
        (labels,) = labels_of(series, truth["tid"])
        test.eq(count_of(series, "syscalls_total", **labels, syscall="getppid"), truth["getppid"],
                f"calls of {name!r}")
        if name.isascii() and name.decode().isprintable():
            test.eq(labels["thread"], name.decode(), "a plain name is a label as it is")


def case_max_syscalls(test):
    """The largest call of a thread, and the others in one row."""
    load = test.workload("roles", "poll", "calls:1:0:0", "calls:1:0:0")
    report, series, _, _ = captured(test, load, "--max-syscalls", "1", work=load.go)
    rows = {}
    for (name, labels), value in series.items():
        if name == "kernel_delay_syscalls_total" and value:
            rows.setdefault(int(dict(labels)["tid"]), {})[dict(labels)["syscall"]] = value
    busy = [thread for thread in report.threads if thread.calls]
    test.ok(any(len(thread.calls) > 2 for thread in busy), "there are threads of many calls")
    for thread in busy:
        largest = max(thread.calls, key=lambda name, calls=thread.calls: calls[name].total)
        got = rows.get(thread.tid, {})
        test.eq(got.pop(largest, None), thread.calls[largest].count,
                f"{thread!r}: its largest call has a row")
        others = sum(row.count for name, row in thread.calls.items() if name != largest)
        test.eq(got, {"other": others} if others else {}, f"{thread!r}: and the others one")


# What of a histogram is what of counters: {family: (count, sum, label)}.
COUNTERS = {"thread_period_duration_seconds": ("thread_periods_total",
                                               "thread_period_seconds_total", "state"),
            "syscall_duration_seconds": ("syscalls_total", "syscall_seconds_total", "syscall")}


def histograms(series, family):
    """{labels: [(limit, count up to it)]}"""
    found = {}
    for (name, labels), value in series.items():
        if name == f"kernel_delay_{family}_bucket":
            labels = dict(labels)
            limit = float(labels.pop("le"))
            found.setdefault(frozenset(labels.items()), []).append((limit, int(value)))
    return {labels: sorted(buckets) for labels, buckets in found.items()}


def key_of(thread, options, label, value):
    """The labels of a thread of JSON."""
    name, alone = thread["name"], not thread["ended"] and thread["members"] == 1
    if "--fold-names" in options:
        name = name.rstrip("0123456789") or name
    tid = {"tid": str(thread["tid"])} if "--per-thread" in options and alone else {}
    return frozenset({"thread": name, **tid, label: value}.items())


def ended_of(samples, options, family, found):
    """What the histograms have more than the counters: {labels: (count, sum)}."""
    more = {}
    for thread in (thread for sample in samples for thread in sample["threads"]):
        label = COUNTERS[family][2]
        names = (("running", "ready") if label == "state" else
                 [call["name"] for call in thread["syscalls"]])
        for name in names:
            key = key_of(thread, options, label, name)
            if key not in found:
                key = key_of(thread, options, label, "other")
            count, total = more.get(key, (0, 0))
            ended, _ = in_flight(thread, name)
            more[key] = (count + sum(item["count"] for item in ended),
                         total + sum(item["length_ns"] for item in ended))
    return more


def histogram_faults(series, family, samples, options):
    """Where it is none, or its figures are not those of the counters, and of what began
    before the window."""
    found = histograms(series, family)
    count, seconds, _ = COUNTERS[family]
    more = ended_of(samples, options, family, found)
    for labels, buckets in found.items():
        added = more.get(labels, (0, 0))
        counts, labels = [number for _, number in buckets], dict(labels)
        if len(buckets) != 29 or counts != sorted(counts) or buckets[-1][0] != math.inf:
            yield f"{labels}: is no histogram: {buckets}"
        want = (count_of(series, count, **labels) + added[0],
                ns_of(series, seconds, **labels) + added[1])
        got = (counts[-1], ns_of(series, f"{family}_sum", **labels))
        if got != want or counts[-1] != count_of(series, f"{family}_count", **labels):
            yield f"{labels}: {got}, {want} are counted"
    for (name, labels), value in series.items():
        if name == f"kernel_delay_{count}" and value and labels not in found:
            if dict(labels).get("state") not in ("stopped", "long_poll"):
                yield f"{dict(labels)}: {value} are in no histogram"


def buckets_of(samples, options):
    """What JSON's buckets add up to: {(family, labels): {limit: how many}}; a bucket counts
    where its limit belongs."""
    limits = [factor * 10 ** power for power in range(3, 12) for factor in (1, 2, 5)] + [10 ** 12]
    found = {}
    for sample in samples:
        for thread in sample["threads"]:
            rows = [("thread_period_duration_seconds", "state", state, thread[name])
                    for state, name in (("running", "run"), ("ready", "ready"))]
            rows += [("syscall_duration_seconds", "syscall", row["name"], row)
                     for row in thread["syscalls"]]
            for family, label, value, row in rows:
                for bucket in row.get("buckets", []):
                    limit = next((ns for ns in limits if bucket["le_ns"] <= ns), math.inf)
                    key = (family, key_of(thread, options, label, value))
                    sums = found.setdefault(key, {})
                    sums[limit] = sums.get(limit, 0) + bucket["count"]
    return found


def bucket_faults(series, samples, options):
    """Where buckets differ from those of JSON."""
    wanted = buckets_of(samples, options)
    if len(wanted) < 4:
        yield f"there are only {len(wanted)} distributions"
    for (family, labels), sums in wanted.items():
        for limit, below in histograms(series, family).get(labels, [(math.inf, -1)]):
            want = sum(count for ns, count in sums.items() if ns <= limit * 1e9 + 0.5)
            if below != want:
                yield f"{family} {dict(labels)}: {below} up to {limit}, want {want}"


# Threads whose names differ in a number.
NUMBERED = """
import ctypes, os, threading, time
def work(number):
    ctypes.CDLL(None).prctl(15, b"numbered%d" % number, 0, 0, 0)
    while True:
        os.getppid()
        time.sleep(0.0005)
for number in range(3):
    threading.Thread(target=work, args=(number,)).start()
print("ready", flush=True)
"""


def case_histograms(test):
    """Buckets add up over the samples of a run, whatever labels threads have: those that are asked
    for are given to the samples of the first run."""
    load = test.child([sys.executable, "-c", NUMBERED])
    load.line("ready")
    saved = test.directory() / "json"
    args = ["-p", load.pid, "--histogram", "--sample-count=3", "--sample-time=150ms", "-o",
            f"json:{saved}"]
    for options in ((), ("--fold-names",), ("--per-thread",), ("--max-syscalls=1",)):
        folder, what = test.directory(), " ".join(options) or "by name"
        files = [folder / "metrics.om", folder / "metrics.prom", saved]
        done = test.program(*args, *options, "-o", f"openmetrics:{files[0]}", "-o",
                            f"prometheus:{files[1]}")
        args = ["--replay", saved]
        test.eq((done.status, done.stdout), (0, ""), f"{what}: three samples are taken")
        series = series_of(test, what, files[0].read_text())
        older = series_of(test, f"{what}: 0.0.4", files[1].read_text(), "prometheus_client.parser")
        test.eq(older, series, f"{what}: 0.0.4 has the same values")
        promtool(test, f"{what}: promtool finds no fault", "check", "metrics",
                 text=files[1].read_text())
        for path in files[:2] if not options else ():
            form = {".om": "openmetrics", ".prom": "prometheus"}[path.suffix]
            again = test.program("--replay", files[2], *options, "-o", form)
            test.eq((again.status, again.stderr), (0, ""), f"{what}: {form} from JSON")
            test.ok(again.stdout == path.read_text(), f"{what}: {form} from JSON is the same",
                    *list(difflib.unified_diff(path.read_text().splitlines(),
                                               again.stdout.splitlines(), n=0))[:10])
        test.eq(count_of(series, "captures_total", result="complete"), 3, "three samples")
        samples = [json.loads(line) for line in files[2].read_text().splitlines()
            if '"type":"summary"' not in line]
        samples = [sample for sample in samples if sample["type"] == "sample"]
        test.eq(len(samples), 3, f"{what}: JSON has the samples")
        for family in COUNTERS:
            faults = list(histogram_faults(series, family, samples, options))
            test.ok(histograms(series, family) and not faults,
                    f"{what}: {family} agrees with the counters", *faults[:8])
        names = {dict(labels)["thread"] for labels in histograms(series, "syscall_duration_seconds")}
        test.eq("numbered" in names, "--fold-names" in options, f"{what}: names are {names}")
        if "--max-syscalls=1" in options:
            test.ok(any(dict(labels)["syscall"] == "other" for labels in
                        histograms(series, "syscall_duration_seconds")), "others are distributed")
            continue
        faults = list(bucket_faults(series, samples, options))
        test.ok(not faults, f"{what}: buckets are those of JSON", *faults[:8])


def case_without_histograms(test):
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time=20ms", "-o", "openmetrics")
    test.eq(done.status, 0, "a sample is taken")
    test.ok("kernel_delay_window_seconds_bucket" in done.stdout and
            "_duration_seconds" not in done.stdout, "not asked for, there are none of threads")


kdtest.main(case_unit_reports, case_manual_page, case_capture, case_hostile_names,
            case_max_syscalls, case_histograms, case_without_histograms)
