#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
# tests/run: needs build/asan/unit/test_metrics
"""Metrics, shown to other programs' parsers and compared with the text report of the
same sample."""

import http.client
import json
import math
import re
import signal
import socket
import time

import kdformats
import kdneeds
import kdreport
import kdtest
from kdformats import unit_reports


GOLDEN = kdtest.ROOT / "tests" / "golden"
STATES = {"user": "running user", "kernel": "running kernel", "page_fault": "page faults",
          "reclaim": "reclaim", "guest": "running guest", "hardirq": "hard irq",
          "softirq": "soft irq", "stolen": "stolen by hypervisor",
          "throttled": "throttled", "ready_woken": "ready after wakeup",
          "ready_preempted": "ready after preemption", "blocked": "blocked interruptible",
          "blocked_uninterruptible": "blocked uninterruptible", "stopped": "stopped",
          "frozen": "frozen"}


def series_of(test, what, text, form="openmetrics"):
    """{(name, labels): value} of a file that the parser accepts."""
    kdneeds.module(kdformats.PARSERS[form])
    return kdformats.check_metrics(test, form, text, what)


def block_check(test, path):
    """Turns a file into a block of a database, which has one value for every series."""
    folder = test.directory()
    said = kdformats.run_promtool(test, f"{path.name}: becomes a block", "tsdb", "create-blocks-from",
                                  "openmetrics", str(path), str(folder))
    if said:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        numbers = said.splitlines()[-1].split()
        test.ok(str(len(lines)) in numbers, f"{path.name}: all {len(lines)} series are in it", said)


def case_unit_reports(test):
    """The metrics that a unit test made of its samples."""
    paths = unit_reports(test, "openmetrics", "test_metrics")
    test.ok(len(paths) > 5, "there are reports")
    for path in paths:
        series = series_of(test, path.name, path.read_text())
        older = path.with_name(path.name.replace("openmetrics", "prometheus"))
        other = series_of(test, older.name, older.read_text(), "prometheus")
        test.eq(other, series, f"{older.name}: has the same values")
        kdformats.check_promtool(test, older.read_text(), older.name)
        if path.name == "openmetrics_timed.txt":
            block_check(test, path)


def case_list(test):
    """The list of metrics; the manual page is derived from it (documents.t)."""
    program = test.program("--list-metrics")
    test.eq((program.status, program.stderr), (0, ""), "--list-metrics prints them")
    test.eq(program.stdout.splitlines(), (GOLDEN / "metrics_list.txt").read_text().splitlines(),
            "all families")


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
    """The longest in a table, and of what crosses the window's edges."""
    return max([longest] + [flight.longest for flight in flights if flight.name == name])


def table_faults(series, labels, table, names, flights=()):
    """Rows of the report that differ from the metrics called names (label, count, ...)."""
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


def histograms(series, family):
    """{labels: [(limit, count up to it)]}"""
    found = {}
    for (name, labels), value in series.items():
        if name == f"kernel_delay_{family}_bucket":
            labels = dict(labels)
            limit = float(labels.pop("le"))
            found.setdefault(frozenset(labels.items()), []).append((limit, int(value)))
    return {labels: sorted(buckets) for labels, buckets in found.items()}


def buckets_of(sample):
    """The buckets of JSON, {(family, labels): {limit: count}}, each counted at the limit that
    covers it."""
    limits = [factor * 10 ** power for power in range(3, 12) for factor in (1, 2, 5)] + [10 ** 12]
    found = {}
    for thread in sample["threads"]:
        rows = [("thread_period_duration_seconds", "state", state, thread[name])
                for state, name in (("running", "run"), ("ready", "ready"))]
        rows += [("syscall_duration_seconds", "syscall", row["name"], row)
                 for row in thread["syscalls"]]
        for family, label, value, row in rows:
            labels = {"thread": thread["name"], "tid": str(thread["tid"]), label: value}
            sums = found.setdefault((family, frozenset(labels.items())), {})
            for bucket in row.get("buckets", []):
                limit = next((ns for ns in limits if bucket["le_ns"] <= ns), math.inf)
                sums[limit] = sums.get(limit, 0) + bucket["count"]
    return {key: sums for key, sums in found.items() if sums}


