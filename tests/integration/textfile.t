#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of metrics for the textfile collector of node_exporter, the real one."""

import http.client
import socket
import time

import kdneeds
import kdtest

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
    """Ours of all series. Where only some series of a family have a label, it makes the others
    an empty one, which is the same as none."""
    return {(name, labels - {("tid", "")}): value for (name, labels), value in series.items()
            if name.startswith("kernel_delay_")}


def same(test, got, wanted, what):
    other = [f"{key[0]} {dict(key[1])}: {got.get(key)}, want {wanted.get(key)}"
             for key in {**got, **wanted} if got.get(key) != wanted.get(key)]
    test.ok(len(got) > 40 and not other, what, *other[:8])


class NodeExporter(kdtest.Child):
    """It, with nothing but the files of a directory."""

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
        """All of its series."""
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
    """One sample: what the file has is what node_exporter has."""
    folder = test.directory()
    path = folder / "kernel_delay.prom"
    exporter = test.start(NodeExporter(folder))
    test.eq(ours(exporter.scrape()), {}, "no file, no metrics")
    for load, options in ((test.workload("roles", "poll", "spin:-1"), ["--histogram"]),
                          (test.workload("names"), ["--fold-names"]),
                          (test.workload("roles", "poll"), ["--per-thread", "-s", "1us",
                                                            "--off-cpu=1us", "--profile"])):
        done = test.program("-p", load.pid, "--sample-time=200ms", "--sample-count=1", *options,
                            "-o", f"prometheus:{path}")
        what = " ".join(options)
        test.eq((done.status, done.stderr), (0, ""), f"{what}: a sample is taken")
        series, wanted = exporter.scrape(), parsed(path.read_text())
        test.ok(len(wanted) > 50, f"{what}: {len(wanted)} series are in the file")
        same(test, ours(series), wanted, f"{what}: node_exporter has them, with these values")
        test.eq(scrape_error(series), 0, f"{what}: no error")
    test.eq(complaints(exporter), [], "it does not complain")


def case_rewritten(test):
    """The file is replaced again and again: it is never seen in part."""
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
    test.ok(any("collected before" in line for line in complaints(exporter)), "but logs")


kdtest.main(case_file, case_rewritten, case_two_files)
