#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who stopped a thread: processes that send signals, a tracer, or a terminal, whose PIDs the test
knows."""

import contextlib
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

import kdneeds
import kdtest
from kdtest import MS


PAUSE = 200 * MS  # between two signals


def stops_of(sample, tid):
    thread = kdtest.thread_of(sample, tid)
    return thread["stopped_by"], thread["ledger"]["stopped_ns"]


# To send signals to the process $0, PAUSE apart. A thread stops when it gets a CPU, which may
# take its time: the pause after a STOP begins when all have stopped.
SENDER = """
echo $$
for signal in "$@"; do
    kill -$signal $0
    while [ $signal = STOP ] && grep -q '^State:.[^T]' /proc/$0/task/*/status; do :; done
    sleep 0.2
done
"""


def shell_kill(test, *numbers):
    """Has another process send signals to a process; returns the sender's PID."""
    sender = test.child(["sh", "-c", SENDER, *numbers])
    pid = int(sender.line("").strip())
    sender.wait()
    return pid


def case_signals(test):
    """Two senders; the whole process is stopped."""
    load = test.workload("roles", "poll", "pollonce:1")
    stops, senders = [], []

    def stop():
        time.sleep(0.05)
        for _ in range(2):
            began = time.monotonic_ns()
            senders.append(shell_kill(test, load.pid, "STOP", "CONT"))
            stops.append(time.monotonic_ns() - began)
    sample = test.sample(load.pid, stop)
    path = test.directory() / "stopped.json"
    path.write_text(json.dumps(sample) + "\n")
    for condition, status in (("stopped_by.sh.count>=2", 4), ("stopped_by.sh.count>2", 0),
                              ("stopped_by.nobody.count>0", 0)):
        done = test.program("--replay", path, "--quiet", "--fail-if", condition)
        test.eq(done.status, status, condition)
    for role in ("poll", "pollonce"):
        rows, total = stops_of(sample, load.tid(role)[0])
        test.eq(sum(row["total_ns"] for row in rows), total, f"{role}: they are all of the time")
        by_sender = {row["tid"]: row for row in rows if "tid" in row}
        test.eq(set(by_sender), set(senders), f"{role}: by those who sent them")
        for sender, most in zip(senders, stops):
            row = by_sender[sender]
            test.eq((row["kind"], row["signal"], row["pid"], row["name"], row["count"]),
                    ("signal", signal.SIGSTOP, sender, "sh", 1), f"{role}: by their signal")
            test.between(row["total_ns"], PAUSE, most,
                         f"{role}: as long as between the signals")


def case_before(test):
    """Stopped first by somebody whom nobody observed, then by one whom the program saw."""
    load = test.workload("roles", "poll")
    tid = load.tid("poll")[0]
    os.kill(load.pid, signal.SIGSTOP)
    again = []

    def stop():
        os.kill(load.pid, signal.SIGCONT)
        time.sleep(0.05)
        again.append(shell_kill(test, load.pid, "STOP"))
    sample = test.sample(load.pid, stop)
    rows, total = stops_of(sample, tid)
    test.eq(sum(row["total_ns"] for row in rows), total, "they are all of the time")
    test.eq(sorted((row["signal"], row.get("tid", 0)) for row in rows),
            [(signal.SIGSTOP, 0), (signal.SIGSTOP, again[0])], "one has no sender")
    os.kill(load.pid, signal.SIGCONT)


def case_tracer(test):
    """strace stops a thread twice for each of its system calls, and once more at the start."""
    kdneeds.need("strace")
    load = test.workload("roles", "calls:400:1:10000", "poll")
    tid = load.tid("calls")[0]
    log = test.directory() / "strace.txt"
    tracers = []

    def trace():
        tracer = test.child(["strace", "-o", log, "-e", "trace=getppid", "-p", tid])
        tracers.append(tracer)
        kdtest.wait_until(lambda: "attached" in tracer.stderr)
        load.send("go")
        load.line("{")
    sample = test.sample(load.pid, trace)
    tracers[0].signal(signal.SIGINT)
    tracers[0].wait()
    calls = log.read_text().count("getppid()")
    rows, total = stops_of(sample, tid)
    test.eq(calls, 400, "the tracer saw the calls")
    test.eq([(row["kind"], row["tid"], row["pid"], row["name"]) for row in rows],
            [("tracer", tracers[0].pid, tracers[0].pid, "strace")], "it stopped the thread")
    test.ok(rows and rows[0]["total_ns"] == total and rows[0]["count"] >= 2 * calls,
            "at each call's entry and exit", rows)
    test.eq(stops_of(sample, load.tid("poll")[0]), ([], 0), "and no other thread")


# In the foreground of a terminal of its own: a process whose parent is in its session.
FOREGROUND = """
import os, signal, sys, time
child = os.fork()
if not child:
    os.setpgid(0, 0)
    print(os.getpid(), flush=True)
    while True:
        time.sleep(0.01)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.setpgid(child, child)
os.tcsetpgrp(0, child)
os.waitpid(child, 0)
"""


@contextlib.contextmanager
def in_terminal(program):
    """A program in a terminal of its own, and the process that the program starts."""
    session, terminal = pty.fork()
    if not session:
        os.execv(sys.executable, [sys.executable, "-c", program])
    pid = int(os.read(terminal, 100).split()[0])
    try:
        yield terminal, pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(session, 0)
        os.close(terminal)


def case_terminal(test):
    """Ctrl-Z: the signal comes from the terminal, and from nobody else."""
    with in_terminal(FOREGROUND) as (terminal, pid):
        def suspend():
            os.write(terminal, b"\x1a")
            kdtest.wait_until(lambda: kdtest.state_of(pid, pid) == "T")
            time.sleep(0.05)
        # Until it is in the foreground.
        kdtest.wait_until(lambda: os.tcgetpgrp(terminal) == pid)
        sample = test.sample(pid, suspend)
        rows, _ = stops_of(sample, pid)
        test.eq([(row["kind"], row["signal"], row.get("tid"), row["name"]) for row in rows],
                [("signal", signal.SIGTSTP, None, "terminal")], "the terminal did it")


# In the background of a terminal of its own: what sets its modes is stopped until it is in the foreground.
BACKGROUND = """
import os, signal, termios
child = os.fork()
if not child:
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    print(os.getpid(), flush=True)
    while signal.sigwait([signal.SIGUSR1]):
        termios.tcsetattr(0, termios.TCSANOW, termios.tcgetattr(0))
os.waitpid(child, 0)
"""


def case_background(test):
    """SIGTTOU: the kernel's signal to a process that uses its terminal without being in the
    foreground."""
    saved = test.directory() / "stopped.json"
    with in_terminal(BACKGROUND) as (_, pid):
        capture = test.capture(pid, "-o", "text", "-o", f"json:{saved}")
        os.kill(pid, signal.SIGUSR1)
        kdtest.wait_until(lambda: kdtest.state_of(pid, pid) == "T")
        time.sleep(0.2)
        capture.close(test)
    sample = kdtest.samples_of(saved)[0]
    test.eq([(row["kind"], row["signal"]) for row in stops_of(sample, pid)[0]],
            [("signal", signal.SIGTTOU)], "by that signal")
    blamed = [row["who"].get("stopped_by") for row in sample["verdict"] if row["cause"] == "stopped"]
    test.eq(blamed, ["SIGTTOU"], "the verdict has it")
    said = " ".join(test.program("--replay", saved, "--summary").stdout.split())
    test.ok("was stopped by terminal (SIGTTOU)" in said, "in words", said[:800])
    test.ok("NEXT it used its terminal from the background" in said, "and how it goes on", said[:800])


# --- Frozen ---
#
# A process that the freezer of its control group holds, of cgroup v1 and v2: for as long as the
# test had it frozen, and neither asleep nor stopped.

# The hierarchy's root, the file, and what freezes and thaws.
FREEZERS = (("/sys/fs/cgroup", "cgroup.freeze", "1", "0"),
            ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"),
            ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"))


def first_version():
    """In a virtual machine, where nobody else is affected, the freezer of version 1 is mounted,
    too."""
    place = pathlib.Path("/run/kdfreezer")
    place.mkdir(exist_ok=True)
    if not place.is_mount():
        subprocess.run(["mount", "-t", "cgroup", "-o", "freezer", "freezer", place], check=False)
    return (str(place), "freezer.state", "FROZEN", "THAWED")


@contextlib.contextmanager
def freezer(pid):
    """For each available freezer, the name of its file and a function that freezes or thaws the
    process."""
    with contextlib.ExitStack() as stack:
        found = []
        for root, name, freeze, thaw in (*FREEZERS, *([first_version()] if kdtest.VM else ())):
            group = pathlib.Path(root) / f"kdfrozen{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            stack.callback(group.rmdir)
            if not (group / name).exists():
                continue
            home = pathlib.Path(root) / "cgroup.procs"
            below = group / "not-frozen-itself"
            below.mkdir()
            stack.callback(below.rmdir)
            (below / "cgroup.procs").write_text(str(pid))
            stack.callback(home.write_text, str(pid))
            stack.callback((group / name).write_text, thaw)
            found.append((name, lambda on, file=group / name, freeze=freeze, thaw=thaw:
                          file.write_text(freeze if on else thaw)))
        yield found


def spinner(test):
    """A process, and its thread that never sleeps."""
    load = test.workload("roles", f"spin:{kdtest.last_cpu()}")
    return load.pid, load.tid("spin")[0]


def freeze_now(pid, tid, freeze):
    """Returns once the thread has been switched out, not when it is about to be."""
    before = kdtest.switches(pid, tid, ("voluntary",))
    freeze(True)
    kdtest.wait_until(lambda: kdtest.switches(pid, tid, ("voluntary",)) > before and
                      kdtest.state_of(pid, tid) != "R")


def freeze_once(pid, tid, freeze):
    """Returns how long the freeze lasted (least and most, in ns), and how often the thread had
    slept."""
    begun = time.monotonic_ns()
    freeze_now(pid, tid, freeze)
    frozen = time.monotonic_ns()
    time.sleep(0.15)
    slept = kdtest.switches(pid, tid, ("voluntary",))
    thawing = time.monotonic_ns()
    freeze(False)
    return thawing - frozen - MS, time.monotonic_ns() - begun + MS, slept


def each_freezer(test, pid):
    """(name, function) of each freezer; there has to be at least one."""
    freezers = test.stack.enter_context(freezer(pid))
    if not freezers:
        raise kdtest.Skip("no control group has a freezer here")
    return freezers


def sample_of(test, pid, tid, name, while_open):
    """A sample as JSON, and the thread in it; text, verdict and condition agree on it."""
    path = test.directory() / "sample.json"
    capture = test.capture(pid, "-o", "text", "-o", f"json:{path}",
                           "--fail-if", "frozen.total>=100ms")
    while_open()
    report = capture.close(test, want=4)
    test.books(report)
    sample = json.loads(path.read_text())
    thread = kdtest.thread_of(sample, tid)
    causes = {row["cause"]: row["ns"] for row in sample["verdict"]}
    test.ok(causes.get("frozen", 0) >= thread["ledger"]["frozen_ns"],
            f"{name}: the verdict says so", causes)
    test.eq(sample.get("frozen_group"), f"/kdfrozen{os.getpid()}", f"{name}: and whose freezer it was")
    test.eq([row["who"].get("comm") for row in sample["verdict"] if row["cause"] == "frozen"],
            [f"/kdfrozen{os.getpid()}"], f"{name}: also in the verdict")
    for state in ("blocked_ns", "blocked_uninterruptible_ns", "stopped_ns"):
        test.eq(thread["ledger"][state], 0, f"{name}: it is not {state}")
    return sample, thread


def case_inside(test):
    """Frozen and thawed inside the window."""
    pid, tid = spinner(test)
    for name, freeze in each_freezer(test, pid):
        bounds = []
        _, thread = sample_of(test, pid, tid, name,
                              lambda: bounds.extend(freeze_once(pid, tid, freeze)[:2]))
        test.between(thread["ledger"]["frozen_ns"], *bounds, f"{name}: frozen for so long")


def case_sleeper(test):
    """A thread that sleeps in a system call is woken to be frozen, and sleeps again once thawed;
    except with version 1 since Linux 6.1, which leaves it where it is."""
    load = test.workload("roles", "poll")
    tid, = load.tid("poll")
    for name, freeze in each_freezer(test, load.pid):
        if name == "freezer.state":
            continue
        path = test.directory() / "sample.json"
        load.settle([tid])
        capture = test.capture(load.pid, "-o", "text", "-o", f"json:{path}", "--off-cpu=1ms",
                               "--wait-filter=*")
        time.sleep(0.1)
        freezing = time.monotonic_ns()
        *bounds, slept = freeze_once(load.pid, tid, freeze)
        kdtest.wait_until(lambda: kdtest.state_of(load.pid, tid) == "S" and
                          kdtest.switches(load.pid, tid, ("voluntary",)) > slept)
        asleep = time.monotonic_ns()
        time.sleep(0.1)
        least = freezing - capture.opened + time.monotonic_ns() - asleep
        capture.interrupt(test, f"{name}: a sample")
        sample = json.loads(path.read_text())
        ledger = next(row["ledger"] for row in sample["threads"] if row["tid"] == tid)
        test.between(ledger["frozen_ns"], *bounds, f"{name}: frozen for so long")
        test.between(ledger["blocked_ns"], least, ledger["life_ns"] - bounds[0],
                     f"{name}: asleep before and after")
        test.eq(sample.get("frozen_group"), f"/kdfrozen{os.getpid()}", f"{name}: whose freezer it was")
        waits = [row["state"] for row in sample["traces"]["waits"] if row["tid"] == tid]
        test.eq(waits.count("frozen"), 1, f"{name}: one wait of several")


def case_throughout(test):
    """Frozen from before the window opens until after it closes: nothing else is counted."""
    pid, tid = spinner(test)
    for name, freeze in each_freezer(test, pid):
        freeze_now(pid, tid, freeze)
        sample, thread = sample_of(test, pid, tid, name, lambda: time.sleep(0.2))
        freeze(False)
        test.eq(thread["ledger"]["frozen_ns"], sample["window"]["duration_ns"],
                f"{name}: frozen throughout")


def case_wait(test):
    """A freeze is one of the listed waits."""
    pid, tid = spinner(test)
    for name, freeze in each_freezer(test, pid):
        path = test.directory() / "sample.json"
        capture = test.capture(pid, "-o", f"json:{path}", "-o", "text", "--off-cpu=1ms",
                               "--wait-filter=frozen")
        *bounds, _ = freeze_once(pid, tid, freeze)
        kdtest.until_run(pid, tid)
        capture.interrupt(test, f"{name}: a sample")
        waits = [row for row in json.loads(path.read_text())["traces"]["waits"]
                 if row["tid"] == tid]
        test.eq([row["state"] for row in waits], ["frozen"], f"{name}: one wait")
        test.between(sum(row["duration_ns"] for row in waits), *bounds, f"{name}: as long")


def case_wait_after_call(test):
    """For a thread that is frozen out of a call on a descriptor, the wait does not name that
    descriptor."""
    load = test.child([sys.executable, "-c", "import os; os.read(os.pipe()[0], 1)"])
    kdtest.wait_until(lambda: kdtest.waits_in(load.pid, "pipe"))
    for name, freeze in each_freezer(test, load.pid):
        if name != "cgroup.freeze":  # the others leave it in its call
            continue
        path = test.directory() / "sample.json"
        capture = test.capture(load.pid, "-o", f"json:{path}", "-o", "text", "--off-cpu=1ms",
                               "--wait-filter=frozen")
        freeze_once(load.pid, load.pid, freeze)
        kdtest.wait_until(lambda: kdtest.waits_in(load.pid, "pipe"))
        capture.interrupt(test, f"{name}: a sample")
        waits = json.loads(path.read_text())["traces"]["waits"]
        test.eq([(row["state"], row.get("at")) for row in waits], [("frozen", None)], f"{name}: one wait")


kdtest.main(case_signals, case_before, case_tracer, case_terminal, case_background, case_inside,
            case_sleeper, case_throughout, case_wait, case_wait_after_call)
