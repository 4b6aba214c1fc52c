#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that wait for their children: by a pipe, a signal or a pidfd; while a child lives, and for
those that have ended. Who waits for clients, or whose children do, is idle."""

import os
import signal
import sys
import time

import kdtest
from kdasked import WINDOW, asleep, is_idle, report


def case_child(test):
    """A poll at a pipe to its only child, and at a pipe of its own."""
    parent = test.child([sys.executable, "-c", """
import os, select, subprocess
own = os.pipe()
child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.PIPE)
poll = select.epoll()
poll.register(child.stdout.fileno(), select.EPOLLIN)
poll.register(own[0], select.EPOLLIN)
print("ready", child.pid, flush=True)
poll.poll()"""])
    child = int(parent.line("ready").split()[1])
    test.stack.callback(os.kill, child, signal.SIGKILL)
    asleep(parent.pid)
    sample, said, _ = report(test, parent.pid)
    row, = sample["verdict"] or [{}]
    test.eq((row.get("cause"), row.get("who", {}).get("pid")), ("child", child), "its child")
    test.ok(f"sleep[{child}], which is asleep in" in said, "and what that one does", said)


# A program whose child does something.
PARENT = """
import os, select, subprocess, sys
open("/proc/self/comm", "w").write("parent")
how, text = sys.argv[1:]
own = os.pipe()
child = subprocess.Popen([sys.executable, "-c", "import os, socket, sys, time\\n" + text], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
assert child.stdout.read(1) == b"."
print("ready", child.pid, flush=True)
poll = select.poll()
if how == "own":
    poll.register(own[0], select.POLLIN)
if how == "poll":
    poll.register(child.stdout, select.POLLIN)
    poll.register(own[0], select.POLLIN)
if how == "read":
    os.read(child.stdout.fileno(), 1)
poll.poll()
"""
SLEEPS = "os.write(1, b'.'); time.sleep(1000)"
SERVES = "listener = socket.create_server(('127.0.0.1', 0)); os.write(1, b'.'); listener.accept()"
READS = "os.write(1, b'.'); os.read(0, 1)"
BUSY = "listener = socket.create_server(('127.0.0.1', 0)); os.write(1, b'.'); time.sleep(1000)"
# Reads commands; so could its child, which does not.
FORKED = """
import os, time
pid = os.fork()
if not pid: time.sleep(1000)
print("ready", pid, flush=True)
os.read(0, 1)
"""


def parent_of(test, how, text):
    parent = test.child([sys.executable, "-c", PARENT, how, text])
    child = int(parent.line("ready").split()[1])
    test.stack.callback(os.kill, child, signal.SIGKILL)
    for pid in (parent.pid, child):
        asleep(pid)
    return parent.pid, child


def case_children(test):
    """A parent that reads what its child writes, or only waits for its signal, waits for it; not for
    one that serves others, or itself."""
    for how in ("read", "poll", "own"):
        parent, child = parent_of(test, how, SLEEPS)
        sample, _, _ = report(test, parent)
        row, = sample["verdict"] or [{}]
        test.eq((row.get("cause"), row.get("who", {}).get("pid")), ("child", child), f"{how}: its child")
    for what, text in (("serves", SERVES), ("serves, and is busy", BUSY), ("waits for its parent", READS)):
        for how in ("read", "poll", "own"):
            parent, _ = parent_of(test, how, text)
            is_idle(test, f"{how}: its child {what}", report(test, parent))
    parent = test.child([sys.executable, "-c", FORKED])
    test.stack.callback(os.kill, int(parent.line("ready").split()[1]), signal.SIGKILL)
    asleep(parent.pid)
    is_idle(test, "a child with the same end of the pipe", report(test, parent.pid))
    parent, child = parent_of(test, "poll", SERVES)
    os.kill(child, signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(child, child) == "T")
    _, said, _ = report(test, parent)
    test.ok("which is stopped" in said, "a server that is stopped", said)


# Runs a program again and again, and waits for each; at the end it says which share of its time
# that was.
RUNS = """
import os, select, signal, sys, time
how, path, seconds = sys.argv[1:]
own = os.pipe()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
def start(keeps):
    if pid := os.fork():
        return pid
    for fd in keeps: os.dup2(fd, 1)
    os.execv(path, [path, seconds])
def wait(pid, ends):
    if how == "read":
        os.read(ends[0], 1)
    elif how == "signal":
        signal.sigwait([signal.SIGCHLD])
    else:
        poll = select.poll()
        for fd in [os.pidfd_open(pid)] if how == "pidfd" else [*ends, own[0]]:
            poll.register(fd, select.POLLIN)
        poll.poll()
        if how == "pidfd": os.close(fd)
print("ready", flush=True)
begun, waited = time.monotonic(), 0
while not select.select([0], [], [], 0)[0]:  # until its end
    pipe = os.pipe()
    pid = start(pipe[1:])
    os.close(pipe[1])
    since = time.monotonic()
    wait(pid, pipe[:1])
    os.waitpid(pid, 0)
    waited += time.monotonic() - since
    os.close(pipe[0])
print(waited / (time.monotonic() - begun), flush=True)
"""


def case_programs(test):
    """Programs that are run one after the other, and have ended when the window does."""
    program = test.directory() / "brief"
    program.symlink_to("/bin/sleep")
    for how in ("read", "poll", "pidfd", "signal"):
        for seconds in ("0.02", "0.15"):
            parent = test.child([sys.executable, "-c", RUNS, how, program, seconds])
            parent.line("ready")
            time.sleep(float(seconds) * 2)
            sample, said, _ = report(test, parent.pid)
            parent.send("end")
            share = float(parent.line())
            row = (sample["verdict"] or [{}])[0]
            test.eq((row.get("cause"), row.get("who", {}).get("comm")), ("child", "brief"),
                    f"{how}, {seconds} s: the program")
            window = sample["window"]["duration_ns"]
            test.between(row.get("ns", 0), (share - 0.2) * window, window, f"{how}, {seconds} s: for how long")
            test.ok("waited for its children: brief (" in said, f"{how}, {seconds} s: in words", said)


# Two processes that sleep once they have a task, and threads that look for their results: by a poll,
# or by a read.
POOL = """
import concurrent.futures, multiprocessing, sys, time
def task(seconds):
    time.sleep(seconds)
if __name__ == "__main__":
    open("/proc/self/comm", "w").write("pool")
    by_poll = concurrent.futures.ProcessPoolExecutor
    with (by_poll if sys.argv[2] == "poll" else multiprocessing.Pool)(2) as pool:
        list(pool.map(task, [0.01] * 4))
        print("ready", flush=True)
        while sys.argv[1] == "busy":
            list(pool.map(task, [0.05] * 8))
        while sys.argv[1] == "light":
            list(pool.map(task, [0.001] * 4))
            time.sleep(0.05)
        if sys.argv[1] == "hung":
            list(pool.map(task, [1000] * 2))
        time.sleep(1000)
"""


def case_pool(test):
    """Several children, at pipes that the parent can write to, too: one that hangs, or has tasks again
    and again; one with little to do waits for nobody."""
    for how, by in (("busy", "poll"), ("busy", "read"), ("hung", "poll"), ("idle", "poll"), ("idle", "read"),
                    ("light", "poll"), ("light", "read")):
        pool = test.child([sys.executable, "-c", POOL, how, by], start_new_session=True)
        test.stack.callback(os.killpg, pool.pid, signal.SIGKILL)
        pool.line("ready")
        time.sleep(0.2)
        sample, said, sleeps = found = report(test, pool.pid)
        rows = [row for row in sample["verdict"] if row["cause"] in ("child", "peer")]
        if how == "idle":
            is_idle(test, f"{how}, {by}", found)
        elif how == "light":
            test.ok(sum(row["ns"] for row in rows) < WINDOW * 1e9 / 5, f"{how}, {by}: they are not blamed", said,
                    sleeps)
        else:
            row = (rows or [{}])[0]
            test.eq((row.get("cause"), row.get("who", {}).get("comm")), ("child", "pool"),
                    f"{how}, {by}: its children")


def case_two_pipes(test):
    """Reads from a child, and from somebody else, by the same call."""
    source, end = os.pipe()
    feeder = test.child([sys.executable, "-c", """
import sys, time
while True:
    time.sleep(0.02)
    sys.stdout.write(".")
    sys.stdout.flush()"""], stdout=end)
    parent = test.child([sys.executable, "-c", """
import os, subprocess
child = subprocess.Popen(["sh", "-c", "while :; do sleep 0.12; echo; done"], stdout=subprocess.PIPE,
                         stdin=subprocess.DEVNULL, start_new_session=True)
print("ready", child.pid, child.stdout.fileno(), flush=True)
while True:
    os.read(child.stdout.fileno(), 1)
    os.read(0, 1000)
    os.read(0, 1)"""], stdin=source)
    for fd in (source, end):
        os.close(fd)
    child, fd = map(int, parent.line("ready").split()[1:])
    test.stack.callback(os.killpg, child, signal.SIGKILL)
    time.sleep(0.3)
    _, _, sleeps = report(test, parent.pid)
    test.eq({sleep["fd"]: bool(sleep.get("for_child")) for sleep in sleeps
             if sleep["for"] == "pipe" and "wchan" in sleep and sleep["total_ns"] > 5e6},
            {fd: True, 0: False}, "only one is for its child")
    feeder.end()


# A server with a process for each connection, whose end it is told.
FORKS = """
import os, select, signal, socket
listener = socket.create_server(("127.0.0.1", 0))
told = os.pipe()
for fd in told: os.set_blocking(fd, False)
signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))
signal.set_wakeup_fd(told[1])
poll = select.epoll()
for fd in (listener.fileno(), told[0]): poll.register(fd, select.EPOLLIN)
print("ready", listener.getsockname()[1], flush=True)
while True:
    for fd, _ in poll.poll():
        if fd == told[0]:
            os.read(fd, 100)
            continue
        peer, _ = listener.accept()
        if not os.fork(): os._exit(0)
        peer.close()
"""
CONNECTS = """
import socket, sys, time
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer: peer.recv(1)
    time.sleep(0.02)
"""


def case_forks(test):
    """Whose poll is ended by its children, but who waits for clients, is idle."""
    server = test.child([sys.executable, "-c", FORKS])
    client = test.child([sys.executable, "-c", CONNECTS, server.line("ready").split()[1]])
    time.sleep(0.2)
    sample, said, _ = report(test, server.pid)
    test.eq([row for row in sample["verdict"] if row["cause"] in ("child", "peer")], [], "nobody is waited for")
    thread = kdtest.thread_of(sample, server.pid)
    test.ok(any("child" in row for row in thread["descriptors"]), "although children ended its waits",
            thread["descriptors"])
    client.end()


kdtest.main(case_child, case_children, case_programs, case_pool, case_two_pipes, case_forks)
