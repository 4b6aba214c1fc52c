#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGUSR1 with --record, in every kind of run: each signal yields a report of what was recorded so
far, with the stall that the operator has just seen, and the run goes on."""

import json
import signal
import sys
import time

import kdreport
import kdtest
from kdlive import View
from kdstall import check_stall, last_sample, stall, unlimited_real_time
from kdtest import MS, SECOND
from kdtrigger import Triggered, balance

STALL = 60 * MS
LONG = 3000  # s: samples that only something else ends; what took less did not wait for their end
SOON = LONG // 2 * SECOND
LEAST = 100 * MS  # so long a sample is that was asked for, at least
READ = "t:syscalls:sys_exit_read"  # when the load gets a line
ENTER = "t:syscalls:sys_enter_read"  # when it waits for the next one
NEVER_HIT = "t:syscalls:sys_enter_exit_group"


class Load:
    """A thread on a CPU that records when it was kept off that CPU."""

    def __init__(self, test):
        self.cpu = kdtest.last_cpu()
        self.child = test.workload("gaps", self.cpu, 0, 1 * MS)
        self.pid, self.tid = self.child.pid, int(self.child.ready[0])

    def gaps(self):
        return self.child.ask("log")["gaps"]

    def read(self):
        read_line(self.child)


class Reader:
    """A process that does nothing but wait for its input."""

    def __init__(self, test):
        self.child = test.child([sys.executable, "-c", "import os\nwhile os.read(0, 1): pass"])
        self.pid = self.child.pid
        kdtest.wait_until(lambda: kdtest.waits_in(self.pid, "pipe_read"))

    def read(self):
        read_line(self.child)


def read_line(child):
    """Gives the first thread one line to read; returns when it waits for the next one."""
    before = kdtest.turns(child.pid, child.pid)
    child.send("x")
    kdtest.wait_until(lambda: kdtest.turns(child.pid, child.pid) > before and
                      kdtest.state_of(child.pid, child.pid) == "S")


class Recording:
    """A run that records, and the operator who presses the button."""

    def __init__(self, test, load, *arguments, triggered=False, late=False):
        self.test, self.load, self.folder = test, load, test.directory()
        self.pressed = {}  # by the report's number: when, and the stall before
        arguments = ("--record=1s", "-o", f"json:{self.folder}/%n.json", "-o",
                     f"perfetto:{self.folder}/%n.trace", "-o", "text", *arguments)
        self.triggered = triggered
        if triggered:
            self.run = Triggered(test, load.pid, *arguments)
        else:
            self.run = test.child([kdtest.PROGRAM, "-p", load.pid, *arguments])
        kdtest.wait_until(lambda: f"kill -USR1 {self.run.pid} reports" in self.run.stderr or
                          late and self.run.proc.poll() is not None)
        if not triggered and not {"--at", "--record-on"} & set(arguments):
            kdtest.wait_until(lambda: "# Start sampling" in self.run.stdout)  # as much is recorded

    def file(self, number):
        return self.folder / f"{number}.json"

    def press(self, number=None):
        """Sees a stall, presses, and waits for the report. Returns the sample."""
        number = number or len(self.pressed) + 1
        when = stall(self.load.cpu, STALL) if isinstance(self.load, Load) else None
        self.pressed[number] = time.clock_gettime_ns(time.CLOCK_MONOTONIC), when
        self.run.signal(signal.SIGUSR1)
        kdtest.wait_until((self.folder / f"{number}.trace").exists)
        if self.triggered:
            kdtest.wait_until(self.run.waits)  # the trap is set again
        return last_sample(self.file(number))

    def check(self, others=0, status=0):
        """Each press has its report, which contains its stall; besides these there are exactly so
        many others."""
        test = self.test
        test.eq(self.run.wait(), status, "status")
        if self.triggered:
            balance(test, kdreport.Run(self.run.stdout))
        asked = self.run.stdout.count("# NOTE: SIGUSR1 asked for this sample.")
        test.eq(asked, len(self.pressed), "the text says of those that they were asked for")
        names = sorted(path.name for path in self.folder.glob("*.json"))
        test.eq(len(names), len(self.pressed) + others, "a report for each press")
        gaps = self.load.gaps() if isinstance(self.load, Load) else ()
        for number, (at, when) in self.pressed.items():
            window = last_sample(self.file(number))["window"]
            test.ok(last_sample(self.file(number)).get("sigusr1"), f"{number}: was asked for")
            test.ok(window["end_ns"] >= at, f"{number}: ends after the press", window, at)
            test.ok(window["end_ns"] - max(at, window["start_ns"] + LEAST) < SOON,
                    f"{number}: and soon", window, at)
            test.ok(window["duration_ns"] >= LEAST, f"{number}: is not too short", window)
            if not when:
                continue
            test.between(kept(gaps, *when[:2]), 0.9 * (when[1] - when[0] - kept(when[3], *when[:2])),
                         when[1] - when[0], f"{number}: the thread saw the stall, too")
            check_stall(test, (self.folder / f"{number}.trace").read_bytes(), self.load.tid, when)


def kept(gaps, since, to):
    """How much of a period lies in gaps."""
    return sum(max(0, min(end, to) - max(start, since)) for start, end in gaps)


def recording(case):
    """Decorates a case that needs stalls."""
    def checked(test):
        if not unlimited_real_time():
            return test.skip(case.__name__, "real-time threads may not have a CPU")
        return case(test, Load(test))
    checked.__name__, checked.__doc__ = case.__name__, case.__doc__
    return checked


@recording
def case_samples(test, load):
    """Long samples: each one ends at the press, and the next one begins there."""
    run = Recording(test, load, "--sample-time", LONG, "--sample-count", "2")
    first, second = run.press(), run.press()
    run.check()
    test.eq(second["window"]["start_ns"], first["window"]["end_ns"], "without a gap")
    test.eq([first["expired"], first["interrupted"]], [False, False], "nothing else ended it")


@recording
def case_pause(test, load):
    """A press between samples begins one, in addition to the number that was asked for."""
    run = Recording(test, load, "--sample-time", "0.2", "--sample-count", "2", "--sample-interval",
                    LONG)
    kdtest.wait_until((run.folder / "1.trace").exists)
    first = last_sample(run.file(1))
    test.ok("sigusr1" not in first, "one that nobody asked for")
    for suffix in ("json", "trace"):
        (run.folder / f"1.{suffix}").rename(run.folder / f"first.{suffix}")
    press = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    sample = run.press(2)
    test.ok(sample["window"]["start_ns"] >= press, "begins at the press")
    run.press(3)
    run.run.signal(signal.SIGINT)
    run.check(others=1)


def case_at(test):
    """A press while the run waits for the moment of --at is answered, and the moment is not
    forgotten."""
    load = test.workload("slow", "sleeper:20:200:9000:2")
    load.go()
    for ahead in (5, *[9] * 20):  # on a slow machine this may be too late for attaching, or pressing
        at = time.strftime("%FT%TZ", time.gmtime(int(time.time()) + ahead))
        run = Recording(test, load, "--sample-time", "0.2", "--at", at, late=True)
        run.run.signal(signal.SIGUSR1)
        status = run.run.wait()
        if status == 0 and run.file(2).exists():
            break
    test.eq(status, 0, "status")
    first, second = (last_sample(run.file(number)) for number in (1, 2))
    test.ok(first.get("sigusr1") and "sigusr1" not in second, "one was asked for, one was not")
    test.ok(first["time"] < at[:-1] <= second["time"], "which began at its time", first["time"],
            second["time"])


def case_condition(test):
    """With --record-on EXPR, a press yields a report even if the expression is false."""
    run = Recording(test, Reader(test), "--record-on", "ready.max>5000s", "--sample-time", LONG,
                    "--sample-count", "2")
    run.press(), run.press()
    run.check()


@recording
def case_waiting(test, load):
    """With a trigger that has not been hit, a press begins a sample, and the trigger stays armed."""
    run = Recording(test, load, "--start-trigger", READ, "--sample-time", "0.1", triggered=True)
    press = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    first = run.press()
    second = run.press()
    test.ok(first["window"]["start_ns"] > press, "began at the press")
    test.ok("start_tid" not in first["window"] and "stop_tid" not in second["window"],
            "no trigger did that")
    load.read()
    run.check(others=1)
    test.eq(last_sample(run.file(3))["window"].get("start_tid"), load.pid, "then it was hit")


def opened(test, load, *arguments):
    """A window that one trigger has opened and another would close: the first press ends it."""
    run = Recording(test, load, "--start-trigger", READ, *arguments, triggered=True)
    sent = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    load.read()
    was_read = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    first = run.press()
    second = run.press()
    window = first["window"]
    test.eq(window.get("start_tid"), load.pid, "it was open since the trigger was hit")
    test.between(window["start_ns"], sent, was_read, "then")
    test.ok("stop_tid" not in window, "no trigger ended it")
    test.ok("start_tid" not in second["window"], "the second began at its press")
    load.read()
    return run


@recording
def case_open(test, load):
    """A window with a start and a stop trigger."""
    run = opened(test, load, "--stop-trigger", NEVER_HIT)
    run.run.signal(signal.SIGINT)
    run.check(others=1)  # the signal ends the one that is open


@recording
def case_open_pair(test, load):
    """A window with both triggers on the same thread."""
    run = opened(test, load, "--stop-trigger", NEVER_HIT, "--trigger-same-thread")
    run.run.signal(signal.SIGINT)
    run.check()  # the second hit is within what the first has begun, and not ended


def case_open_timed(test):
    """A window that lasts the sample time: after the presses one more is still taken."""
    run = opened(test, Reader(test), "--sample-time", "4")
    run.check(others=1)
    test.between(last_sample(run.file(3))["window"]["duration_ns"], 4000 * MS, 4000 * MS + SOON,
                 "the trap was still set, and its sample whole")


def case_stop(test):
    """A sample that stays open until the stop trigger ends it."""
    load = Reader(test)
    run = Recording(test, load, "--stop-trigger", READ, triggered=True)
    first, second = run.press(), run.press()
    test.ok(second["window"]["start_ns"] >= first["window"]["end_ns"], "the next one followed")
    load.read()
    run.check(others=1)
    test.eq(last_sample(run.file(3))["window"].get("stop_tid"), load.pid, "then it was hit")


def case_worst(test):
    """With worst= nothing is reported before the end except for presses."""
    load = Reader(test)
    run = Recording(test, load, "--start-trigger", READ, "--stop-trigger", ENTER,
                    "--trigger-delta=worst=1", "--sample-count", "2", triggered=True)
    run.press()
    load.read()
    load.read()
    run.check(others=1)


# Polls, says when it had returned, and computes.
STUCK = """
input()
import os, select, time
poll = select.poll()
poll.register(os.pipe()[0])
poll.poll(100)
print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
end = time.monotonic() + 3000
while time.monotonic() < end:
    pass
