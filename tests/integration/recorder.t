#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flight recorder (--record): what happened before a trigger fired or a condition became true;
how far back it goes; which uses it refuses. (For SIGUSR1: button.t.)"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import kdtest
from kdperfetto import Trace
from kdstall import check_stall, last_sample, stall, unlimited_real_time
from kdtest import MS, RealTime
from kdtrigger import Triggered

SECOND = 1000 * MS
STALL = 300 * MS
BEFORE = 1  # seconds from the stall to the trigger
HELD = 20   # seconds that are held: far more

def case_trigger(test):
    """A stall that occurs a second before the trigger, so that the window itself shows nothing of
    it."""
    if not unlimited_real_time():
        return test.skip("a stall before a trigger", "real-time threads may not have a CPU")
    cpu, folder = kdtest.last_cpu(), test.directory()
    load = test.workload("gaps", cpu, 0, 1 * MS)
    tid = int(load.ready[0])
    run = Triggered(test, load.pid, f"--record={HELD}s", "--start-trigger",
                    "t:syscalls:sys_exit_read", "--sample-time", "0.05", "-o", "text", "-o",
                    f"json:{folder}/json", "-o", f"perfetto:{folder}/trace")
    when = stall(cpu, STALL)
    time.sleep(BEFORE)
    gaps = load.ask("log")["gaps"]
    test.eq(run.wait(), 0, "status")
    sample = last_sample(folder / "json")
    window = sample["window"]
    test.ok(window["start_ns"] > when[1] + BEFORE * SECOND, "the window began later")
    begin, end, _, others = when
    stalled = end - begin - sum(until - since for since, until in others)
    test.between(sum(max(0, min(until, end) - max(since, begin)) for since, until in gaps),
                 0.9 * stalled, end - begin, "the thread saw the stall itself")
    recorded = sample["recorded"]
    test.between(recorded["held_ns"], BEFORE * SECOND + STALL, HELD * SECOND, "held")
    test.eq((recorded["asked_ns"], recorded["overwritten"], recorded["window_cut"]),
            (HELD * SECOND, False, False), "what was asked for; nothing was overwritten")
    test.ok("\nRECORDED " in run.stdout, "the text says so", run.stdout[:300])
    check_stall(test, (folder / "trace").read_bytes(), tid, when)


# Waits in poll() for 20 ms, and computes for 30.
POLLER = """
import os, select, time
poll = select.poll()
poll.register(os.pipe()[0])
print("ready", flush=True)
while True:
    poll.poll(20)
    end = time.monotonic() + 0.03
    while time.monotonic() < end:
        pass
"""


def case_long_poll(test):
    """With --long-poll: the poll before the long round is in the recording."""
    folder = test.directory()
    load = test.child([sys.executable, "-c", POLLER])
    load.line("ready")
    run = test.program("-p", load.pid, "--long-poll=10ms", "--record=10s", "--sample-count=2", "-o",
                       f"json:{folder}/json", "-o", f"perfetto:{folder}/trace")
    test.eq(run.status, 0, "status")
    sample = last_sample(folder / "json")
    start = sample["window"]["start_ns"]
    polls = [event for event in Trace((folder / "trace").read_bytes()).slices
             if event.kind == "syscall" and event.name == kdtest.POLL and "result" in event.notes]
    # The trigger's program runs before the one that sees the call return where another process
    # has had a perf event at that tracepoint: then the poll ends within a microsecond in the window.
    # Only what is recorded has a result.
    test.ok(any(min(event.end, start) - event.at > 10 * MS for event in polls),
            "the round begins after a poll that is there, too", polls[:4], sample["window"],
            run.stdout[:2000], run.stderr)


def case_condition(test):
    """--record-on: nothing is reported until the condition is true; then that window is. Others may
    keep the thread off its CPU for just as long."""
    if not unlimited_real_time():
        return test.skip("a condition", "real-time threads may not have a CPU")
    test.stack.enter_context(RealTime.alone())
    cpu, folder = kdtest.last_cpu(), test.directory()
    load = test.workload("gaps", cpu, 0, 1 * MS)
    tid = int(load.ready[0])
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--record-on",
                      "ready_by.stall-hog.total>80ms",
                      "-o", "text", "-o", f"json:{folder}/json", "-o",
                      f"perfetto:{folder}/trace"])
    kdtest.wait_until(lambda: "recording" in run.stderr)
    stalls = []
    while run.proc.poll() is None:  # other real-time threads may keep the culprit from its CPU
        stalls.append(stall(cpu, STALL))
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.proc.wait(2)
    test.eq(run.wait(), 0, "status")
    sample = last_sample(folder / "json")
    window = sample["window"]
    test.ok(window["end_ns"] - window["start_ns"] >= 100 * MS, "a window of 100 ms", window)
    begin, end, hog, gaps = next((one for one in stalls if window["start_ns"] < one[1] and
                                  window["end_ns"] > one[0]), stalls[0])
    test.ok(window["start_ns"] < end and window["end_ns"] > begin, "in which it happened",
            window, stalls)
    ready = sum(thread["ledger"]["ready_woken_ns"] + thread["ledger"]["ready_preempted_ns"]
                for thread in sample["threads"])
    test.ok(ready > 80 * MS, "of which the condition is true", ready)
    test.eq(run.stdout.count("# Start sampling"), 1, "one window is told of")
    check_stall(test, (folder / "trace").read_bytes(), tid,
                (begin, min(end, window["end_ns"]), hog, gaps))


