#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Before Linux 6.12 the real-time limit stops all real-time threads for 50 ms of each second; if
others then have their CPU, the limit is to blame, for as long as its settings allow."""

import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdtest  # noqa: E402

LIMIT = pathlib.Path("/proc/sys/kernel/sched_rt_runtime_us")
PERIOD = pathlib.Path("/proc/sys/kernel/sched_rt_period_us")
FAIR_SERVER = pathlib.Path("/sys/kernel/debug/sched/fair_server")
SECONDS = 4


def case_throttled(test):
    if FAIR_SERVER.exists():
        raise kdtest.Skip("this kernel has a fair server instead")
    before, period = LIMIT.read_text(), int(PERIOD.read_text())
    test.stack.callback(LIMIT.write_text, before)
    LIMIT.write_text(str(period * 9 // 10))
    hog, load = test.workload("roles", "spin:0"), test.workload("roles", "spin:0")
    path, spin = test.directory() / "sample", load.tid("spin")[0]
    capture = test.capture(load.pid, "--full", "-o", "-", "-o", f"json:{path}")
    os.sched_setscheduler(spin, os.SCHED_FIFO, os.sched_param(1))
    time.sleep(SECONDS)
    report = capture.close(test)
    os.sched_setscheduler(spin, os.SCHED_OTHER, os.sched_param(0))
    test.books(report)
    sample = json.loads(path.read_text())
    thread = next(thread for thread in sample["threads"] if thread["tid"] == spin)
    limited = [row for row in thread["ready_by"] if row.get("rt_limit")]
    test.ok(any(row.get("pid") == hog.pid for row in limited), "who had the CPU instead", limited)
    # Of the first and the last second there may be any part.
    seconds = sample["window"]["duration_ns"] / 1e9
    ns = sum(row["preempted_ns"] + row["woken_ns"] for row in limited)
    test.between(ns, (SECONDS - 2) * 0.1e9 * 0.9, (seconds + 1) * 0.1e9,
                 "for as long as the limit says")
    test.ok(any(row["cause"] == "rt_limit" for row in sample["verdict"]),
            "the verdict names the limit", sample["verdict"])
    load.end()
    hog.end()


kdtest.main(case_throttled)