"""


def case_long_poll(test):
    """--long-poll: a round that does not end is reported as far as it has got."""
    load = test.child([sys.executable, "-c", STUCK])
    folder = test.directory()
    run = Triggered(test, load.pid, f"--long-poll={LONG}s", "--record", "-o",
                    f"json:{folder}/%n.json", "-o", "text")
    sent = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    load.send("")
    since = int(load.line())
    for number in (1, 2):
        press = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        run.signal(signal.SIGUSR1)
        kdtest.wait_until((folder / f"{number}.json").exists)
        there = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        window = last_sample(folder / f"{number}.json")["window"]
        if number == 1:
            test.between(window["start_ns"], sent, since, "since its poll has returned")
            test.between(window["end_ns"], press, there, "to the press")
        else:
            test.between(window["start_ns"], press, there, "now that no round is open")
    run.stop(test)
    test.eq(len(list(folder.iterdir())), 2, "a report for each press")


@recording
def case_live(test, load):
    """The key of the live view writes a window with the recording of it and of the time before it,
    also when the view is frozen."""
    folder = test.directory()
    view = View(test, load.pid, "--record", "--sample-time=0.3").begun()
    for number, frozen in ((1, False), (2, True)):
        when = stall(load.cpu, STALL)
        for _ in range(2):  # the one that is drawn next may have ended during the stall
            view.next_window()
        if frozen:
            view.press("f")
            test.ok(view.until_shown("FROZEN"), "the view is frozen", view.screen())
            time.sleep(0.7)
        view.press("w")
        view.type(f"perfetto:{folder}/{number}", "Enter")
        kdtest.wait_until((folder / str(number)).exists)
        check_stall(test, (folder / str(number)).read_bytes(), load.tid, when)
    view.press("w")
    view.type(f"json:{folder}/json", "Enter")
    kdtest.wait_until((folder / "json").exists)
    sample = last_sample(folder / "json")
    test.ok(sample["recorded"]["held_ns"] > 500 * MS and "critical_path" in sample, "as JSON, too",
            sample["recorded"])
    view.press("q")
    view.check_gone("q")


def case_several(test):
    """Presses while a report is being written, or while its sample is awaited."""
    folder = test.directory()
    load = test.workload("slow", "sleeper:20:200:9000:2")
    load.go()
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--record=10ms", "--sample-time", LONG,
                      "--sample-count", "0", "-o", f"json:{folder}/%n.json"])
    kdtest.wait_until(lambda: "kill -USR1" in run.stderr)
    last = 0
    for _ in range(20):
        time.sleep(0.01)
        last = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        run.signal(signal.SIGUSR1)
    ends = []
    def answered():
        ends[:] = [last_sample(path)["window"]["end_ns"] for path in folder.glob("*.json")]
        return ends and max(ends) > last
    kdtest.wait_until(answered)
    time.sleep(0.3)
    test.ok(answered(), "the last of them is answered, too")
    test.ok(1 <= len(ends) <= 20, "one report may be for several", len(ends))
    run.interrupt(test, "status")
    test.eq(len(list(folder.iterdir())), len(ends) + 1, "and the one that is open at the end")


def case_off(test):
    """Without --record, SIGUSR1 ends the program, as it does by default."""
    load = test.workload("slow", "sleeper:20:200:9000:2")
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--sample-time", "60"])
    kdtest.wait_until(lambda: kdtest.waits_in(run.pid, "poll_schedule_timeout") or
                      kdtest.waits_in(run.pid, "do_sys_poll"))
    run.signal(signal.SIGUSR1)
    test.eq(run.wait(), -signal.SIGUSR1, "ends it")


kdtest.main(case_samples, case_pause, case_at, case_condition, case_waiting, case_open,
            case_open_pair, case_open_timed, case_stop, case_worst, case_long_poll, case_live,
            case_several, case_off)