TRIES = 4


def stalled_run(test, cpu, record, folder):
    """A stall makes a condition true: the run, its sample, and the thread's log. Repeated where the
    kernel hid a switch, as the end of the wait may be unknown then."""
    for _ in range(TRIES):
        load = test.workload("gaps", cpu, 0, 1 * MS)
        run = test.child([kdtest.PROGRAM, "-p", load.pid, "--record-on", "ready.max>250ms", "-o", "-",
                          f"--record={record}", "-o", f"json:{folder}/json",
                          "-o", f"perfetto:{folder}/trace"])
        kdtest.wait_until(lambda run=run: "recording" in run.stderr)
        while run.proc.poll() is None:  # other real-time threads may keep the culprit from its CPU
            stall(cpu, 2 * STALL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.proc.wait(2)
        test.eq(run.wait(), 0, f"{record}: status")
        sample = last_sample(folder / "json")
        load.send("log")  # which ends its thread
        gaps = json.loads(load.line("{"))["gaps"]
        if not sample["resynced"]:
            break
        test.remark("a switch was hidden")
    return run, sample, int(load.ready[0]), gaps


def case_condition_lasts(test):
    """The program waits for the end of the wait that makes the condition true, but no longer than
    it records."""
    kdtest.only_on_host("where a thread may have to wait for as long at any time")
    if not unlimited_real_time():
        return test.skip("a condition that lasts", "real-time threads may not have a CPU")
    test.stack.enter_context(RealTime.alone())
    cpu, folder = kdtest.last_cpu(), test.directory()
    for record, is_over in (("5s", True), ("100ms", False)):
        run, sample, tid, gaps = stalled_run(test, cpu, record, folder)
        why, window = sample["record_on"], sample["window"]
        since, until = max((gap for gap in gaps if gap[0] < window["end_ns"] < gap[1] + 200 * MS),
                           key=lambda gap: gap[1] - gap[0])
        test.eq((why["condition"], why["tid"], why["thread"], why.get("so_far", False)),
                ("ready.max>250ms", tid, "gaps", not is_over), f"{record}: why")
        seen = min(until, window["end_ns"]) - since
        test.between(why["value"], 250 * MS, seen, "as the thread felt it")
        if is_over:
            test.ok(until <= window["end_ns"] and why["value"] >= 0.8 * seen,
                    "all of the wait, whose end is in the window", window, since, until)
        else:
            test.ok(window["end_ns"] < until, "a wait that goes on beyond the window", window, until)
        said = f"{why['value']:,} ns{' so far' if not is_over else ''} of thread {why['tid']} 'gaps'"
        test.ok(f"# NOTE: --record-on 'ready.max>250ms' was true: {said}.\n" in run.stdout,
                "the text says so", run.stdout[-2000:])
        notes = Trace((folder / "trace").read_bytes()).find("window")[0].notes
        test.eq((notes["record_on"], notes["record_on_value"]), ("ready.max>250ms", said),
                "so does the timeline")


CLIENT = "import os, time\nwhile True: os.write(1, b'.'); time.sleep(0.001)"


def case_client(test):
    """A task takes the CPU of a client that the target waits for: the CPU's track shows it."""
    if not unlimited_real_time():
        return test.skip("a client's stall", "real-time threads may not have a CPU")
    cpu, folder = kdtest.last_cpu(), test.directory()
    reader, writer = os.pipe()
    load = test.child(["cat"], stdin=reader, stdout=subprocess.DEVNULL)
    client = test.child(["taskset", "-c", cpu, sys.executable, "-c", CLIENT], stdout=writer)
    os.close(reader)
    os.close(writer)
    capture = test.capture(load.pid, "--record=100ms", "-o", "text", "-o",
                           f"perfetto:{folder}/trace")
    kdtest.wait_until(lambda: kdtest.turns(client.pid, client.pid) > 100)
    begin, end, hog, gaps = stall(cpu, STALL)
    runs = kdtest.turns(client.pid, client.pid)
    kdtest.wait_until(lambda: kdtest.turns(client.pid, client.pid) > runs + 2)
    capture.close(test)
    lost = sum(max(0, min(until, end) - since) for since, until in gaps)
    runs = Trace((folder / "trace").read_bytes()).find("run")
    had = sum(max(0, min(run.end, end) - max(run.at, begin)) for run in runs
              if run.track.name == f"CPU {cpu}" and run.notes.get("tid") == hog)
    test.between(had, 0.9 * (end - begin - lost), end - begin, "who had the client's CPU")


def case_past(test):
    """A sample begins only once as much time has been recorded as was asked for; SIGUSR1 and the
    end of --duration do not wait for that."""
    folder = test.directory()
    load = test.child(["sleep", "1000"])
    run = ("-p", load.pid, "--sample-time", "10ms", "-o", f"json:{folder}/json")
    began = time.monotonic_ns()
    done = test.program(*run, "--record=700ms")
    test.eq((done.status, "begins in 700 ms" in done.stderr), (0, True), "how long is said")
    recorded = last_sample(folder / "json")
    test.ok(recorded["recorded"]["held_ns"] >= 700 * MS, "all of it is there", recorded["recorded"])
    test.ok(recorded["window"]["start_ns"] - began >= 700 * MS, "by another clock, too")
    (folder / "json").unlink()
    # Three times as long as the start took, which is slow beside other tests.
    start = recorded["window"]["start_ns"] - began
    ended = test.program(*run, "--record=60min", "--duration", f"{1000 + 3 * start // MS}ms")
    test.ok(ended.status == 0, "--duration: status", ended)
    test.ok(last_sample(folder / "json")["recorded"]["held_ns"] < 60 * SECOND,
            "does not wait for all of it")
    (folder / "json").unlink()
    pressed = test.child([kdtest.PROGRAM, *run, "--record=60min"])
    kdtest.wait_until(lambda: "begins in 3600 s" in pressed.stderr)
    pressed.signal(signal.SIGUSR1)
    test.eq(pressed.wait(), 0, "SIGUSR1: status")
    test.ok(last_sample(folder / "json"), "a sample at once")


def case_signal(test):
    """SIGUSR1: each time the recorded data is written to a file of its own."""
    folder = test.directory()
    load = test.workload("slow", "sleeper:20:200:9000:2", "waiter:12:3000")
    run = test.child([kdtest.PROGRAM, "-p", load.pid, "--record-on=signal", "--record=10s",
                      "--sample-count=2", "-o", f"json:{folder}/%n.json"])
    kdtest.wait_until(lambda: f"kill -USR1 {run.pid}" in run.stderr)
    load.go()
    pressed = []
    for number in (1, 2):
        time.sleep(0.4)
        at = time.monotonic_ns()
        run.signal(signal.SIGUSR1)
        kdtest.wait_until(lambda: (folder / f"{number}.json").exists())
        pressed.append((at, time.monotonic_ns()))
    test.eq(run.wait(), 0, "status")
    for number, (at, written) in enumerate(pressed, start=1):
        sample = last_sample(folder / f"{number}.json")
        test.eq(sample["number"], number, "only those that are reported are numbered")
        test.ok(sample["window"]["end_ns"] > at, "a window that had not ended then")
        test.ok(sample["window"]["start_ns"] < written, "nor begun much later")
    test.ok(last_sample(folder / "2.json")["recorded"]["held_ns"] > 400 * MS,
            "the second has what the first one had, too")


def case_memory(test):
    """When memory runs out the oldest data is overwritten, and the report says so."""
    folder = test.directory()
    load = test.child([sys.executable, "-c", "import time\nwhile True: time.sleep(0.0001)"])
    done = test.capture(load.pid, "--record=60min,memory=64K", "-o", "text", "-o",
                        f"json:{folder}/json", "-o", f"perfetto:{folder}/trace")
    # More than fit, on each CPU.
    before = kdtest.switches(load.pid, load.pid, ("voluntary",))
    kdtest.wait_until(lambda: kdtest.switches(load.pid, load.pid, ("voluntary",)) > before + 5000)
    load.signal(signal.SIGSTOP)  # or all of it may be overwritten before it is read
    done.close(test)
    recorded = last_sample(folder / "json")["recorded"]
    test.ok(recorded["memory_bytes"] <= 64 << 10, "no more memory than it may have", recorded)
    test.ok(recorded["overwritten"] and recorded["window_cut"], "overwritten", recorded)
    test.ok(0 < recorded["events"] <= (64 << 10) // 16, "as many events as fit", recorded)
    test.ok("only the end of the sample" in done.stdout, "the text says so", done.stdout[:400])
    trace = Trace((folder / "trace").read_bytes())
    test.ok(trace.find("state"), "what is left is shown")


def case_refused(test):
    """Impossible options are refused with a reason."""
    pid = os.getpid()
    for arguments, says in (
            (("--record-on", "ready.max"), "option --record-on: 'ready.max'"),
            (("--record-on", "nothing.max>1ms"), "option --record-on: 'nothing.max>1ms'")):
        done = test.program("-p", pid, *arguments)
        test.eq(done.status, 64, f"{arguments}: status")
        test.ok(says in done.stderr, f"{arguments}: says why", done.stderr)


def case_off(test):
    """Without --record nothing is recorded, and nothing is said about it."""
    folder = test.directory()
    load = test.workload("slow", "sleeper:20:200:9000:2")
    done = test.program("-p", load.pid, "--sample-time", "0.1", "-o", "text", "-o",
                        f"json:{folder}/json")
    test.ok("recorded" not in last_sample(folder / "json"), "no member")
    test.ok("RECORDED" not in done.stdout, "no line")


kdtest.main(case_trigger, case_long_poll, case_condition, case_condition_lasts, case_client,
            case_past, case_signal, case_memory, case_refused, case_off)
