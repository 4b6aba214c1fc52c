#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process that resolves stacks: what it has of its parent, and what it could do to the run once
taken over. This test takes its place: it stops the process and uses its socket."""

import ctypes
import fcntl
import mmap
import os
import pathlib
import re
import signal
import socket
import struct

import kdprocesses
import kdstacks
import kdtest
import kdtrigger
from kdtest import MS

PIDFD_GETFD = 438
SOCKET = 3  # its descriptor there, SANDBOX_SOCKET
GET_SEALS, FUTURE_WRITE = 1034, 0x10
PROTOCOL = (kdtest.ROOT / "cli" / "stack" / "protocol.h").read_text(encoding="ascii")
TYPES = re.findall(r"^\tMESSAGE_(\w+),", PROTOCOL, re.MULTILINE)  # their numbers are their order
FILE, OPEN, FRAMES, STACK, IDS = map(TYPES.index, ("FILE", "OPEN", "FRAMES", "STACK", "IDS"))
CALLS = 60


def message(kind, number=0, n=0, status=0, payload=b""):
    return struct.pack("<IIQIi", kind, number, 0, n, status) + payload


class Run:
    """A run whose stacks are resolved by that process until the test interferes with it."""

    def __init__(self, test, seconds=60, calls=CALLS, before=""):
        """before: a command for the workload before it is watched."""
        self.test, self.seconds = test, seconds
        self.load = test.workload("slow", f"sleeper:{calls}:0:3000:1")
        if before:
            self.load.send(before)
        self.capture = test.start(kdstacks.Capture(self.load.pid, "-s", "1ms",
                                                   "-e", "clock_nanosleep", "--sample-time", seconds))
        self.child = kdstacks.resolver_of(self.capture.pid)

    def take_over(self):
        """Stops the child, and returns its end of the connection with the parent."""
        os.kill(self.child, signal.SIGSTOP)
        pidfd = os.pidfd_open(self.child)
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.syscall(PIDFD_GETFD, pidfd, SOCKET, 0)
        os.close(pidfd)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        end = socket.socket(fileno=fd)
        self.test.stack.callback(end.close)
        return end

    def check(self, name, why):
        """The run has gone on, and reports why there are no stacks."""
        truth, = self.load.go()["threads"]
        if self.seconds < 60:  # it ends by itself
            self.capture.wait()
        report, stacks = self.capture.close(self.test)
        self.test.eq(truth["role"], "sleeper", f"{name}: the workload has done its work")
        log = self.load.ask("log")[str(truth["tid"])]
        start, stop = (kdtrigger.monotonic(report.stamps[f"{edge} sampling"])
                       for edge in ("Start", "Stop"))
        calls = [event for event in stacks.events if event.tid == truth["tid"] and event.exit]
        self.test.between(len(calls), sum(start + MS < before and after < stop - MS
                                          for before, after, *_ in log),
                          sum(start - MS < after and before < stop + MS
                              for before, after, *_ in log),
                          f"{name}: all its calls in the window are in the report")
        self.test.ok(not any(event.stack.user for event in calls) and
                     all("user" in event.stack.missing for event in calls),
                     "without the user's stacks, as each says")
        self.test.ok(all(event.stack.in_kernel("") for event in calls if event.waited),
                     "but with the kernel's", *calls[:1])
        told = [text for text in report.warnings if "resolves user stacks" in text]
        self.test.ok(told and why in told[0], f"which says: {why}", *report.warnings)


def case_executed_anew(test):
    """The child has none of its parent's memory, and cannot write where the parent reads."""
    os.environ["KD_SECRET"] = "of the parent"
    run = Run(test)
    proc = pathlib.Path(f"/proc/{run.child}")
    test.eq(proc.joinpath("environ").read_bytes(), b"", "it has no environment")
    test.eq(os.readlink(f"/proc/{run.child}/exe"), os.readlink(f"/proc/{run.capture.pid}/exe"),
            "it is the same program")
    maps = [pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
            for pid in (run.capture.pid, run.child)]
    codes = [{line.split("-")[0] for line in lines if "r-xp" in line and "[" not in line}
             for lines in maps]
    if pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "2":
        test.eq(codes[0] & codes[1], set(), "nothing is at the parent's addresses")
    test.eq([line for line in maps[1] if re.search(r" .w.s ", line)], [],
            "it has no shared memory to write")
    ours, = (line.split()[0] for line in maps[0] if "memfd:stacks" in line)
    test.ok([line for line in maps[1] if " r--s " in line and "memfd:stacks" in line],
            "it reads what its parent writes")
    fd = os.open(f"/proc/{run.capture.pid}/map_files/{ours}", os.O_RDWR)
    test.ok(fcntl.fcntl(fd, GET_SEALS) & FUTURE_WRITE, "that is sealed")
    for what, write in (("mapped", lambda: mmap.mmap(fd, 4096)),
                        ("written", lambda: os.pwrite(fd, b"x", 0))):
        try:
            write()
            test.ok(False, f"it is not {what}")
        except PermissionError:
            test.ok(True, f"it cannot be {what} by others")
    os.close(fd)
    run.capture.close(test)


