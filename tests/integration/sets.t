#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: parallel
"""examples/stat_runtime.options: a second at a multiple of ten of them, and a file of metrics for
each run with a series for each thread."""

import kdformats
import kdtest

SET = kdtest.ROOT / "examples" / "stat_runtime.options"


def case_set(test):
    folder = test.directory()
    load = test.workload("roles", "spin", "fifo:0:3:30")
    # Of the set itself all but the process and the period, for which the test would wait.
    words = [line for line in SET.read_text().splitlines() if not line.startswith("--comm")]
    (folder / "set").write_text("\n".join(words))
    done = test.program(f"@{folder}/set", "-p", load.pid, "--at", "/1s", cwd=folder)
    test.eq((done.status, done.stdout), (0, ""), "status 0, and no text")
    files = list(folder.glob("stat_runtime-*.prom"))
    test.eq(len(files), 1, "a file for the run, with its time in the name")
    test.eq(files[0].stat().st_mode & 0o777, 0o644, "that others can read")
    series = kdformats.check_metrics(test, "openmetrics", files[0].read_text())
    if series is None:
        return
    seconds = next(value for (name, _), value in series.items()
                   if name == "kernel_delay_measured_seconds_total")
    test.between(seconds, 0.99, 5, "of a second")
    threads = {(dict(labels)["thread"], dict(labels)["tid"]) for name, labels in series
               if name == "kernel_delay_thread_seconds_total"}
    test.eq(threads, {(kdtest.thread_name(load.pid, tid), str(tid))
                      for tid in kdtest.threads_of(load.pid)}, "each thread has series of its own")


kdtest.main(case_set)
