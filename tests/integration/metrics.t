#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics, shown to other programs' parsers and compared with the text report of the
same sample."""

import importlib
import re
import shutil
import subprocess
import sys
import time

import kdreport
import kdtest

GOLDEN = kdtest.ROOT / "tests" / "golden"
MAN = kdtest.ROOT / "man" / "kernel_delay-metrics.5"
STATES = {"user": "running user", "kernel": "running kernel", "hardirq": "hard irq",
          "softirq": "soft irq", "ready_woken": "ready after wakeup",
          "ready_preempted": "ready after preemption", "blocked": "blocked interruptible",
          "blocked_uninterruptible": "blocked uninterruptible", "stopped": "stopped"}


def parser(name):
    """A parser of python3-prometheus-client, which another Python than Debian's finds only
    if told where it is."""
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        return importlib.import_module(name).text_string_to_metric_families
    except ImportError:
        raise kdtest.Skip("there is no python3-prometheus-client") from None
    finally:
        sys.path.pop()


def series_of(test, what, text, name="prometheus_client.openmetrics.parser"):
    """{(name, labels): value} of a file that the parser takes; no series may be twice."""
    parse = parser(name)
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
    tool = shutil.which("promtool")
    if not tool:
        test.skip(what, "there is no promtool (package prometheus)")
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


def case_golden_files(test):
    """What the unit tests have written."""
    paths = sorted(GOLDEN.glob("openmetrics_*.txt"))
    test.ok(len(paths) > 5, "there are golden files")
    for path in paths:
        series = series_of(test, path.name, path.read_text())
        older = path.with_name(path.name.replace("openmetrics", "prometheus"))
        if not older.exists():
            continue
        other = series_of(test, older.name, older.read_text(), "prometheus_client.parser")
        test.eq(other, series, f"{older.name}: has the same values")
        promtool(test, f"{older.name}: promtool finds no fault", "check", "metrics",
                 text=older.read_text())
    block_check(test, GOLDEN / "openmetrics_timed.txt")


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
    tool = shutil.which("mandoc")
    if not tool:
        raise kdtest.Skip("there is no mandoc")
    page = subprocess.run([tool, "-T", "utf8", "-O", "width=1000", str(MAN)], text=True,
                          capture_output=True, check=True).stdout
    section = re.search(r"^FAMILIES$(.*?)^EXAMPLES$", re.sub(".\b", "", page), re.M | re.S)[1]
    described = []
    for entry in section.strip().split("\n\n")[1:]:
        name, form, said = (line.strip() for line in entry.split("\n"))
        match = re.fullmatch(r"(\w+)(?: of (\w+))?(?: \{(.*)\})?", form)
        described.append((name, match[1], match[2] or "-", match[3] or "-", said))
    test.eq(described, families, "the manual page describes them")


def ns_of(series, name, **labels):
    value = series.get((f"kernel_delay_{name}", frozenset(labels.items())))
    return None if value is None else round(value * 1e9)


def count_of(series, name, **labels):
    return series.get((f"kernel_delay_{name}", frozenset(labels.items())))


def labels_of(series, tid):
    """The labels of a thread."""
    return [dict(labels) for name, labels in series
            if name == "kernel_delay_threads" and dict(labels).get("tid") == str(tid)]


def table_faults(series, labels, table, names):
    """Where rows of the report differ from metrics of the names (label, count, ...)."""
    label, count, seconds, longest = names
    for name, row in table.items():
        where = {**labels, label: name}
        got = (count_of(series, count, **where), ns_of(series, seconds, **where),
               ns_of(series, longest, **where))
        if got != (row.count, row.total, row.max):
            yield f"{where}: {got} in metrics, {row} in the report"


def thread_faults(series, labels, thread):
    for state, title in STATES.items():
        got = ns_of(series, "thread_seconds_total", **labels, state=state)
        if got != thread.ns[title]:
            yield f"{labels}: {got} ns {state}, {thread.ns[title]} in the report"
    yield from table_faults(series, labels, thread.calls, (
        "syscall", "syscalls_total", "syscall_seconds_total", "syscall_max_seconds"))
    yield from table_faults(series, labels, thread.softirqs, (
        "vector", "softirqs_total", "softirq_seconds_total", "softirq_max_seconds"))
    for state, section in (("ready", "THREAD READY STATISTICS"),
                           ("running", "THREAD RUN STATISTICS")):
        row = thread.tables.get(section) or kdreport.Row(sched_cnt=0, total=0, max=0)
        got = (count_of(series, "thread_periods_total", **labels, state=state),
               ns_of(series, "thread_period_seconds_total", **labels, state=state),
               ns_of(series, "thread_max_seconds", **labels, state=state))
        if got != (row.sched_cnt, row.total, row.max):
            yield f"{labels}: {got} {state}, {row} in the report"
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


def captured(test, load, *options, work=None):
    """Takes one sample in all forms: (report, series, folder)."""
    folder = test.directory()
    files = [folder / name for name in ("text", "metrics.om", "metrics.prom")]
    done = test.child([
        kdtest.PROGRAM, "-p", load.pid, "--sample-time", 1, "--sample-count", 1, *options,
        "-o", f"text:{files[0]}", "-o", f"openmetrics:{files[1]}", "-o", f"prometheus:{files[2]}"])
    truths = None
    if work:
        time.sleep(0.4)
        truths = work()
    test.eq(done.wait(), 0, "a sample is taken")
    test.ok(not done.stdout, "nothing is left on stdout", done.stdout)
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
    test.eq(count_of(series, "captures_total", result="complete"), 1, "one complete sample")
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
        if name == "kernel_delay_syscalls_total":
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


kdtest.main(case_golden_files, case_manual_page, case_capture, case_hostile_names,
            case_max_syscalls)