LIES = {
    "garbage": b"\xff" * 100,
    "too little": b"x",
    "an unknown message": message(77),
    "a stack without frames": message(STACK),
    "stacks nobody knows": message(IDS, n=1, payload=struct.pack("<I", 5)),
    "frames that are cut": message(FRAMES, n=1, payload=b"\x00" * 20),
    "a file of no object": message(OPEN, 4000, payload=b".build-id/ab/cdef.debug\0"),
}


def case_lies(test):
    for name, lie in LIES.items():
        run = Run(test)
        run.take_over().send(lie)
        run.check(name, "sent invalid data")


def case_asks(test):
    """It asks for a file that is none of its business, gets none, and then stays silent."""
    run = Run(test, 1, 100_000, "go")
    end = run.take_over()
    end.send(message(OPEN, 0, payload=b"/etc/shadow\0"))
    answers = []
    while not answers or struct.unpack_from("<I", answers[-1][0])[0] != FILE:
        answers.append(socket.recv_fds(end, 1 << 16, 1))
    test.eq(answers[-1][1], [], "it gets no file")


def case_floods(test):
    """It sends requests without end."""
    run = Run(test)
    end = run.take_over()
    end.setblocking(False)
    sent = 0
    try:
        while sent < 10000:
            end.send(message(OPEN, 0, payload=b".build-id/ab/cdef.debug\0"))
            sent += 1
    except BlockingIOError:
        pass
    test.ok(sent > 0, "as many as there is room for", sent)
    run.check("a flood", "and was ended")


def case_dies(test):
    run = Run(test)
    children = kdprocesses.children_of(run.capture.pid)
    test.eq(sorted(kdtest.status_field(child, "Uid") for child in children), ["0", "65534"],
            "one opens files, as root; one is nobody")
    os.kill(run.child, signal.SIGKILL)
    run.check("one that died", "was killed by signal 9")
    test.eq([child for child in children if kdtest.state_of(child, child)], [], "nothing is left")


def case_stalls(test):
    run = Run(test, 2)
    os.kill(run.child, signal.SIGSTOP)
    run.check("one that stalls", "took too long")


def case_out_of_time(test):
    """A child that has used up its CPU time gets a successor, which resolves the stacks of later
    windows; by then the run has given up its privileges."""
    load = test.workload("slow", "sleeper:2000:0:1000:1")
    path = test.directory() / "samples.json"
    child = test.capture(load.pid, "-s", "500us", "-e", "clock_nanosleep", "--sample-time", "0.4",
                         "--sample-count", "0", "-o", "text", "-o", f"json:{path}")
    before = kdprocesses.children_of(child.pid)
    os.kill(kdstacks.resolver_of(child.pid), signal.SIGXCPU)
    load.send("go")

    def with_calls():
        traces = [sample["traces"] for sample in kdtest.samples_of(path)]
        return [each for each in traces if each["syscalls"]]

    def whole(traces):
        return "failure" not in traces and all("user_stack" in call for call in traces["syscalls"])
    # Calls of some windows after the first may have been read together with the first's.
    kdtest.wait_until(lambda: any(map(whole, with_calls()[1:])))
    after = set(kdprocesses.children_of(child.pid)) - set(before)
    filtered = [kdtest.status_field(pid, "Seccomp") for pid in after]
    child.signal(signal.SIGINT)
    child.wait()
    first = with_calls()[0]
    test.ok("signal 24" in first.get("failure", ""), "at first there are none, and why", first.get("failure"))
    test.ok("another one goes on" in child.stderr, "another one goes on", child.stderr)
    # Those that say where threads sleep are children of the same kind.
    test.eq(set(filtered), {"2"}, "in a sandbox, too")
    test.ok(any(map(whole, with_calls()[1:])), "and then all stacks are there")


kdtest.main(case_executed_anew, case_lies, case_asks, case_floods, case_dies, case_stalls,
            case_out_of_time)
