# SPDX-License-Identifier: Apache-2.0
"""What the kernel's own tracing (tracefs) says of one thread: a truth that shares nothing with the
program, its probes, or its clock readings."""

import os
import re

import kdtest
from kdneeds import tracefs

BUFFER_KB = 16384
EVENT = re.compile(r" (\d+)\.(\d{6}): (\w+): ?(.*)")
EVENT_OF_TASK = re.compile(r"-(\d+) +\[\d+\] \S+ +(\d+)\.(\d{6}): (\w+): ?(.*)")


class Traced:
    """Traces events of a thread (None: of all) while this context is active, by CLOCK_MONOTONIC;
    events that a kernel lacks are left out."""

    def __init__(self, tid, *patterns):
        self.tid, self.patterns = tid, patterns
        self.folder = tracefs() / "instances" / f"kdtest-{os.getpid()}"

    def __enter__(self):
        self.folder.mkdir()
        try:
            self.write("tracing_on", 0)
            self.write("buffer_size_kb", BUFFER_KB)
            self.write("trace_clock", "mono")
            if self.tid:
                self.write("set_event_pid", self.tid)
            for pattern in self.patterns:
                for enable in self.folder.glob(f"events/{pattern}/enable"):
                    enable.write_text("1")
            self.write("tracing_on", 1)
        except BaseException:
            self.folder.rmdir()
            raise
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def write(self, file, value):
        (self.folder / file).write_text(str(value))

    def events(self):
        """[(time in ns, name, text)], in order. Stops the recording. Names of tasks are arbitrary
        bytes."""
        self.write("tracing_on", 0)
        text = (self.folder / "trace").read_text(errors="replace")
        return [(int(seconds) * kdtest.SECOND + int(micros) * 1000, name, what)
                for seconds, micros, name, what in EVENT.findall(text)]

    def of_cpu(self, cpu):
        """[(time in ns, name, text, TID)] of one CPU."""
        self.write("tracing_on", 0)
        text = (self.folder / f"per_cpu/cpu{cpu}/trace").read_text(errors="replace")
        return [(int(seconds) * kdtest.SECOND + int(micros) * 1000, name, what, int(tid))
                for tid, seconds, micros, name, what in EVENT_OF_TASK.findall(text)]


INTERRUPTS = ("irq/irq_handler_*", "irq/softirq_e*", "irq_vectors/*_entry", "irq_vectors/*_exit")


def interrupts(events, start, stop):
    """Interrupts that lie in a window: {name: [ns, ...]} of hard ones and of soft ones, the latter
    without the hard ones nested in them; and how many of these there were."""
    hard, soft, begun, hits = {}, {}, [], 0
    for at, name, text in events:
        who, _, edge = name.rpartition("_")
        is_soft = who == "softirq"
        if is_soft:
            who = re.search(r"action=(\w+)", text)[1].lower()
        if edge == "entry":
            begun.append([who, at, 0])
        elif begun and begun[-1][0] == who:
            _, since, nested = begun.pop()
            if begun and not is_soft:
                begun[-1][2] += at - since
                hits += 1
            if start <= since and at <= stop:
                (soft if is_soft else hard).setdefault(who, []).append(
                    at - since - (nested if is_soft else 0))
        else:
            begun.clear()  # it began before
    return hard, soft, hits


def softirq_delays(events, start, stop):
    """{vector: [(ns in a window, TID that had the CPU when it was raised, TID when it ran, whether an
    edge cuts it), ...]} of the softirqs of one CPU, from when they were raised first until they
    ran, or the events end."""
    raised, found = {}, {}
    ends = [(stop, "end", f"vec={vector}", 0) for vector in range(10)]
    for at, name, text, tid in [*events, *ends]:
        vector = int(re.search(r"vec=(\d+)", text)[1])
        if name == "softirq_raise":
            raised.setdefault(vector, (at, tid))
        elif vector in raised:
            since, by = raised.pop(vector)
            if since < stop and at > start:
                found.setdefault(vector, []).append((min(at, stop) - max(since, start), by, tid,
                                                     since < start or at >= stop))
    return found


def stretches(events):
    """[(since, until)] of the outermost interrupts."""
    found, begun = [], []
    for at, name, _ in events:
        who, _, edge = name.rpartition("_")
        if edge == "entry":
            begun.append((who, at))
        elif begun and begun[-1][0] == who:
            _, since = begun.pop()
            if not begun:
                found.append((since, at))
        else:
            begun.clear()  # it began before
    return found


def faults(events, start, stop):
    """The number of page faults in a window, and the least time that they took until the page was
    counted as the thread's."""
    count, ns, since = 0, 0, None
    for at, name, _ in events:
        if name.startswith("page_fault_"):
            count += start <= at < stop
            since = at
        elif since is not None and name == "rss_stat":
            ns += max(0, min(at, stop) - max(since, start))
            since = None
    return count, ns


def reclaim(events, start, stop):
    """How long memory was being freed in a window."""
    since, ns = None, 0
    for at, name, _ in events:
        if name.endswith("begin"):
            since = at
        elif since is not None:
            ns += max(0, min(at, stop) - max(since, start))
            since = None
    return ns


SLEEPS = ("sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup")


def disk_sleeps(events, tid):
    """How often a thread slept uninterruptibly, how long until somebody began to wake it, and how
    long until it was awake."""
    count, least, most, since = 0, 0, 0, None
    for at, name, text in events:
        if name == "sched_switch" and re.search(rf"prev_pid={tid} .*prev_state=D", text):
            count, since = count + 1, at
        elif since is not None and re.search(rf" pid={tid} ", text):
            if name == "sched_waking":
                least += at - since
            elif name == "sched_wakeup":
                most += at - since
                since = None
    return count, least, most


def off_cpu(events, tid):
    """[(since, until)] of the times between a thread's switches in which it had no CPU."""
    found, since = [], None
    for at, name, text in events:
        if name != "sched_switch":
            continue
        if f"next_pid={tid} " in text:
            if since is not None:
                found.append((since, at))
            since = None
        else:
            since = at
    return found


def on_cpu(events, tid):
    """[(since, until)] of a thread on a CPU, from the switches to it and away from it."""
    found, since = [], None
    for at, name, text in events:
        if name == "sched_switch" and f"next_pid={tid} " in text:
            since = at
        elif name == "sched_switch" and f"prev_pid={tid} " in text and since is not None:
            found.append((since, at))
            since = None
    return found
