# SPDX-License-Identifier: Apache-2.0
"""A moment in which a thread gets no CPU, and what a recording should show of it."""

import ast
import subprocess
import sys

import kdtest
from kdperfetto import Trace

# Takes a CPU for a while, with a priority above everybody's, and says when; and when it was kept from
# that: others get their share of a CPU from time to time (sched_rt_runtime_us, the fair server).
HOG = """
import os, sys, time
cpu, ns = map(int, sys.argv[1:])
open("/proc/self/comm", "w").write("stall-hog")
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
begin = end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
gaps = []
while end < begin + ns:
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if now - end > 500_000:
        gaps += [(end, now)]
    end = now
print([begin, end, gaps])
"""


def stall(cpu, ns):
    """A moment in which hardly anybody else runs on a CPU: returns when, by which process, and the
    gaps."""
    with kdtest.RealTime.alone():
        hog = subprocess.Popen([sys.executable, "-c", HOG, str(cpu), str(ns)],
                               stdout=subprocess.PIPE, text=True)
        begin, end, gaps = ast.literal_eval(hog.communicate()[0])
    return begin, end, hog.pid, gaps


def unlimited_real_time():
    """Whether real-time threads may have all of a CPU for half a second (by default they may, in 1
    s)."""
    with open("/proc/sys/kernel/sched_rt_runtime_us") as limit:
        runtime = int(limit.read())
    return runtime < 0 or runtime >= 500_000


def check_stall(test, data, tid, when):
    """The recording shows the thread as ready for that time, and who had its CPU."""
    begin, end, hog, gaps = when
    lost = sum(max(0, min(to, end) - since) for since, to in gaps)
    trace = Trace(data)
    waits = [event for event in trace.slices if event.kind == "state" and
             trace.thread_of(event.track) == tid and event.name.startswith("ready") and
             event.at < end and event.end > begin]
    waited = sum(min(event.end, end) - max(event.at, begin) for event in waits)
    test.between(waited, 0.9 * (end - begin - lost), end - begin,
                 "it waited for its CPU all the time")
    runs = [event for event in trace.find("run") if event.notes.get("tid") == hog or
            "stall-hog" in event.name]
    had = sum(max(0, min(event.end, end) - max(event.at, begin)) for event in runs)
    test.between(had, 0.9 * (end - begin - lost), end - begin,
                 "which the culprit had, by name")


def last_sample(path):
    return kdtest.samples_of(path)[-1]