def bucket_faults(series, sample):
    """Buckets that differ from those of JSON."""
    wanted = buckets_of(sample)
    if len(wanted) < 4:
        yield f"there are only {len(wanted)} distributions"
    for (family, labels), sums in wanted.items():
        for limit, below in histograms(series, family).get(labels, [(math.inf, -1)]):
            want = sum(count for ns, count in sums.items() if ns <= limit * 1e9 + 0.5)
            if below != want:
                yield f"{family} {dict(labels)}: {below} up to {limit}, want {want}"


def case_capture(test):
    """One sample in all forms. (Sums of several, and other labels: tests/unit/test_metric_*.c.)"""
    load = test.workload("roles", "poll", "calls:1:0:0", "calls:1:0:0")
    folder = test.directory()
    text, metrics, older, saved = (folder / name for name in ("text", "metrics.om", "metrics.prom", "json"))
    done = test.capture(load.pid, "--sample-count", 1, "--histogram", "-o", "-",
                        "-o", f"text:{text}", "-o", f"openmetrics:{metrics},timestamps", "-o",
                        f"prometheus:{older},timestamps", "-o", f"json:{saved}")
    load.go()
    done.interrupt(test, "a sample is taken")
    test.eq(done.stdout, text.read_text(), "standard output and a file are the same")
    series = series_of(test, "a capture", metrics.read_text())
    test.eq(series_of(test, "0.0.4", older.read_text(), "prometheus"), series,
            "0.0.4: has the same values")
    kdformats.check_promtool(test, older.read_text(), "0.0.4")
    report, = kdreport.parse(text.read_text())
    test.ok(any(thread.calls for thread in report.threads), "there are calls")
    compare(test, report, series)
    test.between(ns_of(series, "measured_seconds_total"), report.window - 2000,
                 report.window + 2000, "the window is as long")
    test.eq(count_of(series, "captures_total", result="interrupted"), 1, "one sample, which was ended")
    faults = list(bucket_faults(series, json.loads(saved.read_text())))
    test.ok(not faults, "buckets are those of JSON", *faults[:8])
    block_check(test, metrics)


# --- Files of metrics for the textfile collector of node_exporter, the real one ---

SCRAPES, FILES = 50, 10  # at least


def parsed(text):
    """{(name, labels): value} of text 0.0.4; le as a number, which it may write in its way."""
    parser = kdneeds.module("prometheus_client.parser")
    series = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {name: float(value) if name == "le" else value
                      for name, value in sample.labels.items()}
            series[(sample.name, frozenset(labels.items()))] = sample.value
    return series


def ours(series):
    """Only the series of kernel_delay. Where only some series of a family have a label, the parser
    adds an empty one to the others, which means the same as none."""
    return {(name, labels - {("tid", "")}): value for (name, labels), value in series.items()
            if name.startswith("kernel_delay_")}


def same(test, got, wanted, what):
    other = [f"{key[0]} {dict(key[1])}: {got.get(key)}, want {wanted.get(key)}"
             for key in {**got, **wanted} if got.get(key) != wanted.get(key)]
    test.ok(len(got) > 40 and not other, what, *other[:8])


class NodeExporter(kdtest.Child):
    """node_exporter, with nothing but the files of a directory."""

    def __init__(self, folder):
        # Debian's name, and its own.
        program = kdneeds.tool("prometheus-node-exporter", "node_exporter")
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        super().__init__([program, "--collector.disable-defaults", "--collector.textfile",
                          f"--collector.textfile.directory={folder}",
                          f"--web.listen-address=127.0.0.1:{self.port}"])
        kdtest.wait_until(lambda: self.proc.poll() is not None or self.answers())

    def answers(self):
        try:
            return self.scrape()
        except OSError:
            return None

    def scrape(self):
        """All series that it serves."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=kdtest.PATIENCE)
        try:
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"status {answer.status}")
            return parsed(answer.read().decode())
        finally:
            connection.close()


def scrape_error(series):
    return series.get(("node_textfile_scrape_error", frozenset()))


def complaints(exporter):
    return [line for line in exporter.stderr.splitlines() if "level=error" in line]


def case_file(test):
    """One sample: node_exporter serves what the file contains."""
    folder = test.directory()
    path = folder / "kernel_delay.prom"
    exporter = test.start(NodeExporter(folder))
    test.eq(ours(exporter.scrape()), {}, "no file, no metrics")
    for load, options in ((test.workload("roles", "poll", "spin:-1"), ["--histogram"]),
                          (test.workload("names"), [",fold-names"]),
                          (test.workload("roles", "poll"), [",per-thread", "-s", "1us", "--off-cpu=1us",
                                                            "--profile"])):
        done = test.program("-p", load.pid, "--sample-time=200ms", "--sample-count=1",
                            *(option for option in options if option[0] == "-"), "-o",
                            f"prometheus:{path}" + "".join(o for o in options if o[0] == ","))
        what = " ".join(options)
        test.eq((done.status, done.stderr), (0, ""), f"{what}: a sample is taken")
        series, wanted = exporter.scrape(), parsed(path.read_text())
        test.ok(len(wanted) > 50, f"{what}: {len(wanted)} series are in the file")
        same(test, ours(series), wanted, f"{what}: node_exporter has them, with these values")
        test.eq(scrape_error(series), 0, f"{what}: no error")
    test.eq(complaints(exporter), [], "it does not complain")


def case_rewritten(test):
    """The file is replaced again and again, and never seen incomplete."""
    load = test.workload("roles", "poll", "spin:-1")
    folder = test.directory()
    path = folder / "kernel_delay.prom"
    exporter = test.start(NodeExporter(folder))
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--quiet", "--histogram",
                      "--sample-count=0", "--sample-time=5ms", "-o", f"prometheus:{path}"])
    kdtest.wait_until(path.exists)
    names, counts, errors = set(), [], 0
    while len(counts) < SCRAPES or len(set(counts)) <= FILES:
        series = exporter.scrape()
        errors += scrape_error(series) != 0
        names.add(frozenset(name for name, _ in ours(series)))
        counts.append(int(series.get(("kernel_delay_captures_total",
                                      frozenset({("result", "complete")})), -1)))
        time.sleep(0.003)
    test.eq(errors, 0, f"no error in {len(counts)} scrapes of {len(set(counts))} files")
    whole = max(names, key=len)
    test.ok(len(whole) > 20 and all(len(found) > len(whole) / 2 for found in names),
            "the metrics are there in each", [len(found) for found in names])
    test.ok(counts == sorted(counts) and counts[0] >= 1, "samples are added up", counts)
    run.signal(2)
    test.eq(run.wait(), 0, "a signal ends it with status 0")
    same(test, ours(exporter.scrape()), parsed(path.read_text()), "the last file stays")
    test.eq(complaints(exporter), [], "it does not complain")


def case_two_files(test):
    """What monitoring.rst says about two processes with one node_exporter."""
    folder = test.directory()
    exporter = test.start(NodeExporter(folder))
    for name in ("a", "b"):
        load = test.workload("roles", "poll")
        done = test.program("-p", load.pid, "--sample-time=50ms", "--sample-count=1",
                            "-o", f"prometheus:{folder}/{name}.prom")
        test.eq(done.status, 0, f"{name}: a sample is taken")
    series = exporter.scrape()
    found = [key for key in series if key[0] == "kernel_delay_captures_total"
             and ("result", "complete") in key[1]]
    test.eq(len(found), 1, "of equal series it takes one")
    test.eq(scrape_error(series), 0, "which it does not call an error")
    # What it writes arrives a moment after its answer.
    test.ok(kdtest.wait_until(lambda: any("collected before" in line
                                          for line in complaints(exporter))), "but logs")


kdtest.main(case_unit_reports, case_list, case_capture, case_file, case_rewritten,
            case_two_files)
